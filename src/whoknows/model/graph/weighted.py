"""Graphs with explicit weights Φ of Eq. (4): dense, nearest neighbours, or precomputed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from whoknows._array import Array
from whoknows.data.errors import InputError
from whoknows.model.distances import in_memory, nearest, neighbors, squared_distances
from whoknows.model.graph.ann import Lists
from whoknows.model.graph.base import BuiltGraph, Graph, inverse_root, leading_eigenvectors, nearness_of, scale_rows
from whoknows.model.settings import COUNT, NotCompatible, Rule, Rules

NUMBERS_PER_BLOCK = 20_000_000  # limits memory
_SEARCH: Rule = ("'exact' or 'faiss'", lambda value: value in ("exact", "faiss"))


@dataclass(eq=False)
class GaussianGraph(Graph):
    """All pairs connected: φ_ij = exp(−(x_i − x_j)ᵀ Σ (x_i − x_j)), Eq. (4). For a few thousand items.

    Parameters
    ----------
    metric : (D, D) positive definite Σ, or None
        None: Σ = I / h², h² the median squared distance to the ``neighbor``-th nearest item.
    neighbor : int
        Which neighbour determines the bandwidth.
    """

    metric: Array | None = None
    neighbor: int = 7

    rules: ClassVar[Rules] = {"neighbor": COUNT}

    def build(self, X: Array, seed: int = 0, sample: Array | None = None) -> BuiltGraph:
        """Return the dense graph of the items in ``X``."""
        X = in_memory(X)
        root = _metric_root(self.metric, X, self.neighbor)
        Phi = np.exp(-squared_distances(X @ root, X @ root))
        np.fill_diagonal(Phi, 0.0)
        return _GaussianWeights(Phi, X, root, description=f"all pairs of {_items(X)}")


@dataclass
class KnnGraph(Graph):
    """Each item connected to its k nearest neighbours, symmetrised: φ_ij = exp(−d_ij² / (s_i s_j)).

    s_i is the distance to the k-th neighbour, which adapts to the density of the items.

    Parameters
    ----------
    k : int
        Number of neighbours.
    search : {"exact", "faiss"}
        "exact" computes all distances: seconds for 20 000 items, minutes for 100 000. "faiss" (extra
        ``ann``) finds at least 95 % of the neighbours in far less time.
    """

    k: int = 10
    search: str = "exact"

    rules: ClassVar[Rules] = {"k": COUNT, "search": _SEARCH}

    def build(self, X: Array, seed: int = 0, sample: Array | None = None) -> BuiltGraph:
        """Return the sparse graph of the items in ``X``."""
        X = in_memory(X)
        k = min(self.k, len(X) - 1)
        if k < 1:
            alone = sp.csr_array((len(X), len(X)))
            return _KnnWeights(alone, X, 1, np.ones(len(X)), description=f"no neighbours of {_items(X)}")
        lists = Lists.of(X, k, seed) if self.search == "faiss" else None
        index, squared = neighbors(X, k) if lists is None else lists.neighbors(k)
        scale = _root(squared[:, -1])
        directed = _knn_weights(index, squared, scale, scale)
        search = "" if lists is None else f" by faiss, {lists.quality}"
        description = f"{k} nearest neighbours of {_items(X)}{search}"
        return _KnnWeights(directed.maximum(directed.T).tocsr(), X, k, scale, lists, description=description)


@dataclass(eq=False)
class PrecomputedGraph(Graph):
    """Given weights: (n_items, n_items), dense or sparse, symmetric, in the row order of X."""

    weights: Any

    def build(self, X: Array, seed: int = 0, sample: Array | None = None) -> BuiltGraph:
        """Check that the weights match ``X`` and return the graph."""
        weights = sp.csr_array(self.weights) if sp.issparse(self.weights) else np.asarray(self.weights, float)
        if weights.shape != (len(X), len(X)):
            raise InputError(
                f"PrecomputedGraph has weights of shape {weights.shape}; X has {len(X)} items. "
                "Pass one row and one column per row of X, labelled or not."
            )
        stored: Any = weights.data if sp.issparse(weights) else weights
        if not np.isfinite(stored).all() or (stored < 0).any():
            raise InputError(
                "PrecomputedGraph needs finite, non-negative weights, larger for more similar items. Convert "
                "distances to weights first, e.g. exp(-d**2)."
            )
        if abs(weights - weights.T).max() > 1e-8 * abs(weights).max():
            raise InputError("PrecomputedGraph needs symmetric weights; use (W + W.T) / 2 or W.maximum(W.T).")
        return _GivenWeights(weights, in_memory(X), description=f"precomputed weights of {_items(X)}")


@dataclass(frozen=True)
class WeightedGraph(ABC):
    """Explicit weights Φ, dense or sparse; subclasses define the weights of new x."""

    Phi: Any
    nodes: Array
    description: str = field(default="", kw_only=True)  # for people to read
    places_new: ClassVar[bool] = True

    @abstractmethod
    def cross(self, X: Array) -> Any:
        """φ(x, j) between each new x and the items: (n_new, n_items)."""

    @cached_property
    def degree(self) -> Array:
        """d_k = Σ_j φ_kj, after Eq. (3)."""
        return np.asarray(self.Phi.sum(axis=1)).ravel()

    def smoothness(self, X: Array, features: Array) -> Array:
        """A = XᵀΔX, Eq. (10), divided by Σφ: half the mean squared difference along an edge."""
        features = in_memory(features)
        step, parts = max(NUMBERS_PER_BLOCK // len(features), 1), []
        for start in range(0, features.shape[1], step):
            part = features[:, start : start + step]
            parts.append(features.T @ (part * self.degree[:, None] - self.Phi @ part))
        return np.hstack(parts) / max(self.degree.sum(), np.finfo(float).tiny)

    def laplacian(self) -> Array:
        """Δ = D − Φ, Eq. (3), divided by the mean degree, so that λ does not depend on the data's scale."""
        Phi = self.Phi.toarray() if sp.issparse(self.Phi) else self.Phi
        return np.asarray((np.diag(self.degree) - Phi) / max(self.degree.mean(), np.finfo(float).tiny))

    def tie(self, X: Array) -> Any:
        """φ(x, j) divided by the mean degree."""
        return self.cross(X) / max(self.degree.mean(), np.finfo(float).tiny)

    def attach(self, X: Array) -> Any:
        """φ(x, j) / √(d(x) d_j): a new row of the normalised Φ."""
        weights = self.cross(X)
        total = np.asarray(weights.sum(axis=1)).ravel()
        return scale_rows(weights, inverse_root(total)) * inverse_root(self.degree)[None, :]

    def basis(self, rank: int, eps: float) -> tuple[Array, Array]:
        """U / (s √(1 − s + eps)): with ``attach`` this is the Nyström extension of the eigenvectors U."""
        half = inverse_root(self.degree)
        normalised = scale_rows(self.Phi, half) * half[None, :]
        s, U = leading_eigenvectors(normalised, rank, self.degree)
        eigenvalues = np.maximum(1 - s, 0)
        return U / (s * np.sqrt(eigenvalues + eps)), eigenvalues

    def place(self, X: Array) -> tuple[Any, Array]:
        """Return the results of ``attach`` and ``nearness``."""
        return self.attach(X), self.nearness(X)

    def nearness(self, X: Array) -> Array:
        """min(1, (h/d)²), d the distance to the nearest item, h the largest such distance of an item."""
        return nearness_of(self._nearest(X, 1)[1][:, 0], self._reach)

    def _nearest(self, X: Array, k: int) -> tuple[Any, Array]:
        """Index and squared distance of the items nearest to each x: two (n_new, k)."""
        return nearest(X, self.nodes, k)

    @cached_property
    def _reach(self) -> float:
        return float(self._nearest(self.nodes, min(2, len(self.nodes)))[1][:, -1].max())


