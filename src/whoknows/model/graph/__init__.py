"""Graphs over items: Φ of Eq. (4), Δ = D − Φ of Eq. (3), A = XᵀΔX of Eq. (10).

A graph is an object with settings; ``build(X)`` returns the graph of the items in X. Weights are computed
from distances in X, so standardise it first if columns have different units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whoknows._array import Array
from whoknows.model.graph.anchors import AnchorGraph
from whoknows.model.graph.ann import is_installed
from whoknows.model.graph.base import BuiltGraph, Graph
from whoknows.model.graph.weighted import GaussianGraph, KnnGraph, PrecomputedGraph
from whoknows.model.settings import COUNT, Rules

__all__ = ["AnchorGraph", "AutoGraph", "GaussianGraph", "Graph", "KnnGraph", "PrecomputedGraph"]

MOST_EXACT = 20_000  # items, for which all distances take a few seconds
MOST_KNN = 100_000  # beyond, neighbours cost more time and memory than they improve results


@dataclass
class AutoGraph(Graph):
    """Nearest neighbours if they can be computed in reasonable time, anchors otherwise.

    Exact neighbours for up to 20 000 items; faiss for up to 100 000, if the extra ``ann`` is installed;
    otherwise `AnchorGraph`. ``description`` of the built graph says which it is.

    Parameters
    ----------
    k : int
        Number of neighbours.

    Examples
    --------
    >>> from whoknows.model.graph import AutoGraph
    >>> AutoGraph().choose(500)
    KnnGraph(k=10, search='exact')
    >>> AutoGraph().choose(2_000_000)
    AnchorGraph(anchors=400, nearest=5)
    """

    k: int = 10

    rules: ClassVar[Rules] = {"k": COUNT}

    def choose(self, n_items: int, most_knn: int = MOST_KNN) -> Graph:
        """Return the graph for this number of items; anchors beyond ``most_knn``."""
        if n_items <= min(MOST_EXACT, most_knn):
            return KnnGraph(self.k)
        if n_items <= most_knn and is_installed():
            return KnnGraph(self.k, search="faiss")
        return AnchorGraph()

    def build(self, X: Array, seed: int = 0, sample: Array | None = None) -> BuiltGraph:
        """Return the graph of the items in ``X``."""
        return self.choose(len(X)).build(X, seed, sample)
