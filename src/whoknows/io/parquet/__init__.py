"""Features in files that need not fit into memory: Parquet of any size, and .npy through a memory map."""

from __future__ import annotations

from whoknows.io.parquet.join import join_labels
from whoknows.io.parquet.open import ids_of_matrix, is_matrix, open_features
from whoknows.io.parquet.rows import MEMORY, ParquetFeatures

__all__ = ["MEMORY", "ParquetFeatures", "ids_of_matrix", "is_matrix", "join_labels", "open_features"]
