"""Graphs over items: Φ of Eq. (4), Δ = D − Φ of Eq. (3), A = XᵀΔX of Eq. (10).

A graph is settings; ``build(X)`` gives the graph of those items. Weights come from distances in ``X``, so
standardise it first where columns have different units.
"""

from whoknows.model.graph.anchors import AnchoredGraph, AnchoredItems, AnchorGraph
from whoknows.model.graph.auto import AutoGraph
from whoknows.model.graph.base import BuiltGraph, Graph, ItemGraph
from whoknows.model.graph.sums import AnchorSums
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
