"""The interface of graphs: settings whose ``build(X)`` returns the graph of the items in X."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from whoknows._array import Array
from whoknows.model.settings import Settings


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

    def over(self, X: Array) -> ItemGraph:
        """Return the graph together with the items ``X`` that it was built from."""


class ItemGraph(Protocol):
    """What model GP also needs of a graph: explicit edges between items."""

    @property
    def nodes(self) -> Array:
        """The items, (n_items, D)."""

    def laplacian(self) -> Array:
        """Δ scaled to a mean degree of one, dense (n_items, n_items)."""

    def tie(self, X: Array) -> Any:
        """Edge weights from each new x to the items, in units of the mean degree: (n_new, n_items)."""


class Graph(Settings, ABC):
    """Settings of a graph; subclasses define the edge weights."""

    @abstractmethod
    def build(self, X: Array, seed: int = 0, sample: Array | None = None) -> BuiltGraph:
        """Return the graph of the items in the rows of ``X`` (n_items, D).

        ``sample`` are rows in memory that represent many items; None draws them.
        """
