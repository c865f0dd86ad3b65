"""Graphs over items: Φ of Eq. (4), Δ = D − Φ of Eq. (3), A = XᵀΔX of Eq. (10).

A graph is settings; ``build(X)`` gives the graph of those items. Weights come from distances in ``X``, so
standardise it first where columns have different units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from whoknows._array import Array
from whoknows.model.distances import draw, k_means, nearest, neighbors, squared_distances
from whoknows.model.settings import COUNT, NotCompatible, Rules, Settings

ANCHOR_SAMPLE = 20_000  # k-means looks at no more items than this
SPLIT = 1e-7  # how far apart repeated eigenvalues are moved
SMALLEST_EIGENVALUE = 0.01  # of Φ normalised: below it, extending an eigenvector to new x divides by noise


class BuiltGraph(Protocol):
    """What the models ask of the graph of some items."""

    @property
    def places_new(self) -> bool:
        """Whether it can tell of items it was not built from."""

    @property
    def nodes(self) -> Array:
        """The items, (n_items, D)."""

    def smoothness(self, features: Array) -> Array:
        """Return A = featuresᵀ Δ features, a mean over edges."""

    def laplacian(self) -> Array:
        """Δ scaled to a mean degree of one, dense (n_items, n_items)."""

    def tie(self, X: Array) -> Any:
        """Edge weights from each new x to the items, in units of the mean degree: (n_new, n_items)."""

    def attach(self, X: Array) -> Any:
        """Return the row that ``basis`` turns into spectral coordinates of x."""

    def basis(self, rank: int, eps: float) -> tuple[Array, Array]:
        """Leading eigenvectors over √(Laplacian eigenvalue + eps), linear in ``attach``, and eigenvalues."""

    def nearness(self, X: Array) -> Array:
        """One within the items' own reach, falling to zero far from all of them: (n_new,)."""


class Graph(Settings, ABC):
    """Settings of a graph; subclasses say how weights come from X."""

    @abstractmethod
    def build(self, X: Array, seed: int = 0) -> BuiltGraph:
        """Return the graph of the items in the rows of ``X`` (n_items, D)."""


@dataclass(eq=False)
class GaussianGraph(Graph):
    """Every pair joined: φ_ij = exp(−(x_i − x_j)ᵀ Σ (x_i − x_j)), Eq. (4). For a few thousand items.

    Parameters
    ----------
    metric : (D, D) positive definite Σ, or None
        None: Σ = I / h², h² the median squared distance to the ``neighbor``-th nearest item.
    neighbor : int
        Which neighbour sets the bandwidth.
    """

    metric: Array | None = None
    neighbor: int = 7

    rules: ClassVar[Rules] = {"neighbor": COUNT}

    def build(self, X: Array, seed: int = 0) -> BuiltGraph:
        """Return the dense graph of the items in ``X``."""
        root = _metric_root(self.metric, X, self.neighbor)
        Phi = np.exp(-squared_distances(X @ root, X @ root))
        np.fill_diagonal(Phi, 0.0)
        return _GaussianWeights(Phi, X, root)


@dataclass
class KnnGraph(Graph):
    """Each item joined to its k nearest, symmetrised: φ_ij = exp(−d_ij² / (s_i s_j)).

    s_i is the distance to the k-th neighbour, so dense and sparse regions count alike.
    """

    k: int = 10

    rules: ClassVar[Rules] = {"k": COUNT}

    def build(self, X: Array, seed: int = 0) -> BuiltGraph:
        """Return the sparse graph of the items in ``X``."""
        k = min(self.k, len(X) - 1)
        if k < 1:
            return _KnnWeights(sp.csr_array((len(X), len(X))), X, 1, np.ones(len(X)))
        index, squared = neighbors(X, k)
        scale = _root(squared[:, -1])
        directed = _knn_weights(index, squared, scale, scale)
        return _KnnWeights(directed.maximum(directed.T).tocsr(), X, k, scale)


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


