"""Files of every labelling tool: who said what, read from and written to them.

To add a tool, write one file with a `Format` and name it in `FORMATS`.
"""

from __future__ import annotations

from whoknows.data.formats.consensus import write_consensus, write_predictions
from whoknows.data.formats.found import LabelFile
from whoknows.data.formats.problem import FileProblem
from whoknows.data.formats.read import FORMATS, read_gold, read_labels
from whoknows.data.formats.text import size_limit
from whoknows.data.formats.write import write_labels, write_table

__all__ = [
    "FORMATS",
    "FileProblem",
    "LabelFile",
    "read_gold",
    "read_labels",
    "size_limit",
    "write_consensus",
    "write_labels",
    "write_predictions",
    "write_table",
]
