"""Cells of a text table: ids and labels in their intended type, and text that is safe in spreadsheets.

A column of a CSV file is numeric if every cell that is not blank is a number, and text otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

_WHOLE = re.compile(r" *(0|-?[1-9]\d{0,17})(?:\.0+)? *", re.ASCII)  # fits 64 bits; 007 is text
_REAL = re.compile(r" *[+-]?(?:(?:0|[1-9]\d{0,15})(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})? *", re.ASCII)
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_MISSING = {"", "nan", "na", "n/a", "<na>", "null", "none"}


def parse_ids(cells: Sequence[str]) -> list[Hashable]:
    """Return the ids in the cells of a column: integers if all are integers, else text.

    >>> parse_ids(["7", "12"]), parse_ids(["07", "12"])
    ([7, 12], ['07', '12'])
    """
    matches = [_WHOLE.fullmatch(cell) for cell in cells if cell.strip()]
    if matches and all(matches):
        return [int(match[1]) if (match := _WHOLE.fullmatch(cell)) else None for cell in cells]
    return [cell if cell.strip() else None for cell in cells]


def parse_labels(cells: Sequence[str]) -> list[Hashable]:
    """Return the labels in the cells of a column: numbers, True and False, else text.

    Among numbers, ``nan``, ``NA`` and the like stand for a missing label; among text they are text.
    Spaces around a label, which spreadsheets do not show, are removed.

    >>> parse_labels(["0", "1.5", "NA"]), parse_labels(["yes ", "NA"]), parse_labels(["True", "False"])
    ([0.0, 1.5, None], ['yes', 'NA'], [True, False])
    """
    cells = [cell.strip() for cell in cells]
    given = [cell for cell in cells if not is_missing_text(cell)]
    if given and all(map(_WHOLE.fullmatch, given)):
        return parse_ids(["" if is_missing_text(cell) else cell for cell in cells])
    if given and all(map(_REAL.fullmatch, given)):
        return [None if is_missing_text(cell) else float(cell) for cell in cells]
    if given and {cell for cell in cells if cell} <= {"True", "False"}:
        return [cell == "True" if cell else None for cell in cells]
    return [cell or None for cell in cells]


def is_missing_text(value: Any) -> bool:
    """Whether a value is blank text, or a usual way to write that a value is missing."""
    return isinstance(value, str) and value.strip().lower() in _MISSING


def escape(text: str) -> str:
    """Return text that spreadsheets do not run as a formula: an apostrophe before = + - @, tab, line ends.

    >>> escape("=1+1"), escape("'=1+1"), escape("a=1"), unescape(escape("'=1+1"))
    ("'=1+1", "''=1+1", 'a=1', "'=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unescape(text: str) -> str:
    """Remove the apostrophe that `escape` added."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def unescaped(values: Sequence[Any]) -> list[Any]:
    """Return values with every text unescaped."""
    return [unescape(value) if isinstance(value, str) else value for value in values]
