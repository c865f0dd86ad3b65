"""Suggestions: labels worth asking for, and the validation of what a user asks of `suggest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.data.dataframes import NamedColumns
from whoknows.data.errors import InputError
from whoknows.data.notebook import html_table
from whoknows.data.vocabulary import Ids, closest, codes_of_names, elements
from whoknows.model.settings import NOT_NEGATIVE, POSITIVE, check_value, is_number

SHOWN = 10  # rows of a printed table


@dataclass(frozen=True, eq=False)
class Suggestions(NamedColumns):
    """Labels worth asking for, in the order in which they were chosen.

    Attributes
    ----------
    item, annotator : (n_suggestions,)
        Ids: whom to ask about what.
    information : (n_suggestions,)
        Expected information about the truth of the item in bits, given the labels above on the same item. One
        bit settles a yes-no question with even odds.
    cost : (n_suggestions,)
        Cost of the label; 1 if no costs were given.
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

    COLUMNS = ("item", "annotator", "information", "cost", "per_cost")

    def __repr__(self) -> str:
        """Format the first rows as a table, and say why there are no more."""
        cells, (more, *end) = self._cells(), self._notes()
        widths = [max(map(len, [name, *column])) for name, column in cells.items()]
        rows = zip(*([name, *column] for name, column in cells.items()), strict=True)
        table = ["".join(f"  {cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(filter(None, [self._title(), *table, f"  {more}" if more else "", *end]))

    def _repr_html_(self) -> str:
        """Return the same as HTML, which notebooks show."""
        return html_table(self._title(), self._cells(), filter(None, self._notes()))

    def _title(self) -> str:
        if not len(self):
            return f"No label to ask for: {self.why}."
        gain = f"{self.information.sum():.2f} bits of information at a cost of {self.cost.sum():g}"
        return f"{count_of_labels(len(self))} to ask for, with {gain}:"

    def _notes(self) -> tuple[str, str]:
        more = f"… and {len(self) - SHOWN} more" if len(self) > SHOWN else ""
        return more, f"No more: {self.why}." if self.why and len(self) else ""

    def _cells(self) -> dict[str, list[str]]:
        """Text of the first rows by column; none without rows."""
        columns = self.columns() if len(self) else {}
        return {name: list(map(_cell, elements(column[:SHOWN]))) for name, column in columns.items()}


def count_of_labels(count: int) -> str:
    """Format "1 label", "2 labels"."""
    return "1 label" if count == 1 else f"{count} labels"


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


# --- validation -----------------------------------------------------------------------------------


def check_count(n: Any) -> int:
    """Return the number of labels to ask for."""
    words = "an integer of at least 1, the number of labels to ask for"
    return int(check_value("n", n, (words, lambda n: is_number(n) and isinstance(n, Integral) and n >= 1)))


def check_gain(min_gain: Any) -> float:
    """Return the smallest gain in bits per cost."""
    return float(check_value("min_gain", min_gain, ("a number of 0 or more, in bits per cost", NOT_NEGATIVE[1])))


def check_costs(costs: Any, known: Ids, asked: Rows) -> Array:
    """Return the costs of those who may be asked, 1 for an annotator without one: (n_asked,)."""
    if costs is None:
        return np.ones(len(asked))
    by_name, cost_of = _costs_by_name(costs, elements(known)), np.ones(len(known))
    for (name, cost), row in zip(by_name.items(), codes_of_names(list(by_name), known), strict=True):
        if row < 0:
            hint = closest(name, elements(known))
            raise InputError(f"costs names {name!r}, who is not an annotator of the fit. {hint}")
        if not POSITIVE[1](cost):
            raise InputError(
                f"costs must be finite numbers above 0; got {cost!r} for annotator {name!r}. "
                "To leave someone out, say with annotators= who may be asked."
            )
        cost_of[row] = cost
    return cost_of[asked]


def _costs_by_name(costs: Any, known: list[Any]) -> dict[Any, Any]:
    """Return costs by annotator; bare numbers are in the order of ``annotators_``."""
    if isinstance(costs, Mapping) or (hasattr(costs, "to_dict") and hasattr(costs, "index")):
        return dict(costs.items())
    if isinstance(costs, str) or np.ndim(costs) != 1 or len(costs) != len(known):
        got = repr(costs) if np.ndim(costs) == 0 else f"an array of shape {np.shape(costs)}"
        raise InputError(
            f"costs must map annotators to costs, such as {{{known[0]!r}: 1.5}}, or be {len(known)} numbers "
            f"in the order of annotators_; got {got}."
        )
    return dict(zip(known, np.asarray(costs).tolist(), strict=True))
