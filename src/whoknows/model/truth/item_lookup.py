"""Which item of a fit an x is, where several look alike."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from whoknows._array import Array, Mask, Rows

SAME_ITEM = 1e-9  # features no farther apart than this, the last digits of a matrix product, are one item's


class ItemLookup:
    """Finds the items of a fit: by their features, and of twins in these, the one whose labels say the same.

    Parameters
    ----------
    X : (n_items, n_features)
    says : (n_items, n_numbers)
        What the labels of each say, in numbers of order one.
    """

    def __init__(self, X: Array, says: Array) -> None:
        self._X, self._says = X, says

    def find(self, X: Array, says: Array) -> tuple[Rows, Mask]:
        """Return which item each x is, and whether it is one: two (n_items,)."""
        item, here = _nearest(self._with_labels, np.column_stack([X, says]))
        others = np.flatnonzero(~here)  # labelled in another way, or no items of the fit
        if len(others):
            item[others], here[others] = _nearest(self._by_features, X[others])
        return item, here

    @cached_property
    def _with_labels(self) -> cKDTree:
        return cKDTree(np.column_stack([self._X, self._says]))

    @cached_property
    def _by_features(self) -> cKDTree:
        return cKDTree(self._X)


def _nearest(tree: cKDTree, X: Array) -> tuple[Rows, Mask]:
    distance, item = tree.query(X, distance_upper_bound=SAME_ITEM)
    return item % tree.n, np.isfinite(distance)
