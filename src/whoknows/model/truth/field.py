"""The prior of model GP over items, N(½, λ (Δ + jitter)⁻¹), and its posterior: two exact forms.

With explicit edge weights it is a matrix over the items, for thousands of items. On an anchor graph it is a
function of x with one coefficient per anchor, for any number of items.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from whoknows._array import Array
from whoknows.model.distances import neighbors
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.gaussian import Belief, condition, variance_along
from whoknows.model.graph import AnchoredGraph, ItemGraph
from whoknows.model.graph.spectrum import inverse_root, scale_rows
from whoknows.model.posterior import GaussianPosterior


class Field(Protocol):
    """What `GraphTruth` needs of its prior over items."""

    def condition(self, X: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
        """Prior times evidence of the items in ``X``, and log p(labels | X) of Eq. (8)."""

    def items(self, posterior: GaussianPosterior) -> Array:
        """Return the items that a posterior describes: (n_items, D)."""

    def at(self, posterior: GaussianPosterior, X: Array) -> GaussianPosterior:
        """Return the prediction of that posterior for x that are not among its items."""


# --- explicit weights: a matrix over the items ----------------------------------------------------


@dataclass(frozen=True)
class ItemField:
    """N(½, ``covariance``) over all training items; ``near`` are each item's neighbours, itself first."""

    graph: ItemGraph
    covariance: Array
    lam: float
    jitter: float
    near: Array | None = None

    @classmethod
    def of(cls, graph: ItemGraph, lam: float, jitter: float, n_near: int | None) -> ItemField:
        """Invert Δ; with ``n_near`` use the paper's approximation by neighbours."""
        N = len(graph.nodes)
        covariance = lam * scipy.linalg.inv(graph.laplacian() + jitter * np.eye(N))
        if n_near is None:
            return cls(graph, covariance, lam, jitter)
        others = neighbors(graph.nodes, min(n_near, N - 1))[0]
        return cls(graph, covariance, lam, jitter, np.column_stack([np.arange(N), others]))

    def condition(self, X: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
        """Return the posterior of all items, exact or each from its neighbours only."""
        exact = _condition_covariance(self.covariance, evidence)
        if self.near is None:
            return exact
        local = [_condition_covariance(self.covariance[np.ix_(n, n)], _rows(evidence, n)) for n in self.near]
        mean, variance = np.array([(p.mean[0], p.variance[0]) for p in local]).T
        return GaussianPosterior(mean, variance, exact.log_marginal)

    def items(self, posterior: GaussianPosterior) -> Array:
        """Return all training items."""
        return self.graph.nodes

    def at(self, posterior: GaussianPosterior, X: Array) -> GaussianPosterior:
        """Join x to the graph: z(x) is the mean over its neighbours, ½ where it has none.

        The variance assumes perfectly correlated neighbours, so it is conservative.
        """
        weights = self.graph.tie(X)
        total = np.asarray(weights.sum(axis=1)).ravel() + self.jitter
        mean = 0.5 + (weights @ (posterior.mean - 0.5)) / total
        return GaussianPosterior(mean, (weights @ posterior.variance + self.lam) / total)


def _rows(evidence: QuadraticEvidence, rows: Array) -> QuadraticEvidence:
    return QuadraticEvidence(evidence.precision[rows], evidence.pull[rows], evidence.constant[rows])


def _condition_covariance(covariance: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
    """Gaussian prior N(½, covariance) times quadratic evidence; only labelled items enter the solve."""
    labelled = np.flatnonzero(evidence.precision > 0)
    precision = evidence.precision[labelled]
    y = evidence.pull[labelled] / precision  # an item's labels as one observation of variance 1/precision
    K = covariance[:, labelled]
    L = scipy.linalg.cholesky(K[labelled] + np.diag(1 / precision), lower=True)
    gain = scipy.linalg.solve_triangular(L, K.T, lower=True)
    surprise = scipy.linalg.solve_triangular(L, y - 0.5, lower=True)
    log_density = -0.5 * surprise @ surprise - np.log(np.diag(L)).sum() - 0.5 * len(y) * np.log(2 * np.pi)
    rest = (
        evidence.constant[labelled]
        + 0.5 * y * evidence.pull[labelled]
        - 0.5 * np.log(precision / (2 * np.pi))
    )
    return GaussianPosterior(
        0.5 + gain.T @ surprise,
        np.diag(covariance) - np.einsum("ij,ij->j", gain, gain),
        float(log_density + rest.sum()),
    )


# --- anchors: a function of x ---------------------------------------------------------------------


@dataclass(frozen=True)
class AnchorField:
    """z = ½ + h(x)ᵀu + ε: model GP on an anchor graph, exactly the same prior.

    There Δ = I − Z Λ⁻¹ Zᵀ. With c = 1 + jitter, s² = λ / c and H = Z Λ^−½, Woodbury's identity is

        λ (c I − H Hᵀ)⁻¹ = s² (I + H M⁻¹ Hᵀ),  M = c I − HᵀH,

    the covariance of H u + ε with u ~ N(0, s² M⁻¹), one number per anchor, and ε ~ N(0, s²), independent for
    each item. HᵀH is a sum over all items, computed once; after that only labelled items are needed. A new x
    has h(x) = Λ^−½ z(x), which decays far from all anchors, and an ε of its own.

    Attributes
    ----------
    graph : AnchoredGraph
    precision : (n_anchors, n_anchors)
        M / s², the prior precision of u.
    noise : float
        s².
    """

    graph: AnchoredGraph
    precision: Array
    noise: float

    @classmethod
    def of(cls, graph: AnchoredGraph, lam: float, jitter: float) -> AnchorField:
        """Build the prior from the graph's sums over all items, Λ and ZᵀZ."""
        half, noise = inverse_root(graph.sums.mass), lam / (1 + jitter)
        M = (1 + jitter) * np.eye(len(half)) - graph.sums.joint * half[:, None] * half[None, :]
        return cls(graph, M / noise, noise)

    def condition(self, X: Array, evidence: QuadraticEvidence) -> AnchoredPosterior:
        """Return the posterior of the items in ``X``, all or some, by one n_anchors² solve for w = z − ½."""
        p = evidence.precision
        centred = QuadraticEvidence(
            p, evidence.pull - 0.5 * p, evidence.constant + 0.5 * evidence.pull - 0.125 * p
        )
        w = condition(self._coordinates(X), self.precision, self.noise, centred)
        return AnchoredPosterior(0.5 + w.mean, w.variance, w.log_marginal, u=w.weights, items=X)

    def items(self, posterior: GaussianPosterior) -> Array:
        """Return the labelled items; all others are treated as new."""
        assert isinstance(posterior, AnchoredPosterior)
        return posterior.items

    def at(self, posterior: GaussianPosterior, X: Array) -> GaussianPosterior:
        """z(x) ~ N(½ + h(x)ᵀm, s² + h(x)ᵀSh(x)), exactly; ½ ± s far from every anchor."""
        assert isinstance(posterior, AnchoredPosterior)
        H, u = self._coordinates(X), posterior.u
        return GaussianPosterior(0.5 + H @ u.mean, self.noise + variance_along(H, u.covariance))

    def _coordinates(self, X: Array) -> Any:
        """h(x): sparse (n_items, n_anchors)."""
        row, nearness = self.graph.place(X)
        return scale_rows(row, nearness) * inverse_root(self.graph.sums.mass)[None, :]


@dataclass(frozen=True)
class AnchoredPosterior(GaussianPosterior):
    """Posterior of ``items``, with u | labels, which determines the prediction at any x."""

    u: Belief = field(default_factory=lambda: Belief(np.zeros(0)))
    items: Array = field(default_factory=lambda: np.zeros((0, 1)))
