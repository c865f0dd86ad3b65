"""Items joined through anchors: the graph of any number of items, from sums over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from whoknows._array import Array
from whoknows.model.distances import draw, k_means, nearest
from whoknows.model.graph.base import BuiltGraph, Graph
from whoknows.model.graph.spectrum import inverse_root, leading_eigenvectors, nearness_of, scale_rows
from whoknows.model.settings import COUNT, Rules

ANCHOR_SAMPLE = 20_000  # k-means looks at no more items than this


@dataclass
class AnchorGraph(Graph):
    """Items joined through anchors: Φ = Z Λ⁻¹ Zᵀ, Λ = diag(Zᵀ1) (Liu, He, Chang, ICML 2010).

    Every degree is exactly one, and A, Δ and the eigenvectors come from sums over items: one pass over
    any number of them.

    Parameters
    ----------
    anchors : int
        Centres found by k-means; no more than a third of the items, unless those are very few.
    nearest : int
        Anchors an item is tied to, with weights exp(−d² / d²_last) that sum to one.
    """

    anchors: int = 400
    nearest: int = 5

    rules: ClassVar[Rules] = {"anchors": COUNT, "nearest": COUNT}

    def build(self, X: Array, seed: int = 0) -> BuiltGraph:
        """Return the anchor graph of the items in ``X``."""
        n_anchors = min(len(X), max(self.nearest + 1, min(self.anchors, len(X) // 3)))
        rng = np.random.default_rng(seed)
        anchors = k_means(draw(X, ANCHOR_SAMPLE, rng), n_anchors, rng)
        return AnchoredGraph(X, anchors, min(self.nearest, n_anchors))


@dataclass(frozen=True)
class AnchoredGraph:
    """Items tied to anchors by Z; see `AnchorGraph`."""

    nodes: Array
    anchors: Array
    n_nearest: int
    places_new: ClassVar[bool] = True

    @cached_property
    def Z(self) -> Any:
        """Weights of the items on the anchors: sparse (n_items, n_anchors), rows summing to one."""
        return self.attach(self.nodes)

    @cached_property
    def mass(self) -> Array:
        """Λ = Zᵀ1: how many items each anchor stands for."""
        return np.asarray(self.Z.sum(axis=0)).ravel()

    def smoothness(self, features: Array) -> Array:
        """A = (XᵀX − XᵀZ Λ⁻¹ ZᵀX) / N: Eq. (10) for Φ = Z Λ⁻¹ Zᵀ."""
        by_anchor = self.Z.T @ features * inverse_root(self.mass)[:, None]
        return np.asarray((features.T @ features - by_anchor.T @ by_anchor) / len(features))

    def laplacian(self) -> Array:
        """Δ = I − Z Λ⁻¹ Zᵀ; every degree is one."""
        half = (self.Z * inverse_root(self.mass)[None, :]).toarray()
        return np.asarray(np.eye(len(half)) - half @ half.T)

    def tie(self, X: Array) -> Any:
        """z(x)ᵀ Λ⁻¹ Zᵀ, less where x is far from every anchor."""
        to_anchors = scale_rows(self.attach(X), self.nearness(X)) * (inverse_root(self.mass) ** 2)[None, :]
        return to_anchors @ self.Z.T

    def attach(self, X: Array) -> Any:
        """z(x): weights on the nearest anchors."""
        index, squared = nearest(X, self.anchors, self.n_nearest)
        weights = np.exp(-squared / np.maximum(squared[:, -1:], np.finfo(float).tiny))
        weights /= weights.sum(axis=1, keepdims=True)
        rows = np.repeat(np.arange(len(X)), self.n_nearest)
        return sp.csr_array((weights.ravel(), (rows, index.ravel())), shape=(len(X), len(self.anchors)))

    def basis(self, rank: int, eps: float) -> tuple[Array, Array]:
        """Λ^-½ V / (√s √(1 − s + eps)), with V S Vᵀ = Λ^-½ ZᵀZ Λ^-½: Φ's own eigenvectors, at any x."""
        half = inverse_root(self.mass)
        M = (self.Z.T @ self.Z).toarray() * half[:, None] * half[None, :]
        s, V = leading_eigenvectors(M, rank)
        eigenvalues = np.maximum(1 - s, 0)
        return half[:, None] * V / np.sqrt(s * (eigenvalues + eps)), eigenvalues

    def nearness(self, X: Array) -> Array:
        """min(1, (h/d)²), d the distance to the nearest anchor, h the farthest an item lies from its own."""
        return nearness_of(nearest(X, self.anchors, 1)[1][:, 0], self._reach)

    @cached_property
    def _reach(self) -> float:
        return float(nearest(self.nodes, self.anchors, 1)[1].max())
