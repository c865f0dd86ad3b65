"""Labels under a posterior that stays: what an M-step over θ asks again and again, with all else computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.pairs import Pairs
from whoknows.model.posterior import Posterior

if TYPE_CHECKING:
    from whoknows.model.annotators.bernoulli import BernoulliAnnotators


@dataclass(frozen=True)
class FrozenLabels:
    """E_p̃(z)[Σ log p(y | x, z)] as a function of θ alone, the first term of Eq. (13).

    A label l of somebody on an item of class z is right with log-odds η, and log σ(−η) = log σ(η) − η, so

        Σ q_z log p(y | x, z) = Σ [z = l] q_z η_z − Σ q_z log(1 + e^η_z) + Σ [z ≠ l] q_z log p(l | z, wrong).

    Where η does not depend on x, expected counts of labels by annotator and class say it all.

    Attributes
    ----------
    model : BernoulliAnnotators
    counts : (n_annotators, n_classes, n_classes)
        Expected number of labels l (last) on items of class z (middle).
    pairs, q, right : Pairs, (n_pairs, n_classes), (n_pairs, n_classes); or None
        Where η depends on x: the labels, p̃(z) of their items, and the same with zeros where z ≠ l.
    """

    model: BernoulliAnnotators
    counts: Array
    pairs: Pairs | None = None
    q: Array | None = None
    right: Array | None = None

    @classmethod
    def of(cls, model: BernoulliAnnotators, pairs: Pairs, posterior: Posterior) -> FrozenLabels:
        """Compute all that does not change with θ."""
        Y = pairs.said
        q, T, K = label_weights(posterior, Y), Y.n_annotators, model._n_classes
        by_label = segment_sum(q, Y.annotator.astype(np.intp) * K + Y.label, T * K)
        counts = by_label.reshape(T, K, K).swapaxes(1, 2)
        if not model.varies_with_x:
            return cls(model, counts)
        return cls(model, counts, pairs, q, np.where(Y.label[:, None] == np.arange(K), q, 0.0))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Value, and gradient in θ: (n_annotators + 1, n_columns)."""
        codes, n_slopes = self.model._codes, theta.shape[1] - self.model._n_intercepts
        extra = slice(n_slopes + 1, n_slopes + 1 + codes.shape[1])
        shift = theta[:-1, n_slopes, None] + theta[:-1, extra] @ codes.T
        if self.pairs is None:
            right = np.einsum("tzz->tz", self.counts)
            value, by_class = _log_odds_part(shift, right, self.counts.sum(axis=2))
            slopes = np.zeros((len(shift), n_slopes))
        else:
            value, slopes, by_class = self._label_by_label(theta[:-1, :n_slopes], shift)
        gradient = np.zeros_like(theta)
        gradient[:-1, :n_slopes], gradient[:-1, n_slopes] = slopes, by_class.sum(axis=1)
        gradient[:-1, extra] = by_class @ codes
        of_mistakes, pull = self.model._expected_mistakes(theta, self.counts)
        gradient[:, theta.shape[1] - pull.shape[1] :] = pull
        return value + of_mistakes, gradient

    def _label_by_label(self, w: Array, shift: Array) -> tuple[float, Array, Array]:
        """Value, and gradients in w and in what η has besides wᵀx, class by class."""
        assert self.pairs is not None
        assert self.q is not None
        assert self.right is not None
        value, slopes, by_class = 0.0, np.zeros_like(w), np.zeros_like(shift)
        for block in self.pairs.blocks:
            t, x = block.annotators, block.shaped(self.pairs.x)[:, :, :-1]
            eta = x @ w[t, :, None] + shift[t, None, :]
            part, residual = _log_odds_part(eta, block.shaped(self.right), block.shaped(self.q))
            value += part
            slopes[t] += (residual.sum(axis=2)[:, None, :] @ x)[:, 0]
            by_class[t] += residual.sum(axis=1)
        return value, slopes, by_class


def _log_odds_part(eta: Array, right: Array, weight: Array) -> tuple[float, Array]:
    """Σ right η − weight log(1 + e^η), and its gradient in η."""
    small = np.exp(-np.abs(eta))
    value = np.vdot(right, eta) - np.vdot(weight, np.maximum(eta, 0) + np.log(1 + small))
    return float(value), right - weight * np.where(eta > 0, 1.0, small) / (1 + small)


def label_weights(posterior: Posterior, Y: Annotations) -> Array:
    """p̃(z) of each label's item, times how much label and item count: (n_annotations, n_classes)."""
    counts = Y.counts * posterior.counts[Y.item]
    return posterior.prob[Y.item] * counts[:, None]  # type: ignore[union-attr]
