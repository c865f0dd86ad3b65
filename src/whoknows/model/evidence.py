"""Evidence: the log-likelihood of an item's labels, Σ_t log p(y | x, z), as a function of its truth z."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whoknows._array import Array, like, segment_sum
from whoknows.data.annotations import Annotations

GOLD_PRECISION = 1e6  # of a known real truth: a standard deviation of 0.001, labels having variance 1


@dataclass(frozen=True)
class TableEvidence:
    """Evidence as a table over classes.

    Attributes
    ----------
    table : (n_items, n_classes)
        Σ_{t ∈ T_i} log p(y_it | x_i, z = k); a row of zeros for an item without labels.
    weight : (n_items,), optional
        Sample weight of each item; None is 1 each.
    """

    table: Array
    weight: Array | None = None

    def with_gold(self, gold: Array | None, weight: Array | None) -> TableEvidence:
        """Return the evidence with known truths and sample weights.

        ``gold`` (n_items,) is the class code of items whose truth is known, which rules out all others, and
        NaN elsewhere.
        """
        table = self.table
        if gold is not None:
            ruled_out = np.isfinite(gold)[:, None] & (gold[:, None] != np.arange(table.shape[1]))
            table = table + like(np.where(ruled_out, -np.inf, 0.0), table)
        return TableEvidence(table, None if weight is None else like(weight, table))


def table_of(terms: Array, Y: Annotations) -> TableEvidence:
    """Sum log p(y | x, z) of single labels, (n_annotations, n_classes), over the labels of each item."""
    return TableEvidence(segment_sum(terms * Y.counts[:, None], Y.item, Y.n_items))


@dataclass(frozen=True)
class LabelsByAnnotator:
    """The quadratic of each annotator's labels, for annotators whose biases are uncertain.

    A label of annotator t is about z + b_t, b_t the difference between the bias and its estimate.

    Attributes
    ----------
    precision, pull : sparse (n_items, n_annotators)
        −½ precision (z + b_t)² + pull (z + b_t).
    bias_precision : float
        Of the prior of each bias.
    """

    precision: Any
    pull: Any
    bias_precision: float


@dataclass(frozen=True)
class QuadraticEvidence:
    """Evidence as a quadratic in a real z: −½ precision z² + pull z + constant, each (n_items,).

    ``by_annotator`` are the same labels before they are summed, if biases are to be integrated out.
    """

    precision: Array
    pull: Array
    constant: Array
    weight: Array | None = None
    by_annotator: LabelsByAnnotator | None = None

    @property
    def table(self) -> Array:
        """The quadratic at z = 0 and z = 1: (n_items, 2)."""
        return np.column_stack([self.constant, self.constant + self.pull - 0.5 * self.precision])

    def with_gold(self, gold: Array | None, weight: Array | None) -> QuadraticEvidence:
        """Return the evidence with known truths and sample weights; ``gold`` is the real z, or NaN."""
        if gold is None:
            return replace(self, weight=weight)
        known, z = np.where(np.isfinite(gold), GOLD_PRECISION, 0.0), np.nan_to_num(gold)
        constant, pull = self.constant - 0.5 * known * z**2, self.pull + known * z
        return replace(self, precision=self.precision + known, pull=pull, constant=constant, weight=weight)


Evidence = TableEvidence | QuadraticEvidence
