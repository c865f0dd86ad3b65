"""Real-valued truth: linear in the features of x, plus noise of its own; weights integrated out."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy.linalg

from whoknows._array import Array
from whoknows.model.belief import Belief
from whoknows.model.evidence import Evidence, QuadraticEvidence
from whoknows.model.graph import Graph
from whoknows.model.posterior import GaussianPosterior, Posterior
from whoknows.model.settings import NOT_NEGATIVE, POSITIVE, NotCompatible, Rules, Settings, is_a, or_none
from whoknows.model.truth.item_lookup import ItemLookup
from whoknows.model.truth.logistic import LogisticTruth

LEAST_LEFT = 1e-10  # of what an item does not know from its own labels: rounding, not statistics


@dataclass
class LinearTruth(Settings):
    """z = ωᵀx + ε with ε ~ N(0, s²) and ω ~ N(0, R⁻¹); x carries a constant last column.

    R is the prior precision of `LogisticTruth`: a ridge and, with a graph, Eq. (10)'s A. Given quadratic
    evidence −½ λ_i z_i² + p_i z_i everything is Gaussian, so the weights ω are not estimated but integrated
    out, and s² is not fooled by a flexible ω that follows the noise. All that is left to learn is
    ξ = (log s²,), with log s² ~ N(2 log ``noise``, ``log_noise_variance``).

    Since ω is shared, items hang together: the posterior needs them all at once, at the price of one
    n_features × n_features solve. Items without evidence change nothing.

    All settings are in units of the labels' spread: labels come with mean 0 and variance 1.

    Parameters
    ----------
    graph : Graph or None
        Where A = XᵀΔX comes from, through which unlabelled items count; None for a plain ridge.
    strength : float
        Weight of the graph term.
    variance : float
        Prior variance of each weight, for features of mean squared length one.
    intercept_variance : float
        Prior variance of the weight of the constant.
    noise : float
        Where s, how far the truth strays from any function of x, is expected.
    log_noise_variance : float
        How unsure that is: prior variance of log s².

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.model.evidence import QuadraticEvidence
    >>> from whoknows.model.truth.linear import LinearTruth
    >>> X = np.array([[-1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])  # the constant last
    >>> truth = LinearTruth().prepare(X[:, :-1], X)
    >>> labels = QuadraticEvidence(np.array([100.0, 0.0, 100.0]), np.array([-100.0, 0.0, 100.0]), np.zeros(3))
    >>> truth.posterior(truth.init(2), X, labels).mean.round(1)  # the second item has no label
    array([-1.,  0.,  1.])
    """

    graph: Graph | None = None
    strength: float = 1.0
    variance: float = 1.0
    intercept_variance: float = 10.0
    noise: float = 0.5
    log_noise_variance: float = 1.0

    accepts: ClassVar[str] = "quadratic"
    couples_items: ClassVar[bool] = True
    uses_map: ClassVar[bool] = True
    needs_all: ClassVar[bool] = False
    rules: ClassVar[Rules] = {
        "graph": or_none(is_a(Graph)),
        "strength": NOT_NEGATIVE,
        "variance": POSITIVE,
        "intercept_variance": POSITIVE,
        "noise": POSITIVE,
        "log_noise_variance": POSITIVE,
    }

    chosen: str = field(default="", init=False, repr=False, compare=False)
    _precision: Array | None = field(default=None, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Refuse classes, which are no numbers."""
        raise NotCompatible(
            "LinearTruth is a real number, not a class. Use CrowdRegressor, or for classes truth='id'."
        )

    def prepare(self, X: Array, features: Array, seed: int = 0) -> Self:
        """Return a copy that holds the prior's precision matrix, as `LogisticTruth.prepare` builds it."""
        prior = LogisticTruth(self.graph, self.strength, self.variance, self.intercept_variance)
        prior = prior.prepare(X, features, seed)
        prepared = copy.copy(self)
        prepared._precision, prepared.chosen = prior.precision, prior.chosen
        return prepared

    @property
    def precision(self) -> Array:
        """R in p(ω) ∝ exp(−½ ωᵀRω): ridge and graph term together."""
        if self._precision is None:
            raise RuntimeError("LinearTruth was not prepared: call prepare(X, features) first.")
        return self._precision

    # --- what a solver asks ----------------------------------------------------------------------

    def init(self, n_features: int) -> Array:
        """ξ = (log s²,) at its prior mean."""
        return np.array([2 * np.log(self.noise)])

    def posterior(self, xi: Array, X: Array, evidence: Evidence) -> LinearPosterior:
        """p(z | x, labels), ω integrated out, and log p(labels | x; s²).

        With g = 1 / (1 + s²λ), what the labels of an item leave of its prior:

            ω | labels    ~ N(m, S),  S⁻¹ = R + Σ gλ x xᵀ,  m = S Σ g p x
            z | ω, labels ~ N(g (ωᵀx + s²p), g s²): precision 1/s² + λ
            z | labels    ~ N(g (mᵀx + s²p), g s² + g² xᵀSx)

        The log marginal is Σ (constant − ½ log(1 + s²λ) + ½ g s²p²) + ½ mᵀS⁻¹m + ½ log |R| |S|.
        """
        assert isinstance(evidence, QuadraticEvidence)
        s2 = float(np.exp(xi[0]))
        g, p = 1 / (1 + s2 * evidence.precision), evidence.pull
        counts = np.ones(len(p)) if evidence.weight is None else evidence.weight
        weights, half_log_det = self._weights(X, counts * g * evidence.precision, counts * g * p)
        f, v = X @ weights.mean, weights.variance_along(X)
        local = evidence.constant + 0.5 * (np.log(g) + g * s2 * p**2)
        fit = 0.5 * float((counts * g * p) @ f)
        surprise = p - evidence.precision * f
        return LinearPosterior(
            g * (f + s2 * p),
            g * s2 + g**2 * v,
            float(counts @ local) + fit + half_log_det,
            evidence.weight,
            g * s2 + (g * s2) ** 2 * (surprise**2 + evidence.precision**2 * v),
            weights,
        )

    def _weights(self, X: Array, precision: Array, pull: Array) -> tuple[Belief, float]:
        """N(m, S) of the weights, and ½ log |R| |S|; ``precision`` and ``pull`` are the items' on ωᵀx."""
        root = scipy.linalg.cholesky(self.precision + X.T @ (X * precision[:, None]), lower=True)
        half = scipy.linalg.solve_triangular(root, np.eye(len(root)), lower=True)
        S = half.T @ half
        half_log_det = 0.5 * float(np.linalg.slogdet(self.precision)[1]) - float(np.log(np.diag(root)).sum())
        return Belief(S @ (X.T @ pull), S), half_log_det

    def expected_log_truth(self, xi: Array, X: Array, posterior: Posterior) -> tuple[float, Array]:
        """E[Σ log N(z; ωᵀx, s²)] over p(z, ω | labels), and its gradient in log s².

        Only E(z − ωᵀx)² = g s² + (g s²)² ((p − λ mᵀx)² + λ² xᵀSx) is needed, ``residual`` of the posterior.
        """
        assert isinstance(posterior, LinearPosterior)
        squared = posterior.residual * np.exp(-xi[0])
        value = -0.5 * float(posterior.counts @ (np.log(2 * np.pi) + xi[0] + squared))
        return value, np.array([0.5 * float(posterior.counts @ (squared - 1))])

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """log p(log s²) up to a constant, and its gradient; that of ω is inside `posterior`."""
        surprise = xi - self.init(0)
        pull = surprise / self.log_noise_variance
        return -0.5 * float(surprise @ pull), -pull

    # --- after the fit ---------------------------------------------------------------------------

    def learnt(self, xi: Array, posterior: Posterior, evidence: Evidence, X: Array) -> LinearBelief:
        """Keep p(ω | labels), s², and which items it has seen with which evidence."""
        assert isinstance(posterior, LinearPosterior)
        assert isinstance(evidence, QuadraticEvidence)
        weights = posterior.weights
        return LinearBelief(weights.mean, weights.covariance, float(np.exp(xi[0])), X, evidence)

    def predict(self, known: LinearBelief, X: Array) -> GaussianPosterior:
        """p(z | x) = N(mᵀx, xᵀSx + s²), own labels aside: exact given s² and the annotators."""
        return GaussianPosterior(X @ known.mean, known.variance_along(X) + known.noise)

    def posterior_at(self, known: LinearBelief, X: Array, evidence: Evidence) -> GaussianPosterior:
        """p(z | x, labels) of each item by itself, exact given s² and the annotators.

        Labels of an item of the fit replace those it had; without any, this is `predict`.
        """
        assert isinstance(evidence, QuadraticEvidence)
        prior = self._prior_at(known, X, evidence)
        g = 1 / (1 + prior.variance * evidence.precision)
        return GaussianPosterior(g * (prior.mean + prior.variance * evidence.pull), g * prior.variance)

    def log_density(self, known: LinearBelief, X: Array, evidence: Evidence) -> Array:
        """log p(labels | x) of each item by itself, z integrated out: (n_items,)."""
        assert isinstance(evidence, QuadraticEvidence)
        prior = self._prior_at(known, X, evidence)
        m, v, p = prior.mean, prior.variance, evidence.pull
        g = 1 / (1 + v * evidence.precision)
        exponent = g * (p**2 * v + 2 * p * m - evidence.precision * m**2)
        return np.asarray(evidence.constant + 0.5 * (np.log(g) + exponent))

    def _prior_at(self, known: LinearBelief, X: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
        """p(z | x, labels of all other items)."""
        mean, variance = known.without_own_labels(X, evidence)
        labelled = evidence.precision > 0
        alone = self.predict(known, X)
        return GaussianPosterior(
            np.where(labelled, mean, alone.mean), np.where(labelled, variance + known.noise, alone.variance)
        )


@dataclass(frozen=True)
class LinearPosterior(GaussianPosterior):
    """p̃(z) with what it knows of the weights: ``residual`` is E(z − ωᵀx)², (n_items,)."""

    residual: Array = field(default_factory=lambda: np.zeros(0))
    weights: Belief = field(default_factory=lambda: Belief(np.zeros(0)))


@dataclass(frozen=True)
class LinearBelief(Belief):
    """p(ω | labels) = N(mean, covariance), s² in ``noise``, and the items of the fit with their evidence."""

    noise: float = 1.0
    items: Array = field(default_factory=lambda: np.zeros((0, 1)))
    evidence: QuadraticEvidence = field(
        default_factory=lambda: QuadraticEvidence(np.zeros(0), np.zeros(0), np.zeros(0))
    )

    def without_own_labels(self, X: Array, evidence: QuadraticEvidence) -> tuple[Array, Array]:
        """Mean and variance of ωᵀx, for an x of the fit as they would be had it had no labels.

        With v = xᵀSx, mᵀx → (mᵀx − v g p) / (1 − v gλ) and v → v / (1 − v gλ): its own precision gλ and
        pull g p taken out again, exactly.
        """
        f, v = X @ self.mean, self.variance_along(X)
        item, here = self._twins.find(X, _in_numbers(evidence))
        precision, pull = self.evidence.precision[item], self.evidence.pull[item]
        counts = 1.0 if self.evidence.weight is None else self.evidence.weight[item]
        share = np.where(here, counts / (1 + self.noise * precision), 0.0)
        left = np.maximum(1 - v * share * precision, LEAST_LEFT)
        return (f - v * share * pull) / left, v / left

    @cached_property
    def _twins(self) -> ItemLookup:
        return ItemLookup(self.items, _in_numbers(self.evidence))


def _in_numbers(evidence: QuadraticEvidence) -> Array:
    """What labels say, in two numbers of order one: (n_items, 2)."""
    precision, pull = evidence.precision, evidence.pull
    return np.column_stack([np.log1p(precision), pull / (1 + precision)])
