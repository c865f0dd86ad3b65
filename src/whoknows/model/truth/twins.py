"""Which item of a fit an x is, where several look alike."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from whoknows._array import Array, Mask, Rows

SAME_ITEM = 1e-9  # features no farther apart than this, the last digits of a matrix product, are one item's


class Twins:
    """Finds the items of a fit: by their features, and of twins in these, the one whose labels say the same.

    Parameters
    ----------
    X : (n_items, n_features)
    says : (n_items, n_numbers)
        What the labels of each say, in numbers of order one.
    """

    def __init__(self, X: Array, says: Array) -> None:
        self._n_items = len(X)
        self._alike, self._the_same = cKDTree(X), cKDTree(np.column_stack([X, says]))

    def find(self, X: Array, says: Array) -> tuple[Rows, Mask]:
        """Return which item each x is, and whether it is one: two (n_items,)."""
        alike = self._alike.query(X, distance_upper_bound=SAME_ITEM)
        same = self._the_same.query(np.column_stack([X, says]), distance_upper_bound=SAME_ITEM)
        is_same = np.isfinite(same[0])
        return np.where(is_same, same[1], alike[1]) % self._n_items, is_same | np.isfinite(alike[0])
