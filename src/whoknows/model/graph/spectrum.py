"""Eigenvectors of a normalised Φ, and how far they reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from whoknows._array import Array

SPLIT = 1e-7  # how far apart repeated eigenvalues are moved
SMALLEST_EIGENVALUE = 0.01  # of Φ normalised: below it, extending an eigenvector to new x divides by noise


def leading_eigenvectors(S: Any, rank: int) -> tuple[Array, Array]:
    """Largest eigenvalues (descending) and eigenvectors of a normalised Φ, the tiny ones dropped."""
    n = S.shape[0]
    if sp.issparse(S) and rank < n // 4:
        # Separate clusters repeat the eigenvalue 1, and Lanczos sees repeated ones once: split them a little.
        rng = np.random.default_rng(0)
        split = S + sp.diags_array(SPLIT * rng.random(n))
        values, vectors = scipy.sparse.linalg.eigsh(split, k=rank, which="LA", v0=rng.normal(size=n))
    else:
        values, vectors = scipy.linalg.eigh(S.toarray() if sp.issparse(S) else S)
    order = [i for i in np.argsort(-values)[:rank] if values[i] > SMALLEST_EIGENVALUE]
    return values[order], vectors[:, order]


def inverse_root(values: Array) -> Array:
    """1/√value, zero where the value is zero: an item or anchor nothing is tied to."""
    safe = np.where(values > 0, values, 1.0)
    return np.where(values > 0, 1 / np.sqrt(safe), 0.0)


def scale_rows(weights: Any, factors: Array) -> Any:
    """Multiply each row, of dense or sparse weights, by its factor."""
    return weights * factors[:, None]


def nearness_of(squared: Array, reach: float) -> Array:
    """min(1, (h/d)²) of squared distances d² and a squared reach h²."""
    return np.where(squared > reach, reach / np.where(squared > reach, squared, 1.0), 1.0)
