"""The interface of graphs, and the eigenvectors of a normalised Φ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from whoknows._array import Array
from whoknows.model.settings import Settings

SMALLEST_EIGENVALUE = 0.01  # of Φ normalised: below it, the extension of an eigenvector to new x is noise


class BuiltGraph(Protocol):
    """What truth models and maps need of a graph that was built."""

    @property
    def places_new(self) -> bool:
        """Whether it can extend to items that it was not built from."""

    @property
    def description(self) -> str:
        """The graph, for people to read, such as "10 nearest neighbours of 500 items"."""

    def smoothness(self, X: Array, features: Array) -> Array:
        """Return A = featuresᵀ Δ features, a mean over edges; ``X`` are the items it was built from."""

    def place(self, X: Array) -> tuple[Any, Array]:
        """Return the row that ``basis`` maps to spectral coordinates of x, and its nearness to the items.

        Nearness is one within the typical distance between items, and decays to zero far from them: (n_new,).
        """

    def basis(self, rank: int, eps: float) -> tuple[Array, Array]:
        """Leading eigenvectors over √(Laplacian eigenvalue + eps), linear in that row, and eigenvalues."""


class Graph(Settings, ABC):
    """Settings of a graph; subclasses define the edge weights."""

    has_edges: ClassVar[bool] = True  # whether `build` returns a `WeightedGraph`, with its items

    def choose(self, n_items: int, most_knn: int = 0) -> Graph:
        """Return the graph for this number of items: self, unless it depends on it."""
        return self

    @abstractmethod
    def build(self, X: Array, seed: int = 0, sample: Array | None = None) -> BuiltGraph:
        """Return the graph of the items in the rows of ``X`` (n_items, D).

        ``sample`` are rows in memory that represent many items; None draws them.
        """


# --- eigenvectors of a normalised Φ, and their decay far from the items --------------------------------


def leading_eigenvectors(S: Any, rank: int, degree: Array | None = None) -> tuple[Array, Array]:
    """Largest eigenvalues (descending) and eigenvectors of a normalised Φ, without tiny eigenvalues.

    ``degree`` are the degrees by which a sparse Φ was normalised.
    """
    if degree is not None and sp.issparse(S) and rank < len(degree) // 4:
        values, vectors = _by_lanczos(S, rank, degree)
    else:
        values, vectors = scipy.linalg.eigh(S.toarray() if sp.issparse(S) else S)
    order = [i for i in np.argsort(-values, kind="stable")[:rank] if values[i] > SMALLEST_EIGENVALUE]
    return values[order], vectors[:, order]


def _by_lanczos(S: Any, rank: int, degree: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors: those of the connected components, which are known, then the rest.

    The eigenvalue 1 has one eigenvector per component, of which Lanczos would find only one.
    """
    U = _component_vectors(S, degree)
    n, n_components = U.shape
    if n_components >= rank:
        return np.ones(rank), U[:, :rank].toarray()
    rest = LinearOperator(S.shape, matvec=lambda v: S @ v - U @ (U.T @ v), dtype=float)
    v0 = np.random.default_rng(0).normal(size=n)
    values, vectors = eigsh(rest, k=rank - n_components, which="LA", v0=v0)
    return np.concatenate([np.ones(n_components), values]), np.hstack([U.toarray(), vectors])


def _component_vectors(S: Any, degree: Array) -> Any:
    """Eigenvectors of eigenvalue 1: √degree on a connected component, the largest first.

    Sparse (n_items, n_components); items without edges are not counted.
    """
    component = connected_components(S, directed=False)[1]
    total, size = np.bincount(component, weights=degree), np.bincount(component)
    order = np.argsort(-size, kind="stable")
    order = order[total[order] > 0]
    place = np.zeros(len(total), dtype=np.intp)
    place[order] = np.arange(len(order))
    items = np.flatnonzero(degree > 0)
    heights = np.sqrt(degree[items] / total[component[items]])
    return sp.csr_array((heights, (items, place[component[items]])), shape=(len(degree), len(order)))


def inverse_root(values: Array) -> Array:
    """1/√value, and zero for zero, which is an item or anchor without edges."""
    safe = np.where(values > 0, values, 1.0)
    return np.where(values > 0, 1 / np.sqrt(safe), 0.0)


def scale_rows(weights: Any, factors: Array) -> Any:
    """Multiply each row of dense or sparse weights by its factor."""
    return weights * factors[:, None]


def nearness_of(squared: Array, reach: float) -> Array:
    """min(1, (h/d)²) for squared distances d² and a squared reach h²."""
    reach = max(reach, float(np.finfo(np.float32).tiny))
    return reach / squared.clip(min=reach)
