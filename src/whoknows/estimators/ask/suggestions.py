"""Suggestions: a list of labels worth asking for, to print or to hand out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whoknows._array import Array
from whoknows.data.dataframes import write_long
from whoknows.data.vocabulary import Ids, elements

SHOWN = 10  # rows of a printed table


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Labels worth asking for, best first: in the order in which they were chosen.

    Attributes
    ----------
    item, annotator : (n_suggestions,)
        Ids: whom to ask about what.
    information : (n_suggestions,)
        Bits that the label is expected to say about the truth of its item, once the labels above it on the
        same item are in. One bit settles a yes-no question that was wholly open.
    cost : (n_suggestions,)
        What the annotator asks for a label; 1 if no costs were given.
    per_cost : (n_suggestions,)
        information / cost.
    why : str
        Why there are no more; empty if there are as many as were asked for.
    """

    item: Ids
    annotator: Ids
    information: Array
    cost: Array
    per_cost: Array
    why: str = ""

    def to_frame(self, backend: str | None = None) -> Any:
        """Table with the columns item, annotator, information, cost and per_cost.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Default: the first of them that is installed.
        """
        return write_long(self._columns(), backend)

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        """Give the first rows as a table, and why there are no more."""
        if not len(self):
            return f"No label to ask for: {self.why}."
        labels, bits = count_of_labels(len(self)), self.information.sum()
        head = f"{labels} to ask for, {bits:.2f} bits for {self.cost.sum():g}:"
        left = len(self) - SHOWN
        tail = [f"  … and {left} more"] if left > 0 else []
        end = [f"No more: {self.why}."] if self.why else []
        return "\n".join([head, *_table(self._columns(), SHOWN), *tail, *end])

    def _columns(self) -> dict[str, Any]:
        names = ("item", "annotator", "information", "cost", "per_cost")
        return {name: getattr(self, name) for name in names}


def count_of_labels(count: int) -> str:
    """Say "1 label", "2 labels"."""
    return "1 label" if count == 1 else f"{count} labels"


def _table(columns: dict[str, Any], n_rows: int) -> list[str]:
    """Lay out the first rows, under their names."""
    cells = [[name, *map(_cell, elements(values[:n_rows]))] for name, values in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    rows = zip(*cells, strict=True)
    return ["".join(f"  {cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
