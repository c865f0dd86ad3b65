"""Features in files that need not fit into memory: Parquet of any size, and .npy through a memory map."""

from __future__ import annotations

from whoknows.data.parquet.join import join_labels
from whoknows.data.parquet.open import ids_of_matrix, is_matrix, open_features
from whoknows.data.parquet.rows import MEMORY, ParquetFeatures

__all__ = ["MEMORY", "ParquetFeatures", "ids_of_matrix", "is_matrix", "join_labels", "open_features"]
