"""The paper's annotators: labels are the truth plus Gaussian noise whose scale depends on the item."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from scipy.special import expit, log_expit

from whoknows._array import Array, pair_products, pair_sums, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.population import Population
from whoknows.model.belief import Belief
from whoknows.model.evidence import QuadraticEvidence, TableEvidence
from whoknows.model.posterior import Posterior
from whoknows.model.settings import COUNT, SHARE, NotCompatible, Rules, Settings, is_a, or_none

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


@dataclass
class GaussianAnnotators(Settings):
    """p(y | x, z, t) = N(y; z, σ_t(x)²), Eq. (14), with σ_t(x) between a floor and one, Eq. (15).

    σ is a standard deviation: Eqs. (16), (17) are the gradient of exactly that. Where the posterior is
    certain the printed likelihood grows without bound as σ → 0, so σ = floor + (1 − floor) logistic(·).

    Parameters
    ----------
    varies_with_x : bool
        False: one σ an annotator, the paper's «ML original».
    sigma_floor : float
        Smallest σ; 0 is Eq. (15) as printed, and degenerates.
    directions : int, optional
        Expertise depends on so many leading features of the map; None: as many as labels can tell of.
    population : Population
        Prior: the crowd's γ (0 in Algorithm 1) and w, and how far an annotator strays from them.
    """

    varies_with_x: bool = True
    sigma_floor: float = 0.3
    directions: int | None = None
    population: Population = field(default_factory=lambda: Population(centre=0.0))

    gives: ClassVar[str] = "quadratic"
    rules: ClassVar[Rules] = {
        "sigma_floor": SHARE,
        "directions": or_none(COUNT),
        "population": is_a(Population),
    }

    def for_classes(self, n_classes: int) -> Self:
        """Return self for two classes; refuse more, whose codes are no numbers."""
        if n_classes > 2:
            raise NotCompatible(
                f"GaussianAnnotators take labels for numbers, 0 and 1; there are {n_classes} classes. "
                "Use annotators='confusion'."
            )
        return self

    def init(self, n_features: int, n_annotators: int) -> Array:
        """w = 0 and γ at the crowd's centre, as Algorithm 1 begins; ``n_features`` counts the constant."""
        return self.population.start(n_annotators, n_features - 1 if self.varies_with_x else 0)

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> QuadraticEvidence:
        """Σ_t log N(y_it; z, σ_t(x_i)²), Eq. (14), as a quadratic in z."""
        y, sigma = Y.label.astype(float), self._sigma(theta, X, Y)[0]
        terms = [sigma**-2, y * sigma**-2, -0.5 * (y / sigma) ** 2 - np.log(sigma) - LOG_SQRT_2PI]
        return QuadraticEvidence(*(segment_sum(term * Y.counts, Y.item, Y.n_items) for term in terms))

    def expected_log_lik(
        self, theta: Array, X: Array, Y: Annotations, posterior: Posterior
    ) -> tuple[float, Array]:
        """E_p̃(z)[Σ log N(y; z, σ²)] and its gradient, Eqs. (16), (17).

        Only E[z] and Var[z] are needed: E(y − z)² = (y − E z)² + Var z, whatever kind of truth z is.
        """
        sigma, slope = self._sigma(theta, X, Y)
        squared = (Y.label - posterior.mean[Y.item]) ** 2 + posterior.variance[Y.item]
        counts = Y.counts * posterior.counts[Y.item]
        value = float(counts @ (-LOG_SQRT_2PI - np.log(sigma) - 0.5 * squared / sigma**2))
        residual = counts * (squared / sigma**2 - 1) * slope / sigma
        return value, pair_sums(residual, self._features(X), Y.item, Y.annotator, len(theta))

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """log p(θ) of the population, and its gradient."""
        return self.population.log_prior(theta, theta.shape[1] - 1)

    def scale(self, theta: Array, X: Array) -> Array:
        """σ_t(x) of every annotator on every item, Eq. (15): (n_items, n_annotators + 1)."""
        return np.asarray(self._floored(expit(self._features(X) @ theta.T)))

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> QuadraticEvidence:
        """Return the evidence under a fitted θ."""
        return self.evidence(belief.mean, X, Y)

    def predictive(self, belief: Belief, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log P(y_it | x_i, z), the density shared out over the labels 0 and 1."""
        odds = 0.5 / self._sigma(belief.mean, X, Y)[0] ** 2
        right = Y.label[:, None] == np.arange(2)
        terms = log_expit(np.where(right, odds[:, None], -odds[:, None]))
        return TableEvidence(segment_sum(terms * Y.counts[:, None], Y.item, Y.n_items))

    def expertise(self, belief: Belief, X: Array, prob: Array) -> Array:
        """Probability that each annotator is right: of the labels 0 and 1, the density's share at z.

        N(z; z, σ²) / (N(z; z, σ²) + N(1 − z; z, σ²)) = logistic(1 / 2σ²), the same for both classes.
        """
        return np.asarray(expit(0.5 / self.scale(belief.mean, X) ** 2))

    def confusion(self, belief: Belief, X: Array) -> Array:
        """p(y | z, t), averaged over the items: (n_annotators + 1, 2, 2), rows the truth."""
        right = self.expertise(belief, X, np.zeros((len(X), 2))).mean(axis=0)[:, None, None]
        return np.asarray(right * np.eye(2) + (1 - right) * (1 - np.eye(2)))

    def coefficients(self, theta: Array, n_features: int) -> tuple[Array, Array]:
        """w_t (n_annotators + 1, n_features − 1) and γ_t (n_annotators + 1,) of Eq. (15)."""
        slopes = theta[:, :-1] if self.varies_with_x else np.zeros((len(theta), n_features - 1))
        return slopes, theta[:, -1]

    def _features(self, X: Array) -> Array:
        return X if self.varies_with_x else X[:, -1:]

    def _floored(self, share: Array) -> Array:
        return self.sigma_floor + (1 - self.sigma_floor) * share

    def _sigma(self, theta: Array, X: Array, Y: Annotations) -> tuple[Array, Array]:
        """σ on observed pairs and its slope in w_tᵀx + γ_t."""
        share = expit(pair_products(self._features(X), theta, Y.item, Y.annotator))
        return self._floored(share), (1 - self.sigma_floor) * share * (1 - share)
