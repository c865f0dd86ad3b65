"""Tables of results: read from CSV files, shown as markdown."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

TEXT = {"warnings": str, "error": str, "order": str}


def read(path: Path, key: Sequence[str]) -> pd.DataFrame:
    """Read cells; one computed more than once counts once, as the last time. Empty text is empty, not NaN."""
    if not path.exists():
        raise FileNotFoundError(f"There is no {path.name} in {path.parent}: run its benchmark first.")
    cells = pd.read_csv(path, dtype=TEXT).drop_duplicates(list(key), keep="last", ignore_index=True)
    words = [column for column in TEXT if column in cells]
    return cells.fillna(dict.fromkeys(words, ""))


def markdown(table: pd.DataFrame) -> str:
    """Return a markdown table whose columns line up; the index is the first column, cells are text."""
    names = [str(table.index.name or ""), *map(str, table.columns)]
    rows = [[str(index), *map(str, row)] for index, row in zip(table.index, table.to_numpy(), strict=True)]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = [_line(names, widths), _rule(widths), *(_line(row, widths) for row in rows)]
    return "\n".join(lines)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = row
    cells = [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(others, widths[1:], strict=True))]
    return f"| {' | '.join(cells)} |"


def _rule(widths: Sequence[int]) -> str:
    return f"|{'-' * (widths[0] + 2)}|{''.join('-' * (w + 1) + ':|' for w in widths[1:])}"
