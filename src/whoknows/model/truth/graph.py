"""Truth as a smooth function on the graph of items: the paper's model GP."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from scipy.stats import norm

from whoknows._array import Array, Mask
from whoknows.model.distances import nearest, neighbors
from whoknows.model.evidence import Evidence, QuadraticEvidence
from whoknows.model.graph import BuiltGraph, Graph, KnnGraph
from whoknows.model.posterior import GaussianPosterior, Posterior
from whoknows.model.settings import COUNT, POSITIVE, NotCompatible, Rules, Settings, is_a, or_none

MOST_ITEMS = 10_000  # a dense covariance of more items does not fit a laptop


@dataclass
class GraphTruth(Settings):
    """p(Z | X) ∝ exp(−ZᵀΔZ / 2λ), Eq. (3), z_i real, labels 0 and 1 on either side of ½.

    With Gaussian annotators (Eq. 14) the joint of Eq. (5) is Gaussian, so the E-step the paper calls
    intractable is one linear solve: precision Δ/λ + diag(Σ_t σ_t⁻²). Z has prior mean ½, which matters only
    to items out of reach of any label.

    Parameters
    ----------
    graph : Graph
        Where Δ comes from; it is scaled to a mean degree of one.
    lam : float
        λ of Eq. (3): the larger, the freer z is to vary along the graph.
    jitter : float
        Added to Δ, which is singular.
    neighbors : int or None
        None: exact. m: the paper's approximation p(z_i | X) ≈ p(z_i | x_i, x_η(i)), each item's posterior
        from its m nearest items alone. EM's bound may then fall.
    """

    graph: Graph = field(default_factory=KnnGraph)
    lam: float = 0.05
    jitter: float = 0.01
    neighbors: int | None = None

    accepts: ClassVar[str] = "quadratic"
    couples_items: ClassVar[bool] = True
    rules: ClassVar[Rules] = {
        "graph": is_a(Graph),
        "lam": POSITIVE,
        "jitter": POSITIVE,
        "neighbors": or_none(COUNT),
    }

    _built: BuiltGraph | None = field(default=None, init=False, repr=False, compare=False)
    _covariance: Array | None = field(default=None, init=False, repr=False, compare=False)
    _near: Array | None = field(default=None, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Return self for two classes; refuse more, which a real z cannot stand for."""
        if n_classes > 2:
            raise NotCompatible(
                "Only binary classification is supported. The type of the target is multiclass. GraphTruth "
                f"has a real z between two classes; there are {n_classes}. Use truth='id' with "
                "map='spectral': the same prior, for any number of classes."
            )
        return self

    def prepare(self, X: Array, features: Array | None = None, seed: int = 0) -> Self:
        """Return a copy that holds the prior covariance λ (Δ + jitter)⁻¹ of all items in ``X``."""
        if len(X) > MOST_ITEMS:
            raise ValueError(
                f"GraphTruth couples all items and is exact for at most {MOST_ITEMS}; X has {len(X)}. "
                "Use truth='id' with map='spectral': the same prior in the graph's eigenbasis, at any size."
            )
        prepared = copy.copy(self)
        prepared._built = self.graph.build(X, seed)
        Delta = prepared._built.laplacian() + self.jitter * np.eye(len(X))
        prepared._covariance = self.lam * scipy.linalg.inv(Delta)
        if self.neighbors is not None:
            others = neighbors(X, min(self.neighbors, len(X) - 1))[0]
            prepared._near = np.column_stack([np.arange(len(X)), others])
        return prepared

    @property
    def covariance(self) -> Array:
        """λ (Δ + jitter)⁻¹, (n_items, n_items)."""
        if self._covariance is None:
            raise RuntimeError("GraphTruth was not prepared: call prepare(X) first.")
        return self._covariance

    def init(self, n_features: int) -> Array:
        """Return nothing to learn: Eq. (3) has no parameters."""
        return np.zeros(0)

    def posterior(self, xi: Array, X: Array, evidence: Evidence) -> GaussianPosterior:
        """p(Z | X, Y_L) ∝ Eq. (5), exactly or from each item's neighbours, and log p(Y_L | X) of Eq. (8)."""
        assert isinstance(evidence, QuadraticEvidence)
        weight, evidence = evidence.weight, _weighted(evidence)
        exact = _condition(self.covariance, evidence)
        if self._near is None:
            return replace(exact, weight=weight)
        local = [_condition_on(self.covariance, evidence, near) for near in self._near]
        mean, variance = np.array([(p.mean[0], p.variance[0]) for p in local]).T
        return GaussianPosterior(mean, variance, exact.log_marginal, weight)

    def expected_log_truth(self, xi: Array, X: Array, posterior: Posterior) -> tuple[float, Array]:
        """Return zero: Eq. (3) is fixed beforehand, so the M-step has nothing to do here."""
        return 0.0, np.zeros(0)

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """Return zero: no parameters, no prior on them."""
        return 0.0, np.zeros(0)

    # --- after the fit ---------------------------------------------------------------------------

    def learnt(self, xi: Array, posterior: Posterior, evidence: Evidence) -> Smoothed:
        """Keep what the fit found out of its items: there are no parameters to keep."""
        assert isinstance(posterior, GaussianPosterior)
        assert isinstance(evidence, QuadraticEvidence)
        return Smoothed(posterior, _weighted(evidence))

    def log_predict(self, known: Smoothed, X: Array) -> Array:
        """log P(z ≤ ½) and log P(z > ½), given what is known of the items of the fit: (n_items, 2).

        An x that coincides with one of those items is that item.
        """
        return _log_probability(self._prior_at(known.posterior, X))

    def posterior_at(self, known: Smoothed, X: Array, evidence: Evidence) -> Array:
        """The same, with the labels of these items in: (n_items, 2).

        Labels of an item of the fit replace those it had; a new item takes the graph's word as its prior.
        """
        assert isinstance(evidence, QuadraticEvidence)
        item, here = self._find(X)
        evidence = _weighted(evidence)
        replaced = known.evidence.replace(item[here], evidence, np.flatnonzero(here))
        smoothed = self._prior_at(self.posterior(np.zeros(0), X, replaced), X)
        precision = 1 / smoothed.variance + np.where(here, 0.0, evidence.precision)
        mean = (smoothed.mean / smoothed.variance + np.where(here, 0.0, evidence.pull)) / precision
        return np.exp(_log_probability(GaussianPosterior(mean, 1 / precision)))

    def _prior_at(self, known: GaussianPosterior, X: Array) -> GaussianPosterior:
        """Join x to the graph: z(x) is the mean over its neighbours, ½ where it has none.

        The variance takes neighbours as moving together, so it errs on the side of doubt.
        """
        assert self._built is not None
        weights = self._built.tie(X)
        total = np.asarray(weights.sum(axis=1)).ravel() + self.jitter
        mean = 0.5 + (weights @ (known.mean - 0.5)) / total
        variance = (weights @ known.variance + self.lam) / total
        item, here = self._find(X)
        mean[here], variance[here] = known.mean[item[here]], known.variance[item[here]]
        return GaussianPosterior(mean, variance)

    def _find(self, X: Array) -> tuple[Any, Mask]:
        """Return the item of the fit nearest to each x, and whether x is that very item."""
        assert self._built is not None
        item = nearest(X, self._built.nodes, 1)[0][:, 0]
        return item, np.asarray((self._built.nodes[item] == X).all(axis=1))


