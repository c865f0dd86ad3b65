"""Truth as a classifier sees it: log-probabilities, tempered and shifted to fit the labels."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from whoknows._array import Array, log_softmax
from whoknows.model.evidence import Evidence
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior, Posterior
from whoknows.model.settings import Settings
from whoknows.model.truth.logistic import LogisticTruth

VARIANCE = 10.0  # prior variance of ξ, as of a logistic truth


@dataclass
class TemperedTruth(Settings):
    """p(z = k | x) ∝ exp(t ℓ_k(x) + b_k), with ℓ_k(x) the log-probabilities of a classifier.

    ξ = (t, b_1, …, b_K): the temperature 1 / t says how far the classifier can be trusted, and b corrects its
    class frequencies. Its prior is N((1, 0, …), 10). X is (ℓ_1, …, ℓ_K, 1). With two classes this is a
    logistic truth of one feature, the log-odds: `for_classes` returns a `LogisticTruth`.
    """

    accepts: ClassVar[str] = "table"
    couples_items: ClassVar[bool] = False
    needs_all: ClassVar[bool] = False

    description: str = field(default="", init=False, repr=False, compare=False)
    _n_classes: int = field(default=3, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Any:
        """Return the model for this number of classes."""
        if n_classes == 2:
            return LogisticTruth().for_classes(2)
        prepared = copy.copy(self)
        prepared._n_classes = n_classes
        return prepared

    def prepare(self, X: Array, features: Array, seed: int = 0) -> TemperedTruth:
        """Return itself: the prior does not depend on the items."""
        return self

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int) -> Array:
        """Trust the classifier: (n_classes + 1,)."""
        return np.eye(1, self._n_classes + 1)[0]

    def posterior(self, xi: Array, X: Array, evidence: Evidence) -> CategoricalPosterior:
        """p̃(z) ∝ p(z | x) Π_t p(y | x, z), Eqs. (7), (12)."""
        log_p = log_softmax(self.log_odds(xi, X))
        return CategoricalPosterior.from_log_joint(log_p + evidence.table, evidence.weight)

    def expected_log_truth(self, xi: Array, X: Array, posterior: Posterior) -> tuple[float, Array]:
        """E_p̃(z)[Σ_i log p(z_i | x_i)], the second term of Eq. (13), and its gradient."""
        log_p, counts = log_softmax(self.log_odds(xi, X)), posterior.counts[:, None]
        residual = counts * self.residual(xi, X, posterior)
        gradient = np.append((residual * X[:, :-1]).sum(), residual.sum(axis=0))
        return float((counts * posterior.prob * log_p).sum()), gradient  # type: ignore[union-attr]

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """log p(ξ), up to a constant, and its gradient."""
        away = xi - self.init(0)
        return -0.5 * float((away**2).sum()) / VARIANCE, -away / VARIANCE

    # --- intervals: f = W x, with a row (0, …, t, …, 0, b_k) of W for each class ------------------

    @property
    def precision(self) -> Array:
        """Precision of the prior of a row of W."""
        return np.eye(self._n_classes + 1) / VARIANCE

    def log_odds(self, xi: Array, X: Array) -> Array:
        """f = t ℓ + b: (n_items, n_classes)."""
        return xi[0] * X[:, :-1] + xi[1:]

    def log_prob(self, xi: Array, f: Array) -> Array:
        """log p(z) at f: (n_items, n_classes)."""
        return log_softmax(f)

    def residual(self, xi: Array, X: Array, posterior: Posterior) -> Array:
        """p̃ − p, the gradient of each item's expected log truth in f: (n_items, n_classes)."""
        return np.asarray(posterior.prob - np.exp(log_softmax(self.log_odds(xi, X))))  # type: ignore[union-attr]

    # --- after the fit ---------------------------------------------------------------------------

    def state(self, xi: Array, posterior: Posterior, evidence: Evidence, X: Array) -> Belief:
        """Return ξ as a point estimate."""
        return Belief(xi)

    def parameters(self, state: Belief) -> Array:
        """Return ξ of a state."""
        return state.mean

    def log_predict(self, state: Belief, X: Array) -> Array:
        """log p(z | x): (n_items, n_classes)."""
        return self.log_prob(state.mean, self.log_odds(state.mean, X))

    def posterior_at(self, state: Belief, X: Array, evidence: Evidence) -> Array:
        """p(z | x, labels): (n_items, n_classes)."""
        return CategoricalPosterior.from_log_joint(self.log_predict(state, X) + evidence.table).prob
