"""Files: labels, features and results, read and written."""

from __future__ import annotations

from whoknows.io.dataset import Dataset, join
from whoknows.io.encoding import size_limit
from whoknows.io.errors import FileError
from whoknows.io.features import Features, impute_median, read_features
from whoknows.io.labels import (
    FORMATS,
    LabelFile,
    read_gold,
    read_labels,
    write_consensus,
    write_labels,
    write_predictions,
)
from whoknows.io.parquet import ParquetFeatures
from whoknows.io.tables import write_table
from whoknows.io.texts import TextFeatures, read_texts

__all__ = [
    "FORMATS",
    "Dataset",
    "Features",
    "FileError",
    "LabelFile",
    "ParquetFeatures",
    "TextFeatures",
    "impute_median",
    "join",
    "read_features",
    "read_gold",
    "read_labels",
    "read_texts",
    "size_limit",
    "write_consensus",
    "write_labels",
    "write_predictions",
    "write_table",
]
