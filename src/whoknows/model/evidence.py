"""Evidence: what an item's labels say of its truth, Σ_t log p(y | x, z) as a function of z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whoknows._array import Array, like

GOLD_PRECISION = 1e6  # of a real truth that is known: a thousandth of the unit labels come in


@dataclass(frozen=True)
class TableEvidence:
    """Evidence as a table over classes.

    Attributes
    ----------
    table : (n_items, n_classes)
        Σ_{t ∈ T_i} log p(y_it | x_i, z = k); a row of zeros for an item nobody labelled.
    weight : (n_items,), optional
        How much each item counts; None is 1 each.
    """

    table: Array
    weight: Array | None = None

    def given(self, gold: Array | None, weight: Array | None) -> TableEvidence:
        """Return the evidence with what is known besides labels.

        ``gold`` (n_items,) is the class of items whose truth is known, NaN elsewhere: every other class is
        ruled out.
        """
        table = self.table
        if gold is not None:
            ruled_out = np.isfinite(gold)[:, None] & (gold[:, None] != np.arange(table.shape[1]))
            table = table + like(np.where(ruled_out, -np.inf, 0.0), table)
        return TableEvidence(table, None if weight is None else like(weight, table))


@dataclass(frozen=True)
class QuadraticEvidence:
    """Evidence as a quadratic in a real z: −½ precision z² + pull z + constant, each (n_items,)."""

    precision: Array
    pull: Array
    constant: Array
    weight: Array | None = None

    def given(self, gold: Array | None, weight: Array | None) -> QuadraticEvidence:
        """Return the evidence with what is known besides labels: ``gold`` (n_items,) is z or NaN."""
        if gold is None:
            return QuadraticEvidence(self.precision, self.pull, self.constant, weight)
        known = np.where(np.isfinite(gold), GOLD_PRECISION, 0.0)
        z = np.nan_to_num(gold)
        return QuadraticEvidence(
            self.precision + known, self.pull + known * z, self.constant - 0.5 * known * z**2, weight
        )

    @property
    def table(self) -> Array:
        """The quadratic read at z = 0 and z = 1: (n_items, 2)."""
        return np.column_stack([self.constant, self.constant + self.pull - 0.5 * self.precision])


Evidence = TableEvidence | QuadraticEvidence
