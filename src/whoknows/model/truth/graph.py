"""Truth as a smooth function on the graph of items: the paper's model GP.

The prior over items is N(½, λ (Δ + jitter)⁻¹), in two exact forms. With explicit edge weights it is a matrix
over the items, for thousands of items. On an anchor graph it is a function of x with one coefficient per
anchor, for any number of items.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.linalg
from scipy.stats import norm

from whoknows._array import Array, Mask, Rows
from whoknows.data.errors import InputError
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.gaussian import Belief, condition, variance_along
from whoknows.model.graph import Graph, KnnGraph
from whoknows.model.graph.anchors import AnchoredGraph
from whoknows.model.graph.base import inverse_root, scale_rows
from whoknows.model.graph.weighted import WeightedGraph
from whoknows.model.posterior import GaussianPosterior
from whoknows.model.settings import POSITIVE, NotCompatible, Rules, Settings, is_a

MOST_ITEMS = 10_000  # a dense covariance of more items does not fit in a laptop's memory


@dataclass
class GraphTruth(Settings):
    """p(Z | X) ∝ exp(−ZᵀΔZ / 2λ), Eq. (3), with real z_i, the classes 0 and 1 on either side of ½.

    With Gaussian annotators (Eq. 14) the joint of Eq. (5) is Gaussian, so the E-step that the paper calls
    intractable is one linear solve: precision Δ/λ + diag(Σ_t σ_t⁻²). The prior mean ½ matters only for items
    not connected to any labelled item.

    Parameters
    ----------
    graph : Graph
        Graph of Δ, which is scaled to a mean degree of one. Up to 10 000 items; with `AnchorGraph` any
        number, also exact, but the more items there are per anchor, the larger the independent part of z.
        `AutoGraph`: neighbours up to 10 000 items, anchors beyond.
    lam : float
        λ of Eq. (3): larger values let z vary more along the graph.
    jitter : float
        Added to Δ, which is singular.
    """

    graph: Graph = field(default_factory=KnnGraph)
    lam: float = 0.05
    jitter: float = 0.01

    accepts: ClassVar[str] = "quadratic"
    couples_items: ClassVar[bool] = True
    works_on_items: ClassVar[bool] = True
    rules: ClassVar[Rules] = {"graph": is_a(Graph), "lam": POSITIVE, "jitter": POSITIVE}

    description: str = field(default="", init=False, repr=False, compare=False)
    _field: Field | None = field(default=None, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Return self for two classes; refuse more: z is a single real number."""
        if n_classes > 2:
            raise NotCompatible(
                "Only binary classification is supported. The type of the target is multiclass. GraphTruth "
                f"has a real z between two classes; there are {n_classes}. Use truth='id' with "
                "map='spectral': the same prior, for any number of classes."
            )
        return self

    def prepare(self, X: Array, features: Array | None = None, seed: int = 0) -> Self:
        """Return a copy with the prior over all items in ``X``, of covariance λ (Δ + jitter)⁻¹."""
        graph = self.graph.choose(len(X), MOST_ITEMS)
        if graph.has_edges and len(X) > MOST_ITEMS:
            raise InputError(
                f"GraphTruth with {type(graph).__name__} holds a matrix over at most {MOST_ITEMS} items; "
                f"X has {len(X)}. Use truth='id' with map='spectral': the same prior in the graph's "
                "eigenbasis, at any size. Or GraphTruth(AnchorGraph()), exact for any number of items."
            )
        prepared, built = copy.copy(self), graph.build(X, seed)
        prepared.description = built.description
        prepared._field = (ItemField if graph.has_edges else AnchorField).of(built, self.lam, self.jitter)
        return prepared

    @property
    def needs_all(self) -> bool:
        """Whether unlabelled items are part of every solve: not with anchors, which summarise them."""
        return self._prepared.covers_all

    @property
    def covariance(self) -> Array:
        """λ (Δ + jitter)⁻¹, (n_items, n_items), for graphs with explicit weights."""
        return self._prepared.covariance

    @property
    def _prepared(self) -> Field:
        if self._field is None:
            raise RuntimeError("GraphTruth was not prepared: call prepare(X) first.")
        return self._field

    def init(self, n_features: int) -> Array:
        """Return an empty ξ: Eq. (3) has no parameters."""
        return np.zeros(0)

    def posterior(self, xi: Array, X: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
        """p(Z | X, Y_L) ∝ Eq. (5), exactly, and log p(Y_L | X) of Eq. (8)."""
        return replace(self._prepared.condition(X, _weighted(evidence)), weight=evidence.weight)

    def expected_log_truth(self, xi: Array, X: Array, posterior: GaussianPosterior) -> tuple[float, Array]:
        """Return zero: Eq. (3) has no parameters, so the M-step does nothing here."""
        return 0.0, np.zeros(0)

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """Return zero: there are no parameters."""
        return 0.0, np.zeros(0)

    # --- after the fit ---------------------------------------------------------------------------

    def state(self, xi: Array, posterior: GaussianPosterior, evidence: QuadraticEvidence, X: Array) -> GraphBelief:
        """Return the posterior of the training items: there are no parameters."""
        return GraphBelief(posterior, _weighted(evidence))

    def parameters(self, state: GraphBelief) -> Array:
        """Return an empty ξ."""
        return np.zeros(0)

    def log_predict(self, state: GraphBelief, X: Array) -> Array:
        """log P(z ≤ ½) and log P(z > ½), given the posterior of the training items: (n_items, 2).

        An x that equals a training item is that item; among duplicates, the mixture of all of them.
        """
        place: dict[bytes, int] = {}
        keys = _keys(self._prepared.items(state.posterior))
        group = np.array([place.setdefault(key, len(place)) for key in keys], dtype=np.intp)
        found = np.array([place.get(key, -1) for key in _keys(X)], dtype=np.intp)
        mean, variance = _mixture(state.posterior, group)
        return _log_probability(self._at(state.posterior, X, mean[found], variance[found], found >= 0))

    def posterior_at(self, state: GraphBelief, X: Array, evidence: QuadraticEvidence) -> Array:
        """p(z | x, labels) of each item by itself, exact given the annotators: (n_items, 2).

        Labels of a training item replace its old ones, which are therefore removed from its posterior. For a
        new item the graph's prediction is the prior.
        """
        evidence = _weighted(evidence)
        item, found = self._find(state, X, evidence)
        own = state.posterior
        prior = self._at(own, X, own.mean[item], own.variance[item], found)
        precision, pull = 1 / prior.variance + evidence.precision, prior.mean / prior.variance + evidence.pull
        precision[found] -= state.evidence.precision[item[found]]
        pull[found] -= state.evidence.pull[item[found]]
        return np.exp(_log_probability(GaussianPosterior(pull / precision, 1 / precision)))

    def _at(
        self, posterior: GaussianPosterior, X: Array, mean: Array, variance: Array, found: Mask
    ) -> GaussianPosterior:
        """Return ``mean`` and ``variance`` for training items, and the graph's prediction for any other x."""
        new = self._prepared.at(posterior, X)
        return GaussianPosterior(np.where(found, mean, new.mean), np.where(found, variance, new.variance))

    def _find(self, state: GraphBelief, X: Array, evidence: QuadraticEvidence) -> tuple[Rows, Mask]:
        """Return which training item each x is, and whether it is one; among duplicates by their labels.

        Where only labelled items are stored, an x without labels is treated as new.
        """
        items = self._prepared.items(state.posterior)
        place = dict(zip(_keys(items)[::-1], range(len(items))[::-1], strict=True))  # the first duplicate
        item = np.array([place.get(key, -1) for key in _keys(X)], dtype=np.intp)
        if len(place) < len(items):
            labelled = dict(zip(_keys(items, state.evidence), range(len(items)), strict=True))
            item = np.array([labelled.get(key, x) for key, x in zip(_keys(X, evidence), item, strict=True)])
        if not self.needs_all:
            item = np.where(evidence.precision > 0, item, -1)
        return item, item >= 0


@dataclass(frozen=True)
class GraphBelief:
    """State of a fitted `GraphTruth`: the posterior of the training items, and their evidence."""

    posterior: GaussianPosterior
    evidence: QuadraticEvidence


def _weighted(evidence: QuadraticEvidence) -> QuadraticEvidence:
    """Apply sample weights to the evidence: the items have one joint truth, so none can be duplicated."""
    w = evidence.weight
    if w is None:
        return evidence
    return QuadraticEvidence(w * evidence.precision, w * evidence.pull, w * evidence.constant)


def _mixture(posterior: GaussianPosterior, group: Rows) -> tuple[Array, Array]:
    """Mean and variance of the equally weighted mixture of each group's items: two (n_groups,)."""
    size = np.bincount(group)
    mean = np.bincount(group, posterior.mean) / size
    return mean, np.bincount(group, posterior.variance + (posterior.mean - mean[group]) ** 2) / size


def _log_probability(posterior: GaussianPosterior) -> Array:
    """log P(z ≤ ½) and log P(z > ½) of each item: (n_items, 2)."""
    distance = (posterior.mean - 0.5) / np.sqrt(posterior.variance)
    return np.column_stack([norm.logcdf(-distance), norm.logcdf(distance)])


def _keys(X: Array, evidence: QuadraticEvidence | None = None) -> list[bytes]:
    """Return one key per item: the bits of its x, and its evidence to nine digits."""
    columns = [X] if evidence is None else [X, *np.round([evidence.precision, evidence.pull], 9)]
    return [row.tobytes() for row in np.column_stack(columns) + 0.0]  # −0 is 0


# --- the prior over items -----------------------------------------------------------------------------


class Field(Protocol):
    """What `GraphTruth` needs of its prior over items; ``posterior`` is a result of `condition`."""

    covers_all: ClassVar[bool]  # whether it is a prior over all training items, not over those of a solve

    @property
    def covariance(self) -> Array:
        """Prior covariance of the training items, (n_items, n_items)."""

    def condition(self, X: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
        """Prior times evidence of the items in ``X``, and log p(labels | X) of Eq. (8)."""

    def items(self, posterior: Any) -> Array:
        """Return the items that a posterior describes: (n_items, D)."""

    def at(self, posterior: Any, X: Array) -> GaussianPosterior:
        """Return the prediction of that posterior for x that are not among its items."""


# --- explicit weights: a matrix over the items ----------------------------------------------------


@dataclass(frozen=True)
class ItemField:
    """N(½, ``covariance``) over all training items."""

    graph: WeightedGraph
    covariance: Array
    lam: float
    jitter: float
    covers_all: ClassVar[bool] = True

    @classmethod
    def of(cls, graph: Any, lam: float, jitter: float) -> ItemField:
        """Invert Δ."""
        covariance = lam * scipy.linalg.inv(graph.laplacian() + jitter * np.eye(len(graph.nodes)))
        return cls(graph, covariance, lam, jitter)

    def condition(self, X: Array, evidence: QuadraticEvidence) -> GaussianPosterior:
        """Return the posterior of all items; only labelled ones enter the solve."""
        labelled = np.flatnonzero(evidence.precision > 0)
        precision, pull = evidence.precision[labelled], evidence.pull[labelled]
        y = pull / precision  # an item's labels as one observation of variance 1/precision
        K = self.covariance[:, labelled]
        L = scipy.linalg.cholesky(K[labelled] + np.diag(1 / precision), lower=True)
        gain = scipy.linalg.solve_triangular(L, K.T, lower=True)
        surprise = scipy.linalg.solve_triangular(L, y - 0.5, lower=True)
        log_density = -0.5 * surprise @ surprise - np.log(np.diag(L)).sum() - 0.5 * len(y) * np.log(2 * np.pi)
        rest = evidence.constant[labelled] + 0.5 * y * pull - 0.5 * np.log(precision / (2 * np.pi))
        return GaussianPosterior(
            0.5 + gain.T @ surprise,
            np.diag(self.covariance) - np.einsum("ij,ij->j", gain, gain),
            float(log_density + rest.sum()),
        )

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
    covers_all: ClassVar[bool] = False

    @property
    def covariance(self) -> Array:
        """Refuse: there is none of all items."""
        raise NotCompatible("With AnchorGraph there is a matrix over anchors, not over all items.")

    @classmethod
    def of(cls, graph: Any, lam: float, jitter: float) -> AnchorField:
        """Build the prior from the graph's sums over all items, Λ and ZᵀZ."""
        half, noise = inverse_root(graph.sums.mass), lam / (1 + jitter)
        M = (1 + jitter) * np.eye(len(half)) - graph.sums.joint * half[:, None] * half[None, :]
        return cls(graph, M / noise, noise)

    def condition(self, X: Array, evidence: QuadraticEvidence) -> AnchoredPosterior:
        """Return the posterior of the items in ``X``, all or some, by one n_anchors² solve for w = z − ½."""
        p = evidence.precision
        centred = QuadraticEvidence(p, evidence.pull - 0.5 * p, evidence.constant + 0.5 * evidence.pull - 0.125 * p)
        w = condition(self._coordinates(X), self.precision, self.noise, centred)
        return AnchoredPosterior(0.5 + w.mean, w.variance, w.log_marginal, u=w.weights, items=X)

    def items(self, posterior: AnchoredPosterior) -> Array:
        """Return the labelled items; all others are treated as new."""
        return posterior.items

    def at(self, posterior: AnchoredPosterior, X: Array) -> GaussianPosterior:
        """z(x) ~ N(½ + h(x)ᵀm, s² + h(x)ᵀSh(x)), exactly; ½ ± s far from every anchor."""
        H, u = self._coordinates(X), posterior.u
        return GaussianPosterior(0.5 + H @ u.mean, self.noise + variance_along(H, u.covariance))

    def _coordinates(self, X: Array) -> Any:
        """h(x): sparse (n_items, n_anchors)."""
        row, nearness = self.graph.place(X)
        return (scale_rows(row, nearness) * inverse_root(self.graph.sums.mass)[None, :]).tocsr()


@dataclass(frozen=True)
class AnchoredPosterior(GaussianPosterior):
    """Posterior of ``items``, with u | labels, which determines the prediction at any x."""

    u: Belief = field(default_factory=lambda: Belief(np.zeros(0)))
    items: Array = field(default_factory=lambda: np.zeros((0, 1)))
