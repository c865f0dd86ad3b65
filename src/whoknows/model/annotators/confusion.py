"""Annotators who mistake one class for another in ways of their own: a confusion matrix each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.bernoulli import BernoulliAnnotators, label_weights
from whoknows.model.posterior import Posterior
from whoknows.model.settings import Rules


@dataclass
class ConfusionAnnotators(BernoulliAnnotators):
    """p(y = l | x, z = k, t) = softmax over l of (B_t[k, l] + [l = k] w_tᵀx), for any number of classes.

    Written as it is computed: right with log-odds w_tᵀx + γ_t + k_tz, and if wrong, label l ≠ z with
    softmax(r_tz)_l, which x does not touch. ``varies_with_x=False`` is Dawid and Skene's model (with a
    truth that knows x: Raykar's), and without ``two_coin`` and ``own_mistakes`` the one-coin model. For two
    classes there is only one wrong label, and this is `BernoulliAnnotators` with two coins.

    Parameters
    ----------
    two_coin : bool
        A different accuracy on each class.
    own_mistakes : bool
        Each annotator mistakes classes in a way of its own; False: all share the crowd's.
    varies_with_x, directions, population
        As in `BernoulliAnnotators`.
    """

    two_coin: bool = True
    own_mistakes: bool = True

    rules: ClassVar[Rules] = BernoulliAnnotators.rules

    @property
    def has_bound(self) -> bool:
        """Whether the variational solver can take it: mistakes have no quadratic bound."""
        return self._n_classes == 2

    def expected_log_lik(
        self, theta: Array, X: Array, Y: Annotations, posterior: Posterior
    ) -> tuple[float, Array]:
        """E_p̃(z)[Σ log p(y | x, z)], the first term of Eq. (13), and its gradient in θ."""
        value, gradient = super().expected_log_lik(theta, X, Y, posterior)
        if not self._n_mistakes:
            return value, gradient
        counts = self._wrong_counts(Y, posterior, len(theta))
        excess = counts - counts.sum(axis=2, keepdims=True) * np.exp(self._log_mistakes(theta))
        if not self.own_mistakes:
            excess[-1] = excess.sum(axis=0)
            excess[:-1] = 0
        return value, np.column_stack([gradient, excess.reshape(len(theta), -1)])

    # --- mistakes r_t[z, l]: the last n_classes² columns of θ, the diagonal unused -----------------

    @property
    def _n_mistakes(self) -> int:
        return self._n_classes**2 if self._n_classes > 2 else 0

    @property
    def _n_intercepts(self) -> int:
        return super()._n_intercepts + self._n_mistakes

    def _log_mistakes(self, theta: Array) -> Array:
        """log P(y = l | z = k, wrong), −∞ on the diagonal: (n_annotators + 1, n_classes, n_classes)."""
        K = self._n_classes
        own = theta if self.own_mistakes else np.tile(theta[-1], (len(theta), 1))
        r = own[:, -K * K :].reshape(-1, K, K) if self._n_mistakes else np.zeros((len(theta), K, K))
        return np.asarray(log_softmax(np.where(np.eye(K, dtype=bool), -np.inf, r), axis=2))

    def _log_wrong(self, theta: Array, Y: Annotations) -> Array | float:
        if not self._n_mistakes:
            return 0.0
        right = np.eye(self._n_classes, dtype=bool)  # not asked for, and must not be infinite
        log_mistakes = np.where(right, 0.0, self._log_mistakes(theta))
        return np.asarray(log_mistakes[Y.annotator, :, Y.label])

    def _wrong_counts(self, Y: Annotations, posterior: Posterior, n_rows: int) -> Array:
        """Expected number of labels l by each annotator on items of class k ≠ l: (n_rows, k, l)."""
        K = self._n_classes
        cell = Y.annotator.astype(np.intp) * K + Y.label
        by_label = segment_sum(label_weights(posterior, Y), cell, n_rows * K)
        counts = by_label.reshape(n_rows, K, K).swapaxes(1, 2)
        return np.where(np.eye(K, dtype=bool), 0.0, counts)
