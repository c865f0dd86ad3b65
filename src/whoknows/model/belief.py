"""Belief: a Gaussian over coefficients, and what logistic functions of them are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whoknows._array import Array, like, namespace


@dataclass(frozen=True)
class Belief:
    """q(coefficients) = N(mean, covariance); a point estimate has no covariance.

    ``mean`` is (n_features,) for a truth model and (n_annotators + 1, n_features) for annotators, whose
    last row stands for an annotator never seen; ``covariance`` adds one more axis.
    """

    mean: Array
    covariance: Array | None = None

    def of(self, row: int) -> Belief:
        """Return the belief about one annotator alone."""
        covariance = None if self.covariance is None else self.covariance[[row]]
        return Belief(self.mean[[row]], covariance)

    def variance_along(self, X: Array, row: int | None = None) -> Array:
        """Var[x · coefficients] for each row x of ``X``: (n_items,)."""
        if self.covariance is None:
            return namespace(X).zeros_like(X[:, 0])
        S = like(self.covariance if row is None else self.covariance[row], X)
        return namespace(X).einsum("ij,ij->i", X @ S, X)


def moderated(mean: Array, variance: Array) -> Array:
    """Return v with logistic(v) ≈ E[logistic(u)] for u ~ N(mean, variance), MacKay's approximation."""
    return mean / (1 + np.pi * variance / 8) ** 0.5


# --- The Pólya-Gamma (Jaakkola-Jordan) bound, exact at u = ±c:
#         log σ(u) ≥ log σ(c) + (u − c)/2 − ω(c)/2 (u² − c²),   ω(c) = tanh(c/2) / (2c)
#     It is quadratic in u, so Gaussian beliefs stay Gaussian.


def omega(c: Array) -> Array:
    """ω(c) = tanh(c/2) / (2c), 1/4 at zero: the curvature of the bound."""
    safe = c.clip(min=1e-6)
    return namespace(c).tanh(safe / 2) / (2 * safe)


def bounded_log_logistic(mean: Array, second_moment: Array) -> tuple[Array, Array]:
    """E[log σ(u)] and E[log σ(−u)] from below, at the best c² = E[u²]."""
    xp, c = namespace(mean), second_moment**0.5
    middle = -xp.log(1 + xp.exp(-c)) - c / 2  # log σ(c) of c ≥ 0: where it is small, so is its error
    return middle + mean / 2, middle - mean / 2
