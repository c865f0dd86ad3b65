"""Evidence: what an item's labels say of its truth, Σ_t log p(y | x, z) as a function of z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class TableEvidence:
    """Evidence as a table over classes.

    Attributes
    ----------
    table : (n_items, n_classes)
        Σ_{t ∈ T_i} log p(y_it | x_i, z = k); a row of zeros for an item nobody labelled.
    """

    table: Array


@dataclass(frozen=True)
class QuadraticEvidence:
    """Evidence as a quadratic in a real z: −½ precision z² + pull z + constant, each (n_items,)."""

    precision: Array
    pull: Array
    constant: Array

    def replace(self, rows: Rows, other: QuadraticEvidence, other_rows: Rows) -> QuadraticEvidence:
        """Return a copy whose ``rows`` are ``other_rows`` of another evidence."""
        replaced = QuadraticEvidence(self.precision.copy(), self.pull.copy(), self.constant.copy())
        for name in ("precision", "pull", "constant"):
            getattr(replaced, name)[rows] = getattr(other, name)[other_rows]
        return replaced

    @property
    def table(self) -> Array:
        """The quadratic read at z = 0 and z = 1: (n_items, 2)."""
        return np.column_stack([self.constant, self.constant + self.pull - 0.5 * self.precision])


Evidence = TableEvidence | QuadraticEvidence
