"""Annotators who are right with a probability that depends on the item."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from whoknows._array import Array, Mask, groups, pair_products, pair_sums, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.population import CrowdBelief, Population
from whoknows.model.belief import Belief, bounded_log_logistic, moderated, omega
from whoknows.model.evidence import TableEvidence
from whoknows.model.posterior import Posterior
from whoknows.model.settings import Settings

SIGN = np.array([-1.0, 1.0])  # 2z − 1 for z = 0, 1


@dataclass
class BernoulliAnnotators(Settings):
    """p(y = z | x, z, t) = logistic(w_tᵀx + γ_t): the alternative the paper names after Eq. (15).

    Below one half an annotator is an adversary, and the model uses that. θ has a row (w_t, γ_t) for each
    annotator and a last one for the crowd; with ``two_coin`` a further column k_t.

    Parameters
    ----------
    varies_with_x : bool
        False: one accuracy an annotator (w_t = 0), the paper's «ML original».
    two_coin : bool
        Add (2z − 1) k_t to the log-odds: a different accuracy on each class.
    directions : int
        Expertise depends on no more than this many leading features of the map.
    population : Population
        Prior: the crowd, and how far an annotator strays from it.
    """

    varies_with_x: bool = True
    two_coin: bool = False
    directions: int = 40
    population: Population = field(default_factory=Population)

    gives: ClassVar[str] = "table"

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int, n_annotators: int) -> Array:
        """θ before any label: (n_annotators + 1, n_columns). ``n_features`` counts the constant."""
        n_slopes = n_features - 1 if self.varies_with_x else 0
        return self.population.start(n_annotators, n_slopes, 1 + self.two_coin)

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log p(y_it | x_i, z) for z = 0, 1: the product of Eqs. (2), (7), (12) in log space."""
        eta = self._log_odds(theta, X, Y)
        return self._table(Y, log_expit(eta), log_expit(-eta))

    def expected_log_lik(
        self, theta: Array, X: Array, Y: Annotations, posterior: Posterior
    ) -> tuple[float, Array]:
        """E_p̃(z)[Σ log p(y | x, z)], the first term of Eq. (13), and its gradient in θ."""
        q, right, eta = posterior.prob[Y.item], self._right(Y), self._log_odds(theta, X, Y)  # type: ignore[union-attr]
        value = float((q * log_expit(np.where(right, eta, -eta))).sum())
        return value, self._pull_back(q * (right - expit(eta)), X, Y, len(theta))

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """log p(θ) of the population, and its gradient."""
        return self.population.log_prior(theta, self._n_slopes(theta.shape[1]))

    # --- variational -----------------------------------------------------------------------------

    def prior_belief(self, n_features: int, active: Mask) -> CrowdBelief:
        """q(θ) before any label; ``active`` says which annotators will have one."""
        n_slopes = n_features - 1 if self.varies_with_x else 0
        return CrowdBelief.prior(self.population, active, n_slopes, 1 + self.two_coin)

    def moments(self, belief: Belief, X: Array, Y: Annotations) -> tuple[Array, Array]:
        """E[η] and E[η²] of each label's log-odds under z = 0, 1: two (n_annotations, 2)."""
        mean = self._log_odds(belief.mean, X, Y)
        return mean, mean**2 + self._variance(belief, X, Y)

    def bounded_evidence(self, moments: tuple[Array, Array], Y: Annotations) -> TableEvidence:
        """E_q(θ)[Σ_t log p(y | x, z)] from below, by the Pólya-Gamma bound."""
        return self._table(Y, *bounded_log_logistic(*moments))

    def statistics(
        self, moments: tuple[Array, Array], X: Array, Y: Annotations, posterior: Posterior
    ) -> tuple[Array, Array]:
        """Σ ω a aᵀ and Σ (target − ½) a of each annotator, a being what its log-odds are linear in."""
        X = self._features(X)
        q = posterior.prob[Y.item]  # type: ignore[union-attr]
        weight = q * omega(np.sqrt(moments[1]))
        pull = self._pull_back(q * (self._right(Y) - 0.5), X, Y, Y.n_annotators)
        gram = np.zeros((Y.n_annotators, pull.shape[1], pull.shape[1]))
        for t, pairs in enumerate(groups(Y.annotator, Y.n_annotators)):
            gram[t] = self._gram(X[Y.item[pairs]], weight[pairs])
        return gram, pull

    # --- after the fit ---------------------------------------------------------------------------

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log P(y_it | x_i, z) with θ integrated out where its covariance is known."""
        mean, second = self.moments(belief, X, Y)
        eta = moderated(mean, second - mean**2)
        return self._table(Y, log_expit(eta), log_expit(-eta))

    predictive = evidence_at

    def expertise(self, belief: Belief, X: Array, prob: Array) -> Array:
        """Probability that each annotator is right on each item: (n_items, n_annotators + 1).

        ``prob`` (n_items, 2) is p(z | x); two-coin accuracy is averaged over it.
        """
        X = self._features(X)
        answers = []
        for t in range(len(belief.mean)):
            accuracy = np.zeros(len(X))
            for z, sign in enumerate(SIGN):
                a = np.column_stack([X, np.full(len(X), sign)]) if self.two_coin else X
                accuracy += prob[:, z] * expit(moderated(a @ belief.mean[t], belief.variance_along(a, t)))
            answers.append(accuracy)
        return np.column_stack(answers)

    def coefficients(self, theta: Array, n_features: int) -> tuple[Array, Array]:
        """w (n_annotators + 1, n_features − 1) and γ (n_annotators + 1,) of the log-odds of being right."""
        n_slopes = self._n_slopes(theta.shape[1])
        slopes = theta[:, :n_slopes] if n_slopes else np.zeros((len(theta), n_features - 1))
        return slopes, theta[:, n_slopes]

    # --- the log-odds η_z = w_tᵀx + γ_t + (2z − 1) k_t, on observed pairs -------------------------

    def _features(self, X: Array) -> Array:
        return X if self.varies_with_x else X[:, -1:]

    def _n_slopes(self, n_columns: int) -> int:
        return n_columns - 1 - self.two_coin

    def _right(self, Y: Annotations) -> Mask:
        """Whether the label is right if z = 0, and if z = 1."""
        return np.asarray(Y.label[:, None] == np.arange(2))

    def _log_odds(self, theta: Array, X: Array, Y: Annotations) -> Array:
        X = self._features(X)
        eta = pair_products(X, theta[:, : X.shape[1]], Y.item, Y.annotator)[:, None]
        bias = theta[Y.annotator, -1][:, None] if self.two_coin else 0.0
        return np.asarray(eta + SIGN * bias)

    def _variance(self, belief: Belief, X: Array, Y: Annotations) -> Array:
        X, variance = self._features(X), np.zeros((Y.n_annotations, 2))
        for t, pairs in enumerate(groups(Y.annotator % len(belief.mean), len(belief.mean))):
            x = X[Y.item[pairs]]
            for z, sign in enumerate(SIGN):
                a = np.column_stack([x, np.full(len(x), sign)]) if self.two_coin else x
                variance[pairs, z] = belief.variance_along(a, t)
        return variance

    def _table(self, Y: Annotations, if_right: Array, if_wrong: Array) -> TableEvidence:
        return TableEvidence(segment_sum(np.where(self._right(Y), if_right, if_wrong), Y.item, Y.n_items))

    def _pull_back(self, residual: Array, X: Array, Y: Annotations, n_rows: int) -> Array:
        """Σ over labels and z of residual · a_z: a gradient in η becomes one in θ."""
        X = self._features(X)
        pulled = pair_sums(residual.sum(axis=1), X, Y.item, Y.annotator, n_rows)
        if not self.two_coin:
            return pulled
        return np.column_stack([pulled, segment_sum(residual @ SIGN, Y.annotator, n_rows)])

    def _gram(self, x: Array, weight: Array) -> Array:
        """Σ over one annotator's labels and z of weight_z a_z a_zᵀ."""
        total = weight.sum(axis=1)
        gram = x.T @ (x * total[:, None])
        if not self.two_coin:
            return np.asarray(gram)
        cross = x.T @ (weight @ SIGN)
        return np.block([[gram, cross[:, None]], [cross[None], total.sum()]])
