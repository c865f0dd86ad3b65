"""Annotators of real-valued labels: the truth, off by a bias each, plus noise whose scale depends on x."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from whoknows._array import Array, pair_products, pair_sums, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.population import Population
from whoknows.model.belief import Belief
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.posterior import Posterior
from whoknows.model.settings import COUNT, POSITIVE, SHARE, NotCompatible, Rules, Settings, is_a, or_none

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
LARGEST_LOG = 30.0  # of σ: beyond, a label says nothing and its square would only overflow


def _crowd() -> Population:
    return Population(centre=-1.0, slope_variance=0.1, precision_rate=0.2)


@dataclass
class BiasedAnnotators(Settings):
    """p(y | x, z, t) = N(y; z + b_t, σ_t(x)²), with σ_t(x) = floor + exp(w_tᵀx + γ_t).

    The scale is an annotator's expertise at x, as in Eq. (14) but without an upper limit; the bias b_t is
    severity or leniency. θ has a row (w_t, γ_t, b_t) for each annotator and a last one for the crowd.

    A bias common to all annotators and the truth's intercept cannot be told apart by labels. So the crowd's
    bias is 0, and b_t ~ N(0, ``bias_variance``): the truth is what the crowd says on average.

    All settings are in units of the labels' spread: labels come with mean 0 and variance 1.

    Parameters
    ----------
    varies_with_x : bool
        False: one σ an annotator.
    sigma_floor : float
        Smallest σ. With 0, annotators who say exactly the same have a likelihood without limit.
    bias_variance : float
        Prior variance of an annotator's bias.
    directions : int, optional
        σ depends on so many leading features of the map; None: as many as labels can tell of.
    population : Population
        Prior of log σ: the crowd's γ and w, and how far an annotator strays from them. Slopes are held
        tighter than in other annotator models: spread shows less clearly than right and wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.data import Annotations
    >>> from whoknows.model.annotators.biased import BiasedAnnotators
    >>> Y = Annotations.from_matrix([[0.5, 1.5], [np.nan, -0.5]])
    >>> X = np.ones((2, 1))  # the constant alone
    >>> piece = BiasedAnnotators(sigma_floor=0.0, population=Population(centre=0.0))
    >>> theta = piece.init(n_features=1, n_annotators=2)  # everybody unbiased, σ = 1
    >>> piece.evidence(theta, X, Y).precision
    array([2., 1.])
    """

    varies_with_x: bool = True
    sigma_floor: float = 0.05
    bias_variance: float = 0.25
    directions: int | None = None
    population: Population = field(default_factory=_crowd)

    gives: ClassVar[str] = "quadratic"
    rules: ClassVar[Rules] = {
        "sigma_floor": SHARE,
        "bias_variance": POSITIVE,
        "directions": or_none(COUNT),
        "population": is_a(Population),
    }

    def for_classes(self, n_classes: int) -> Self:
        """Refuse classes, which are no numbers."""
        raise NotCompatible(
            "BiasedAnnotators say real numbers, not classes. Use CrowdRegressor, or for classes "
            "annotators='auto'."
        )

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int, n_annotators: int) -> Array:
        """w = 0, b = 0 and γ at the crowd's centre; ``n_features`` counts the constant."""
        return self.population.start(n_annotators, n_features - 1 if self.varies_with_x else 0, 2)

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> QuadraticEvidence:
        """Σ_t log N(y_it; z + b_t, σ_t(x_i)²) as a quadratic in z."""
        return _quadratic(_unbiased(theta, Y), self._sigma(theta, X, Y)[0], Y)

    def expected_log_lik(
        self, theta: Array, X: Array, Y: Annotations, posterior: Posterior
    ) -> tuple[float, Array]:
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

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """log p(w, γ) of the population plus −½ Σ b² / bias_variance, and the gradient.

        No label speaks of the crowd's own b, in the last row: it stays where it starts, at 0.
        """
        return self.population.log_prior_with_bias(theta, self.bias_variance)

    # --- after the fit ---------------------------------------------------------------------------

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> QuadraticEvidence:
        """Return the evidence under a fitted θ.

        A stranger (code −1) has σ of the crowd and a bias nobody knows: variance σ² + bias_variance.
        """
        sigma = self._sigma(belief.mean, X, Y)[0]
        spread = np.sqrt(sigma**2 + np.where(Y.annotator < 0, self.bias_variance, 0.0))
        return _quadratic(_unbiased(belief.mean, Y), spread, Y)

    def scale(self, theta: Array, X: Array) -> Array:
        """σ_t(x) of every annotator, the crowd last, on every item: (n_items, n_annotators + 1)."""
        return self.sigma_floor + _exp(self._features(X) @ theta[:, :-1].T)

    def bias(self, theta: Array) -> Array:
        """b_t of every annotator, and the crowd's 0: (n_annotators + 1,)."""
        return theta[:, -1]

    def coefficients(self, theta: Array, n_features: int) -> tuple[Array, Array]:
        """w_t (n_annotators + 1, n_features − 1) and γ_t (n_annotators + 1,) of log(σ − floor)."""
        slopes = theta[:, :-2] if self.varies_with_x else np.zeros((len(theta), n_features - 1))
        return slopes, theta[:, -2]

    def _features(self, X: Array) -> Array:
        return X if self.varies_with_x else X[:, -1:]

    def _sigma(self, theta: Array, X: Array, Y: Annotations) -> tuple[Array, Array]:
        """σ on observed pairs and its slope in w_tᵀx + γ_t."""
        eta = pair_products(self._features(X), theta[:, :-1], Y.item, Y.annotator)
        above = _exp(eta)
        return self.sigma_floor + above, np.where(np.abs(eta) < LARGEST_LOG, above, 0.0)


def _exp(eta: Array) -> Array:
    return np.exp(np.clip(eta, -LARGEST_LOG, LARGEST_LOG))


def _unbiased(theta: Array, Y: Annotations) -> Array:
    """y − b_t of every label: what it says of z."""
    return np.asarray(Y.labels[Y.label].astype(float) - theta[Y.annotator, -1])


def _quadratic(y: Array, sigma: Array, Y: Annotations) -> QuadraticEvidence:
    """Σ_t log N(y; z, σ²) of each item, in powers of z."""
    terms = [sigma**-2, y * sigma**-2, -0.5 * (y / sigma) ** 2 - np.log(sigma) - LOG_SQRT_2PI]
    return QuadraticEvidence(*(segment_sum(term * Y.counts, Y.item, Y.n_items) for term in terms))
