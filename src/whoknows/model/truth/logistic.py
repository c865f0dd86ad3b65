"""Truth as a logistic function of x: model ID, and with a graph prior on its weights model LGP."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy.linalg
from scipy.optimize import brentq
from scipy.spatial import cKDTree

from whoknows._array import Array, Mask, Rows, like, log_logistic, log_softmax, namespace, to_numpy
from whoknows.model.evidence import Evidence
from whoknows.model.gaussian import Belief, bounded_log_logistic, moderated, omega, variance_along
from whoknows.model.graph import Graph
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.settings import NOT_NEGATIVE, POSITIVE, Rules, Settings, is_a, or_none

LEAST_LEFT = 0.02  # smallest share of an item's precision left without its labels: higher leverage is not trusted
SHARPNESS_DEVIATION = 0.25  # prior standard deviation of log t, by which predictions are sharpened
MOST_SHARPNESS = 4.0  # largest t; the smallest is its inverse
SAME_ITEM = 1e-9  # features closer than this differ only by rounding
KEY_NUMBERS = 3  # by which an item is recognised


@dataclass
class LogisticTruth(Settings):
    """p(z = 1 | x) = logistic(ξᵀx), Eqs. (9), (18), or softmax(ξᵀx); with a graph, ξ has Eq. (10)'s prior.

    Without a graph this is the paper's model ID, with a graph its LGP. Both keep a ridge, since A alone is
    singular. The prior is p(ξ) ∝ exp(−½ ξᵀξ / variance − strength ξᵀAξ). The last column of x is constant; A
    does not penalise its weight, since Δ1 = 0.

    ξ is (n_features, n_outputs): one output, the log-odds of the second class, for two classes, and one
    output per class for more.

    Parameters
    ----------
    graph : Graph or None
        Graph of A = XᵀΔX; None for ID.
    strength : float
        Weight of the graph term. A is a mean over edges, so its scale does not depend on the data set.
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
    works_on_tensors: ClassVar[bool] = True
    couples_items: ClassVar[bool] = False
    needs_all: ClassVar[bool] = False
    rules: ClassVar[Rules] = {
        "graph": or_none(is_a(Graph)),
        "strength": NOT_NEGATIVE,
        "variance": POSITIVE,
        "intercept_variance": POSITIVE,
    }

    description: str = field(default="", init=False, repr=False, compare=False)
    _precision: Array | None = field(default=None, init=False, repr=False, compare=False)
    _log_det: float = field(default=0.0, init=False, repr=False, compare=False)  # of the precision
    _n_classes: int = field(default=2, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Return a copy for this number of classes."""
        prepared = copy.copy(self)
        prepared._n_classes = n_classes
        return prepared

    def prepare(self, X: Array, features: Array, seed: int = 0) -> Self:
        """Return a copy with the precision matrix of the prior, Eq. (10).

        ``X`` (n_items, D) are *all* items, labelled or not, from which the graph is built; ``features``
        (n_items, n_features), constant last, is what ξ multiplies.
        """
        precision = np.diag(np.full(features.shape[1], 1 / self.variance))
        precision[-1, -1] = 1 / self.intercept_variance
        if self.graph is None:
            return self.with_precision(precision)
        graph = self.graph.build(X, seed)
        prepared = self.with_precision(precision + 2 * self.strength * graph.smoothness(X, features))
        prepared.description = graph.description
        return prepared

    def with_precision(self, precision: Array) -> Self:
        """Return a copy with another prior, p(ξ) ∝ exp(−½ ξᵀRξ)."""
        prepared = copy.copy(self)
        prepared._precision, prepared._log_det = precision, float(np.linalg.slogdet(precision)[1])
        vars(prepared).pop("_diagonal", None)
        return prepared

    @property
    def precision(self) -> Array:
        """R in p(ξ) ∝ exp(−½ ξᵀRξ): ridge plus graph term."""
        if self._precision is None:
            raise RuntimeError(f"{type(self).__name__} was not prepared: call prepare(X, features) first.")
        return self._precision

    @cached_property
    def _diagonal(self) -> Array | None:
        """The diagonal of R if all other numbers are zero, which makes products cheap."""
        diagonal = np.diagonal(self.precision)
        return diagonal if np.count_nonzero(self.precision) == np.count_nonzero(diagonal) else None

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int) -> Array:
        """ξ = 0: (n_features, n_outputs)."""
        return np.zeros((n_features, 1 if self._n_classes == 2 else self._n_classes))

    def posterior(self, xi: Array, X: Array, evidence: Evidence) -> CategoricalPosterior:
        """p̃(z) ∝ p(z | x) Π_t p(y | x, z), Eqs. (7), (12): Eqs. (1), (2) normalised, Eq. (6) their sum."""
        log_p = to_numpy(self.log_prob(xi, self.log_odds(xi, X)))
        return CategoricalPosterior.from_log_joint(log_p + evidence.table, evidence.weight)

    def expected_log_truth(self, xi: Array, X: Array, posterior: CategoricalPosterior) -> tuple[float, Array]:
        """E_p̃(z)[Σ_i log p(z_i | x_i)], the second term of Eq. (13), and its gradient Σ (p̃ − p) x."""
        posterior = posterior.like(X)
        q, log_p = posterior.prob, log_classes(X @ like(xi, X))
        counts = posterior.counts[:, None]
        residual = counts * (q - namespace(X).exp(log_p))
        # For few outputs, this product is three times as fast as that of Xᵀ and the residual.
        return float((counts * q * log_p).sum()), to_numpy((_outputs(residual, xi).T @ X).T)

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """log p(ξ | X), Eqs. (10), (11), up to a constant, and its gradient."""
        pull = self.precision @ xi if self._diagonal is None else self._diagonal[:, None] * xi
        return -0.5 * float((xi * pull).sum()), -pull

    # --- the linear function ξᵀx: coefficients and intervals --------------------------------------

    def weights(self, xi: Array) -> Array:
        """Return the part of ξ that multiplies x, here all of it: (n_features, n_outputs)."""
        return xi

    def log_odds(self, xi: Array, X: Array) -> Array:
        """f = ξᵀx: (n_items, n_outputs)."""
        return X @ like(xi, X)

    def log_prob(self, xi: Array, f: Array) -> Array:
        """log p(z) at log-odds f: (n_items, n_classes)."""
        return log_classes(f)

    def residual(self, xi: Array, X: Array, posterior: CategoricalPosterior) -> Array:
        """p̃ − p, the gradient of each item's expected log truth in ξᵀx: (n_items, n_outputs)."""
        return np.asarray(_outputs(posterior.prob - np.exp(to_numpy(log_classes(X @ like(xi, X)))), xi))

    # --- cross-fitting: p(z_i | x_i) as fitted without the labels of item i -----------------------

    def curvature(self, xi: Array, X: Array, posterior: CategoricalPosterior) -> Array:
        """−∂² of each item's expected log truth in ξᵀx, p (1 − p): (n_items, n_outputs)."""
        p = self._probabilities(xi, X)
        return p * (1 - p)

    def leave_one_out(self, xi: Array, X: Array, posterior: CategoricalPosterior, variance: Array) -> Array:
        """log p(z_i | x_i) under ξ fitted without item i: (n_items, n_classes).

        f_−i = f_i − a (p̃_i − p_i), a the ``variance`` of ξᵀx_i without item i: to first order in the change
        of the other items, and exact for least squares.
        """
        posterior = posterior.like(X)
        p, q = self._probabilities(xi, X), _outputs(posterior.prob, xi)
        return log_classes(X @ like(xi, X) - variance * posterior.counts[:, None] * (q - p))

    def _probabilities(self, xi: Array, X: Array) -> Array:
        """p(z | x) of the classes that have an output: (n_items, n_outputs)."""
        log_p = log_classes(X @ like(xi, X))
        return _outputs(namespace(X).exp(log_p), xi)

    def cross_fitted(
        self, xi: Array, X: list[Array], held_out: list[Array], evidence: list[Array], counts: list[Array]
    ) -> CrossFitBelief:
        """Return ξ together with the leave-one-out log p(z | x) of the training items.

        The prior shrinks ξ, so with few labels p(z | x) is too cautious. Both are multiplied by the factor
        that suits the labels of the held-out items best.
        """
        log_p, table = np.vstack(held_out), np.vstack(evidence)
        t = sharpness(log_p, table, np.concatenate(counts))
        return CrossFitBelief(t * xi, None, item_keys(np.vstack(X)), log_softmax(t * log_p), shares(table))

    # --- variational -----------------------------------------------------------------------------

    @property
    def has_bound(self) -> bool:
        """Whether there is a quadratic bound: only for two classes."""
        return self._n_classes == 2

    def prior_belief(self) -> Belief:
        """q(ξ) before any label: the prior."""
        return Belief(np.zeros((len(self.precision), 1)), scipy.linalg.inv(self.precision))

    def moments(self, belief: Belief, X: Array) -> tuple[Array, Array]:
        """E[f] and E[f²] of f = ξᵀx: two (n_items,)."""
        mean = X @ like(belief.mean[:, 0], X)
        return mean, mean**2 + variance_along(X, belief.covariance)

    def bounded_posterior(self, moments: tuple[Array, Array], evidence: Evidence) -> CategoricalPosterior:
        """Best q(z) given q(ξ) and the evidence; its log marginal is the local part of the bound."""
        if_one, if_zero = bounded_log_logistic(*moments)
        log_joint = namespace(if_one).stack([if_zero, if_one], 1) + evidence.table
        return CategoricalPosterior.from_log_joint(log_joint, evidence.weight)

    def statistics(
        self, moments: tuple[Array, Array], X: Array, posterior: CategoricalPosterior
    ) -> tuple[Array, Array]:
        """Σ ω x xᵀ and Σ (p̃ − ½) x, the sums over items that determine q(ξ)."""
        counts = posterior.counts
        root = (counts * omega(moments[1] ** 0.5)) ** 0.5
        return to_numpy(gram(X * root[:, None])), to_numpy(X.T @ (counts * (posterior.mean - 0.5)))

    def without_own_labels(self, moments: tuple[Array, Array], posterior: CategoricalPosterior) -> Array:
        """log p(z_i | x_i) under q(ξ) without the terms of item i: (n_items, n_classes).

        The cavity of f_i ~ N(m, v): m₋ = (m − v (p̃ − ½)) / (1 − ω v), v₋ = v / (1 − ω v).
        """
        mean, second = moments
        v, counts = second - mean**2, posterior.counts
        left = (1 - counts * omega(second**0.5) * v).clip(min=LEAST_LEFT)
        f = moderated((mean - counts * v * (posterior.mean - 0.5)) / left, v / left)
        return log_classes(f[:, None])

    def update(self, gram: Array, pull: Array) -> Belief:
        """Best q(ξ) given those sums: covariance (gram + R)⁻¹."""
        covariance = scipy.linalg.inv(gram + self.precision)
        return Belief((covariance @ pull)[:, None], 0.5 * (covariance + covariance.T))

    def divergence(self, belief: Belief) -> float:
        """KL(q(ξ) ‖ p(ξ)), which the bound subtracts."""
        assert belief.covariance is not None
        R, m = self.precision, belief.mean[:, 0]
        trace = float((R * belief.covariance).sum())
        log_det = self._log_det + float(np.linalg.slogdet(belief.covariance)[1])
        return 0.5 * (trace + float(m @ R @ m) - len(m) - log_det)

    # --- after the fit ---------------------------------------------------------------------------

    def state(self, xi: Array, posterior: CategoricalPosterior, evidence: Evidence, X: Array) -> Belief:
        """Return ξ as a point estimate."""
        return Belief(xi)

    def parameters(self, state: Belief) -> Array:
        """Return ξ of a state."""
        return state.mean

    def log_predict(self, state: Belief, X: Array) -> Array:
        """log p(z | x), Sec. 3.6, ξ integrated out if its covariance is known: (n_items, n_classes)."""
        f = self.log_odds(like(state.mean, X), X)
        return self.log_prob(state.mean, moderated(f, variance_along(X, state.covariance)[:, None]))

    def posterior_at(self, state: Belief, X: Array, evidence: Evidence) -> Array:
        """p(z | x, labels), Eqs. (7), (12), ξ integrated out in the same way: (n_items, n_classes)."""
        log_prior = self.log_predict(state, X)
        if isinstance(state, CrossFitBelief):
            log_prior = state.without_own_labels(X, log_prior, evidence.table)
        return CategoricalPosterior.from_log_joint(log_prior + evidence.table).prob


@dataclass(frozen=True)
class CrossFitBelief(Belief):
    """ξ, and leave-one-out predictions for the training items.

    Attributes
    ----------
    items : (n_items, n_numbers)
        `item_keys` of the training items.
    held_out : (n_items, n_classes)
        log p(z | x) of each as fitted without its labels.
    says : (n_items, n_classes)
        Normalised likelihood of each item's labels.
    """

    items: Array = field(default_factory=lambda: np.zeros((0, 1)))
    held_out: Array = field(default_factory=lambda: np.zeros((0, 2)))
    says: Array = field(default_factory=lambda: np.zeros((0, 2)))

    def without_own_labels(self, X: Array, log_prior: Array, evidence: Array) -> Array:
        """Return ``log_prior`` with the leave-one-out predictions of labelled training items filled in."""
        says = shares(to_numpy(evidence))
        item, found = self._lookup.find(item_keys(X), says)
        labelled = (says != says[:, :1]).any(axis=1)
        return like(np.where((found & labelled)[:, None], self.held_out[item], to_numpy(log_prior)), log_prior)

    @cached_property
    def _lookup(self) -> ItemLookup:
        return ItemLookup(self.items, self.says)


def item_keys(X: Array) -> Array:
    """Return a few numbers that tell items with different features apart: (n_items, 3).

    They are projections on fixed directions, so a model need not store the features of its items.
    """
    directions = np.cos(np.outer(np.arange(1, X.shape[1] + 1), np.arange(1, KEY_NUMBERS + 1) ** 0.5))
    return to_numpy(X @ like(directions, X))


class ItemLookup:
    """Finds training items by their features; among duplicates, the one with the same labels.

    Parameters
    ----------
    X : (n_items, n_features)
    labels : (n_items, n_numbers)
        The evidence of each item's labels, in numbers of order one.
    """

    def __init__(self, X: Array, labels: Array) -> None:
        self._X, self._labels = X, labels

    def find(self, X: Array, labels: Array) -> tuple[Rows, Mask]:
        """Return the index of the training item at each x, and whether there is one: two (n_items,)."""
        item, found = _nearest(self._with_labels, np.column_stack([X, labels]))
        others = np.flatnonzero(~found)  # with other labels, or not training items
        if len(others):
            item[others], found[others] = _nearest(self._by_features, X[others])
        return item, found

    @cached_property
    def _with_labels(self) -> tuple[Rows, cKDTree]:
        return _distinct(np.column_stack([self._X, self._labels]))

    @cached_property
    def _by_features(self) -> tuple[Rows, cKDTree]:
        return _distinct(self._X)


def _distinct(X: Array) -> tuple[Rows, cKDTree]:
    """Return the first of all rows that are alike, and their tree: one of many equal points is slow."""
    rows = np.unique(np.round(X / SAME_ITEM), axis=0, return_index=True)[1]
    return rows, cKDTree(X[rows])


def _nearest(distinct: tuple[Rows, cKDTree], X: Array) -> tuple[Rows, Mask]:
    rows, tree = distinct
    distance, place = tree.query(X, distance_upper_bound=SAME_ITEM)
    return rows[place % tree.n], np.isfinite(distance)


def shares(evidence: Array) -> Array:
    """exp(evidence) normalised over classes, uniform without labels: (n_items, n_classes)."""
    return np.exp(log_softmax(evidence))


def sharpness(log_p: Array, evidence: Array, counts: Array) -> float:
    """Return t at a maximum of Σ_i log Σ_z p(z | x_i)^t p(labels_i | z) / Σ_z p(z | x_i)^t + log p(t).

    ``log_p`` (n_items, n_classes) are predictions without the item's own labels, whose log-likelihood is
    ``evidence``; ``counts`` are the items' weights. The prior is log t ~ N(0, `SHARPNESS_DEVIATION`²).
    """

    def slope(log_t: float) -> float:
        t = np.exp(log_t)
        prior, posterior = log_softmax(t * log_p), log_softmax(t * log_p + evidence)
        gain = ((np.exp(posterior) - np.exp(prior)) * log_p).sum(axis=1)
        return float(t * (counts @ gain) - log_t / SHARPNESS_DEVIATION**2)

    end = np.log(MOST_SHARPNESS)
    if slope(-end) <= 0 or slope(end) >= 0:  # beyond an end, or without a maximum in between
        return MOST_SHARPNESS ** np.sign(slope(end))
    return float(np.exp(brentq(slope, -end, end, xtol=1e-12)))


def _outputs(by_class: Array, xi: Array) -> Array:
    """Return the columns of classes that have an output: the second of two, or all of more."""
    return by_class[:, -xi.shape[1] :]


def gram(X: Array) -> Array:
    """XᵀX; with a single array BLAS computes one half and mirrors it."""
    return X.T @ X


def log_classes(f: Array) -> Array:
    """log p(z) of each class: logistic of a single output, softmax of several."""
    if f.shape[1] == 1:
        return namespace(f).concatenate([log_logistic(-f), log_logistic(f)], 1)
    return log_softmax(f)
