"""What every graph is: settings whose ``build(X)`` gives the graph of those items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from whoknows._array import Array
from whoknows.model.settings import Settings


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
