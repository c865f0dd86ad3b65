"""Graphs through anchors: for any number of items, computed from sums over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from whoknows._array import Array, namespace, sparse_rows, to_numpy
from whoknows.model.distances import block_by_block, enough_of, k_means, nearest
from whoknows.model.graph import fused
from whoknows.model.graph.base import BuiltGraph, Graph, inverse_root, leading_eigenvectors, nearness_of
from whoknows.model.settings import COUNT, Rules, or_none

ANCHORS = (400, 1000)  # smallest and largest number that is chosen by the number of items
ITEMS_PER_ANCHOR = 20


@dataclass
class AnchorGraph(Graph):
    """Items connected through anchors: Φ = Z Λ⁻¹ Zᵀ, Λ = diag(Zᵀ1) (Liu, He, Chang, ICML 2010).

    Every degree is one, and A, Δ and the eigenvectors are computed from sums over items, in one pass over any
    number of them.

    Parameters
    ----------
    anchors : int or None
        Number of anchors, the centres of k-means; at most a third of the items, unless there are very few.
        None: 400 to 1 000, one per 20 items.
    nearest : int
        Number of anchors per item, with weights exp(−d² / d²_last) that sum to one.
    """

    anchors: int | None = 400
    nearest: int = 5

    has_edges: ClassVar[bool] = False
    rules: ClassVar[Rules] = {"anchors": or_none(COUNT), "nearest": COUNT}

    def build(self, X: Array, seed: int = 0, sample: Array | None = None) -> BuiltGraph:
        """Return the anchor graph of the items in ``X``: k-means on the sample, then one pass over all."""
        sample = enough_of(X, seed) if sample is None else sample
        wanted = int(np.clip(len(X) // ITEMS_PER_ANCHOR, *ANCHORS)) if self.anchors is None else self.anchors
        n_anchors = min(len(sample), max(self.nearest + 1, min(wanted, len(sample) // 3)))
        anchors = k_means(sample, n_anchors, np.random.default_rng(seed))
        n_nearest = min(self.nearest, n_anchors)
        return AnchoredGraph(anchors, n_nearest, sums_over(X, X, anchors, n_nearest))


@dataclass(frozen=True)
class AnchoredGraph:
    """Items connected to anchors by Z; see `AnchorGraph`. It stores sums over the items."""

    anchors: Array
    n_nearest: int
    sums: AnchorSums
    places_new: ClassVar[bool] = True

    @property
    def description(self) -> str:
        """The graph, for people to read."""
        return f"{len(self.anchors)} anchors for {self.sums.n_items:,} items".replace(",", " ")

    def joined_by(self, X: Array) -> AnchoredGraph:
        """Return the graph with further items, connected to the same anchors."""
        return replace(self, sums=self.sums + sums_over(X, X, self.anchors, self.n_nearest))

    def smoothness(self, X: Array, features: Array) -> Array:
        """A = (FᵀF − FᵀZ Λ⁻¹ ZᵀF) / N: Eq. (10) for Φ = Z Λ⁻¹ Zᵀ and features F of the items in ``X``."""
        return sums_over(X, features, self.anchors, self.n_nearest).smoothness

    def attach(self, X: Array) -> Any:
        """z(x): weights on the nearest anchors, sparse (n_items, n_anchors), rows summing to one."""
        return self.place(X)[0]

    def nearness(self, X: Array) -> Array:
        """min(1, (h/d)²), d the distance to the nearest anchor, h the largest such distance of an item."""
        return self.place(X)[1]

    def place(self, X: Array) -> tuple[Any, Array]:
        """Return the results of ``attach`` and ``nearness``, computed together."""
        index, weights, gap = ties(X, self.anchors, self.n_nearest)
        return sparse_rows(index, weights, len(self.anchors)), nearness_of(gap, self.sums.reach)

    def basis(self, rank: int, eps: float) -> tuple[Array, Array]:
        """Λ^-½ V / (√s √(1 − s + eps)), with V S Vᵀ = Λ^-½ ZᵀZ Λ^-½: Φ's own eigenvectors, at any x."""
        half = inverse_root(self.sums.mass)
        s, V = leading_eigenvectors(self.sums.joint * half[:, None] * half[None, :], rank)
        eigenvalues = np.maximum(1 - s, 0)
        return half[:, None] * V / np.sqrt(s * (eigenvalues + eps)), eigenvalues


