"""Truth on an ordered scale: the ordered logit model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from whoknows._array import Array
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.settings import POSITIVE, Rules
from whoknows.model.truth.logistic import CrossFitBelief, LogisticTruth, item_keys, shares

LARGEST_LOG = 30.0  # of a gap: beyond it, a level is certain or impossible


@dataclass
class OrderedTruth(LogisticTruth):
    """P(z ≤ k | x) = logistic(c_k − f), f = ωᵀx: the ordered logit, for levels 0 < 1 < … < K − 1.

    The last column of x is constant, and its weight is equivalent to a shift of all cut points. So the cut
    points c_0 < … < c_{K−2} have mean zero, and only the gaps between them are learned: ξ = (ω, log gaps),
    one column, with ω as in `LogisticTruth` and log gap ~ N(log ``gap``, ``log_gap_variance``). Reversing the
    scale changes the sign of f and the order of the gaps and nothing else. With two levels there is no gap,
    and this is `LogisticTruth`.

    Parameters
    ----------
    graph, strength, variance, intercept_variance
        As in `LogisticTruth`.
    gap : float
        Prior median of the gap between two cut points. With 2, an item half way between them has the level
        between them with probability 0.46.
    log_gap_variance : float
        Prior variance of the logarithm of a gap.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.model.gaussian import Belief
    >>> from whoknows.model.truth.ordered import OrderedTruth
    >>> truth = OrderedTruth().for_classes(3)
    >>> xi = truth.init(n_features=2)
    >>> truth.cuts(xi)
    array([-1.,  1.])
    >>> xi[0, 0] = 4.0
    >>> X = np.array([[-1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])  # the constant last
    >>> np.exp(truth.log_predict(Belief(xi), X)).round(2)
    array([[0.95, 0.04, 0.01],
           [0.27, 0.46, 0.27],
           [0.01, 0.04, 0.95]])
    """

    works_on_tensors: ClassVar[bool] = False

    gap: float = 2.0
    log_gap_variance: float = 0.5

    rules: ClassVar[Rules] = LogisticTruth.rules | {"gap": POSITIVE, "log_gap_variance": POSITIVE}

    # --- point estimates -------------------------------------------------------------------------

    def init(self, n_features: int) -> Array:
        """ω = 0 and the gaps at their prior median: (n_features + n_classes − 2, 1)."""
        gaps = np.full(self._n_classes - 2, np.log(self.gap))
        return np.concatenate([np.zeros(n_features), gaps])[:, None]

    def weights(self, xi: Array) -> Array:
        """ω, the weight of the constant last: (n_features, 1)."""
        return xi[: len(xi) - self._n_classes + 2]

    def cuts(self, xi: Array) -> Array:
        """c_0 < … < c_{K−2}, with mean zero: (n_classes − 1,)."""
        cuts = np.concatenate([[0.0], np.cumsum(self._gaps(xi))])
        return np.asarray(cuts - cuts.mean())

    def log_odds(self, xi: Array, X: Array) -> Array:
        """f = ωᵀx: (n_items, 1)."""
        return X @ self.weights(xi)

    def log_prob(self, xi: Array, f: Array) -> Array:
        """log P(z = k | f), finite and accurate for any f: (n_items, n_classes).

        logistic(a) − logistic(b) = logistic(a) logistic(−b) (1 − exp(b − a)): nothing is subtracted.
        """
        to_cut = self.cuts(xi) - f
        log_p = np.zeros((len(f), self._n_classes))
        log_p[:, :-1] += log_expit(to_cut)
        log_p[:, 1:] += log_expit(-to_cut)
        log_p[:, 1:-1] += np.log(-np.expm1(-self._gaps(xi)))
        return log_p

    def expected_log_truth(self, xi: Array, X: Array, posterior: CategoricalPosterior) -> tuple[float, Array]:
        """E_p̃(z)[Σ_i log p(z_i | x_i)], the second term of Eq. (13), and its gradient in ω and log gaps."""
        f, gaps = self.log_odds(xi, X), self._gaps(xi)
        q = _counted(posterior)
        push, _ = self._pushes(xi, f, q)
        d_cuts = -push.sum(axis=0)
        d_gaps = np.cumsum((d_cuts - d_cuts.mean())[::-1])[::-1][1:]  # a gap moves all cuts above it
        d_gaps = d_gaps + q[:, 1:-1].sum(axis=0) * np.exp(-gaps) / -np.expm1(-gaps)
        inside = np.abs(xi[len(xi) - len(gaps) :, 0]) < LARGEST_LOG
        value = float((q * self.log_prob(xi, f)).sum())
        gradient = np.concatenate([X.T @ push.sum(axis=1), np.where(inside, gaps * d_gaps, 0.0)])
        return value, gradient[:, None]

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """log p(ω | X), Eqs. (10), (11), plus log p(log gaps), up to a constant, and the gradient."""
        omega = self.weights(xi)
        value, gradient = super().log_prior(omega)
        surprise = xi[len(omega) :] - np.log(self.gap)
        pull = surprise / self.log_gap_variance
        return value - 0.5 * float((surprise * pull).sum()), np.concatenate([gradient, -pull])

    def residual(self, xi: Array, X: Array, posterior: CategoricalPosterior) -> Array:
        """Gradient of each item's expected log truth in f: (n_items, 1)."""
        push, _ = self._pushes(xi, self.log_odds(xi, X), posterior.prob)
        return np.asarray(push.sum(axis=1, keepdims=True))

    # --- cross-fitting of ω; the cut points are held fixed ----------------------------------------

    def curvature(self, xi: Array, X: Array, posterior: CategoricalPosterior) -> Array:
        """−∂² of each item's expected log truth in f = ωᵀx: (n_items, 1)."""
        return self._pushes(xi, self.log_odds(xi, X), posterior.prob)[1][:, None]

    def leave_one_out(self, xi: Array, X: Array, posterior: CategoricalPosterior, variance: Array) -> Array:
        """log p(z_i | x_i) under ω fitted without item i: (n_items, n_classes).

        f_−i = f_i − a ∂E[log p(z_i | f)]/∂f, a the ``variance`` of ωᵀx_i without item i.
        """
        f = self.log_odds(xi, X)
        push, _ = self._pushes(xi, f, _counted(posterior))
        return self.log_prob(xi, f - variance * push.sum(axis=1, keepdims=True))

    def cross_fitted(
        self, xi: Array, X: list[Array], held_out: list[Array], evidence: list[Array], counts: list[Array]
    ) -> CrossFitBelief:
        """Return ξ as it is, since gaps cannot be scaled with ω, and the leave-one-out predictions."""
        return CrossFitBelief(xi, None, item_keys(np.vstack(X)), np.vstack(held_out), shares(np.vstack(evidence)))

    def _gaps(self, xi: Array) -> Array:
        return np.exp(np.clip(xi[len(self.weights(xi)) :, 0], -LARGEST_LOG, LARGEST_LOG))

    def _pushes(self, xi: Array, f: Array, q: Array) -> tuple[Array, Array]:
        """Derivatives of E_q[log p]: its parts by cut, (n_items, n_classes − 1), and −∂²/∂f², (n_items,).

        Summed over cuts, the parts are ∂/∂f; summed over items, −∂/∂c_k with the gaps fixed. The second
        derivative is never positive: log p is concave in f.
        """
        below = expit(self.cuts(xi) - f)  # P(z ≤ k)
        above = expit(f - self.cuts(xi))
        push = q[:, 1:] * below - q[:, :-1] * above
        return push, ((q[:, 1:] + q[:, :-1]) * below * above).sum(axis=1)


def _counted(posterior: CategoricalPosterior) -> Array:
    """p̃(z) of each item times its sample weight: (n_items, n_classes)."""
    return np.asarray(posterior.prob * posterior.counts[:, None])
