"""With fewer items than features, the same fit in as many dimensions as there are items.

Labels carry no information about directions in which their items do not differ: there the posterior equals
the prior. With R = CCᵀ the prior precision, and Q an orthonormal basis of the rows of XC⁻ᵀ, the weights are
ξ = Ba plus a part that is orthogonal to all items, with B = C⁻ᵀQ and a ~ N(0, I). This is exact; but a solver
that stops before convergence, such as the cross-fitted one, may stop elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from whoknows._array import Array, like, to_numpy
from whoknows.fit.engines import Chunks
from whoknows.fit.items import Items
from whoknows.fit.objective import Model
from whoknows.model.gaussian import Belief
from whoknows.model.protocols import ReducibleTruth, supports
from whoknows.model.truth.logistic import CrossFitBelief

MOST_ITEMS_PER_FEATURE = 0.8  # beyond it, the reduction costs more than it saves


@dataclass(frozen=True)
class ReducedBasis:
    """A model and its items in fewer dimensions.

    Attributes
    ----------
    model, chunks : Model, Chunks
        With truth features XB and the prior N(0, I).
    basis : (n_features, n_dimensions)
        B.
    precision : (n_features, n_features)
        R, of the original model.
    X_truth : (n_items, n_features)
        The original features of the items, which a cross-fitted state stores.
    """

    model: Model
    chunks: Chunks
    basis: Array
    precision: Array
    X_truth: Array


def reduced_basis(model: Model, chunks: Chunks, n_items: int, n_features: int) -> ReducedBasis | None:
    """Return the model in the reduced basis, or None if that is not faster or not possible."""
    truth: Any = model.truth
    if n_items > MOST_ITEMS_PER_FEATURE * n_features or not supports(truth, ReducibleTruth):
        return None
    (parts,) = chunks.engine.sum(_features, chunks.chunks)
    X_truth = np.vstack(parts)
    root = scipy.linalg.cholesky(truth.precision, lower=True)
    Q = _orthonormal(scipy.linalg.solve_triangular(root, X_truth.T, lower=True))
    basis = scipy.linalg.solve_triangular(root, Q, lower=True, trans="T")
    reduced = replace(model, truth=truth.with_precision(np.eye(basis.shape[1])))
    projected = Chunks(chunks.engine.keep(_project, chunks.chunks, basis), chunks.engine)
    return ReducedBasis(reduced, projected, basis, truth.precision, X_truth)


def to_reduced(basis: ReducedBasis, state: Belief) -> Belief:
    """Return q(a) for q(ξ), projected on the basis: a = BᵀRξ."""
    towards = basis.basis.T @ basis.precision
    covariance = None if state.covariance is None else towards @ state.covariance @ towards.T
    return Belief(towards @ state.mean, covariance)


def from_reduced(basis: ReducedBasis, state: Belief) -> Belief:
    """Return q(ξ) for q(a): mean B E[a], covariance R⁻¹ + B (Cov[a] − I) Bᵀ."""
    B, covariance = basis.basis, state.covariance
    if covariance is not None:
        covariance = scipy.linalg.inv(basis.precision) + B @ (covariance - np.eye(B.shape[1])) @ B.T
    original = replace(state, mean=B @ state.mean, covariance=covariance)
    # A cross-fitted state also holds the features of its items, which are in the reduced basis.
    return replace(original, items=basis.X_truth) if isinstance(original, CrossFitBelief) else original


def _orthonormal(columns: Array) -> Array:
    """Orthonormal basis of the span of columns, without directions that are only rounding error."""
    Q, R, _ = scipy.linalg.qr(columns, mode="economic", pivoting=True)
    lengths = np.abs(np.diagonal(R))
    return np.asarray(Q[:, lengths > len(columns) * np.finfo(float).eps * lengths[0]])


def _features(items: Items) -> tuple[Sequence[Array]]:
    return ([to_numpy(items.X_truth)],)


def _project(items: Items, basis: Array) -> Items:
    return replace(items, X_truth=items.X_truth @ like(basis, items.X_truth))
