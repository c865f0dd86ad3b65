"""Graphs over items: Φ of Eq. (4), Δ = D − Φ of Eq. (3), A = XᵀΔX of Eq. (10).

A graph is an object with settings; ``build(X)`` returns the graph of the items in X. Weights are computed
from distances in X, so standardise it first if columns have different units.
"""

from whoknows.model.graph.anchors import AnchoredGraph, AnchoredItems, AnchorGraph, AnchorSums
from whoknows.model.graph.auto import AutoGraph
from whoknows.model.graph.base import BuiltGraph, Graph, ItemGraph
from whoknows.model.graph.weighted import GaussianGraph, KnnGraph, PrecomputedGraph, WeightedGraph

__all__ = [
    "AnchorGraph",
    "AnchorSums",
    "AnchoredGraph",
    "AnchoredItems",
    "AutoGraph",
    "BuiltGraph",
    "GaussianGraph",
    "Graph",
    "ItemGraph",
    "KnnGraph",
    "PrecomputedGraph",
    "WeightedGraph",
]
