"""Parquet files that need not fit into memory."""

from __future__ import annotations

from whoknows.io.parquet.rows import MEMORY, ParquetFeatures

__all__ = ["MEMORY", "ParquetFeatures"]