@dataclass(eq=False)
class PrecomputedGraph(Graph):
    """Weights the caller brings: (n_items, n_items), dense or sparse, symmetric, in the row order of X."""

    weights: Any

    def build(self, X: Array, seed: int = 0) -> BuiltGraph:
        """Check that the weights belong to ``X`` and return the graph."""
        weights = sp.csr_array(self.weights) if sp.issparse(self.weights) else np.asarray(self.weights, float)
        if weights.shape != (len(X), len(X)):
            raise ValueError(
                f"PrecomputedGraph has weights of shape {weights.shape}; X has {len(X)} items. "
                "Give one row and one column for each row of X, labelled or not."
            )
        stored: Any = weights.data if sp.issparse(weights) else weights
        if not np.isfinite(stored).all() or (stored < 0).any():
            raise ValueError(
                "PrecomputedGraph needs finite weights of zero or more: the larger, the more alike two items "
                "are. Turn distances into weights first, e.g. exp(-d**2)."
            )
        if abs(weights - weights.T).max() > 1e-8 * abs(weights).max():
            raise ValueError("PrecomputedGraph needs symmetric weights; use (W + W.T) / 2 or W.maximum(W.T).")
        return _GivenWeights(weights, X)


@dataclass(frozen=True)
class WeightedGraph(ABC):
    """Explicit weights Φ, dense or sparse; subclasses say how a new x is tied to the items."""

    Phi: Any
    nodes: Array
    places_new: ClassVar[bool] = True

    @abstractmethod
    def cross(self, X: Array) -> Any:
        """φ(x, j) from each new x to the items: (n_new, n_items)."""

    @cached_property
    def degree(self) -> Array:
        """d_k = Σ_j φ_kj, after Eq. (3)."""
        return np.asarray(self.Phi.sum(axis=1)).ravel()

    def smoothness(self, features: Array) -> Array:
        """A = XᵀΔX, Eq. (10), over Σφ: half the mean squared difference across an edge."""
        rough = features * self.degree[:, None] - self.Phi @ features
        return np.asarray(features.T @ rough / max(self.degree.sum(), np.finfo(float).tiny))

    def laplacian(self) -> Array:
        """Δ = D − Φ, Eq. (3), over the mean degree, so that λ means the same on every data set."""
        Phi = self.Phi.toarray() if sp.issparse(self.Phi) else self.Phi
        return np.asarray((np.diag(self.degree) - Phi) / max(self.degree.mean(), np.finfo(float).tiny))

    def tie(self, X: Array) -> Any:
        """φ(x, j) over the mean degree."""
        return self.cross(X) / max(self.degree.mean(), np.finfo(float).tiny)

    def attach(self, X: Array) -> Any:
        """φ(x, j) / √(d(x) d_j): a new row of the normalised Φ."""
        weights = self.cross(X)
        total = np.asarray(weights.sum(axis=1)).ravel()
        return _scale_rows(weights, _inverse_root(total)) * _inverse_root(self.degree)[None, :]

    def basis(self, rank: int, eps: float) -> tuple[Array, Array]:
        """U / (s √(1 − s + eps)): with ``attach`` this is the Nyström extension of the eigenvectors U."""
        half = _inverse_root(self.degree)
        normalised = _scale_rows(self.Phi, half) * half[None, :]
        s, U = _leading_eigenvectors(normalised, rank)
        eigenvalues = np.maximum(1 - s, 0)
        return U / (s * np.sqrt(eigenvalues + eps)), eigenvalues

    def nearness(self, X: Array) -> Array:
        """min(1, (h/d)²), d the distance to the nearest item, h the widest gap among the items."""
        return _nearness(nearest(X, self.nodes, 1)[1][:, 0], self._reach)

    @cached_property
    def _reach(self) -> float:
        return float(nearest(self.nodes, self.nodes, min(2, len(self.nodes)))[1][:, -1].max())


@dataclass(frozen=True)
class _GaussianWeights(WeightedGraph):
    root: Array  # L of Σ = LLᵀ

    def cross(self, X: Array) -> Array:
        return np.exp(-squared_distances(X @ self.root, self.nodes @ self.root))


@dataclass(frozen=True)
class _KnnWeights(WeightedGraph):
    k: int
    scale: Array  # each item's distance to its k-th neighbour

    def cross(self, X: Array) -> Any:
        index, squared = nearest(X, self.nodes, self.k)
        return _knn_weights(index, squared, _root(squared[:, -1]), self.scale)


@dataclass(frozen=True)
class _GivenWeights(WeightedGraph):
    places_new: ClassVar[bool] = False

    def cross(self, X: Array) -> Any:
        if np.array_equal(X, self.nodes):
            return self.Phi
        raise NotCompatible(
            "PrecomputedGraph knows only the items it was given and cannot place new ones. "
            "Use KnnGraph or GaussianGraph to predict for new x."
        )


