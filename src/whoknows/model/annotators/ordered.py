"""Annotators of an ordered scale: the true level plus a severity, with a spread that depends on x."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from whoknows._array import Array, pair_sums, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.bernoulli import label_weights
from whoknows.model.annotators.gaussian import LARGEST_LOG, BiasedLinearAnnotators, bounded_exp
from whoknows.model.annotators.population import Population
from whoknows.model.evidence import TableEvidence, table_of
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.settings import COUNT, POSITIVE, Rules, is_a, or_none

NUMBERS_PER_BLOCK = 200_000  # what fits in a processor's cache
N_NODES = 21  # of Gauss-Hermite quadrature over an unknown severity


@dataclass
class OrderedAnnotators(BiasedLinearAnnotators):
    """p(y = l | x, z = k, t) = softmax over l of −½ (l − k − b_t)² exp(η), with η = w_tᵀx + γ_t.

    A Gaussian around the true level plus the annotator's severity b_t, evaluated at the levels 0 … K − 1 and
    normalised over them. η is the log precision, an annotator's expertise at x: σ_t(x) = exp(−η / 2), in
    levels. θ has one row (w_t, γ_t, b_t) per annotator and a last one for the population.

    A severity shared by all annotators is not identifiable: it is equivalent to a shift of the truth's cut
    points. So the population's severity is 0, and b_t ~ N(0, ``bias_variance``): the truth is what annotators
    say on average.

    Parameters
    ----------
    varies_with_x : bool
        False: one spread per annotator.
    bias_variance : float
        Prior variance of an annotator's severity, in levels².
    directions : int, optional
        Number of leading features of the map that σ depends on; None chooses it by the number of labels.
    population : Population
        Prior on η. The centre is an annotator with a σ of 0.6 levels, who gives the right one of five levels
        seven times in ten and an adjacent one in nearly all other cases.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.model.annotators.ordered import OrderedAnnotators
    >>> from whoknows.model.gaussian import Belief
    >>> piece = OrderedAnnotators().for_classes(3)
    >>> theta = piece.init(n_features=1, n_annotators=1)  # one row for the annotator, one for the population
    >>> theta[0, -1] = 0.5  # half a level too high
    >>> piece.confusion(Belief(theta), np.ones((1, 1)))[0].round(2)
    array([[0.48, 0.48, 0.03],
           [0.03, 0.48, 0.48],
           [0.  , 0.06, 0.94]])
    """

    varies_with_x: bool = True
    bias_variance: float = 0.25
    directions: int | None = None
    population: Population = field(default_factory=lambda: Population(centre=1.0, precision_rate=1.0))

    gives: ClassVar[str] = "table"
    rules: ClassVar[Rules] = {"bias_variance": POSITIVE, "directions": or_none(COUNT), "population": is_a(Population)}

    _n_classes: int = field(default=2, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Return a copy for this number of levels."""
        prepared = copy.copy(self)
        prepared._n_classes = n_classes
        return prepared

    # --- point estimates -------------------------------------------------------------------------

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log p(y_it | x_i, z) for every z: the product of Eqs. (2), (7), (12) in log space."""
        return table_of(self._log_lik(self._products(theta, X, Y), theta[Y.annotator, -1], Y), Y)

    def expected_log_lik(
        self, theta: Array, X: Array, Y: Annotations, posterior: CategoricalPosterior
    ) -> tuple[float, Array]:
        """E_p̃(z)[Σ log p(y | x, z)], the first term of Eq. (13), and its gradient in θ.

        With u_kl = −½ (l − k − b)² exp(η) and E over the model's labels l if z = k:
        ∂/∂η = Σ_k p̃_k (u_ky − E u_kl), and ∂/∂b = exp(η) Σ_k p̃_k (y − E l).
        """
        eta, b, q = self._products(theta, X, Y), theta[Y.annotator, -1], label_weights(posterior, Y)
        precision, off = bounded_exp(eta)[:, None], Y.label[:, None] - self._levels
        given = -0.5 * precision * (off - b[:, None]) ** 2
        log_total, mean_u, mean_off = self._over_labels(eta, b)
        value = float((q * (given - log_total)).sum())
        d_eta, d_b = (q * (given - mean_u)).sum(axis=1), (q * precision * (off - mean_off)).sum(axis=1)
        d_eta[np.abs(eta) >= LARGEST_LOG] = 0.0
        spread = pair_sums(d_eta, self._features(X), Y.item, Y.annotator, len(theta))
        return value, np.column_stack([spread, segment_sum(d_b, Y.annotator, len(theta))])

    # --- after the fit ---------------------------------------------------------------------------

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> TableEvidence:
        """Return the evidence under a fitted θ.

        An annotator not seen in training (code −1) has the population's spread and an unknown severity:
        b ~ N(0, bias_variance) is integrated out for each label.
        """
        eta, b = self._products(belief.mean, X, Y), belief.mean[Y.annotator, -1]
        terms, unseen = self._log_lik(eta, b, Y), Y.annotator < 0
        if unseen.any():
            labels, spread = Y.only(unseen), np.sqrt(self.bias_variance)
            nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
            at_nodes = [self._log_lik(eta[unseen], b[unseen] + spread * node, labels) for node in nodes]
            shares = (weights / weights.sum())[:, None, None]
            terms[unseen] = logsumexp(np.array(at_nodes), axis=0, b=shares)
        return table_of(terms, Y)

    predictive = evidence_at

    def scale(self, theta: Array, X: Array) -> Array:
        """σ_t(x) of every annotator, the population last, in levels: (n_items, n_annotators + 1)."""
        return np.asarray(bounded_exp(self._features(X) @ theta[:, :-1].T) ** -0.5)

    def expertise(self, belief: Belief, X: Array, prob: Array) -> Array:
        """Probability that each annotator is right on each item: (n_items, n_annotators + 1).

        ``prob`` (n_items, n_classes) is p(z | x), over which accuracy is averaged. The last column is an
        annotator with the population's spread and no severity.
        """
        return np.asarray((self.accuracy(belief, X) * prob[:, None, :]).sum(axis=2))

    def accuracy(self, belief: Belief, X: Array) -> Array:
        """P(right | x, z): (n_items, n_annotators + 1, n_classes)."""
        accuracy = np.zeros((len(X), len(belief.mean), self._n_classes))
        for t, rows, p in self._confusions(belief.mean, X):
            accuracy[rows, t] = np.diagonal(p, axis1=1, axis2=2)
        return accuracy

    def confusion(self, belief: Belief, X: Array) -> Array:
        """p(y | z, t), averaged over the items: (n_annotators + 1, n_classes, n_classes), rows are truth."""
        total = np.zeros((len(belief.mean), self._n_classes, self._n_classes))
        for t, _, p in self._confusions(belief.mean, X):
            total[t] += p.sum(axis=0)
        return total / len(X)

    # --- the discretised Gaussian: u depends on the level y and the truth k through y − k only ------

    @property
    def _levels(self) -> Array:
        return np.arange(float(self._n_classes))

    def _over_labels(self, eta: Array, b: Array) -> Array:
        """log Σ_l exp u_kl, and the means of u_kl and of l − k over the labels l, if z = k: (3, n, k).

        For z = k, l − k is from −k to K − 1 − k. Both directions are summed outward from 0, for all k at once.
        """
        steps, found = self._levels, np.empty((3, len(eta), self._n_classes))
        for rows in _blocks(len(eta), self._n_classes):
            precision = bounded_exp(eta[rows])
            top_up, up = (of_first[:0:-1] for of_first in _outward(steps, precision, b[rows]))
            top_down, down = _outward(-steps[1:], precision, b[rows])
            top = np.maximum(top_up, top_down)
            up *= np.exp(top_up - top)[:, None]
            down *= np.exp(top_down - top)[:, None]
            total, u, off = np.moveaxis(up + down, 1, 0)
            found[:, rows] = np.swapaxes([top + np.log(total), u / total, off / total], 1, 2)
        return found

    def _log_lik(self, eta: Array, b: Array, Y: Annotations) -> Array:
        """log p(y | x, z) of each label, for every z: (n_annotations, n_classes)."""
        off = Y.label[:, None] - self._levels - b[:, None]
        return np.asarray(-0.5 * bounded_exp(eta)[:, None] * off**2 - self._over_labels(eta, b)[0])

    def _confusions(self, theta: Array, X: Array) -> Iterator[tuple[int, slice, Array]]:
        """p(y = l | x, z = k) for each row of θ and block of items: (n, k, l)."""
        X = self._features(X)
        for t, row in enumerate(theta):
            off = self._levels - self._levels[:, None] - row[-1]
            for rows in _blocks(len(X), self._n_classes**2):
                eta = X[rows] @ row[:-1]
                log_total = self._over_labels(eta, np.full(len(eta), row[-1]))[0]
                yield t, rows, np.exp(-0.5 * bounded_exp(eta)[:, None, None] * off**2 - log_total[..., None])


def _blocks(n: int, width: int) -> Iterator[slice]:
    size = max(NUMBERS_PER_BLOCK // width, 1)
    return (slice(start, start + size) for start in range(0, n, size))


def _outward(steps: Array, precision: Array, b: Array) -> tuple[Array, Array]:
    """Sums of exp(u) (1, u, d) over the first 0, 1, 2, … of the differences d in ``steps``, scaled.

    u = −½ (d − b)² times ``precision``. Returns the largest u of each sum, (n_steps + 1, n), and the sums
    divided by its exponential, (n_steps + 1, 3, n).
    """
    tops, sums = np.full((len(steps) + 1, len(b)), -np.inf), np.zeros((len(steps) + 1, 3, len(b)))
    for i, d in enumerate(steps):
        u = -0.5 * precision * (d - b) ** 2
        tops[i + 1] = np.maximum(tops[i], u)
        new = np.exp(u - tops[i + 1])
        sums[i + 1] = sums[i] * np.exp(tops[i] - tops[i + 1]) + [new, new * u, new * d]
    return tops, sums
