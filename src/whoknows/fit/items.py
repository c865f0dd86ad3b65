"""Items: the data that a solver works on, which can be split into chunks whose sums add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from whoknows._array import Array, Mask, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.pairs import Pairs, group_labels
from whoknows.model.evidence import Evidence


@dataclass(frozen=True)
class Items:
    """Features and labels of some items.

    Attributes
    ----------
    X_truth : (n_items, n_truth_features)
        Features of the truth model; the last column is constant.
    X_annotators : (n_items, n_expertise_features)
        Features that annotators' expertise depends on; the last column is constant.
    Y : Annotations
        Their labels; items without labels are allowed.
    gold : (n_items,), optional
        Truth where it is known (a class code, or a number), NaN elsewhere.
    weight : (n_items,), optional
        Sample weights; None is 1 each.
    raw : object, optional
        X as the user gave it, for intervals of a classifier as truth.
    """

    X_truth: Array
    X_annotators: Array
    Y: Annotations
    gold: Array | None = None
    weight: Array | None = None
    raw: Any = None

    @property
    def informed(self) -> Mask:
        """Which items have a label or a known truth; if items are not coupled, the others have no effect."""
        labelled = self.Y.labelled
        return labelled if self.gold is None else labelled | np.isfinite(self.gold)

    @cached_property
    def pairs(self) -> Pairs:
        """The labels grouped by annotator, with features, computed once for all iterations."""
        return group_labels(self.X_annotators, self.Y)

    @property
    def on_host(self) -> Items:
        """The same items with NumPy arrays, copied from the device if they are tensors."""
        return replace(self, X_truth=to_numpy(self.X_truth), X_annotators=to_numpy(self.X_annotators))

    @property
    def labels_on_host(self) -> Items:
        """The same items with features of expertise, and so all that concerns labels, as NumPy arrays."""
        return replace(self, X_annotators=to_numpy(self.X_annotators))

    def labelled(self) -> Items:
        """Return the items that have a label or a known truth."""
        return self[self.informed]

    def __getitem__(self, rows: Any) -> Items:
        """Return some of the items."""
        gold = None if self.gold is None else self.gold[rows]
        weight = None if self.weight is None else self.weight[rows]
        return Items(self.X_truth[rows], self.X_annotators[rows], self.Y[rows], gold, weight)

    def chunks(self, n_chunks: int) -> Iterator[Items]:
        """Split into consecutive chunks."""
        return (self[rows] for rows in self.Y.chunks(n_chunks))

    def complete(self, evidence: Evidence) -> Evidence:
        """Return the evidence of the labels with known truths and sample weights."""
        if self.gold is None and self.weight is None:
            return evidence
        return evidence.with_gold(self.gold, self.weight)
