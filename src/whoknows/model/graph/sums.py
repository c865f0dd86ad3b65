"""What an anchor graph keeps of its items: sums, so that parts of the items can be added up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whoknows._array import Array, namespace, sparse_rows, to_numpy
from whoknows.model.graph import fused
from whoknows.model.graph.spectrum import inverse_root


@dataclass(frozen=True)
class AnchorSums:
    """Sums over items x with weights z on the anchors. Those of two sets of items add up.

    Attributes
    ----------
    n_items : int
    total, gram : (D,), (D, D)
        Xᵀ1 and XᵀX.
    by_anchor : (n_anchors, D)
        ZᵀX.
    mass : (n_anchors,)
        Λ = Zᵀ1: how many items each anchor stands for.
    joint : (n_anchors, n_anchors)
        ZᵀZ.
    reach : float
        Largest squared distance of an item to its nearest anchor: of two sets the larger.
    """

    n_items: int
    total: Array
    gram: Array
    by_anchor: Array
    mass: Array
    joint: Array
    reach: float

    @classmethod
    def of(cls, X: Array, index: Array, weights: Array, gap: Array, n_anchors: int) -> AnchorSums:
        """Sum over a block of items: x, the anchors each is tied to and how much, d² to the nearest.

        Whatever X, the sums are taken in double precision.
        """
        xp = namespace(X)
        doubled, w = xp.asarray(X, dtype=xp.float64), xp.asarray(weights, dtype=xp.float64)
        if fused.takes(X, index.shape[1]):
            by_anchor = fused.sums_by_anchor(X, index, weights, n_anchors)
        else:
            by_anchor = sparse_rows(index, w, n_anchors).T @ doubled
        first, second = np.triu_indices(index.shape[1])  # each pair once: the rest is its mirror image
        cells = index[:, first] * n_anchors + index[:, second]
        joint = xp.bincount(cells.ravel(), (w[:, first] * w[:, second]).ravel(), minlength=n_anchors**2)
        joint = joint.reshape(n_anchors, n_anchors)
        joint = joint + joint.T - xp.diag(xp.diag(joint))
        mass = xp.bincount(index.ravel(), w.ravel(), minlength=n_anchors)
        sums = doubled.sum(axis=0), doubled.T @ doubled, by_anchor, mass, joint  # a GPU is given all at once
        total, gram, by_anchor, mass, joint = map(to_numpy, sums)
        return cls(len(X), total, gram, by_anchor, mass, joint, float(gap.max()) if len(X) else 0.0)

    def __add__(self, other: AnchorSums) -> AnchorSums:
        return AnchorSums(
            self.n_items + other.n_items,
            self.total + other.total,
            self.gram + other.gram,
            self.by_anchor + other.by_anchor,
            self.mass + other.mass,
            self.joint + other.joint,
            max(self.reach, other.reach),
        )

    @property
    def smoothness(self) -> Array:
        """A = (XᵀX − XᵀZ Λ⁻¹ ZᵀX) / N: Eq. (10) for Φ = Z Λ⁻¹ Zᵀ."""
        by_anchor = self.by_anchor * inverse_root(self.mass)[:, None]
        return np.asarray((self.gram - by_anchor.T @ by_anchor) / self.n_items)
