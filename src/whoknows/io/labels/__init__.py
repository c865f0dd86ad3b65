"""Label files of every labelling tool: read, recognised and written.

To add a tool, write one file with a `Format` and add it to `FORMATS`.
"""

from __future__ import annotations

from whoknows.io.encoding import size_limit
from whoknows.io.errors import FileError
from whoknows.io.labels.format import LabelFile
from whoknows.io.labels.read import FORMATS, read_gold, read_labels
from whoknows.io.labels.write import write_consensus, write_labels, write_predictions
from whoknows.io.tables import write_table

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
