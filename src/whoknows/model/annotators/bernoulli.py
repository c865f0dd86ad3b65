"""Annotators who are right with a probability that depends on the item, and confusion matrices."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from whoknows._array import (
    Array,
    Mask,
    Rows,
    like,
    log_logistic,
    log_softmax,
    namespace,
    pair_products,
    rows_like,
    segment_sum,
    to_numpy,
)
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.pairs import (
    MOST_LOG_ODDS,
    Pairs,
    gram_and_pull,
    group_labels,
    moments_by_class,
    sum_over_labels,
    variance_of_codes,
)
from whoknows.model.annotators.population import CrowdBelief, Population
from whoknows.model.annotators.shared_effects import LabelOdds
from whoknows.model.evidence import TableEvidence, table_of
from whoknows.model.gaussian import Belief, bounded_log_logistic, moderated, omega
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.settings import COUNT, Rules, Settings, is_a, or_none

LabelSums = Callable[[Array, Array], tuple[float, Array, Array]]  # of w and shift: see `sum_over_labels`


@dataclass
class BernoulliAnnotators(Settings):
    """p(y = z | x, z, t) = logistic(w_tᵀx + γ_t): the alternative the paper names after Eq. (15).

    An annotator below one half is an adversary, whose labels are still informative. For more than two classes
    a wrong label is any other class with equal probability. θ has one row (w_t, γ_t) per annotator and a last
    one for the population; ``two_coin`` adds columns k_t.

    Parameters
    ----------
    varies_with_x : bool
        False: one accuracy per annotator (w_t = 0), the paper's "ML original".
    two_coin : bool
        A different accuracy for each class: add (2z − 1) k_t to the log-odds, or k_tz for more classes.
    directions : int, optional
        Number of leading features of the map that expertise depends on; None chooses it by the number of
        labels.
    population : Population
        Prior on the annotators: their mean, and how much they deviate from it.
    """

    varies_with_x: bool = True
    two_coin: bool = False
    directions: int | None = None
    population: Population = field(default_factory=Population)

    gives: ClassVar[str] = "table"
    rules: ClassVar[Rules] = {"directions": or_none(COUNT), "population": is_a(Population)}

    _n_classes: int = field(default=2, init=False, repr=False, compare=False)
    _item_effect: float | Array = field(default=0.0, init=False, repr=False, compare=False)  # of all, or each row of θ
    _group: Rows | None = field(default=None, init=False, repr=False, compare=False)  # of each row of θ
    _group_effect: float | Array = field(default=0.0, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Return a copy for this number of classes."""
        prepared = copy.copy(self)
        prepared._n_classes = n_classes
        return prepared

    def with_item_effect(self, size: float | Array) -> Self:
        """Return a copy for annotators who err together: the log-odds of being right gain λ_t u_i, u_i ~ N(0, 1).

        u_i is shared by all labels of an item: a trap misleads most annotators. The accuracy of each annotator,
        averaged over u_i, stays the same. ``size`` is λ_t of all, or of each row of θ: negative for those who are
        right where others are trapped. 0 is independent annotators.
        """
        prepared = copy.copy(self)
        prepared._item_effect = size
        return prepared

    def with_groups(self, group: Rows, size: float | Array = 0.0) -> Self:
        """Return a copy for groups of annotators who err together, such as prompts of one model.

        Beside λ_t u_i, the log-odds of being right gain κ_t v_ig, v_ig ~ N(0, 1), shared by the labels that an item has
        from group g. ``group`` (n_annotators + 1,) is the group of each row of θ, 0 to n_groups − 1; ``size`` is κ_t.
        """
        prepared = copy.copy(self)
        prepared._group, prepared._group_effect = group, size
        return prepared

    @property
    def item_effect(self) -> float:
        """Standard deviation of the effect that the labels of an item share: root mean square of λ_t."""
        return float(np.mean(np.square(self._item_effect)) ** 0.5)

    @property
    def group(self) -> Rows | None:
        """Group of each row of θ; None without groups."""
        return self._group

    @property
    def group_effect(self) -> float:
        """Standard deviation of the effect that the labels of an item by one group share."""
        return float(np.mean(np.square(self._group_effect)) ** 0.5)

    def effects(self, n_rows: int) -> Array:
        """λ and κ of each row of θ: (n_rows, 2)."""
        sizes = self._item_effect, 0.0 if self._group is None else self._group_effect
        return np.column_stack([np.broadcast_to(size, n_rows) for size in sizes])

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int, n_annotators: int) -> Array:
        """θ before any label: (n_annotators + 1, n_columns). ``n_features`` counts the constant."""
        n_slopes = n_features - 1 if self.varies_with_x else 0
        return self.population.start(n_annotators, n_slopes, self._n_intercepts)

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log p(y_it | x_i, z) for every z: the product of Eqs. (2), (7), (12) in log space."""
        eta = self._log_odds(theta, X, Y)
        log_right = log_logistic(eta)
        return self._table(theta, Y, log_right, log_right - eta)

    def expected_log_lik(
        self, theta: Array, X: Array, Y: Annotations, posterior: CategoricalPosterior
    ) -> tuple[float, Array]:
        """E_p̃(z)[Σ log p(y | x, z)], the first term of Eq. (13), and its gradient in θ."""
        return self.expected_log_lik_of_theta(group_labels(self._features(X), Y), posterior)(theta)

    def expected_log_lik_of_theta(
        self, pairs: Pairs, posterior: CategoricalPosterior
    ) -> Callable[[Array], tuple[float, Array]]:
        """Return it as a function of θ alone, for the many evaluations of an M-step.

        A label l on an item of class z is right with log-odds η, and log σ(−η) = log σ(η) − η, so

            Σ q_z log p(y | x, z) = Σ q_z log σ(η_z) − Σ [z ≠ l] q_z η_z + Σ [z ≠ l] q_z log p(l | z, wrong).

        If η does not depend on x, expected counts of labels by annotator and class are sufficient.
        """
        Y, T, K = pairs.labels, pairs.labels.n_annotators, self._n_classes
        q = label_weights(posterior, Y)
        by_label = segment_sum(q, Y.annotator.astype(np.intp) * K + Y.label, T * K)
        counts = by_label.reshape(T, K, K).swapaxes(1, 2)  # by annotator, class and label
        wrong = np.where(np.eye(K, dtype=bool), 0.0, counts)
        given = np.einsum("tzz->tz", counts), counts.sum(axis=2), wrong, wrong.sum(axis=2)
        if not self.varies_with_x:
            return partial(self._expected_log_lik, *given, None)
        right = q[np.arange(len(q)), Y.label]
        return partial(self._expected_log_lik, *given, partial(sum_over_labels, pairs, q, right))

    def _expected_log_lik(
        self, right: Array, weight: Array, wrong: Array, n_wrong: Array, of_labels: LabelSums | None, theta: Array
    ) -> tuple[float, Array]:
        """Return it from expected numbers of labels by annotator and class: right ones, all, wrong ones by label."""
        codes, n_slopes = self._codes, theta.shape[1] - self._n_intercepts
        extra = slice(n_slopes + 1, n_slopes + 1 + codes.shape[1])
        shift = theta[:-1, n_slopes, None] + theta[:-1, extra] @ codes.T
        w, shift = theta[:-1, :n_slopes], shift.clip(-MOST_LOG_ODDS, MOST_LOG_ODDS)
        if of_labels is None:
            value, by_class = _log_odds_part(shift, right, weight)
            slopes = np.zeros_like(w)
        else:
            value, slopes, expected = of_labels(w, shift)
            value, by_class = value - float(np.vdot(n_wrong, shift)), right - expected
        gradient = np.zeros_like(theta)
        gradient[:-1, :n_slopes], gradient[:-1, n_slopes] = slopes, by_class.sum(axis=1)
        gradient[:-1, extra] = by_class @ codes
        of_mistakes, pull = self._expected_mistakes(theta, wrong, n_wrong)
        gradient[:, theta.shape[1] - pull.shape[1] :] = pull
        return value + of_mistakes, gradient

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """log p(θ) of the population, and its gradient."""
        return self.population.log_prior(theta, theta.shape[1] - self._n_intercepts)

    # --- variational -----------------------------------------------------------------------------

    @property
    def has_bound(self) -> bool:
        """Whether there is a quadratic bound: always."""
        return True

    def prior_belief(self, n_features: int, active: Mask) -> CrowdBelief:
        """q(θ) before any label; ``active`` annotators have labels."""
        n_slopes = n_features - 1 if self.varies_with_x else 0
        return CrowdBelief.prior(self.population, active, n_slopes, self._n_intercepts)

    def moments(self, belief: Belief, pairs: Pairs) -> tuple[Array, Array]:
        """E[η] and E[η²] of each label's log-odds: two (n_pairs, n_classes), or one column for all."""
        return moments_by_class(self._visible(pairs), self._distinct_codes, belief.mean, belief.covariance)

    def bounded_evidence(self, moments: tuple[Array, Array], pairs: Pairs) -> TableEvidence:
        """Lower bound of E_q(θ)[Σ_t log p(y | x, z)], by the Pólya-Gamma bound."""
        Y = pairs.labels
        return self._table(np.zeros((Y.n_annotators + 1, 0)), Y, *bounded_log_logistic(*moments))

    def statistics(
        self, moments: tuple[Array, Array], pairs: Pairs, posterior: CategoricalPosterior
    ) -> tuple[Array, Array]:
        """Σ ω a aᵀ and Σ (target − ½) a of each annotator; its log-odds are linear in a."""
        q, right = label_weights(posterior, pairs.labels), self._right(pairs.labels)
        weight, target = q * omega(moments[1] ** 0.5), q * namespace(q).where(right, 0.5, -0.5)
        gram, pull = gram_and_pull(self._visible(pairs), self._codes, weight, target)
        return to_numpy(gram), to_numpy(pull)

    # --- after the fit ---------------------------------------------------------------------------

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log P(y_it | x_i, z) with θ integrated out if its covariance is known."""
        effects = self.effects(len(belief.mean))
        if effects.any():
            return TableEvidence(like(self.label_odds(belief, X, Y).evidence(effects), X))
        labels, eta = self._moderated(belief, X, Y)
        return self._table(belief.mean, labels, log_logistic(eta), log_logistic(-eta))

    def label_odds(self, belief: Belief, X: Array, Y: Annotations) -> LabelOdds:
        """Return the labels, in groups if these have an effect, with the log-odds that each of them is right."""
        labels, eta = self._moderated(belief, X, Y)
        real = np.flatnonzero(to_numpy(labels.counts) > 0)
        item, who, label, counts, eta = (
            to_numpy(values)[real] for values in (labels.item, labels.annotator, labels.label, labels.counts, eta)
        )
        wrong = np.broadcast_to(self._log_wrong(belief.mean, labels), (len(labels.counts), self._n_classes))[real]
        group = np.zeros_like(item) if self._group is None or not np.any(self._group_effect) else self._group[who]
        return LabelOdds(item.astype(np.intp), who, label, counts, group, eta, wrong, Y.n_items)

    def _moderated(self, belief: Belief, X: Array, Y: Annotations) -> tuple[Annotations, Array]:
        """Labels, in blocks of annotators, and the log-odds that they are right with θ integrated out."""
        pairs = group_labels(self._features(X), Y)
        mean, second = self.moments(belief, pairs)
        return pairs.labels, moderated(mean, second - mean**2)

    predictive = evidence_at

    def expertise(self, belief: Belief, X: Array, prob: Array) -> Array:
        """Probability that each annotator is right on each item: (n_items, n_annotators + 1).

        ``prob`` (n_items, n_classes) is p(z | x), over which the accuracies by class are averaged.
        """
        accuracy = self.accuracy(belief, X)
        return (accuracy * prob[:, None, :]).sum(axis=2)

    def accuracy(self, belief: Belief, X: Array) -> Array:
        """P(right | x, z): (n_items, n_annotators + 1, n_classes), or one column for all classes."""
        X = self._features(X)
        xp, codes, n = namespace(X), like(self._distinct_codes, X), X.shape[1]
        theta = like(belief.mean, X)
        shift = theta[:, n : n + codes.shape[1]] @ codes.T
        eta = (X @ theta[:, :n].T)[:, :, None] + shift
        if belief.covariance is not None:  # xᵀSx of all annotators by a single product
            S, T = like(belief.covariance, X), len(theta)
            squares = (X[:, :, None] * X[:, None, :]).reshape(len(X), n * n)
            alone = squares @ S[:, :n, :n].reshape(T, n * n).T
            cross = xp.einsum("in,tnz->itz", X, S[:, :n, n : n + codes.shape[1]] @ codes.T)
            eta = moderated(eta, alone[:, :, None] + 2 * cross + variance_of_codes(codes, S[:, n:, n:]))
        return xp.exp(log_logistic(eta))

    def confusion(self, belief: Belief, X: Array) -> Array:
        """p(y | z, t), averaged over the items: (n_annotators + 1, n_classes, n_classes), rows are truth."""
        shape = (len(belief.mean), self._n_classes)
        accuracy = np.broadcast_to(self.accuracy(belief, X).mean(axis=0), shape)[:, :, None]
        mistakes = np.exp(self._log_mistakes(belief.mean))
        return np.asarray(mistakes * (1 - accuracy) + np.eye(self._n_classes) * accuracy)

    def coefficients(self, theta: Array, n_features: int) -> tuple[Array, Array]:
        """w (n_annotators + 1, n_features − 1) and γ (n_annotators + 1,) of the log-odds of being right."""
        n_slopes = theta.shape[1] - self._n_intercepts
        slopes = theta[:, :n_slopes] if n_slopes else np.zeros((len(theta), n_features - 1))
        return slopes, theta[:, n_slopes]

    # --- the log-odds η_z = w_tᵀx + γ_t + k_tᵀ code_z, on observed pairs ----------------------------

    @property
    def _codes(self) -> Array:
        """How the class shifts the log-odds: (n_classes, n_extra). Two classes: ∓1; more: one-hot."""
        if not self.two_coin:
            return np.zeros((self._n_classes, 0))
        return np.array([[-1.0], [1.0]]) if self._n_classes == 2 else np.eye(self._n_classes)

    @property
    def _distinct_codes(self) -> Array:
        return self._codes if self.two_coin else self._codes[:1]

    @property
    def _n_intercepts(self) -> int:
        """Columns of θ other than slopes."""
        return 1 + int(self._codes.shape[1])

    def _visible(self, pairs: Pairs) -> Pairs:
        return pairs if self.varies_with_x else replace(pairs, x=pairs.x[:, -1:])  # the constant

    def _features(self, X: Array) -> Array:
        return X if self.varies_with_x else X[:, -1:]

    def _right(self, Y: Annotations) -> Mask:
        """Whether the label is right, for every class the truth may be: (n_annotations, n_classes)."""
        return Y.label[:, None] == rows_like(np.arange(self._n_classes), Y.label)

    def _log_odds(self, theta: Array, X: Array, Y: Annotations) -> Array:
        X = self._features(X)
        eta = pair_products(X, theta[:, : X.shape[1]], Y.item, Y.annotator)[:, None]
        if not self.two_coin:
            return eta
        shift = theta[Y.annotator, X.shape[1] : X.shape[1] + self._codes.shape[1]]
        return np.asarray(eta + shift @ self._codes.T)

    def _log_mistakes(self, theta: Array) -> Array:
        """log P(y = l | z = k, wrong), −∞ on the diagonal: (n_annotators + 1, n_classes, n_classes)."""
        K = self._n_classes
        even = np.where(np.eye(K, dtype=bool), -np.inf, -np.log(K - 1))
        return np.broadcast_to(even, (len(theta), K, K))

    def _log_wrong(self, theta: Array, Y: Annotations) -> Array | float:
        """log P(y | x, z, wrong): uniform over the other classes."""
        return -float(np.log(self._n_classes - 1))

    def _expected_mistakes(self, theta: Array, wrong: Array, n_wrong: Array) -> tuple[float, Array]:
        """Σ wrong log p(l | z, wrong), and its gradient in the last columns of θ: here none.

        ``wrong`` (n_annotators, n_classes, n_classes) are expected numbers of wrong labels by truth and label,
        ``n_wrong`` (n_annotators, n_classes) those by truth.
        """
        return -float(n_wrong.sum() * np.log(self._n_classes - 1)), np.zeros((len(theta), 0))

    def _table(self, theta: Array, Y: Annotations, if_right: Array, if_wrong: Array) -> TableEvidence:
        terms = namespace(if_right).where(self._right(Y), if_right, if_wrong + self._log_wrong(theta, Y))
        return table_of(terms, Y)


@dataclass
class ConfusionAnnotators(BernoulliAnnotators):
    """p(y = l | x, z = k, t) = softmax over l of (B_t[k, l] + [l = k] w_tᵀx), for any number of classes.

    It is computed as: right with log-odds w_tᵀx + γ_t + k_tz, and if wrong, label l ≠ z with probability
    softmax(r_tz)_l, which does not depend on x. ``varies_with_x=False`` is Dawid and Skene's model (Raykar's,
    if the truth depends on x), and without ``two_coin`` and ``own_mistakes`` the one-coin model. For two
    classes there is only one wrong label, and this is `BernoulliAnnotators` with two coins.

    Parameters
    ----------
    two_coin : bool
        A different accuracy for each class.
    own_mistakes : bool
        Each annotator has its own distribution of wrong labels; False: all share the population's.
    varies_with_x, directions, population
        As in `BernoulliAnnotators`.
    """

    two_coin: bool = True
    own_mistakes: bool = True

    rules: ClassVar[Rules] = BernoulliAnnotators.rules

    @property
    def has_bound(self) -> bool:
        """Whether there is a quadratic bound: not for mistakes, which exist for more than two classes."""
        return self._n_classes == 2

    # --- mistakes r_t[z, l]: the last n_classes² columns of θ, the diagonal unused -----------------

    @property
    def n_mistakes(self) -> int:
        """Number of columns of θ for mistakes."""
        return self._n_classes**2 if self._n_classes > 2 else 0

    def without_mistakes(self) -> BernoulliAnnotators:
        """Return the annotators with the other columns of θ alone: all wrong labels are equally likely."""
        simpler = BernoulliAnnotators(self.varies_with_x, self.two_coin, self.directions, self.population)
        return simpler.for_classes(self._n_classes)

    @property
    def _n_intercepts(self) -> int:
        return super()._n_intercepts + self.n_mistakes

    def _log_mistakes(self, theta: Array) -> Array:
        """log P(y = l | z = k, wrong), −∞ on the diagonal: (n_annotators + 1, n_classes, n_classes)."""
        K = self._n_classes
        own = theta if self.own_mistakes else np.tile(theta[-1], (len(theta), 1))
        r = own[:, -K * K :].reshape(-1, K, K) if self.n_mistakes else np.zeros((len(theta), K, K))
        return log_softmax(np.where(np.eye(K, dtype=bool), -np.inf, r))

    def _log_wrong(self, theta: Array, Y: Annotations) -> Array | float:
        if not self.n_mistakes:
            return 0.0
        right = np.eye(self._n_classes, dtype=bool)  # not used, and must not be infinite
        log_mistakes = np.where(right, 0.0, self._log_mistakes(theta))
        return np.asarray(log_mistakes[Y.annotator, :, Y.label])

    def _expected_mistakes(self, theta: Array, wrong: Array, n_wrong: Array) -> tuple[float, Array]:
        """Σ wrong log p(l | z, wrong), and its gradient in r, the last n_classes² columns of θ."""
        if not self.n_mistakes:
            return 0.0, np.zeros((len(theta), 0))
        K, pull, rows = self._n_classes, np.zeros((len(theta), self.n_mistakes)), slice(-1)  # the last: population
        if not self.own_mistakes:
            rows, wrong, n_wrong = slice(-1, None), wrong.sum(axis=0)[None], n_wrong.sum(axis=0)[None]
        right = np.eye(K, dtype=bool)
        r = np.where(right, -np.inf, theta[rows, -K * K :].reshape(-1, K, K))
        r -= r.max(axis=2, keepdims=True)
        odds = np.exp(r)
        r[:, right] = 0.0
        total = odds.sum(axis=2)
        pull[rows] = (wrong - odds * (n_wrong / total)[:, :, None]).reshape(-1, K * K)
        return float(np.vdot(wrong, r) - np.vdot(n_wrong, np.log(total))), pull


def _log_odds_part(eta: Array, right: Array, weight: Array) -> tuple[float, Array]:
    """Σ right η − weight log(1 + e^η), and its gradient in η."""
    small = np.exp(-np.abs(eta))
    value = np.vdot(right, eta) - np.vdot(weight, np.maximum(eta, 0) + np.log(1 + small))
    return float(value), right - weight * np.where(eta > 0, 1.0, small) / (1 + small)


def label_weights(posterior: CategoricalPosterior, Y: Annotations) -> Array:
    """p̃(z) of each label's item, times the weights of label and item: (n_annotations, n_classes)."""
    counts = Y.counts * posterior.counts[Y.item]
    return posterior.prob[Y.item] * counts[:, None]
