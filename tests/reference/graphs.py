"""The Laplacian of any graph as a dense matrix."""

import numpy as np

from whoknows.model.graph.weighted import WeightedGraph


def laplacian(built, X):
    """Δ scaled to a mean degree of one; I − Z Λ⁻¹ Zᵀ of an anchor graph, where every degree is one."""
    if isinstance(built, WeightedGraph):
        return built.laplacian()
    Z, mass = built.attach(X).toarray(), built.sums.mass
    used = mass > 0
    return np.eye(len(Z)) - Z[:, used] / mass[used] @ Z[:, used].T
