from .dataset import Dataset, join
from .encoding import size_limit
from .errors import FileError
from .features import Features, impute_median, read_features
from .labels.format import LabelFile
from .labels.read import FORMATS, read_gold, read_labels
from .labels.write import write_labels, write_predictions
from .parquet import ParquetFeatures
from .texts import TextFeatures, read_texts
from .writing import write_table

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
