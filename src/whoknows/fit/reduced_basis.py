"""Fewer items than features: the same fit in as many directions as there are items.

Labels say nothing of directions in which their items do not differ: there the prior stays as it is. With R
the prior's precision, R = CCᵀ, and Q an orthonormal basis of the rows of ΦC⁻ᵀ, the classifier is ξ = Ba plus
a part that no item sees, B = C⁻ᵀQ, a ~ N(0, I). Nothing is approximated; but a solver that stops on its way,
as the cross-fitted one does, may stop elsewhere.
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
from whoknows.model.belief import Belief
from whoknows.model.truth import LogisticTruth

PAYS = 0.8  # items a feature, up to which fewer directions make up for finding them


@dataclass(frozen=True)
class ReducedBasis:
    """A model and its items in few directions, and the way back.

    Attributes
    ----------
    model, kept : Model, Chunks
        With truth features ΦB and the prior N(0, I).
    basis : (n_features, n_directions)
        B.
    wide : Model
        The model as it was, with precision R.
    X_truth : (n_items, n_features)
        The items' features as they were, by which a cross-fitted truth knows them again.
    """

    model: Model
    kept: Chunks
    basis: Array
    wide: Model
    X_truth: Array

    @classmethod
    def of(cls, model: Model, kept: Chunks, n_items: int, n_features: int) -> ReducedBasis | None:
        """Return the model in few directions, or None where that would not pay, or does not hold."""
        if type(model.truth) is not LogisticTruth or n_items > PAYS * n_features:
            return None
        (parts,) = kept.engine.sum(_features, kept.chunks)
        X_truth = np.vstack(parts)
        root = scipy.linalg.cholesky(model.truth.precision, lower=True)
        Q = _orthonormal(scipy.linalg.solve_triangular(root, X_truth.T, lower=True))
        basis = scipy.linalg.solve_triangular(root, Q, lower=True, trans="T")
        truth = model.truth.with_precision(np.eye(basis.shape[1]))
        chunks = kept.engine.keep(_along, kept.chunks, basis)
        return cls(replace(model, truth=truth), Chunks(chunks, kept.engine), basis, model, X_truth)

    def narrowed(self, known: Belief) -> Belief:
        """Return q(a) of q(ξ), so far as the directions go: a = BᵀRξ."""
        towards = self.basis.T @ self.wide.truth.precision  # type: ignore[attr-defined]
        covariance = None if known.covariance is None else towards @ known.covariance @ towards.T
        return Belief(towards @ known.mean, covariance)

    def widened(self, known: Any) -> Any:
        """Return q(ξ) of q(a): mean B E[a], covariance R⁻¹ + B (Cov[a] − I) Bᵀ."""
        B, covariance = self.basis, known.covariance
        if covariance is not None:
            prior = self.wide.truth.prior_belief().covariance  # type: ignore[attr-defined]
            covariance = prior + B @ (covariance - np.eye(B.shape[1])) @ B.T
        wide = replace(known, mean=B @ known.mean, covariance=covariance)
        return replace(wide, items=self.X_truth) if hasattr(known, "items") else wide


def _orthonormal(columns: Array) -> Array:
    """Orthonormal basis of what columns span; what is but rounding, where two are alike, is no direction."""
    Q, R, _ = scipy.linalg.qr(columns, mode="economic", pivoting=True)
    lengths = np.abs(np.diagonal(R))
    return np.asarray(Q[:, lengths > len(columns) * np.finfo(float).eps * lengths[0]])


def _features(items: Items) -> tuple[Sequence[Array]]:
    return ([to_numpy(items.X_truth)],)


def _along(items: Items, basis: Array) -> Items:
    return replace(items, X_truth=items.X_truth @ like(basis, items.X_truth))
