"""Items: what a solver works on, and how it is cut into chunks whose sums add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from whoknows._array import Array, Mask, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.pairs import Pairs
from whoknows.model.evidence import Evidence


@dataclass(frozen=True)
class Items:
    """Some items: what the truth and the annotators see of them, and who said what.

    Attributes
    ----------
    X_truth : (n_items, n_truth_features)
        What the truth sees of x; the last column is constant.
    X_annotators : (n_items, n_expertise_features)
        What annotators' expertise depends on; the last column is constant.
    Y : Annotations
        Their labels; items without any are allowed.
    gold : (n_items,), optional
        Truth where it is known (a class code, or a number), NaN elsewhere.
    weight : (n_items,), optional
        How much each item counts; None is 1 each.
    """

    X_truth: Array
    X_annotators: Array
    Y: Annotations
    gold: Array | None = None
    weight: Array | None = None

    @property
    def informed(self) -> Mask:
        """Which items have a label or a known truth: where items do not interact, the others say nothing."""
        seen = self.Y.labelled
        return seen if self.gold is None else seen | np.isfinite(self.gold)

    @cached_property
    def pairs(self) -> Pairs:
        """The labels side by side with what expertise sees, gathered once for all iterations."""
        return Pairs(self.X_annotators, self.Y)

    @property
    def here(self) -> Items:
        """The same items with arrays in this machine's memory, wherever they are."""
        return replace(self, X_truth=to_numpy(self.X_truth), X_annotators=to_numpy(self.X_annotators))

    def labelled(self) -> Items:
        """Return the items that say something of truth or annotators."""
        return self[self.informed]

    def __getitem__(self, rows: Any) -> Items:
        """Take some of the items."""
        gold = None if self.gold is None else self.gold[rows]
        weight = None if self.weight is None else self.weight[rows]
        return Items(self.X_truth[rows], self.X_annotators[rows], self.Y[rows], gold, weight)

    def chunks(self, n_chunks: int) -> Iterator[Items]:
        """Cut into consecutive chunks."""
        return (self[rows] for rows in self.Y.chunks(n_chunks))

    def complete(self, evidence: Evidence) -> Evidence:
        """Return what labels say together with what is known besides."""
        return evidence.given(self.gold, self.weight)
