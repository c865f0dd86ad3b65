"""Annotators whose labels are the truth plus Gaussian noise: the paper's, and biased ones for real labels.

The scale of the noise, which depends on the item, is the annotator's expertise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit

from whoknows._array import Array, pair_products, pair_sums, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.population import Population
from whoknows.model.evidence import LabelsByAnnotator, QuadraticEvidence, TableEvidence, table_of
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import Posterior
from whoknows.model.settings import COUNT, POSITIVE, SHARE, NotCompatible, Rules, Settings, is_a, or_none

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
LARGEST_LOG = 30.0  # of σ: beyond it a label carries no information, and its square would overflow


class LinearAnnotators(Settings):
    """Annotators with parameters θ = (w_t, γ_t, …) that depend on x through w_tᵀx + γ_t."""

    varies_with_x: bool
    population: Population
    n_intercepts: ClassVar[int] = 1  # columns of θ that are not slopes

    def init(self, n_features: int, n_annotators: int) -> Array:
        """w = 0 and γ at the population's centre, as in Algorithm 1; ``n_features`` includes the constant."""
        n_slopes = n_features - 1 if self.varies_with_x else 0
        return self.population.start(n_annotators, n_slopes, self.n_intercepts)

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """log p(θ) of the population, and its gradient."""
        return self.population.log_prior(theta, theta.shape[1] - self.n_intercepts)

    def coefficients(self, theta: Array, n_features: int) -> tuple[Array, Array]:
        """w_t (n_annotators + 1, n_features − 1) and γ_t (n_annotators + 1,)."""
        n_slopes = theta.shape[1] - self.n_intercepts
        slopes = theta[:, :n_slopes] if self.varies_with_x else np.zeros((len(theta), n_features - 1))
        return slopes, theta[:, n_slopes]

    def _features(self, X: Array) -> Array:
        return X if self.varies_with_x else X[:, -1:]


class BiasedLinearAnnotators(LinearAnnotators):
    """The same, with a bias b_t ~ N(0, ``bias_variance``) in the last column of θ; the population's is 0."""

    bias_variance: float
    n_intercepts: ClassVar[int] = 2

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """log p(w, γ) of the population plus −½ Σ b² / bias_variance, and the gradient.

        No label depends on the population's b, in the last row, so it stays at 0.
        """
        value, gradient = self.population.log_prior(theta[:, :-1], theta.shape[1] - 2)
        pull = theta[:, -1] / self.bias_variance
        return value - 0.5 * float(theta[:, -1] @ pull), np.column_stack([gradient, -pull])

    def bias(self, theta: Array) -> Array:
        """b_t of every annotator, and 0 for the population: (n_annotators + 1,)."""
        return theta[:, -1]

    def _products(self, theta: Array, X: Array, Y: Annotations) -> Array:
        """w_tᵀx + γ_t of every label: (n_annotations,)."""
        return pair_products(self._features(X), theta[:, :-1], Y.item, Y.annotator)


