"""Read tables of results from CSV files and write them as markdown."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.common.sets import EXPECTED

TEXT = dict.fromkeys(["warnings", "error", "order", "note", "commit", "machine"], str)
LARGER = "majority class"


def read(path: Path, key: Sequence[str]) -> pd.DataFrame:
    """Read cells; the last of several rows with the same key counts. Empty text stays empty, not NaN."""
    if not path.exists():
        raise FileNotFoundError(f"There is no {path.name} in {path.parent}. Run its benchmark first.")
    cells = pd.read_csv(path, dtype=TEXT).drop_duplicates(list(key), keep="last", ignore_index=True)
    words = [column for column in TEXT if column in cells]
    return cells.fillna(dict.fromkeys(words, ""))


def fixed(value: float, digits: int, sign: str = "") -> str:
    """Format with fixed decimals, after rounding away differences from the order of summation."""
    return f"{round(value, 9):{sign}.{digits}f}"


def larger_class(name: str) -> float:
    """Accuracy of always predicting the majority class of a data set."""
    counts = EXPECTED[name][1]
    return max(counts) / sum(counts)


def markdown(table: pd.DataFrame, words: bool = False) -> str:
    """Return a markdown table with aligned columns; the index is the first column.

    Cells are right-aligned, or left-aligned with ``words``.
    """
    names = [str(table.index.name or ""), *map(str, table.columns)]
    rows = [[str(index), *map(str, row)] for index, row in zip(table.index, table.to_numpy(), strict=True)]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    right = [not words and place > 0 for place in range(len(names))]
    lines = [_line(row, widths, right) for row in (names, *rows)]
    rule = [f"{'-' * (width + 1)}{':' if to_right else '-'}" for width, to_right in zip(widths, right, strict=True)]
    return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(row, widths, right, strict=True)
    ]
    return f"| {' | '.join(cells)} |"
