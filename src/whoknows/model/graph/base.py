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
    def chosen(self) -> str:
        """What the graph is, in words: of `AutoGraph`, what it chose."""

    def smoothness(self, X: Array, features: Array) -> Array:
        """Return A = featuresᵀ Δ features, a mean over edges, of the items in ``X`` it was built from."""

    def place(self, X: Array) -> tuple[Any, Array]:
        """Return the row that ``basis`` turns into spectral coordinates of x, and how near x is.

        Nearness is one within the items' own reach, and falls to zero far from all of them: (n_new,).
        """

    def basis(self, rank: int, eps: float) -> tuple[Array, Array]:
        """Leading eigenvectors over √(Laplacian eigenvalue + eps), linear in that row, and eigenvalues."""

    def over(self, X: Array) -> ItemGraph:
        """Return the graph together with the items in ``X``, those it was built from."""


class ItemGraph(Protocol):
    """What model GP asks of a graph on top: edges between items, one by one."""

    @property
    def nodes(self) -> Array:
        """The items, (n_items, D)."""

    def laplacian(self) -> Array:
        """Δ scaled to a mean degree of one, dense (n_items, n_items)."""

    def tie(self, X: Array) -> Any:
        """Edge weights from each new x to the items, in units of the mean degree: (n_new, n_items)."""


class Graph(Settings, ABC):
    """Settings of a graph; subclasses say how weights come from X."""

    @abstractmethod
    def build(self, X: Array, seed: int = 0, sample: Array | None = None) -> BuiltGraph:
        """Return the graph of the items in the rows of ``X`` (n_items, D).

        ``sample`` are the rows, in memory, by which to know them where they are many; None draws some.
        """
