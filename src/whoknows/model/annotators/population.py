"""The population of annotators: a hierarchical Gaussian prior on their coefficients.

θ_t ~ N(θ_0, diag(deviation)), θ_0 ~ N(centre, diag(spread)). Annotators with few labels shrink to the
population mean θ_0, and an annotator not seen in training has θ_0 itself. Columns of θ: slopes w (one per
feature), then the intercept γ, then any further intercept-like columns (two-coin bias).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from whoknows._array import Array, Mask, Rows, inverses, log_determinants
from whoknows.model.gaussian import Belief
from whoknows.model.settings import POSITIVE, Rules, Settings

SMALL_MOVE = 0.01  # of the logarithm of a precision: no acceleration needed


@dataclass
class Population(Settings):
    """Prior on the mean of the annotators' coefficients and on how much annotators deviate from it.

    Parameters
    ----------
    centre : float
        Prior mean of the population's intercept γ_0.
    centre_variance, slope_variance : float
        Prior variance of the population's intercept and of each of its slopes w_0.
    deviation_variance : float
        Variance of an annotator's intercept around the population's.
    precision_shape, precision_rate : float
        Gamma prior on 1/τ², the precision of annotators' slopes around the population's. The variational
        solver learns τ²; the point-estimate solvers fix 1/τ² at its prior mean.
    deviation_shape : float
        Shape of the Gamma prior on 1 / ``deviation_variance``, which the variational solver learns as well:
        larger values keep it closer to its prior mean.
    """

    centre: float = 1.4
    centre_variance: float = 1.0
    slope_variance: float = 0.3
    deviation_variance: float = 0.5
    precision_shape: float = 2.0
    precision_rate: float = 2.0
    deviation_shape: float = 2.0

    rules: ClassVar[Rules] = {
        **dict.fromkeys(("centre_variance", "slope_variance", "deviation_variance"), POSITIVE),
        **dict.fromkeys(("precision_shape", "precision_rate", "deviation_shape"), POSITIVE),
    }

    def start(self, n_annotators: int, n_slopes: int, n_intercepts: int = 1) -> Array:
        """Return θ with all annotators at the centre: (n_annotators + 1, n_slopes + n_intercepts)."""
        theta = np.zeros((n_annotators + 1, n_slopes + n_intercepts))
        theta[:, n_slopes] = self.centre
        return theta

    def log_prior(self, theta: Array, n_slopes: int) -> tuple[float, Array]:
        """log p(θ) up to a constant, and its gradient; the last row of ``theta`` is θ_0."""
        shape, rate = self._gamma
        precision = np.repeat(shape / rate, [n_slopes, theta.shape[1] - n_slopes])
        crowd_precision, centre = self._crowd(theta.shape[1], n_slopes)
        deviation = theta[:-1] - theta[-1]
        surprise = theta[-1] - centre
        value = -0.5 * float((precision * deviation**2).sum() + (crowd_precision * surprise**2).sum())
        pull = precision * deviation
        return value, np.vstack([-pull, pull.sum(axis=0) - crowd_precision * surprise])

    @property
    def _gamma(self) -> Array:
        """Shapes, and rates, of the Gamma priors on the precisions of slopes and of intercepts: (2, 2)."""
        rates = self.precision_rate, self.deviation_shape * self.deviation_variance
        return np.array([(self.precision_shape, self.deviation_shape), rates])

    def _crowd(self, n_columns: int, n_slopes: int) -> tuple[Array, Array]:
        """Precision and mean of the prior on θ_0."""
        precision = np.full(n_columns, 1 / self.centre_variance)
        precision[:n_slopes] = 1 / self.slope_variance
        return precision, self.start(0, n_slopes, n_columns - n_slopes)[0]


@dataclass(frozen=True)
class CrowdBelief:
    """q(θ_1) … q(θ_T) q(θ_0) q(1/τ²): Gaussian, Gaussian with diagonal covariance, Gamma.

    There is one 1/τ² for slopes and one for intercepts; ``shape`` and ``rate`` hold both. Annotators without
    labels are excluded, so that listing them has no effect.
    """

    population: Population
    n_slopes: int
    mean: Array  # (n_annotators, n_columns)
    covariance: Array  # (n_annotators, n_columns, n_columns)
    crowd_mean: Array  # (n_columns,)
    crowd_variance: Array  # (n_columns,)
    shape: Array  # (2,): of slopes, of intercepts
    rate: Array
    active: Mask  # (n_annotators,): who has labels

    @classmethod
    def prior(cls, population: Population, active: Mask, n_slopes: int, n_intercepts: int = 1) -> CrowdBelief:
        """Return the belief before any label: the prior of every annotator."""
        n, (shape, rate) = n_slopes + n_intercepts, population._gamma
        crowd_precision, centre = population._crowd(n, n_slopes)
        nobody = np.zeros((0, n)), np.zeros((0, n, n)), centre, 1 / crowd_precision, shape, rate
        empty = cls(population, n_slopes, *nobody, np.zeros(0, dtype=bool))
        return empty.of_annotators(np.full(len(active), -1), active)

    @property
    def deviation_precision(self) -> Array:
        """E[1 / deviation variance] of each column."""
        return np.repeat(self.shape / self.rate, self._sizes)

    def update(self, gram: Array, pull: Array) -> CrowdBelief:
        """Increase the bound over q(θ_t), q(θ_0), q(1/τ²), given the sums over labels.

        ``gram`` (n_annotators, n_columns, n_columns) is Σ ω x xᵀ, ``pull`` (n_annotators, n_columns)
        Σ (target − ½) x, both over each annotator's labels. Coordinate ascent is slow in τ² when many
        annotators have few labels, so a larger step towards the same fixed point is tried as well.
        """
        plain, precision = self._step(gram, pull), self.shape / self.rate
        settled = plain._well_determined_precision(precision)
        if np.abs(np.log(settled / precision)).max() < SMALL_MOVE:
            return plain
        larger = replace(plain, rate=plain.shape / settled)._step(gram, pull)
        return max(plain, larger, key=lambda belief: belief._objective(gram, pull))

    def _step(self, gram: Array, pull: Array) -> CrowdBelief:
        """One step of coordinate ascent: q(θ_t) and q(θ_0) given q(1/τ²), then q(1/τ²)."""
        d = self.deviation_precision
        covariance, log_det = inverses(gram + np.diag(d))

        # The means of θ_0 and of all annotators are solved jointly: one by one, convergence is slow.
        on, n_on = self.active, int(self.active.sum())
        crowd_precision, centre = self.population._crowd(len(d), self.n_slopes)
        pulled = np.einsum("tij,tj->ti", covariance, pull)
        held = np.diag(crowd_precision + n_on * d) - d[:, None] * covariance[on].sum(axis=0) * d
        crowd_mean = np.linalg.solve(held, crowd_precision * centre + d * pulled[on].sum(axis=0))
        moved = replace(
            self,
            mean=pulled + covariance @ (d * crowd_mean),
            covariance=covariance,
            crowd_mean=crowd_mean,
            crowd_variance=1 / (crowd_precision + n_on * d),
        )
        shape, rate = self.population._gamma + 0.5 * np.array([n_on * self._sizes, self._by_group(moved._scatter())])
        found = replace(moved, shape=shape, rate=rate)
        vars(found)["_log_det"] = -log_det  # saves computing them again
        return found

    @property
    def _sizes(self) -> Rows:
        """How many columns are slopes, and how many intercepts."""
        return np.array([self.n_slopes, len(self.crowd_mean) - self.n_slopes])

    def _by_group(self, columns: Array) -> Array:
        """Sums over the slopes and over the intercepts: (2,)."""
        return np.array([columns[: self.n_slopes].sum(), columns[self.n_slopes :].sum()])

    def _well_determined_precision(self, used: Array) -> Array:
        """MacKay's update of 1/τ²: count only coefficients that are determined by labels, not by the prior.

        ``used`` are the 1/τ² with which the covariances were computed.
        """
        on = self.active
        distance = self._by_group(((self.mean[on] - self.crowd_mean) ** 2).sum(axis=0))
        unsettled = self._by_group(self._scatter()) - distance
        settled = np.maximum(int(on.sum()) * self._sizes - used * unsettled, 0.0)
        shape, rate = self.population._gamma + 0.5 * np.array([settled, distance])
        return np.asarray(shape / rate)

    def _objective(self, gram: Array, pull: Array) -> float:
        """Return the annotators' part of the bound at fixed q(z), which an update must not decrease."""
        along = np.vdot(pull - 0.5 * (gram @ self.mean[:, :, None])[:, :, 0], self.mean)
        return float(along - 0.5 * np.vdot(gram, self.covariance)) - self.divergence()

    def _scatter(self) -> Array:
        """Σ_t E[(θ_t − θ_0)²] over annotators with labels: (n_columns,)."""
        on = self.active
        spread = np.diagonal(self.covariance[on], axis1=1, axis2=2) + self.crowd_variance
        return np.asarray(((self.mean[on] - self.crowd_mean) ** 2 + spread).sum(axis=0))

    def divergence(self) -> float:
        """KL(q ‖ prior) of all coefficients and precisions, which the bound subtracts."""
        on, n_on, n_columns = self.active, int(self.active.sum()), len(self.crowd_mean)
        log_precision = np.repeat(digamma(self.shape) - np.log(self.rate), self._sizes)  # E[log 1/τ²]
        scatter = self._scatter()
        deviations = 0.5 * float(n_on * log_precision.sum() - self.deviation_precision @ scatter)
        entropies = 0.5 * float(self._log_det[on].sum()) + 0.5 * n_on * n_columns
        return self._crowd_divergence() + self._precision_divergence() - deviations - entropies

    @cached_property
    def _log_det(self) -> Array:
        """log |covariance| of each annotator: (n_annotators,)."""
        return log_determinants(np.linalg.cholesky(self.covariance))

    def _crowd_divergence(self) -> float:
        precision, centre = self.population._crowd(len(self.crowd_mean), self.n_slopes)
        ratio = precision * self.crowd_variance
        return 0.5 * float((ratio - 1 - np.log(ratio) + precision * (self.crowd_mean - centre) ** 2).sum())

    def _precision_divergence(self) -> float:
        """KL between Gamma(shape, rate) and its prior, of slopes and intercepts if there are any."""
        a, b, (a0, b0) = self.shape, self.rate, self.population._gamma
        divergence = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0)
        divergence += a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b
        return float(divergence[self._sizes > 0].sum())

    def of_annotators(self, rows: Rows, active: Mask) -> CrowdBelief:
        """Return the belief about other annotators: ``rows`` are their rows in this one, −1 for new ones."""
        belief = self.belief()
        assert belief.covariance is not None
        return replace(self, mean=belief.mean[rows], covariance=belief.covariance[rows], active=active)

    def fitted_population(self) -> Population:
        """Return the population with the posterior of 1/τ² in place of its prior."""
        (slopes, intercepts), (slopes_rate, intercepts_rate) = self.shape.tolist(), self.rate.tolist()
        return replace(
            self.population,
            precision_shape=slopes,
            precision_rate=slopes_rate,
            deviation_shape=intercepts,
            deviation_variance=intercepts_rate / intercepts,
        )

    def belief(self) -> Belief:
        """Coefficients of each annotator and, in the last row, of an annotator not seen in training."""
        unseen = np.diag(self.crowd_variance + 1 / self.deviation_precision)
        off = ~self.active
        mean, covariance = self.mean.copy(), self.covariance.copy()
        mean[off], covariance[off] = self.crowd_mean, unseen
        return Belief(np.vstack([mean, self.crowd_mean]), np.concatenate([covariance, unseen[None]]))
