"""What tests of several models need."""

from dataclasses import replace

import numpy as np


def with_row(evidence, row, other, other_row=0):
    """Quadratic evidence whose ``row`` is one of another evidence."""
    changed = {}
    for name in ("precision", "pull", "constant"):
        changed[name] = np.array(getattr(evidence, name))
        changed[name][row] = getattr(other, name)[other_row]
    return replace(evidence, **changed)


def variance_without_item(truth, xi, X, posterior):
    """Variance of ξᵀx in the fit without the item, by the covariance of each output: (n_items, n_outputs)."""
    w, found = posterior.counts[:, None] * truth.curvature(xi, X, posterior), []
    for weights in w.T:
        S = np.linalg.inv(X.T @ (X * weights[:, None]) + truth.precision)
        v = np.einsum("ij,jk,ik->i", X, S, X)
        found.append(v / (1 - weights * v))
    return np.column_stack(found)
