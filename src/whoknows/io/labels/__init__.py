"""Files of every labelling tool: who said what, read from and written to them.

To add a tool, write one file with a `Format` and name it in `FORMATS`.
"""

from __future__ import annotations

from whoknows.io.consensus import write_consensus, write_predictions
from whoknows.io.encoding import size_limit
from whoknows.io.errors import FileError
from whoknows.io.labels.label_file import LabelFile
from whoknows.io.labels.read import FORMATS, read_gold, read_labels
from whoknows.io.tables import write_labels, write_table

__all__ = [
    "FORMATS",
    "FileError",
    "LabelFile",
    "read_gold",
    "read_labels",
    "size_limit",
    "write_consensus",
    "write_labels",
    "write_predictions",
    "write_table",
]
