"""Truth as a logistic function of x: model ID, and with a graph prior on its weights model LGP."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
import scipy.linalg
from scipy.special import expit, log_expit

from whoknows._array import Array
from whoknows.model.belief import Belief, bounded_log_logistic, moderated, omega
from whoknows.model.evidence import Evidence
from whoknows.model.graph import Graph
from whoknows.model.posterior import CategoricalPosterior, Posterior
from whoknows.model.settings import Settings


@dataclass
class LogisticTruth(Settings):
    """p(z = 1 | x) = logistic(ξᵀx), Eqs. (9), (18); with a graph, ξ has the prior of Eq. (10).

    Without a graph this is the paper's ID, with one its LGP. Both keep a ridge: A alone leaves directions
    free. The prior is p(ξ) ∝ exp(−½ ξᵀξ / variance − strength ξᵀAξ); x carries a constant last column,
    which A leaves alone by itself, since Δ1 = 0.

    Parameters
    ----------
    graph : Graph or None
        Where A = XᵀΔX comes from; None for ID.
    strength : float
        Weight of the graph term. A is a mean over edges, so it means the same on every data set.
    variance : float
        Prior variance of each weight, for features of mean squared length one.
    intercept_variance : float
        Prior variance of the weight of the constant.
    """

    graph: Graph | None = None
    strength: float = 1.0
    variance: float = 10.0
    intercept_variance: float = 10.0

    accepts: ClassVar[str] = "table"
    couples_items: ClassVar[bool] = False

    _precision: Array | None = field(default=None, init=False, repr=False, compare=False)

    def prepare(self, X: Array, features: Array, seed: int = 0) -> Self:
        """Return a copy that holds the prior's precision matrix, Eq. (10).

        ``X`` (n_items, D) places *all* items, labelled or not, in the graph; ``features``
        (n_items, n_features), constant last, is what ξ multiplies.
        """
        precision = np.diag(np.full(features.shape[1], 1 / self.variance))
        precision[-1, -1] = 1 / self.intercept_variance
        if self.graph is not None:
            A = self.graph.build(X, seed).smoothness(features)
            precision += 2 * self.strength * A
        prepared = copy.copy(self)
        prepared._precision = precision
        return prepared

    @property
    def precision(self) -> Array:
        """R in p(ξ) ∝ exp(−½ ξᵀRξ): ridge and graph term together."""
        if self._precision is None:
            raise RuntimeError("LogisticTruth was not prepared: call prepare(X, features) first.")
        return self._precision

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int) -> Array:
        """ξ = 0, (n_features,)."""
        return np.zeros(n_features)

    def posterior(self, xi: Array, X: Array, evidence: Evidence) -> CategoricalPosterior:
        """p̃(z) ∝ p(z | x) Π_t p(y | x, z), Eqs. (7), (12): Eqs. (1), (2) normalised, Eq. (6) their sum."""
        f = X @ xi
        return CategoricalPosterior.from_log_joint(
            np.column_stack([log_expit(-f), log_expit(f)]) + evidence.table
        )

    def expected_log_truth(self, xi: Array, X: Array, posterior: Posterior) -> tuple[float, Array]:
        """E_p̃(z)[Σ_i log p(z_i | x_i)], the second term of Eq. (13), and its gradient Σ (p̃ − p) x."""
        f, q = X @ xi, posterior.mean
        value = float((q * log_expit(f) + (1 - q) * log_expit(-f)).sum())
        return value, X.T @ (q - expit(f))

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """log p(ξ | X), Eqs. (10), (11), up to a constant, and its gradient."""
        pull = self.precision @ xi
        return -0.5 * float(xi @ pull), -pull

    # --- variational -----------------------------------------------------------------------------

    def prior_belief(self) -> Belief:
        """q(ξ) before any label: the prior itself."""
        return Belief(np.zeros(len(self.precision)), scipy.linalg.inv(self.precision))

    def moments(self, belief: Belief, X: Array) -> tuple[Array, Array]:
        """E[f] and E[f²] of f = ξᵀx: two (n_items,)."""
        mean = X @ belief.mean
        return mean, mean**2 + belief.variance_along(X)

    def bounded_posterior(self, moments: tuple[Array, Array], evidence: Evidence) -> CategoricalPosterior:
        """Best q(z) given q(ξ) and the evidence; its log marginal is the local part of the bound."""
        if_one, if_zero = bounded_log_logistic(*moments)
        return CategoricalPosterior.from_log_joint(np.column_stack([if_zero, if_one]) + evidence.table)

    def statistics(self, moments: tuple[Array, Array], X: Array, posterior: Posterior) -> tuple[Array, Array]:
        """Σ ω x xᵀ and Σ (p̃ − ½) x, all that q(ξ) needs of the items."""
        weighted = X * omega(np.sqrt(moments[1]))[:, None]
        return X.T @ weighted, X.T @ (posterior.mean - 0.5)

    def update(self, gram: Array, pull: Array) -> Belief:
        """Best q(ξ) given those sums: covariance (gram + R)⁻¹."""
        covariance = scipy.linalg.inv(gram + self.precision)
        return Belief(covariance @ pull, 0.5 * (covariance + covariance.T))

    def divergence(self, belief: Belief) -> float:
        """KL(q(ξ) ‖ p(ξ)): what the bound pays for the classifier."""
        assert belief.covariance is not None
        R, m = self.precision, belief.mean
        trace = float((R * belief.covariance).sum())
        log_det = float(np.linalg.slogdet(R)[1] + np.linalg.slogdet(belief.covariance)[1])
        return 0.5 * (trace + float(m @ R @ m) - len(m) - log_det)

    # --- after the fit ---------------------------------------------------------------------------

    def log_predict(self, known: Belief, X: Array) -> Array:
        """log p(z | x), Sec. 3.6, ξ integrated out where its covariance is known: (n_items, 2)."""
        f = moderated(X @ known.mean, known.variance_along(X))
        return np.column_stack([log_expit(-f), log_expit(f)])

    def posterior_at(self, known: Belief, X: Array, evidence: Evidence) -> Array:
        """p(z | x, labels), Eqs. (7), (12), ξ integrated out likewise: (n_items, 2)."""
        return CategoricalPosterior.from_log_joint(self.log_predict(known, X) + evidence.table).prob
