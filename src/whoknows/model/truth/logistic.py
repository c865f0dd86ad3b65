"""Truth as a logistic function of x: model ID, and with a graph prior on its weights model LGP."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy.linalg

from whoknows._array import Array, like, log_logistic, log_softmax, namespace, to_numpy
from whoknows.model.belief import Belief, bounded_log_logistic, moderated, omega
from whoknows.model.evidence import Evidence
from whoknows.model.graph import Graph
from whoknows.model.posterior import CategoricalPosterior, Posterior
from whoknows.model.settings import NOT_NEGATIVE, POSITIVE, Rules, Settings, is_a, or_none
from whoknows.model.truth.item_lookup import ItemLookup

LEAST_LEFT = 0.02  # of an item's variance when it is left out: more leverage than this is not believed


@dataclass
class LogisticTruth(Settings):
    """p(z = 1 | x) = logistic(ξᵀx), Eqs. (9), (18), or softmax(ξᵀx); with a graph, ξ has Eq. (10)'s prior.

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
    uses_map: ClassVar[bool] = True
    needs_all: ClassVar[bool] = False
    rules: ClassVar[Rules] = {
        "graph": or_none(is_a(Graph)),
        "strength": NOT_NEGATIVE,
        "variance": POSITIVE,
        "intercept_variance": POSITIVE,
    }

    chosen: str = field(default="", init=False, repr=False, compare=False)
    _precision: Array | None = field(default=None, init=False, repr=False, compare=False)
    _log_det: float = field(default=0.0, init=False, repr=False, compare=False)  # of the precision
    _n_classes: int = field(default=2, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Return a copy for so many classes; of more than two, ξ has a column each."""
        prepared = copy.copy(self)
        prepared._n_classes = n_classes
        return prepared

    def prepare(self, X: Array, features: Array, seed: int = 0) -> Self:
        """Return a copy that holds the prior's precision matrix, Eq. (10).

        ``X`` (n_items, D) places *all* items, labelled or not, in the graph; ``features``
        (n_items, n_features), constant last, is what ξ multiplies.
        """
        precision = np.diag(np.full(features.shape[1], 1 / self.variance))
        precision[-1, -1] = 1 / self.intercept_variance
        if self.graph is None:
            return self.with_precision(precision)
        graph = self.graph.build(X, seed)
        prepared = self.with_precision(precision + 2 * self.strength * graph.smoothness(X, features))
        prepared.chosen = graph.chosen
        return prepared

    def with_precision(self, precision: Array) -> Self:
        """Return a copy with another prior, p(ξ) ∝ exp(−½ ξᵀRξ)."""
        prepared = copy.copy(self)
        prepared._precision, prepared._log_det = precision, float(np.linalg.slogdet(precision)[1])
        return prepared

    @property
    def precision(self) -> Array:
        """R in p(ξ) ∝ exp(−½ ξᵀRξ): ridge and graph term together."""
        if self._precision is None:
            raise RuntimeError(f"{type(self).__name__} was not prepared: call prepare(X, features) first.")
        return self._precision

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int) -> Array:
        """ξ = 0: (n_features,), or (n_features, n_classes) of more than two."""
        return np.zeros(n_features if self._n_classes == 2 else (n_features, self._n_classes))

    def posterior(self, xi: Array, X: Array, evidence: Evidence) -> CategoricalPosterior:
        """p̃(z) ∝ p(z | x) Π_t p(y | x, z), Eqs. (7), (12): Eqs. (1), (2) normalised, Eq. (6) their sum."""
        log_p = self.log_prob(xi, self.log_odds(xi, X))
        return CategoricalPosterior.from_log_joint(log_p + evidence.table, evidence.weight)

    def expected_log_truth(self, xi: Array, X: Array, posterior: Posterior) -> tuple[float, Array]:
        """E_p̃(z)[Σ_i log p(z_i | x_i)], the second term of Eq. (13), and its gradient Σ (p̃ − p) x."""
        q, log_p = posterior.prob, log_classes(X @ xi)  # type: ignore[union-attr]
        counts = posterior.counts[:, None]
        residual = counts * (q - np.exp(log_p))
        return float((counts * q * log_p).sum()), X.T @ (residual if xi.ndim == 2 else residual[:, 1])

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """log p(ξ | X), Eqs. (10), (11), up to a constant, and its gradient."""
        pull = self.precision @ xi
        return -0.5 * float((xi * pull).sum()), -pull

    # --- cross-fitting: what ξ would say of an item had it not seen its labels -------------------

    def curvature(self, xi: Array, X: Array, posterior: Posterior) -> Array:
        """−∂² of the expected log truth, Σ p (1 − p) x xᵀ: (n_outputs, n_features, n_features)."""
        p = np.exp(log_classes(X @ xi))[:, 1:] if xi.ndim == 1 else np.exp(log_classes(X @ xi))
        roots = np.sqrt(posterior.counts[:, None] * p * (1 - p))
        return np.stack([gram(X * root[:, None]) for root in roots.T])

    def weights(self, xi: Array) -> Array:
        """What of ξ multiplies x: all of it."""
        return xi

    def log_odds(self, xi: Array, X: Array) -> Array:
        """f = ξᵀx: (n_items,), or (n_items, n_classes) of more than two."""
        return X @ xi

    def log_prob(self, xi: Array, f: Array) -> Array:
        """log p(z) where the log-odds are f: (n_items, n_classes)."""
        return log_classes(f)

    def residual(self, xi: Array, X: Array, posterior: Posterior) -> Array:
        """p̃ − p, the gradient of each item's expected log truth in ξᵀx: (n_items, n_outputs)."""
        left = posterior.prob - np.exp(log_classes(X @ xi))  # type: ignore[union-attr]
        return np.asarray(left if xi.ndim == 2 else left[:, 1:])

    def laplace_covariance(self, curvature: Array) -> Array:
        """Covariance of ξ around its maximum, class by class: (n_outputs, n_features, n_features)."""
        return np.asarray(np.linalg.inv(curvature + self.precision))

    def variances(self, X: Array, covariance: Array) -> Array:
        """Variance of ξᵀx, xᵀ covariance x, class by class: (n_items, n_outputs)."""
        return np.stack([np.einsum("ij,ij->i", X @ S, X) for S in covariance], axis=1)

    def leave_one_out(self, xi: Array, X: Array, posterior: Posterior, v: Array) -> Array:
        """log p(z_i | x_i) under ξ fitted without item i, to first order: (n_items, n_classes).

        f_−i = f_i − v / (1 − h v) · (p̃_i − p_i), with v of `variances` and h = p (1 − p) (approximate
        leave-one-out, exact for least squares).
        """
        f = (X @ xi).reshape(len(X), -1)
        log_p = log_classes(X @ xi)
        outputs = slice(None) if xi.ndim == 2 else slice(1, None)
        p, q = np.exp(log_p)[:, outputs], posterior.prob[:, outputs]  # type: ignore[union-attr]
        v = v * posterior.counts[:, None]
        away = v / np.maximum(1 - p * (1 - p) * v, LEAST_LEFT)
        f = f - away * (q - p)
        return log_classes(f if xi.ndim == 2 else f[:, 0])

    def cross_fitted(
        self, xi: Array, X: list[Array], held_out: list[Array], evidence: list[Array]
    ) -> CrossFitBelief:
        """Keep ξ, and what it would say of the items of the fit without their labels."""
        return CrossFitBelief(xi, None, np.vstack(X), np.vstack(held_out), _in_shares(np.vstack(evidence)))

    # --- variational -----------------------------------------------------------------------------

    @property
    def has_bound(self) -> bool:
        """Whether the variational solver can take it: two classes."""
        return self._n_classes == 2

    def prior_belief(self) -> Belief:
        """q(ξ) before any label: the prior itself."""
        return Belief(np.zeros(len(self.precision)), scipy.linalg.inv(self.precision))

    def moments(self, belief: Belief, X: Array) -> tuple[Array, Array]:
        """E[f] and E[f²] of f = ξᵀx: two (n_items,)."""
        mean = X @ like(belief.mean, X)
        return mean, mean**2 + belief.variance_along(X)

    def bounded_posterior(self, moments: tuple[Array, Array], evidence: Evidence) -> CategoricalPosterior:
        """Best q(z) given q(ξ) and the evidence; its log marginal is the local part of the bound."""
        if_one, if_zero = bounded_log_logistic(*moments)
        log_joint = namespace(if_one).stack([if_zero, if_one], 1) + evidence.table
        return CategoricalPosterior.from_log_joint(log_joint, evidence.weight)

    def statistics(self, moments: tuple[Array, Array], X: Array, posterior: Posterior) -> tuple[Array, Array]:
        """Σ ω x xᵀ and Σ (p̃ − ½) x, all that q(ξ) needs of the items."""
        counts = posterior.counts
        root = (counts * omega(moments[1] ** 0.5)) ** 0.5
        return to_numpy(gram(X * root[:, None])), to_numpy(X.T @ (counts * (posterior.mean - 0.5)))

    def update(self, gram: Array, pull: Array) -> Belief:
        """Best q(ξ) given those sums: covariance (gram + R)⁻¹."""
        covariance = scipy.linalg.inv(gram + self.precision)
        return Belief(covariance @ pull, 0.5 * (covariance + covariance.T))

    def divergence(self, belief: Belief) -> float:
        """KL(q(ξ) ‖ p(ξ)): what the bound pays for the classifier."""
        assert belief.covariance is not None
        R, m = self.precision, belief.mean
        trace = float((R * belief.covariance).sum())
        log_det = self._log_det + float(np.linalg.slogdet(belief.covariance)[1])
        return 0.5 * (trace + float(m @ R @ m) - len(m) - log_det)

    # --- after the fit ---------------------------------------------------------------------------

    def learnt(self, xi: Array, posterior: Posterior, evidence: Evidence) -> Belief:
        """Keep ξ, as a point estimate."""
        return Belief(xi)

    def log_predict(self, known: Belief, X: Array) -> Array:
        """log p(z | x), Sec. 3.6, ξ integrated out where its covariance is known: (n_items, n_classes)."""
        f = self.log_odds(like(known.mean, X), X)
        return self.log_prob(known.mean, moderated(f, known.variance_along(X)) if f.ndim == 1 else f)

    def posterior_at(self, known: Belief, X: Array, evidence: Evidence) -> Array:
        """p(z | x, labels), Eqs. (7), (12), ξ integrated out likewise: (n_items, n_classes)."""
        log_prior = self.log_predict(known, X)
        if isinstance(known, CrossFitBelief):
            log_prior = known.without_own_labels(X, log_prior, evidence.table)
        return CategoricalPosterior.from_log_joint(log_prior + evidence.table).prob


@dataclass(frozen=True)
class CrossFitBelief(Belief):
    """ξ, and for the items of the fit log p(z | x) as it would be without their own labels.

    ``items`` (n_items, n_features) are their features, ``held_out`` is (n_items, n_classes), and so is
    ``says``, the truth of each going by its labels alone.
    """

    items: Array = field(default_factory=lambda: np.zeros((0, 1)))
    held_out: Array = field(default_factory=lambda: np.zeros((0, 2)))
    says: Array = field(default_factory=lambda: np.zeros((0, 2)))

    def without_own_labels(self, X: Array, log_prior: Array, evidence: Array) -> Array:
        """Replace the rows of ``log_prior`` that belong to items of the fit, of those that have labels."""
        says = _in_shares(evidence)
        item, here = self._twins.find(X, says)
        labelled = (says != says[:, :1]).any(axis=1)
        return np.where((here & labelled)[:, None], self.held_out[item], log_prior)

    @cached_property
    def _twins(self) -> ItemLookup:
        return ItemLookup(self.items, self.says)


def _in_shares(evidence: Array) -> Array:
    """exp(evidence) over its sum: (n_items, n_classes), all the same where there are no labels."""
    return np.exp(log_softmax(evidence))


def gram(X: Array) -> Array:
    """XᵀX; of one array BLAS computes half, and mirrors it."""
    return X.T @ X


def log_classes(f: Array) -> Array:
    """log p(z) of each class: logistic of one column of log-odds, softmax of several."""
    if f.ndim == 1:
        return namespace(f).stack([log_logistic(-f), log_logistic(f)], 1)
    return log_softmax(f)