@dataclass(frozen=True)
class AnchorSums:
    """Sums over items x with weights z on the anchors; sums of two sets of items can be added.

    Attributes
    ----------
    n_items : int
    total, gram : (D,), (D, D)
        Xᵀ1 and XᵀX.
    by_anchor : (n_anchors, D)
        ZᵀX.
    mass : (n_anchors,)
        Λ = Zᵀ1: the (weighted) number of items per anchor.
    joint : (n_anchors, n_anchors)
        ZᵀZ.
    reach : float
        Largest squared distance of an item to its nearest anchor.
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
        """Sum in double precision over items x, with their anchors, weights, and d² to the nearest."""
        xp = namespace(X)
        doubled, w = xp.asarray(X, dtype=xp.float64), xp.asarray(weights, dtype=xp.float64)
        if fused.takes(X, index.shape[1]):
            by_anchor = fused.sums_by_anchor(X, index, weights, n_anchors)
        else:
            by_anchor = sparse_rows(index, w, n_anchors).T @ doubled
        first, second = np.triu_indices(index.shape[1])  # each pair once: the matrix is symmetric
        cells = index[:, first] * n_anchors + index[:, second]
        joint = xp.bincount(cells.ravel(), (w[:, first] * w[:, second]).ravel(), minlength=n_anchors**2)
        joint = joint.reshape(n_anchors, n_anchors)
        joint = joint + joint.T - xp.diag(xp.diag(joint))
        mass = xp.bincount(index.ravel(), w.ravel(), minlength=n_anchors)
        # All sums are queued on a GPU before any of them is transferred.
        sums = doubled.sum(axis=0), doubled.T @ doubled, by_anchor, mass, joint
        total, gram, by_anchor, mass, joint = map(to_numpy, sums)
        return cls(len(X), total, gram, by_anchor, mass, joint, float(gap.max()) if len(X) else 0.0)

    def __add__(self, other: AnchorSums) -> AnchorSums:
        sums = {name: value + getattr(other, name) for name, value in vars(self).items()}
        return AnchorSums(**sums | {"reach": max(self.reach, other.reach)})

    @property
    def smoothness(self) -> Array:
        """A = (XᵀX − XᵀZ Λ⁻¹ ZᵀX) / N: Eq. (10) for Φ = Z Λ⁻¹ Zᵀ."""
        by_anchor = self.by_anchor * inverse_root(self.mass)[:, None]
        return np.asarray((self.gram - by_anchor.T @ by_anchor) / self.n_items)


def ties(X: Array, anchors: Array, n_nearest: int) -> tuple[Any, Array, Array]:
    """Nearest anchors of each x, its weights on them, and the squared distance to the first.

    Two (n_items, n_nearest) and one (n_items,). Weights are exp(−d² / d²_last), normalised.
    """
    xp = namespace(X)
    find = fused.nearest if fused.takes(X, n_nearest) else nearest
    index, squared = find(X, anchors, n_nearest)
    weights = xp.exp(-squared / squared[:, -1:].clip(min=xp.finfo(squared.dtype).tiny))
    return index, weights / weights.sum(axis=1)[:, None], squared[:, 0]


def sums_over(X: Array, features: Array, anchors: Array, n_nearest: int) -> AnchorSums:
    """Sums over the features of the items ``X``, in blocks."""

    def of_block(rows: slice) -> AnchorSums:
        placing = X[rows]
        summed = placing if features is X else features[rows]
        return AnchorSums.of(summed, *ties(placing, anchors, n_nearest), len(anchors))

    return reduce(add, block_by_block(of_block, X))
