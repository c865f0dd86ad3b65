"""Annotators with a confusion matrix each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whoknows._array import Array, log_softmax
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.bernoulli import BernoulliAnnotators
from whoknows.model.settings import Rules


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
        return log_softmax(np.where(np.eye(K, dtype=bool), -np.inf, r))

    def _log_wrong(self, theta: Array, Y: Annotations) -> Array | float:
        if not self._n_mistakes:
            return 0.0
        right = np.eye(self._n_classes, dtype=bool)  # not used, and must not be infinite
        log_mistakes = np.where(right, 0.0, self._log_mistakes(theta))
        return np.asarray(log_mistakes[Y.annotator, :, Y.label])

    def _expected_mistakes(self, theta: Array, counts: Array) -> tuple[float, Array]:
        """Σ [z ≠ l] counts log p(l | z, wrong), and its gradient in r, the last n_classes² columns of θ."""
        if not self._n_mistakes:
            return 0.0, np.zeros((len(theta), 0))
        right = np.eye(self._n_classes, dtype=bool)
        log_mistakes = self._log_mistakes(theta)
        wrong = np.where(right, 0.0, counts)
        excess = np.zeros_like(log_mistakes)  # the last row is the population's
        excess[:-1] = wrong - wrong.sum(axis=2, keepdims=True) * np.exp(log_mistakes[:-1])
        if not self.own_mistakes:
            excess[-1] = excess.sum(axis=0)
            excess[:-1] = 0
        value = np.vdot(wrong, np.where(right, 0.0, log_mistakes[:-1]))
        return float(value), excess.reshape(len(theta), -1)
