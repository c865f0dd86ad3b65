"""Files: labels, features and results, read and written."""

from __future__ import annotations

from whoknows.io.dataset import Dataset, join
from whoknows.io.encoding import size_limit
from whoknows.io.errors import FileError
from whoknows.io.features import Features, impute_median, read_features
from whoknows.io.labels.format import LabelFile
from whoknows.io.labels.read import FORMATS, read_gold, read_labels
from whoknows.io.labels.write import write_labels, write_predictions
from whoknows.io.parquet import ParquetFeatures
from whoknows.io.texts import TextFeatures, read_texts
from whoknows.io.writing import write_table

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
    "write_labels",
    "write_predictions",
    "write_table",
]
