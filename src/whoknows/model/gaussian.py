"""Gaussian distributions over coefficients, and functions of them: linear, quadratic and logistic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.blas import dtrmm

from whoknows._array import Array, like, namespace
from whoknows.model.distances import blocks
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.posterior import GaussianPosterior


@dataclass(frozen=True)
class Belief:
    """q(coefficients) = N(mean, covariance); a point estimate has no covariance.

    For annotators ``mean`` is (n_annotators + 1, n_columns), the last row for an annotator not seen in
    training, and ``covariance`` (n_annotators + 1, n_columns, n_columns). For a truth model ``mean`` is ξ,
    (n_features, n_outputs), and ``covariance`` (n_features, n_features), which only one output has.
    """

    mean: Array
    covariance: Array | None = None


def belief_about(belief: Belief, annotator: int) -> Belief:
    """Return the belief about the coefficients of a single annotator."""
    covariance = None if belief.covariance is None else belief.covariance[[annotator]]
    return Belief(belief.mean[[annotator]], covariance)


def variance_along(X: Any, covariance: Array | None) -> Array:
    """Var[xᵀ coefficients] = xᵀSx for each row x of a dense or sparse ``X``: (n_items,)."""
    if covariance is None:
        return namespace(X).zeros_like(X[:, 0])
    if sp.issparse(X):
        parts = (X[rows] for rows in blocks(X, len(covariance)))
        return np.concatenate([np.asarray(part.multiply(part @ covariance).sum(axis=1)) for part in parts])
    if namespace(X) is np and X.dtype == covariance.dtype == float:
        return _variance_along(X, covariance)
    return namespace(X).einsum("ij,ij->i", X @ like(covariance, X), X)


def _variance_along(X: Array, covariance: Array) -> Array:
    """Return it as 2 xᵀUx, S = U + Uᵀ: the product with a triangle takes half the time."""
    triangle = np.triu(covariance)
    np.fill_diagonal(triangle, 0.5 * np.diagonal(covariance))
    return np.asarray(2 * np.einsum("ji,ij->i", dtrmm(1.0, triangle, X.T, trans_a=1), X))


# --- linear: z = ωᵀx + ε ---------------------------------------------------------------------------


@dataclass(frozen=True)
class LinearPosterior(GaussianPosterior):
    """p(z | x, labels) where z = ωᵀx + ε, with the posterior of ω.

    Attributes
    ----------
    residual : (n_items,)
        E(z − ωᵀx)².
    weights : Belief
        p(ω | labels), ``mean`` (n_features,).
    """

    residual: Array = field(default_factory=lambda: np.zeros(0))
    weights: Belief = field(default_factory=lambda: Belief(np.zeros(0)))


def condition(X: Any, precision: Array, noise: float, evidence: QuadraticEvidence) -> LinearPosterior:
    """Posterior of z = ωᵀx + ε with ω ~ N(0, R⁻¹) and ε ~ N(0, s²), ω integrated out.

    Evidence is −½ λz² + pz + k. With g = 1 / (1 + s²λ), the share of the prior variance that is left by the
    labels of an item,

        ω | labels    ~ N(m, S),  S⁻¹ = R + Σ gλ x xᵀ,  m = S Σ g p x
        z | ω, labels ~ N(g (ωᵀx + s²p), g s²): precision 1/s² + λ
        z | labels    ~ N(g (mᵀx + s²p), g s² + g² xᵀSx)

    and the log marginal is Σ (k + ½ log g + ½ g s²p²) + ½ mᵀS⁻¹m + ½ log |R| |S|.

    Parameters
    ----------
    X : (n_items, n_features)
        Dense or sparse.
    precision : (n_features, n_features)
        R.
    noise : float
        s².
    evidence : QuadraticEvidence
        Its weights count items in every sum.
    """
    lam, p = evidence.precision, evidence.pull
    g = 1 / (1 + noise * lam)
    counts = np.ones(len(p)) if evidence.weight is None else evidence.weight
    gram = X.T @ (X * (counts * g * lam)[:, None])
    root = scipy.linalg.cholesky(precision + (gram.toarray() if sp.issparse(gram) else gram), lower=True)
    half = scipy.linalg.solve_triangular(root, np.eye(len(root)), lower=True)
    S = half.T @ half
    weights = Belief(S @ (X.T @ (counts * g * p)), S)
    f, v = X @ weights.mean, variance_along(X, S)
    half_log_det = 0.5 * float(np.linalg.slogdet(precision)[1]) - float(np.log(np.diag(root)).sum())
    local = evidence.constant + 0.5 * (np.log(g) + g * noise * p**2 + g * p * f)
    return LinearPosterior(
        g * (f + noise * p),
        g * noise + g**2 * v,
        float(counts @ local) + half_log_det,
        evidence.weight,
        g * noise + (g * noise) ** 2 * ((p - lam * f) ** 2 + lam**2 * v),
        weights,
    )


# --- logistic --------------------------------------------------------------------------------------


def moderated(mean: Array, variance: Array) -> Array:
    """Return v with logistic(v) ≈ E[logistic(u)] for u ~ N(mean, variance), MacKay's approximation."""
    return mean / (1 + np.pi * variance / 8) ** 0.5


# The Pólya-Gamma (Jaakkola-Jordan) bound, exact at u = ±c, is quadratic in u, so that beliefs stay Gaussian:
#     log σ(u) ≥ log σ(c) + (u − c)/2 − ω(c)/2 (u² − c²),   ω(c) = tanh(c/2) / (2c)


def omega(c: Array) -> Array:
    """ω(c) = tanh(c/2) / (2c), 1/4 at zero: the curvature of the bound."""
    safe = c.clip(min=1e-6)
    return namespace(c).tanh(safe / 2) / (2 * safe)


def bounded_log_logistic(mean: Array, second_moment: Array) -> tuple[Array, Array]:
    """Lower bounds of E[log σ(u)] and E[log σ(−u)], at the best c² = E[u²]."""
    xp, c = namespace(mean), second_moment**0.5
    middle = -xp.log(1 + xp.exp(-c)) - c / 2  # log σ(c) for c ≥ 0, where it is small and so is its error
    return middle + mean / 2, middle - mean / 2
