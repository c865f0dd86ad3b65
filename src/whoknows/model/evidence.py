"""Evidence: the log-likelihood of an item's labels, Σ_t log p(y | x, z), as a function of its truth z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whoknows._array import Array, like

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


@dataclass(frozen=True)
class QuadraticEvidence:
    """Evidence as a quadratic in a real z: −½ precision z² + pull z + constant, each (n_items,)."""

    precision: Array
    pull: Array
    constant: Array
    weight: Array | None = None

    @property
    def table(self) -> Array:
        """The quadratic at z = 0 and z = 1: (n_items, 2)."""
        return np.column_stack([self.constant, self.constant + self.pull - 0.5 * self.precision])


Evidence = TableEvidence | QuadraticEvidence


def with_gold(evidence: Evidence, gold: Array | None, weight: Array | None) -> Evidence:
    """Return the evidence with known truths and sample weights.

    ``gold`` (n_items,) is the class code, or the real z, of items whose truth is known, and NaN elsewhere. A
    known class rules out all others.
    """
    if isinstance(evidence, QuadraticEvidence):
        return _quadratic_with_gold(evidence, gold, weight)
    table = evidence.table
    if gold is not None:
        ruled_out = np.isfinite(gold)[:, None] & (gold[:, None] != np.arange(table.shape[1]))
        table = table + like(np.where(ruled_out, -np.inf, 0.0), table)
    return TableEvidence(table, None if weight is None else like(weight, table))


def _quadratic_with_gold(
    evidence: QuadraticEvidence, gold: Array | None, weight: Array | None
) -> QuadraticEvidence:
    if gold is None:
        return QuadraticEvidence(evidence.precision, evidence.pull, evidence.constant, weight)
    known, z = np.where(np.isfinite(gold), GOLD_PRECISION, 0.0), np.nan_to_num(gold)
    return QuadraticEvidence(
        evidence.precision + known, evidence.pull + known * z, evidence.constant - 0.5 * known * z**2, weight
    )