@dataclass(frozen=True)
class Smoothed:
    """What a fit of `GraphTruth` leaves behind: the items' posterior, and the evidence it rests on."""

    posterior: GaussianPosterior
    evidence: QuadraticEvidence


def _weighted(evidence: QuadraticEvidence) -> QuadraticEvidence:
    """Labels of an item that counts twice count twice: the items have one joint truth, none has a copy."""
    w = evidence.weight
    if w is None:
        return evidence
    return QuadraticEvidence(w * evidence.precision, w * evidence.pull, w * evidence.constant)


def _log_probability(posterior: GaussianPosterior) -> Array:
    """log P(z ≤ ½) and log P(z > ½) of each item: (n_items, 2)."""
    distance = (posterior.mean - 0.5) / np.sqrt(posterior.variance)
    return np.column_stack([norm.logcdf(-distance), norm.logcdf(distance)])


def _condition_on(covariance: Array, evidence: QuadraticEvidence, rows: Array) -> GaussianPosterior:
    part = QuadraticEvidence(evidence.precision[rows], evidence.pull[rows], evidence.constant[rows])
    return _condition(covariance[np.ix_(rows, rows)], part)


def _condition(covariance: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
    """Gaussian prior N(½, covariance) times quadratic evidence; only items with labels enter the solve."""
    seen = np.flatnonzero(evidence.precision > 0)
    precision = evidence.precision[seen]
    y = evidence.pull[seen] / precision  # the labels of an item, as one observation of variance 1/precision
    K = covariance[:, seen]
    L = scipy.linalg.cholesky(K[seen] + np.diag(1 / precision), lower=True)
    gain = scipy.linalg.solve_triangular(L, K.T, lower=True)
    surprise = scipy.linalg.solve_triangular(L, y - 0.5, lower=True)
    log_density = -0.5 * surprise @ surprise - np.log(np.diag(L)).sum() - 0.5 * len(y) * np.log(2 * np.pi)
    rest = evidence.constant[seen] + 0.5 * y * evidence.pull[seen] - 0.5 * np.log(precision / (2 * np.pi))
    return GaussianPosterior(
        0.5 + gain.T @ surprise,
        np.diag(covariance) - np.einsum("ij,ij->j", gain, gain),
        float(log_density + rest.sum()),
    )