@dataclass(frozen=True)
class _GaussianWeights(WeightedGraph):
    root: Array  # L of Σ = LLᵀ

    def cross(self, X: Array) -> Array:
        return np.exp(-squared_distances(X @ self.root, self.nodes @ self.root))


@dataclass(frozen=True)
class _KnnWeights(WeightedGraph):
    k: int
    scale: Array  # each item's distance to its k-th neighbour
    lists: Lists | None = None  # for approximate search

    def _nearest(self, X: Array, k: int) -> tuple[Any, Array]:
        return super()._nearest(X, k) if self.lists is None else self.lists.nearest(X, k)

    def cross(self, X: Array) -> Any:
        index, squared = self._nearest(X, self.k)
        return _knn_weights(index, squared, _root(squared[:, -1]), self.scale)


@dataclass(frozen=True)
class _GivenWeights(WeightedGraph):
    places_new: ClassVar[bool] = False

    def cross(self, X: Array) -> Any:
        if np.array_equal(X, self.nodes):
            return self.Phi
        raise NotCompatible(
            "PrecomputedGraph has weights for the training items only and cannot extend to new ones. "
            "Use KnnGraph or GaussianGraph to predict for new x."
        )


def _items(X: Array) -> str:
    return f"{len(X):,} items".replace(",", " ")


def _knn_weights(index: Any, squared: Array, own: Array, scale: Array) -> Any:
    """exp(−d² / (s_i s_j)) to the neighbours in ``index``: sparse (n_rows, n_items)."""
    values = np.exp(-squared / (own[:, None] * scale[index]))
    rows = np.repeat(np.arange(len(index)), index.shape[1])
    return sp.csr_array((values.ravel(), (rows, index.ravel())), shape=(len(index), len(scale)))


def _root(squared: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(squared, np.finfo(float).tiny)))


def _metric_root(metric: Array | None, X: Array, neighbor: int) -> Array:
    """Return a matrix L with Σ = LLᵀ, so that Eq. (4) is the Euclidean squared distance of x L."""
    if metric is None:
        k = min(neighbor + 1, len(X))
        squared = np.median(nearest(X, X, k)[1][:, -1])
        return np.asarray(np.eye(X.shape[1]) / np.sqrt(squared if squared > 0 else 1.0))
    Sigma, D = np.asarray(metric, dtype=float), X.shape[1]
    eigenvalues = np.linalg.eigvalsh(Sigma) if Sigma.shape == (D, D) else None
    if eigenvalues is None or eigenvalues[0] <= 0 or not np.allclose(Sigma, Sigma.T):
        found = f"shape {Sigma.shape}" if eigenvalues is None else f"smallest eigenvalue {eigenvalues[0]:.3g}"
        raise InputError(
            f"GaussianGraph needs a symmetric positive definite metric of shape {(D, D)}; got {found}. "
            "Use metric=None to choose a bandwidth from the items."
        )
    return np.asarray(scipy.linalg.cholesky(Sigma, lower=True))
