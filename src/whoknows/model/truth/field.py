"""The prior of model GP over items, N(½, λ (Δ + jitter)⁻¹), and what labels make of it: exact in two forms.

With explicit weights it is a matrix over the items, for thousands of them. On an anchor graph it is a
function of x with one coefficient an anchor, for any number of items.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from whoknows._array import Array
from whoknows.model.belief import Belief
from whoknows.model.distances import blocks, neighbors
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.graph import AnchoredGraph, ItemGraph
from whoknows.model.graph.spectrum import inverse_root, scale_rows
from whoknows.model.posterior import GaussianPosterior


class Field(Protocol):
    """What `GraphTruth` asks of its prior over items."""

    def condition(self, X: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
        """Prior times evidence of the items in ``X``, and log p(labels | X) of Eq. (8)."""

    def items(self, posterior: GaussianPosterior) -> Array:
        """Return the items a posterior is about: (n_items, D)."""

    def at(self, posterior: GaussianPosterior, X: Array) -> GaussianPosterior:
        """Return what is known, by that posterior, of any x that is none of its items."""


# --- explicit weights: a matrix over the items ----------------------------------------------------


@dataclass(frozen=True)
class ItemField:
    """N(½, ``covariance``) over all items of the fit; ``near`` are each item's neighbours, itself first."""

    graph: ItemGraph
    covariance: Array
    lam: float
    jitter: float
    near: Array | None = None

    @classmethod
    def of(cls, graph: ItemGraph, lam: float, jitter: float, n_near: int | None) -> ItemField:
        """Invert Δ; with ``n_near`` keep to the paper's approximation by neighbours."""
        N = len(graph.nodes)
        covariance = lam * scipy.linalg.inv(graph.laplacian() + jitter * np.eye(N))
        if n_near is None:
            return cls(graph, covariance, lam, jitter)
        others = neighbors(graph.nodes, min(n_near, N - 1))[0]
        return cls(graph, covariance, lam, jitter, np.column_stack([np.arange(N), others]))

    def condition(self, X: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
        """Return the posterior of all items, exactly or each from its neighbours alone."""
        exact = _condition(self.covariance, evidence)
        if self.near is None:
            return exact
        local = [_condition(self.covariance[np.ix_(n, n)], _rows(evidence, n)) for n in self.near]
        mean, variance = np.array([(p.mean[0], p.variance[0]) for p in local]).T
        return GaussianPosterior(mean, variance, exact.log_marginal)

    def items(self, posterior: GaussianPosterior) -> Array:
        """Return all items of the fit."""
        return self.graph.nodes

    def at(self, posterior: GaussianPosterior, X: Array) -> GaussianPosterior:
        """Join x to the graph: z(x) is the mean over its neighbours, ½ where it has none.

        The variance takes neighbours as moving together, so it errs on the side of doubt.
        """
        weights = self.graph.tie(X)
        total = np.asarray(weights.sum(axis=1)).ravel() + self.jitter
        mean = 0.5 + (weights @ (posterior.mean - 0.5)) / total
        return GaussianPosterior(mean, (weights @ posterior.variance + self.lam) / total)


def _rows(evidence: QuadraticEvidence, rows: Array) -> QuadraticEvidence:
    return QuadraticEvidence(evidence.precision[rows], evidence.pull[rows], evidence.constant[rows])


def _condition(covariance: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
    """Gaussian prior N(½, covariance) times quadratic evidence; only items with labels enter the solve."""
    seen = np.flatnonzero(evidence.precision > 0)
    precision = evidence.precision[seen]
    y = evidence.pull[seen] / precision  # the labels of an item, as one observation of variance 1/precision
    K = covariance[:, seen]
    L = scipy.linalg.cholesky(K[seen] + np.diag(1 / precision), lower=True)
    gain = scipy.linalg.solve_triangular(L, K.T, lower=True)
    surprise = scipy.linalg.solve_triangular(L, y - 0.5, lower=True)
    log_density = -0.5 * surprise @ surprise - np.log(np.diag(L)).sum() - 0.5 * len(y) * np.log(2 * np.pi)
    rest = evidence.constant[seen] + 0.5 * y * evidence.pull[seen] - 0.5 * np.log(precision / (2 * np.pi))
    return GaussianPosterior(
        0.5 + gain.T @ surprise,
        np.diag(covariance) - np.einsum("ij,ij->j", gain, gain),
        float(log_density + rest.sum()),
    )


# --- anchors: a function of x ---------------------------------------------------------------------


@dataclass(frozen=True)
class AnchorField:
    """z = ½ + h(x)ᵀu + ε: model GP on an anchor graph, the same prior to the last digit.

    There Δ = I − Z Λ⁻¹ Zᵀ. With c = 1 + jitter, s² = λ / c and H = Z Λ^−½, Woodbury's identity is

        λ (c I − H Hᵀ)⁻¹ = s² (I + H M⁻¹ Hᵀ),  M = c I − HᵀH,

    the covariance of H u + ε with u ~ N(0, s² M⁻¹), one number an anchor, and ε ~ N(0, s²), each item's own.
    HᵀH is a sum over all items, taken once; after that only those with labels are needed. A new x has
    h(x) = Λ^−½ z(x), fading where x is far from every anchor, and an ε of its own.

    Attributes
    ----------
    graph : AnchoredGraph
    precision : (n_anchors, n_anchors)
        M / s², of u before any label.
    noise : float
        s².
    """

    graph: AnchoredGraph
    precision: Array
    noise: float

    @classmethod
    def of(cls, graph: AnchoredGraph, lam: float, jitter: float) -> AnchorField:
        """Take Λ and ZᵀZ from the graph's sums over all items."""
        half, noise = inverse_root(graph.sums.mass), lam / (1 + jitter)
        M = (1 + jitter) * np.eye(len(half)) - graph.sums.joint * half[:, None] * half[None, :]
        return cls(graph, M / noise, noise)

    def condition(self, X: Array, evidence: QuadraticEvidence) -> AnchoredPosterior:
        """Return the posterior of the items in ``X``, which may be some of all: one n_anchors² solve.

        With w = z − ½ evidence is −½ p w² + q w + k. What the labels of an item leave of its ε is the share
        g = 1 / (1 + s²p), so that

            u | labels ~ N(m, S),  S⁻¹ = M / s² + Σ gp h hᵀ,  m = S Σ gq h
            w | labels ~ N(g (hᵀm + s²q), g s² + g² hᵀSh)

        and the log marginal is Σ (k + ½ log g + ½ g s²q²) + ½ mᵀS⁻¹m + ½ log |M / s²| |S|.
        """
        H = self._coordinates(X)
        p, q = evidence.precision, evidence.pull - 0.5 * evidence.precision
        k = evidence.constant + 0.5 * evidence.pull - 0.125 * evidence.precision
        g = 1 / (1 + self.noise * p)
        root = scipy.linalg.cholesky(self.precision + (H.T @ scale_rows(H, g * p)).toarray(), lower=True)
        half = scipy.linalg.solve_triangular(root, np.eye(len(root)), lower=True)
        S = half.T @ half
        u = Belief(S @ (H.T @ (g * q)), S)
        f, v = H @ u.mean, _variance_along(H, S)
        half_log_det = 0.5 * np.linalg.slogdet(self.precision)[1] - np.log(np.diag(root)).sum()
        local = k + 0.5 * (np.log(g) + g * self.noise * q**2 + g * q * f)
        return AnchoredPosterior(
            0.5 + g * (f + self.noise * q),
            g * self.noise + g**2 * v,
            float(local.sum() + half_log_det),
            u=u,
            items=X,
        )

    def items(self, posterior: GaussianPosterior) -> Array:
        """Return the items that had a label: whatever x, the others are like new ones."""
        assert isinstance(posterior, AnchoredPosterior)
        return posterior.items

    def at(self, posterior: GaussianPosterior, X: Array) -> GaussianPosterior:
        """z(x) ~ N(½ + h(x)ᵀm, s² + h(x)ᵀSh(x)), exactly; ½ ± s far from every anchor."""
        assert isinstance(posterior, AnchoredPosterior)
        H, u = self._coordinates(X), posterior.u
        assert u.covariance is not None
        return GaussianPosterior(0.5 + H @ u.mean, self.noise + _variance_along(H, u.covariance))

    def _coordinates(self, X: Array) -> Any:
        """h(x): sparse (n_items, n_anchors)."""
        row, nearness = self.graph.place(X)
        return scale_rows(row, nearness) * inverse_root(self.graph.sums.mass)[None, :]


@dataclass(frozen=True)
class AnchoredPosterior(GaussianPosterior):
    """Truth of some items, which these are, and u | labels, from which that of any x follows."""

    u: Belief = field(default_factory=lambda: Belief(np.zeros(0)))
    items: Array = field(default_factory=lambda: np.zeros((0, 1)))


def _variance_along(H: Any, S: Array) -> Array:
    """hᵀSh of each row of a sparse H: (n_rows,)."""
    parts = (H[rows] for rows in blocks(H, len(S)))
    return np.concatenate([np.asarray(part.multiply(part @ S).sum(axis=1)) for part in parts])
