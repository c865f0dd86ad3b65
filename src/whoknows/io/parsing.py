"""Cells of a text table: ids and labels as they were meant, and text that spreadsheets must not run.

A column of a CSV file is a column of numbers if every cell that is not blank is one, and text otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

_WHOLE = re.compile(r" *(0|-?[1-9]\d{0,17})(?:\.0+)? *", re.ASCII)  # fits 64 bits; 007 is a name
_REAL = re.compile(r" *[+-]?(?:(?:0|[1-9]\d{0,15})(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})? *", re.ASCII)
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NOTHING = {"", "nan", "na", "n/a", "<na>", "null", "none"}


def parse_ids(cells: Sequence[str]) -> list[Hashable]:
    """Ids written in the cells of a column: integers if all are whole numbers, else text.

    >>> parse_ids(["7", "12"]), parse_ids(["07", "12"])
    ([7, 12], ['07', '12'])
    """
    matches = [_WHOLE.fullmatch(cell) for cell in cells if cell.strip()]
    if matches and all(matches):
        return [int(match[1]) if (match := _WHOLE.fullmatch(cell)) else None for cell in cells]
    return [cell if cell.strip() else None for cell in cells]


def parse_labels(cells: Sequence[str]) -> list[Hashable]:
    """Labels written in the cells of a column: numbers, True and False, else text.

    Among numbers, ``nan``, ``NA`` and the like mean that there is no label; among text they are text.
    Spaces around a label, which spreadsheets do not show, are none of it.

    >>> parse_labels(["0", "1.5", "NA"]), parse_labels(["yes ", "NA"]), parse_labels(["True", "False"])
    ([0.0, 1.5, None], ['yes', 'NA'], [True, False])
    """
    cells = [cell.strip() for cell in cells]
    given = [cell for cell in cells if cell.lower() not in _NOTHING]
    if given and all(map(_WHOLE.fullmatch, given)):
        return parse_ids([cell if cell.lower() not in _NOTHING else "" for cell in cells])
    if given and all(map(_REAL.fullmatch, given)):
        return [float(cell) if cell.lower() not in _NOTHING else None for cell in cells]
    if given and {cell for cell in cells if cell} <= {"True", "False"}:
        return [cell == "True" if cell else None for cell in cells]
    return [cell or None for cell in cells]


def looks_missing(value: Any) -> bool:
    """Whether a text label is a usual way to write that there is none."""
    return isinstance(value, str) and value.strip().lower() in _NOTHING


def escape(text: str) -> str:
    """Text that no spreadsheet takes for a formula: an apostrophe before = + - @, tab and line ends.

    >>> escape("=1+1"), escape("'=1+1"), escape("a=1"), unescape(escape("'=1+1"))
    ("'=1+1", "''=1+1", 'a=1', "'=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unescape(text: str) -> str:
    """Take away the apostrophe that `escape` put there."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def plain(values: Sequence[Any]) -> list[Any]:
    """Values of cells with every text unescaped."""
    return [unescape(value) if isinstance(value, str) else value for value in values]
