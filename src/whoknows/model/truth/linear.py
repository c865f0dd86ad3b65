"""Real-valued truth: linear in the features of x plus noise, with the weights integrated out."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from whoknows._array import Array, Mask, Rows
from whoknows.model.evidence import LabelsByAnnotator, QuadraticEvidence
from whoknows.model.gaussian import Belief, LinearPosterior, condition, variance_along
from whoknows.model.graph import Graph
from whoknows.model.posterior import GaussianPosterior
from whoknows.model.settings import NOT_NEGATIVE, POSITIVE, NotCompatible, Rules, Settings, is_a, or_none
from whoknows.model.truth.biases import (
    covariance_with_biases,
    has_same_labels,
    labels_of,
    posterior_in_training,
    posterior_of_items,
)
from whoknows.model.truth.logistic import ItemLookup, LogisticTruth


@dataclass
class LinearTruth(Settings):
    """z = ωᵀx + ε with ε ~ N(0, s²) and ω ~ N(0, R⁻¹); the last column of x is constant.

    R is the prior precision of `LogisticTruth`: a ridge and, with a graph, Eq. (10)'s A. Given quadratic
    evidence −½ λ_i z_i² + p_i z_i everything is Gaussian. So the weights ω are integrated out rather than
    estimated, and s² is not underestimated because a flexible ω fits the noise. The only parameter is
    ξ = (log s²,), with log s² ~ N(2 log ``noise``, ``log_noise_variance``).

    Since ω is shared, items are coupled: the posterior needs all of them at once and costs one
    n_features × n_features solve. Items without evidence have no effect.

    All settings are in standardised units: labels have mean 0 and variance 1.

    Parameters
    ----------
    graph : Graph or None
        Graph of A = XᵀΔX, through which unlabelled items contribute; None for a plain ridge.
    strength : float
        Weight of the graph term.
    variance : float
        Prior variance of each weight, for features of mean squared length one.
    intercept_variance : float
        Prior variance of the weight of the constant.
    noise : float
        Prior median of s, the standard deviation of the truth around ωᵀx.
    log_noise_variance : float
        Prior variance of log s².

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
    needs_all: ClassVar[bool] = False
    rules: ClassVar[Rules] = {
        "graph": or_none(is_a(Graph)),
        "strength": NOT_NEGATIVE,
        "variance": POSITIVE,
        "intercept_variance": POSITIVE,
        "noise": POSITIVE,
        "log_noise_variance": POSITIVE,
    }

    description: str = field(default="", init=False, repr=False, compare=False)
    _precision: Array | None = field(default=None, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Refuse classes: the truth is a real number."""
        raise NotCompatible("LinearTruth is a real number, not a class. Use CrowdRegressor, or for classes truth='id'.")

    def prepare(self, X: Array, features: Array, seed: int = 0) -> Self:
        """Return a copy with the precision matrix of the prior, as `LogisticTruth.prepare` builds it."""
        prior = LogisticTruth(self.graph, self.strength, self.variance, self.intercept_variance)
        prior = prior.prepare(X, features, seed)
        prepared = copy.copy(self)
        prepared._precision, prepared.description = prior.precision, prior.description
        return prepared

    @property
    def precision(self) -> Array:
        """R in p(ω) ∝ exp(−½ ωᵀRω): ridge plus graph term."""
        if self._precision is None:
            raise RuntimeError("LinearTruth was not prepared: call prepare(X, features) first.")
        return self._precision

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int) -> Array:
        """ξ = (log s²,) at its prior mean."""
        return np.array([2 * np.log(self.noise)])

    def posterior(self, xi: Array, X: Array, evidence: QuadraticEvidence) -> LinearPosterior:
        """p(z | x, labels), ω integrated out, and log p(labels | x; s²); see `gaussian.condition`."""
        return condition(X, self.precision, float(np.exp(xi[0])), evidence)

    def expected_log_truth(self, xi: Array, X: Array, posterior: LinearPosterior) -> tuple[float, Array]:
        """E[Σ log N(z; ωᵀx, s²)] over p(z, ω | labels), and its gradient in log s².

        It depends on the posterior only through E(z − ωᵀx)², its ``residual``.
        """
        squared = posterior.residual * np.exp(-xi[0])
        value = -0.5 * float(posterior.counts @ (np.log(2 * np.pi) + xi[0] + squared))
        return value, np.array([0.5 * float(posterior.counts @ (squared - 1))])

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """log p(log s²) up to a constant, and its gradient; the prior of ω is part of `posterior`."""
        surprise = xi - self.init(0)
        pull = surprise / self.log_noise_variance
        return -0.5 * float(surprise @ pull), -pull

    # --- after the fit ---------------------------------------------------------------------------

    def state(self, xi: Array, posterior: LinearPosterior, evidence: QuadraticEvidence, X: Array) -> LinearBelief:
        """Return p(ω | labels), s², and the training items with their evidence."""
        weights, noise = posterior.weights, float(np.exp(xi[0]))
        joint = covariance_with_biases(X, self.precision, noise, evidence)
        evidence = evidence if joint is not None else replace(evidence, by_annotator=None)
        return LinearBelief(weights.mean, weights.covariance, noise, X, evidence, joint)

    def parameters(self, state: LinearBelief) -> Array:
        """Return ξ = (log s²,) of a state."""
        return np.log([state.noise])

    def predict(self, state: LinearBelief, X: Array) -> GaussianPosterior:
        """p(z | x) = N(mᵀx, xᵀSx + s²), without the item's labels: exact given s² and the σ of annotators."""
        n = X.shape[1]
        return GaussianPosterior(X @ state.mean, variance_along(X, state.of_all[:n, :n]) + state.noise)

    def posterior_at(self, state: LinearBelief, X: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
        """p(z | x, labels) of each item by itself, exact given s² and the σ of annotators.

        New labels of a training item replace its old ones; without any, this is `predict`.
        """
        item, found = state.find(X, evidence)
        before, now = state.by_annotator(state.evidence), state.by_annotator(evidence)
        same = found & has_same_labels(before, now, item)
        mean, variance = posterior_in_training(state, state.of_all, state.noise, X, before, item, same)
        for i, answer in state.replacing_labels(X, evidence, ~same & (evidence.precision > 0)):
            mean[i], variance[i], _ = answer
        return GaussianPosterior(mean, variance)

    def log_density(self, state: LinearBelief, X: Array, evidence: QuadraticEvidence) -> Array:
        """log p(labels | x) of each item by itself, z integrated out: (n_items,)."""
        density = evidence.constant.copy()
        for i, answer in state.replacing_labels(X, evidence, evidence.precision > 0):
            density[i] += answer[2]
        return density


@dataclass(frozen=True)
class LinearBelief(Belief):
    """p(ω | labels) = N(mean, covariance), s² in ``noise``, and the training items with their evidence.

    ``covariance`` is given the annotators' biases; ``joint`` (n_features + n_annotators)² is that of ω and
    the biases, None if there are too many of them.
    """

    noise: float = 1.0
    items: Array = field(default_factory=lambda: np.zeros((0, 1)))
    evidence: QuadraticEvidence = field(
        default_factory=lambda: QuadraticEvidence(np.zeros(0), np.zeros(0), np.zeros(0))
    )
    joint: Array | None = None

    @property
    def of_all(self) -> Array:
        """Covariance of ω and of those biases that are integrated out."""
        return np.asarray(self.covariance if self.joint is None else self.joint)

    def by_annotator(self, evidence: QuadraticEvidence) -> QuadraticEvidence:
        """Return evidence with the labels of annotators whose biases are integrated out: all, or none."""
        if self.joint is not None:
            return evidence
        none = sp.csr_array((len(evidence.pull), 0))
        return replace(evidence, by_annotator=LabelsByAnnotator(none, none, 1.0))

    def find(self, X: Array, evidence: QuadraticEvidence) -> tuple[Rows, Mask]:
        """Return which training item each x is, and whether it is one; among duplicates by their labels."""
        return self._lookup.find(X, _in_numbers(evidence))

    def replacing_labels(
        self, X: Array, evidence: QuadraticEvidence, which: Mask
    ) -> Iterator[tuple[int, tuple[float, float, float]]]:
        """Give results of `posterior_of_items` for some items, whose labels replace those in training."""
        rows = np.flatnonzero(which)
        item, found = self.find(X, evidence)
        counts = found * (1.0 if self.evidence.weight is None else self.evidence.weight[item])
        before, now = self.by_annotator(self.evidence), self.by_annotator(evidence)
        old = [(labels_of(before, int(item[i])), counts[i]) for i in rows]
        new = [labels_of(now, int(i)) for i in rows]
        yield from zip(rows, posterior_of_items(self, self.of_all, self.noise, X[rows], old, new), strict=True)

    @cached_property
    def _lookup(self) -> ItemLookup:
        return ItemLookup(self.items, _in_numbers(self.evidence))


def _in_numbers(evidence: QuadraticEvidence) -> Array:
    """Evidence in two numbers of order one: (n_items, 2)."""
    precision, pull = evidence.precision, evidence.pull
    return np.column_stack([np.log1p(precision), pull / (1 + precision)])
