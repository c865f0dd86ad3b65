"""Corrected rates as a table, and differences between groups."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.data.dataframes import NamedColumns
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, closest, elements

ALL = "all items"
SCORE = "score"
METHODS = {
    "gold": "Corrected by the gold items (prediction-powered inference).",
    "gold of all": (
        "Groups with fewer than three gold items mostly use the correction of all: it assumes that annotators err "
        "there as they do elsewhere."
    ),
    "model": (
        "Estimated from the labels alone, by the model. Errors that annotators share do not show without gold: the "
        "intervals may be far too narrow."
    ),
}


@dataclass(frozen=True, eq=False)
class Difference:
    """Difference between the rates of two groups.

    Attributes
    ----------
    first, second, label
        What is compared.
    value, low, high : float
        Rate of the first minus rate of the second, with limits.
    level : float
    """

    first: Hashable
    second: Hashable
    label: Hashable
    value: float
    low: float
    high: float
    level: float

    @property
    def wins(self) -> tuple[float, float, float]:
        """Win rate of the first, with limits: how often only its item is of this class, ties counted half."""
        return (1 + self.value) / 2, (1 + self.low) / 2, (1 + self.high) / 2

    def __str__(self) -> str:
        """Return one line."""
        limits = f"{100 * self.low:+.1f} to {100 * self.high:+.1f}"
        return f"{self.first} minus {self.second}, {self.label}: {100 * self.value:+.1f} points ({limits})"


@dataclass(frozen=True, eq=False)
class Rates(NamedColumns):
    """Share of each class among all items, then in each group; print it.

    Attributes
    ----------
    group, label : ids of shape (n_rows,)
        One row for each class (and for "score", if scores were given) in each group. The first rows, of the group
        "all items", are of all.
    n_items, n_gold : (n_rows,)
    rate, low, high : (n_rows,)
        Corrected share, with limits.
    method : (n_rows,)
        "gold", "gold of all" (the group has too few gold items) or "model" (there is no gold).
    level : float
        Nominal coverage of the intervals.
    power : float
        How much the predictions count beside the gold, λ between 0 and 1; NaN without gold.
    """

    group: Ids
    label: Ids
    n_items: Any
    n_gold: Any
    rate: Array
    low: Array
    high: Array
    method: Ids
    level: float
    power: float
    _correlation: Array = field(repr=False)  # (n_labels, n_groups, n_groups), of the errors of two groups

    COLUMNS = ("group", "label", "n_items", "n_gold", "rate", "low", "high", "method")

    @property
    def groups(self) -> list[Any]:
        """The groups, without "all items"."""
        return list(dict.fromkeys(elements(self.group)))[1:]

    @property
    def labels(self) -> list[Any]:
        """The classes, and "score" if there is one."""
        return list(dict.fromkeys(elements(self.label)))

    @property
    def notes(self) -> list[str]:
        """How the rates were estimated, in sentences."""
        return [text for name, text in METHODS.items() if name in self.method]

    def row(self, group: Hashable, label: Hashable) -> int:
        """Return the row of a group and a class."""
        labels = self.labels
        return _place(group, [ALL, *self.groups], "group") * len(labels) + _place(label, labels, "label")

    def difference(self, first: Hashable, second: Hashable, label: Hashable = None) -> Difference:
        """Compare two groups.

        Parameters
        ----------
        first, second : groups
        label : class, optional
            Default: the last one, or "score".
        """
        label = self.labels[-1] if label is None else label
        one, other = self.row(first, label), self.row(second, label)
        (a, k), b = divmod(one, len(self.labels)), other // len(self.labels)
        value, r = self.rate[one] - self.rate[other], self._correlation[k, a, b]
        up = _reach(self.high[one] - self.rate[one], self.rate[other] - self.low[other], r)
        down = _reach(self.rate[one] - self.low[one], self.high[other] - self.rate[other], r)
        return Difference(first, second, label, float(value), float(value - down), float(value + up), self.level)

    def differences(self, label: Hashable = None) -> list[Difference]:
        """Compare all pairs of groups, the one with the higher rate first; the largest difference first."""
        groups = self.groups
        pairs = [(a, b) for place, a in enumerate(groups) for b in groups[place + 1 :]]
        found = [self.difference(a, b, label) for a, b in pairs]
        found = [each if each.value >= 0 else self.difference(each.second, each.first, label) for each in found]
        return sorted(found, key=lambda each: -each.value)

    def __repr__(self) -> str:
        """Return counts, not arrays."""
        return f"Rates(groups={len(self.groups)}, labels={self.labels}, level={self.level})"

    def __str__(self) -> str:
        """Return a table, and how the rates were estimated."""
        rows = [("", "", "rate", f"{self.level:.0%} interval", "items", "gold")]
        rows += [
            (str(g), str(k), f"{p:.1%}", f"{low:.1%} to {high:.1%}", str(n), str(m))
            for g, k, p, low, high, n, m in zip(
                *map(elements, (self.group, self.label, self.rate, self.low, self.high, self.n_items, self.n_gold)),
                strict=True,
            )
        ]
        return "\n".join([*_aligned(rows, "<<>>>>"), *self.notes])


def _reach(one: float, other: float, correlation: float) -> float:
    """Half of an interval for a difference, from halves of two intervals (Newcombe; Zou and Donner 2008)."""
    return float(np.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0)))


def _place(value: Hashable, known: list[Any], what: str) -> int:
    if value not in known:
        raise InputError(f"There is no {what} {value!r}. {closest(value, known)}")
    return known.index(value)


def _aligned(rows: Sequence[tuple[str, ...]], to: str) -> list[str]:
    """Rows of a table as lines of text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [[f"{cell:{side}{width}}" for cell, side, width in zip(row, to, widths, strict=True)] for row in rows]
    return ["  ".join(line).rstrip() for line in lines]
