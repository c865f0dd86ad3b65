"""Small tables of text: for the terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ELLIPSIS = "…"
_LATEX = str.maketrans({**{c: f"\\{c}" for c in "&%$#_{}"}, "\\": r"\textbackslash{}", "~": r"\textasciitilde{}",
                        "^": r"\textasciicircum{}", "\n": " "})  # fmt: skip


@dataclass(frozen=True)
class TextTable:
    """Cells by column; the first column is aligned to the left, others to the right.

    Parameters
    ----------
    cells : mapping from heading to cells
    optional : sequence of headings
        Columns that a terminal leaves out, the last first, if the first column would be cut otherwise.
    """

    cells: Mapping[str, Sequence[str]]
    optional: Sequence[str] = ()

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows, without headings."""
        return list(zip(*self.cells.values(), strict=True))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def _width(self) -> int:
        """Width of the table if no cell is cut."""
        return sum(max(len(name), *map(len, cells), 0) + 2 for name, cells in self.cells.items()) - 2

    def lines(self, width: int = 80) -> list[str]:
        """Lines for a terminal; the first column is cut to fit the width, but not below 10 characters.

        >>> TextTable({"judge": ["a long name of a judge", "b"], "right": ["90%", "8%"]}).lines(20)
        ['judge          right', 'a long name …    90%', 'b                 8%']
        >>> TextTable({"judge": ["a long name"], "right": ["90%"], "kappa": ["0.8"]}, ["kappa"]).lines(20)
        ['judge        right', 'a long name    90%']
        """
        first, *others = self.cells
        if self.optional and self._width > width:
            kept = {name: cells for name, cells in self.cells.items() if name != self.optional[-1]}
            return TextTable(kept, self.optional[:-1]).lines(width)
        widths = [max(len(name), *map(len, self.cells[name]), 0) for name in others]
        room = max(width - sum(widths) - 2 * len(widths), 10)
        names = [_cut(" ".join(cell.split()), room) for cell in (first, *self.cells[first])]
        widths = [max(map(len, names)), *widths]
        rows = [(name, *rest) for name, rest in zip(names, [others, *(row[1:] for row in self.rows)], strict=True)]
        return [_line(row, widths) for row in rows]

    def markdown(self) -> list[str]:
        r"""Lines of a Markdown table.

        >>> print(*TextTable({"judge": ["a|b"], "right": ["90%"]}).markdown(), sep="\n")
        | judge | right |
        |---|--:|
        | a\|b | 90% |
        """
        rule = "|---|" + "--:|" * (len(self.cells) - 1)
        heading, *rows = (_markdown(row) for row in [tuple(self.cells), *self.rows])
        return [heading, rule, *rows]

    def latex(self) -> list[str]:
        r"""Lines of a LaTeX tabular, for booktabs.

        >>> print(*TextTable({"judge": ["a_b"], "right": ["90%"]}).latex()[:5], sep="\n")
        \begin{tabular}{lr}
        \toprule
        judge & right \\
        \midrule
        a\_b & 90\% \\
        """
        heading, *rows = (
            " & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in [self.cells, *self.rows]
        )
        begin = rf"\begin{{tabular}}{{l{'r' * (len(self.cells) - 1)}}}"
        return [begin, r"\toprule", heading, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    return "  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)]).rstrip()


def _markdown(row: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def one_below_the_other(tables: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, list[Any]]:
    """Put tables with the same columns one below the other; the column "by" says which one each row is of.

    >>> one_below_the_other({"topic": {"right": [0.5, 0.9]}, "model": {"right": [0.7]}})
    {'by': ['topic', 'topic', 'model'], 'right': [0.5, 0.9, 0.7]}
    """
    listed = {name: {key: list(values) for key, values in columns.items()} for name, columns in tables.items()}
    keys = next(iter(listed.values()))
    of = [name for name, columns in listed.items() for _ in next(iter(columns.values()))]
    return {"by": of} | {key: [value for columns in listed.values() for value in columns[key]] for key in keys}