@dataclass
class GaussianAnnotators(LinearAnnotators):
    """p(y | x, z, t) = N(y; z, σ_t(x)²), Eq. (14), with σ_t(x) between a floor and one, Eq. (15).

    σ is a standard deviation: Eqs. (16), (17) are the gradients for that reading. If the posterior is
    certain, the likelihood is unbounded as σ → 0, so σ = floor + (1 − floor) logistic(·).

    Parameters
    ----------
    varies_with_x : bool
        False: one σ per annotator, the paper's "ML original".
    sigma_floor : float
        Smallest σ; 0 is Eq. (15) as printed, which degenerates.
    directions : int, optional
        Number of leading features of the map that expertise depends on; None chooses it by the number of
        labels.
    population : Population
        Prior on γ (mean 0 in Algorithm 1) and w.
    """

    varies_with_x: bool = True
    sigma_floor: float = 0.3
    directions: int | None = None
    population: Population = field(default_factory=lambda: Population(centre=0.0))

    gives: ClassVar[str] = "quadratic"
    rules: ClassVar[Rules] = {"sigma_floor": SHARE, "directions": or_none(COUNT), "population": is_a(Population)}

    def for_classes(self, n_classes: int) -> Self:
        """Return self for two classes; refuse more, whose codes are not numbers."""
        if n_classes > 2:
            raise NotCompatible(
                f"GaussianAnnotators treat labels as numbers, 0 and 1; there are {n_classes} classes. "
                "Use annotators='confusion'."
            )
        return self

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> QuadraticEvidence:
        """Σ_t log N(y_it; z, σ_t(x_i)²), Eq. (14), as a quadratic in z."""
        return _quadratic(Y.label.astype(float), self._sigma(theta, X, Y)[0], Y)

    def expected_log_lik(self, theta: Array, X: Array, Y: Annotations, posterior: Posterior) -> tuple[float, Array]:
        """E_p̃(z)[Σ log N(y; z, σ²)] and its gradient, Eqs. (16), (17).

        For any kind of truth only E[z] and Var[z] are needed: E(y − z)² = (y − E z)² + Var z.
        """
        sigma, slope = self._sigma(theta, X, Y)
        squared = (Y.label - posterior.mean[Y.item]) ** 2 + posterior.variance[Y.item]
        counts = Y.counts * posterior.counts[Y.item]
        value = float(counts @ (-LOG_SQRT_2PI - np.log(sigma) - 0.5 * squared / sigma**2))
        residual = counts * (squared / sigma**2 - 1) * slope / sigma
        return value, pair_sums(residual, self._features(X), Y.item, Y.annotator, len(theta))

    def scale(self, theta: Array, X: Array) -> Array:
        """σ_t(x) of every annotator on every item, Eq. (15): (n_items, n_annotators + 1)."""
        return np.asarray(self._floored(expit(self._features(X) @ theta.T)))

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> QuadraticEvidence:
        """Return the evidence under a fitted θ."""
        return self.evidence(belief.mean, X, Y)

    def predictive(self, belief: Belief, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log P(y_it | x_i, z), the density normalised over the labels 0 and 1."""
        odds = 0.5 / self._sigma(belief.mean, X, Y)[0] ** 2
        right = Y.label[:, None] == np.arange(2)
        return table_of(log_expit(np.where(right, odds[:, None], -odds[:, None])), Y)

    def expertise(self, belief: Belief, X: Array, prob: Array) -> Array:
        """Probability that each annotator is right: the density at z, normalised over the labels 0 and 1.

        N(z; z, σ²) / (N(z; z, σ²) + N(1 − z; z, σ²)) = logistic(1 / 2σ²), the same for both classes.
        """
        return np.asarray(expit(0.5 / self.scale(belief.mean, X) ** 2))

    def confusion(self, belief: Belief, X: Array) -> Array:
        """p(y | z, t), averaged over the items: (n_annotators + 1, 2, 2), one row per truth."""
        right = self.expertise(belief, X, np.zeros((len(X), 2))).mean(axis=0)[:, None, None]
        return np.asarray(right * np.eye(2) + (1 - right) * (1 - np.eye(2)))

    def _floored(self, share: Array) -> Array:
        return self.sigma_floor + (1 - self.sigma_floor) * share

    def _sigma(self, theta: Array, X: Array, Y: Annotations) -> tuple[Array, Array]:
        """σ on observed pairs and its slope in w_tᵀx + γ_t."""
        share = expit(pair_products(self._features(X), theta, Y.item, Y.annotator))
        return self._floored(share), (1 - self.sigma_floor) * share * (1 - share)


@dataclass
class BiasedAnnotators(BiasedLinearAnnotators):
    """p(y | x, z, t) = N(y; z + b_t, σ_t(x)²), with σ_t(x) = floor + exp(w_tᵀx + γ_t).

    The scale is an annotator's expertise at x, as in Eq. (14) but without an upper limit; the bias b_t is
    severity or leniency. θ has one row (w_t, γ_t, b_t) per annotator and a last one for the population.

    A bias shared by all annotators is not identifiable: it is equivalent to the truth's intercept. So the
    population's bias is 0, and b_t ~ N(0, ``bias_variance``): the truth is what annotators say on average.

    All settings are in standardised units: labels have mean 0 and variance 1.

    Parameters
    ----------
    varies_with_x : bool
        False: one σ per annotator.
    sigma_floor : float
        Smallest σ. With 0, the likelihood of annotators who agree exactly is unbounded.
    bias_variance : float
        Prior variance of an annotator's bias.
    directions : int, optional
        Number of leading features of the map that σ depends on; None chooses it by the number of labels.
    population : Population
        Prior on log σ. Slopes have a smaller variance than in other annotator models, since labels are less
        informative about a scale than about an accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.data import Annotations
    >>> from whoknows.model.annotators import BiasedAnnotators, Population
    >>> Y = Annotations.from_matrix([[0.5, 1.5], [np.nan, -0.5]])
    >>> X = np.ones((2, 1))  # only the constant
    >>> piece = BiasedAnnotators(sigma_floor=0.0, population=Population(centre=0.0))
    >>> theta = piece.init(n_features=1, n_annotators=2)  # all unbiased, σ = 1
    >>> piece.evidence(theta, X, Y).precision
    array([2., 1.])
    """

    varies_with_x: bool = True
    sigma_floor: float = 0.05
    bias_variance: float = 0.25
    directions: int | None = None
    population: Population = field(
        default_factory=lambda: Population(centre=-1.0, slope_variance=0.1, precision_rate=0.2)
    )

    gives: ClassVar[str] = "quadratic"
    rules: ClassVar[Rules] = {
        "sigma_floor": SHARE,
        "bias_variance": POSITIVE,
        "directions": or_none(COUNT),
        "population": is_a(Population),
    }

    def for_classes(self, n_classes: int) -> Self:
        """Refuse classes: labels are real numbers."""
        raise NotCompatible(
            "BiasedAnnotators give real numbers, not classes. Use CrowdRegressor, or for classes annotators='auto'."
        )

    # --- point estimates -------------------------------------------------------------------------

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> QuadraticEvidence:
        """Σ_t log N(y_it; z + b_t, σ_t(x_i)²) as a quadratic in z."""
        return _quadratic(_unbiased(theta, Y), self._sigma(theta, X, Y)[0], Y)

    def expected_log_lik(self, theta: Array, X: Array, Y: Annotations, posterior: Posterior) -> tuple[float, Array]:
        """E_p̃(z)[Σ log N(y; z + b, σ²)] and its gradient, which need only E[z] and Var[z].

        With r = y − b − E z and E r² = r² + Var z: ∂/∂b = r / σ², and
        ∂/∂(w, γ) = (E r² / σ² − 1) (∂σ / σ) (x, 1).
        """
        sigma, slope = self._sigma(theta, X, Y)
        residual = _unbiased(theta, Y) - posterior.mean[Y.item]
        squared = (residual**2 + posterior.variance[Y.item]) / sigma**2
        counts = Y.counts * posterior.counts[Y.item]
        value = float(counts @ (-LOG_SQRT_2PI - np.log(sigma) - 0.5 * squared))
        pull = counts * (squared - 1) * slope / sigma
        spread = pair_sums(pull, self._features(X), Y.item, Y.annotator, len(theta))
        bias = segment_sum(counts * residual / sigma**2, Y.annotator, len(theta))
        return value, np.column_stack([spread, bias])

    # --- after the fit ---------------------------------------------------------------------------

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> QuadraticEvidence:
        """Return the evidence under a fitted θ, also by annotator: biases are known only so far.

        An annotator not seen in training (code −1) has the population's σ and an unknown bias: variance
        σ² + bias_variance.
        """
        sigma, y, seen = self._sigma(belief.mean, X, Y)[0], _unbiased(belief.mean, Y), Y.annotator >= 0
        spread = np.sqrt(sigma**2 + np.where(seen, 0.0, self.bias_variance))
        weights, places = (Y.counts * sigma**-2)[seen], (Y.item[seen], Y.annotator[seen])
        precision, pull = (
            sp.csr_array((values, places), shape=(Y.n_items, Y.n_annotators)) for values in (weights, weights * y[seen])
        )
        labels = LabelsByAnnotator(precision, pull, 1 / self.bias_variance)
        return replace(_quadratic(y, spread, Y), by_annotator=labels)

    def scale(self, theta: Array, X: Array) -> Array:
        """σ_t(x) of every annotator, the population last: (n_items, n_annotators + 1)."""
        return self.sigma_floor + bounded_exp(self._features(X) @ theta[:, :-1].T)

    def _sigma(self, theta: Array, X: Array, Y: Annotations) -> tuple[Array, Array]:
        """σ on observed pairs and its slope in w_tᵀx + γ_t."""
        eta = self._products(theta, X, Y)
        above = bounded_exp(eta)
        return self.sigma_floor + above, np.where(np.abs(eta) < LARGEST_LOG, above, 0.0)


def bounded_exp(eta: Array) -> Array:
    """exp(η) for η up to `LARGEST_LOG` in absolute value."""
    return np.exp(np.clip(eta, -LARGEST_LOG, LARGEST_LOG))


def _unbiased(theta: Array, Y: Annotations) -> Array:
    """y − b_t of every label."""
    return np.asarray(Y.labels[Y.label].astype(float) - theta[Y.annotator, -1])


def _quadratic(y: Array, sigma: Array, Y: Annotations) -> QuadraticEvidence:
    """Σ_t log N(y; z, σ²) of each item, as a quadratic in z."""
    terms = [sigma**-2, y * sigma**-2, -0.5 * (y / sigma) ** 2 - np.log(sigma) - LOG_SQRT_2PI]
    precision, pull, constant = (segment_sum(term * Y.counts, Y.item, Y.n_items) for term in terms)
    return QuadraticEvidence(precision, pull, constant)
