"""The same fit in another basis of the features.

Labels carry no information about directions in which their items do not differ: there the posterior equals
the prior. With R = CCᵀ the prior precision, and Q an orthonormal basis of the rows of XC⁻ᵀ, the weights are
ξ = Ba plus a part that is orthogonal to all items, with B = C⁻ᵀQ and a ~ N(0, I). This is exact; but a solver
that stops before convergence, such as the cross-fitted one, may stop elsewhere. With fewer items than
features, there are fewer dimensions. Q may be rotated so that XB has uncorrelated columns.
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
from whoknows.model.protocols import LeaveOneOutTruth, ReducibleTruth, require, supports
from whoknows.model.truth.logistic import CrossFitBelief, gram, item_keys

MOST_ITEMS_PER_FEATURE = 0.8  # beyond it, the reduction costs more than it saves


@dataclass(frozen=True)
class ReducedBasis:
    """A model and its items in another basis.

    Attributes
    ----------
    model, chunks : Model, Chunks
        With truth features XB and the prior N(0, I).
    basis : (n_features, n_dimensions)
        B.
    precision : (n_features, n_features)
        R, of the original model.
    X_truth : (n_items, n_features)
        The original features of the items, of which a cross-fitted state stores keys.
    """

    model: Model
    chunks: Chunks
    basis: Array
    precision: Array
    X_truth: Array


def reduced_basis(model: Model, chunks: Chunks, n_items: int, n_features: int) -> ReducedBasis | None:
    """Return the model in as many dimensions as there are items, or None if that is not faster or not possible."""
    truth: Any = model.truth
    if n_items > MOST_ITEMS_PER_FEATURE * n_features or not supports(truth, ReducibleTruth):
        return None
    root = scipy.linalg.cholesky(truth.precision, lower=True)
    return _in_basis(_basis_of_items(_all_features(chunks), root), model, chunks)


def principal_basis(model: Model, chunks: Chunks, n_items: int, n_features: int) -> ReducedBasis:
    """Return the model in a basis in which R = I and XᵀX is diagonal, largest entries first.

    Directions in which items do not differ are left out. The items of XᵀX have their weights.
    """
    truth = require(model.truth, LeaveOneOutTruth, "solver='crossfit'", "Use solver='em' or 'lbfgs'.")
    root = scipy.linalg.cholesky(truth.precision, lower=True)
    if n_items <= MOST_ITEMS_PER_FEATURE * n_features:
        basis = _basis_of_items(_all_features(chunks), root)
        (products,) = chunks.engine.sum(_gram_in, chunks.chunks, basis)
    else:
        basis = scipy.linalg.solve_triangular(root, np.eye(len(root)), lower=True, trans="T")
        (products,) = chunks.engine.sum(_gram, chunks.chunks)
        products = basis.T @ products @ basis
    sizes, axes = scipy.linalg.eigh(products)
    seen = sizes > len(sizes) * np.finfo(float).eps * sizes[-1]
    return _in_basis(basis @ axes[:, seen][:, ::-1], model, chunks)


def _in_basis(basis: Array, model: Model, chunks: Chunks) -> ReducedBasis:
    truth: Any = model.truth
    reduced = replace(model, truth=truth.with_precision(np.eye(basis.shape[1])))
    projected = Chunks(chunks.engine.keep(_project, chunks.chunks, basis), chunks.engine)
    return ReducedBasis(reduced, projected, basis, truth.precision, _all_features(chunks))


def to_reduced(basis: ReducedBasis, state: Belief) -> Belief:
    """Return q(a) for q(ξ), projected on the basis: a = BᵀRξ."""
    towards = basis.basis.T @ basis.precision
    covariance = None if state.covariance is None else towards @ state.covariance @ towards.T
    return Belief(_of_weights(towards, state.mean), covariance)


def from_reduced(basis: ReducedBasis, state: Belief) -> Belief:
    """Return q(ξ) for q(a): mean B E[a], covariance R⁻¹ + B (Cov[a] − I) Bᵀ."""
    B, covariance = basis.basis, state.covariance
    if covariance is not None:
        covariance = scipy.linalg.inv(basis.precision) + B @ (covariance - np.eye(B.shape[1])) @ B.T
    original = replace(state, mean=_of_weights(B, state.mean), covariance=covariance)
    # A cross-fitted state also holds keys of its items, made of their features.
    return replace(original, items=item_keys(basis.X_truth)) if isinstance(original, CrossFitBelief) else original


def _of_weights(matrix: Array, xi: Array) -> Array:
    """Return ξ with the rows that multiply x multiplied by a matrix; other rows stay."""
    n = matrix.shape[1]
    return np.concatenate([matrix @ xi[:n], xi[n:]])


def _basis_of_items(X: Array, root: Array) -> Array:
    """Return B = C⁻ᵀQ, Q an orthonormal basis of the rows of XC⁻ᵀ: (n_features, n_dimensions)."""
    Q = _orthonormal(scipy.linalg.solve_triangular(root, X.T, lower=True))
    return np.asarray(scipy.linalg.solve_triangular(root, Q, lower=True, trans="T"))


def _orthonormal(columns: Array) -> Array:
    """Orthonormal basis of the span of columns, without directions that are only rounding error."""
    Q, R, _ = scipy.linalg.qr(columns, mode="economic", pivoting=True)
    lengths = np.abs(np.diagonal(R))
    return np.asarray(Q[:, lengths > len(columns) * np.finfo(float).eps * lengths[0]])


def _all_features(chunks: Chunks) -> Array:
    (parts,) = chunks.engine.sum(_features, chunks.chunks)
    return np.vstack(parts) if len(parts) > 1 else parts[0]


def _features(items: Items) -> tuple[Sequence[Array]]:
    return ([to_numpy(items.X_truth)],)


def _project(items: Items, basis: Array) -> Items:
    return replace(items, X_truth=items.X_truth @ like(basis, items.X_truth))


def _gram_in(items: Items, basis: Array) -> tuple[Array]:
    return _gram(_project(items, basis))


def _gram(items: Items) -> tuple[Array]:
    """XᵀX, the items weighted."""
    X = items.X_truth
    return (to_numpy(gram(X if items.weight is None else X * like(items.weight, X)[:, None] ** 0.5)),)