def _knn_weights(index: Any, squared: Array, own: Array, scale: Array) -> Any:
    """exp(−d² / (s_i s_j)) to the neighbours in ``index``: sparse (n_rows, n_items)."""
    values = np.exp(-squared / (own[:, None] * scale[index]))
    rows = np.repeat(np.arange(len(index)), index.shape[1])
    return sp.csr_array((values.ravel(), (rows, index.ravel())), shape=(len(index), len(scale)))


def _root(squared: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(squared, np.finfo(float).tiny)))


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
        by_anchor = self.Z.T @ features * _inverse_root(self.mass)[:, None]
        return np.asarray((features.T @ features - by_anchor.T @ by_anchor) / len(features))

    def laplacian(self) -> Array:
        """Δ = I − Z Λ⁻¹ Zᵀ; every degree is one."""
        half = (self.Z * _inverse_root(self.mass)[None, :]).toarray()
        return np.asarray(np.eye(len(half)) - half @ half.T)

    def tie(self, X: Array) -> Any:
        """z(x)ᵀ Λ⁻¹ Zᵀ, less where x is far from every anchor."""
        to_anchors = _scale_rows(self.attach(X), self.nearness(X)) * (_inverse_root(self.mass) ** 2)[None, :]
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
        half = _inverse_root(self.mass)
        M = (self.Z.T @ self.Z).toarray() * half[:, None] * half[None, :]
        s, V = _leading_eigenvectors(M, rank)
        eigenvalues = np.maximum(1 - s, 0)
        return half[:, None] * V / np.sqrt(s * (eigenvalues + eps)), eigenvalues

    def nearness(self, X: Array) -> Array:
        """min(1, (h/d)²), d the distance to the nearest anchor, h the farthest an item lies from its own."""
        return _nearness(nearest(X, self.anchors, 1)[1][:, 0], self._reach)

    @cached_property
    def _reach(self) -> float:
        return float(nearest(self.nodes, self.anchors, 1)[1].max())


def _metric_root(metric: Array | None, X: Array, neighbor: int) -> Array:
    """Return a matrix L with Σ = LLᵀ, so that Eq. (4) is a plain squared distance of x L."""
    if metric is None:
        k = min(neighbor + 1, len(X))
        squared = np.median(nearest(X, X, k)[1][:, -1])
        return np.asarray(np.eye(X.shape[1]) / np.sqrt(squared if squared > 0 else 1.0))
    Sigma, D = np.asarray(metric, dtype=float), X.shape[1]
    eigenvalues = np.linalg.eigvalsh(Sigma) if Sigma.shape == (D, D) else None
    if eigenvalues is None or eigenvalues[0] <= 0 or not np.allclose(Sigma, Sigma.T):
        found = f"shape {Sigma.shape}" if eigenvalues is None else f"smallest eigenvalue {eigenvalues[0]:.3g}"
        raise ValueError(
            f"GaussianGraph needs a symmetric positive definite metric of shape {(D, D)}; got {found}. "
            "Leave metric=None for a bandwidth chosen from the items."
        )
    return np.asarray(scipy.linalg.cholesky(Sigma, lower=True))


def _leading_eigenvectors(S: Any, rank: int) -> tuple[Array, Array]:
    """Largest eigenvalues (descending) and eigenvectors of a normalised Φ, the tiny ones dropped."""
    n = S.shape[0]
    if sp.issparse(S) and rank < n // 4:
        # Separate clusters repeat the eigenvalue 1, and Lanczos sees repeated ones once: split them a little.
        rng = np.random.default_rng(0)
        split = S + sp.diags_array(SPLIT * rng.random(n))
        values, vectors = scipy.sparse.linalg.eigsh(split, k=rank, which="LA", v0=rng.normal(size=n))
    else:
        values, vectors = scipy.linalg.eigh(S.toarray() if sp.issparse(S) else S)
    order = [i for i in np.argsort(-values)[:rank] if values[i] > SMALLEST_EIGENVALUE]
    return values[order], vectors[:, order]


def _inverse_root(values: Array) -> Array:
    """1/√value, zero where the value is zero: an item or anchor nothing is tied to."""
    safe = np.where(values > 0, values, 1.0)
    return np.where(values > 0, 1 / np.sqrt(safe), 0.0)


def _scale_rows(weights: Any, factors: Array) -> Any:
    return weights * factors[:, None]


def _nearness(squared: Array, reach: float) -> Array:
    return np.where(squared > reach, reach / np.where(squared > reach, squared, 1.0), 1.0)
