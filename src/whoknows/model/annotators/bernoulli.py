"""Annotators who are right with a probability that depends on the item."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from whoknows._array import (
    Array,
    Mask,
    like,
    log_logistic,
    namespace,
    pair_products,
    rows_like,
    segment_sum,
    to_numpy,
)
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.frozen import FrozenLabels, label_weights
from whoknows.model.annotators.pairs import Pairs
from whoknows.model.annotators.population import CrowdBelief, Population
from whoknows.model.belief import Belief, bounded_log_logistic, moderated, omega
from whoknows.model.evidence import TableEvidence
from whoknows.model.posterior import Posterior
from whoknows.model.settings import COUNT, Rules, Settings, is_a, or_none


@dataclass
class BernoulliAnnotators(Settings):
    """p(y = z | x, z, t) = logistic(w_tᵀx + γ_t): the alternative the paper names after Eq. (15).

    Below one half an annotator is an adversary, and the model uses that. Of more than two classes a wrong
    label may be any of the others. θ has a row (w_t, γ_t) for each annotator and a last one for the crowd;
    with ``two_coin`` further columns k_t.

    Parameters
    ----------
    varies_with_x : bool
        False: one accuracy an annotator (w_t = 0), the paper's «ML original».
    two_coin : bool
        A different accuracy on each class: add (2z − 1) k_t to the log-odds, or k_tz of more classes.
    directions : int, optional
        Expertise depends on so many leading features of the map; None: as many as labels can tell of.
    population : Population
        Prior: the crowd, and how far an annotator strays from it.
    """

    varies_with_x: bool = True
    two_coin: bool = False
    directions: int | None = None
    population: Population = field(default_factory=Population)

    gives: ClassVar[str] = "table"
    rules: ClassVar[Rules] = {"directions": or_none(COUNT), "population": is_a(Population)}

    _n_classes: int = field(default=2, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Return a copy for labels of so many classes."""
        prepared = copy.copy(self)
        prepared._n_classes = n_classes
        return prepared

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int, n_annotators: int) -> Array:
        """θ before any label: (n_annotators + 1, n_columns). ``n_features`` counts the constant."""
        n_slopes = n_features - 1 if self.varies_with_x else 0
        return self.population.start(n_annotators, n_slopes, self._n_intercepts)

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log p(y_it | x_i, z) for every z: the product of Eqs. (2), (7), (12) in log space."""
        eta = self._log_odds(theta, X, Y)
        return self._table(theta, Y, log_logistic(eta), log_logistic(-eta))

    def expected_log_lik(
        self, theta: Array, X: Array, Y: Annotations, posterior: Posterior
    ) -> tuple[float, Array]:
        """E_p̃(z)[Σ log p(y | x, z)], the first term of Eq. (13), and its gradient in θ."""
        return self.frozen(Pairs(X, Y), posterior)(theta)

    def frozen(self, pairs: Pairs, posterior: Posterior) -> FrozenLabels:
        """Return the same as a function of θ alone, for an M-step that asks it again and again."""
        return FrozenLabels.of(self, pairs, posterior)

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """log p(θ) of the population, and its gradient."""
        return self.population.log_prior(theta, theta.shape[1] - self._n_intercepts)

    # --- variational -----------------------------------------------------------------------------

    @property
    def has_bound(self) -> bool:
        """Whether the variational solver can take it."""
        return True

    def prior_belief(self, n_features: int, active: Mask) -> CrowdBelief:
        """q(θ) before any label; ``active`` says which annotators will have one."""
        n_slopes = n_features - 1 if self.varies_with_x else 0
        return CrowdBelief.prior(self.population, active, n_slopes, self._n_intercepts)

    def moments(self, belief: Belief, pairs: Pairs) -> tuple[Array, Array]:
        """E[η] and E[η²] of each label's log-odds: two (n_pairs, n_classes), or one column for all."""
        pairs = self._seen(pairs)
        codes, n = like(self._distinct_codes, pairs.x), pairs.x.shape[1]
        theta = like(belief.mean, pairs.x)
        S = None if belief.covariance is None else like(belief.covariance, pairs.x)
        mean, second = like(np.zeros((2, len(pairs.x), len(codes))), pairs.x)
        for block in pairs.blocks:
            x, t = block.shaped(pairs.x), rows_like(block.annotators, pairs.x)
            eta = x @ theta[t, :n, None] + (theta[t, n : n + codes.shape[1]] @ codes.T)[:, None, :]
            block.shaped(mean)[:] = eta
            block.shaped(second)[:] = eta**2
            if S is not None:
                block.shaped(second)[:] += _variance(x, codes, S[t])
        return mean, second

    def bounded_evidence(self, moments: tuple[Array, Array], pairs: Pairs) -> TableEvidence:
        """E_q(θ)[Σ_t log p(y | x, z)] from below, by the Pólya-Gamma bound."""
        Y = pairs.said
        return self._table(np.zeros((Y.n_annotators + 1, 0)), Y, *bounded_log_logistic(*moments))

    def statistics(
        self, moments: tuple[Array, Array], pairs: Pairs, posterior: Posterior
    ) -> tuple[Array, Array]:
        """Σ ω a aᵀ and Σ (target − ½) a of each annotator, a being what its log-odds are linear in."""
        pairs, Y, T = self._seen(pairs), pairs.said, pairs.Y.n_annotators
        xp, codes, n = namespace(pairs.x), like(self._codes, pairs.x), pairs.x.shape[1]
        q = label_weights(posterior, Y)
        weight, target = q * omega(moments[1] ** 0.5), q * xp.where(self._right(Y), 0.5, -0.5)
        gram = like(np.zeros((T, n + codes.shape[1], n + codes.shape[1])), pairs.x)
        pull = like(np.zeros((T, n + codes.shape[1])), pairs.x)
        w, r, w_code = weight.sum(axis=1), target.sum(axis=1), weight @ codes
        for block in pairs.blocks:
            t, x = rows_like(block.annotators, pairs.x), block.shaped(pairs.x)
            across = x.swapaxes(1, 2)
            gram[t, :n, :n] += across @ (x * block.shaped(w)[:, :, None])
            gram[t, :n, n:] += across @ block.shaped(w_code)
            pull[t, :n] += (across @ block.shaped(r)[:, :, None])[:, :, 0]
        if self.two_coin:
            gram[:, n:, :n] = gram[:, :n, n:].swapaxes(1, 2)
            gram[:, n:, n:] = xp.einsum("tz,zi,zj->tij", segment_sum(weight, Y.annotator, T), codes, codes)
            pull[:, n:] = segment_sum(target @ codes, Y.annotator, T)
        return to_numpy(gram), to_numpy(pull)

    # --- after the fit ---------------------------------------------------------------------------

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log P(y_it | x_i, z) with θ integrated out where its covariance is known."""
        pairs = Pairs(X, Y)
        mean, second = self.moments(belief, pairs)
        eta = moderated(mean, second - mean**2)
        return self._table(belief.mean, pairs.said, log_logistic(eta), log_logistic(-eta))

    predictive = evidence_at

    def expertise(self, belief: Belief, X: Array, prob: Array) -> Array:
        """Probability that each annotator is right on each item: (n_items, n_annotators + 1).

        ``prob`` (n_items, n_classes) is p(z | x); accuracy that differs by class is averaged over it.
        """
        accuracy = self.accuracy(belief, X)
        return (accuracy * prob[:, None, :]).sum(axis=2)

    def accuracy(self, belief: Belief, X: Array) -> Array:
        """P(right | x, z): (n_items, n_annotators + 1, n_classes), one column if it is the same for all."""
        X = self._features(X)
        xp, codes, n = namespace(X), like(self._distinct_codes, X), X.shape[1]
        theta = like(belief.mean, X)
        shift = theta[:, n : n + codes.shape[1]] @ codes.T
        eta = (X @ theta[:, :n].T)[:, :, None] + shift
        if belief.covariance is not None:  # xᵀSx of all annotators: one product of the squares of x with S
            S, T = like(belief.covariance, X), len(theta)
            squares = (X[:, :, None] * X[:, None, :]).reshape(len(X), n * n)
            alone = squares @ S[:, :n, :n].reshape(T, n * n).T
            cross = xp.einsum("in,tnz->itz", X, S[:, :n, n : n + codes.shape[1]] @ codes.T)
            eta = moderated(eta, alone[:, :, None] + 2 * cross + _of_codes(codes, S[:, n:, n:]))
        return xp.exp(log_logistic(eta))

    def confusion(self, belief: Belief, X: Array) -> Array:
        """p(y | z, t), averaged over the items: (n_annotators + 1, n_classes, n_classes), rows the truth."""
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
        """How the class shifts the log-odds: (n_classes, n_extra). Two coins: ∓1; more: one each."""
        if not self.two_coin:
            return np.zeros((self._n_classes, 0))
        return np.array([[-1.0], [1.0]]) if self._n_classes == 2 else np.eye(self._n_classes)

    @property
    def _distinct_codes(self) -> Array:
        return self._codes if self.two_coin else self._codes[:1]

    @property
    def _n_intercepts(self) -> int:
        """Columns of θ that are no slopes."""
        return 1 + int(self._codes.shape[1])

    def _seen(self, pairs: Pairs) -> Pairs:
        return pairs if self.varies_with_x else pairs.constant

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
        """log P(y | x, z, wrong): evenly over the other classes."""
        return -float(np.log(self._n_classes - 1))

    def _expected_mistakes(self, theta: Array, counts: Array) -> tuple[float, Array]:
        """Σ [z ≠ l] counts log p(l | z, wrong), and its gradient in the last columns of θ: here in none.

        ``counts`` (n_annotators, n_classes, n_classes) are of labels, last, by truth.
        """
        wrong = counts.sum() - np.einsum("tzz->", counts)
        return -float(wrong * np.log(self._n_classes - 1)), np.zeros((len(theta), 0))

    def _table(self, theta: Array, Y: Annotations, if_right: Array, if_wrong: Array) -> TableEvidence:
        terms = namespace(if_right).where(self._right(Y), if_right, if_wrong + self._log_wrong(theta, Y))
        return TableEvidence(segment_sum(terms * Y.counts[:, None], Y.item, Y.n_items))


def _variance(x: Array, codes: Array, covariance: Array) -> Array:
    """Var[a_zᵀθ] of a_z = (x, code_z), annotator by annotator: (n_annotators, n_labels, n_codes)."""
    n, end = x.shape[2], x.shape[2] + codes.shape[1]
    alone = namespace(x).einsum("tij,tij->ti", x @ covariance[:, :n, :n], x)[:, :, None]
    cross = x @ (covariance[:, :n, n:end] @ codes.T)
    return alone + 2 * cross + _of_codes(codes, covariance[:, n:, n:])[:, None, :]


def _of_codes(codes: Array, covariance: Array) -> Array:
    """Var[code_zᵀk_t] of each annotator and class: (n_annotators, n_codes)."""
    n = codes.shape[1]
    return namespace(codes).einsum("zi,tij,zj->tz", codes, covariance[:, :n, :n], codes)
