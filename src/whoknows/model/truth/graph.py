"""Truth as a smooth function on the graph of items: the paper's model GP."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from scipy.stats import norm

from whoknows._array import Array, Mask, Rows
from whoknows.data.errors import InputError
from whoknows.model.evidence import Evidence, QuadraticEvidence
from whoknows.model.graph import AnchoredGraph, AnchorGraph, AutoGraph, Graph, KnnGraph
from whoknows.model.posterior import GaussianPosterior, Posterior
from whoknows.model.settings import COUNT, POSITIVE, NotCompatible, Rules, Settings, is_a, or_none
from whoknows.model.truth.field import AnchorField, Field, ItemField

MOST_ITEMS = 10_000  # a covariance of more items, number by number, does not fit a laptop


@dataclass
class GraphTruth(Settings):
    """p(Z | X) ∝ exp(−ZᵀΔZ / 2λ), Eq. (3), z_i real, labels 0 and 1 on either side of ½.

    With Gaussian annotators (Eq. 14) the joint of Eq. (5) is Gaussian, so the E-step the paper calls
    intractable is one linear solve: precision Δ/λ + diag(Σ_t σ_t⁻²). Z has prior mean ½, which matters only
    to items out of reach of any label.

    Parameters
    ----------
    graph : Graph
        Where Δ comes from; it is scaled to a mean degree of one. Up to 10 000 items; with `AnchorGraph` any
        number, as exactly, but the more items an anchor stands for, the more of z is each item's own.
        `AutoGraph`: neighbours up to 10 000 items, anchors beyond.
    lam : float
        λ of Eq. (3): the larger, the freer z is to vary along the graph.
    jitter : float
        Added to Δ, which is singular.
    neighbors : int or None
        None: exact. m: the paper's approximation p(z_i | X) ≈ p(z_i | x_i, x_η(i)), each item's posterior
        from its m nearest items alone. EM's bound may then fall. Not for anchors, which need no such thing.
    """

    graph: Graph = field(default_factory=KnnGraph)
    lam: float = 0.05
    jitter: float = 0.01
    neighbors: int | None = None

    accepts: ClassVar[str] = "quadratic"
    couples_items: ClassVar[bool] = True
    rules: ClassVar[Rules] = {
        "graph": is_a(Graph),
        "lam": POSITIVE,
        "jitter": POSITIVE,
        "neighbors": or_none(COUNT),
    }

    chosen: str = field(default="", init=False, repr=False, compare=False)  # the graph, in words
    _field: Field | None = field(default=None, init=False, repr=False, compare=False)

    def for_classes(self, n_classes: int) -> Self:
        """Return self for two classes; refuse more, which a real z cannot stand for."""
        if n_classes > 2:
            raise NotCompatible(
                "Only binary classification is supported. The type of the target is multiclass. GraphTruth "
                f"has a real z between two classes; there are {n_classes}. Use truth='id' with "
                "map='spectral': the same prior, for any number of classes."
            )
        return self

    def prepare(self, X: Array, features: Array | None = None, seed: int = 0) -> Self:
        """Return a copy that holds the prior of all items in ``X``, of covariance λ (Δ + jitter)⁻¹."""
        graph = self.graph.choose(len(X), MOST_ITEMS) if isinstance(self.graph, AutoGraph) else self.graph
        self._check(graph, len(X))
        prepared, built = copy.copy(self), graph.build(X, seed)
        prepared.chosen = built.chosen
        if isinstance(built, AnchoredGraph):
            prepared._field = AnchorField.of(built, self.lam, self.jitter)
        else:
            prepared._field = ItemField.of(built.over(X), self.lam, self.jitter, self.neighbors)
        return prepared

    def _check(self, graph: Graph, n_items: int) -> None:
        """Refuse, before the graph is built, what could not be done with it."""
        if isinstance(graph, AnchorGraph):
            if self.neighbors is not None:
                raise NotCompatible(
                    f"GraphTruth(neighbors={self.neighbors}) is an approximation for graphs with explicit "
                    "weights; with AnchorGraph the exact posterior is the faster one. Use neighbors=None."
                )
        elif n_items > MOST_ITEMS:
            raise InputError(
                f"GraphTruth with {type(graph).__name__} holds a matrix over items, at most {MOST_ITEMS}; "
                f"X has {n_items}. Use truth='id' with map='spectral': the same prior in the graph's "
                "eigenbasis, at any size. Or GraphTruth(AnchorGraph()), exact for any number of items."
            )

    @property
    def needs_all(self) -> bool:
        """Whether items without labels take part in every solve: not with anchors, which stand for them."""
        return not isinstance(self._prepared, AnchorField)

    @property
    def covariance(self) -> Array:
        """λ (Δ + jitter)⁻¹, (n_items, n_items), where the graph has explicit weights."""
        field = self._prepared
        if not isinstance(field, ItemField):
            raise NotCompatible("With AnchorGraph there is no matrix over all items, only one over anchors.")
        return field.covariance

    @property
    def _prepared(self) -> Field:
        if self._field is None:
            raise RuntimeError("GraphTruth was not prepared: call prepare(X) first.")
        return self._field

    def init(self, n_features: int) -> Array:
        """Return nothing to learn: Eq. (3) has no parameters."""
        return np.zeros(0)

    def posterior(self, xi: Array, X: Array, evidence: Evidence) -> GaussianPosterior:
        """p(Z | X, Y_L) ∝ Eq. (5), exactly or from each item's neighbours, and log p(Y_L | X) of Eq. (8)."""
        assert isinstance(evidence, QuadraticEvidence)
        return replace(self._prepared.condition(X, _weighted(evidence)), weight=evidence.weight)

    def expected_log_truth(self, xi: Array, X: Array, posterior: Posterior) -> tuple[float, Array]:
        """Return zero: Eq. (3) is fixed beforehand, so the M-step has nothing to do here."""
        return 0.0, np.zeros(0)

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """Return zero: no parameters, no prior on them."""
        return 0.0, np.zeros(0)

    # --- after the fit ---------------------------------------------------------------------------

    def learnt(self, xi: Array, posterior: Posterior, evidence: Evidence) -> GraphBelief:
        """Keep what the fit found out of its items: there are no parameters to keep."""
        assert isinstance(posterior, GaussianPosterior)
        assert isinstance(evidence, QuadraticEvidence)
        return GraphBelief(posterior, _weighted(evidence))

    def log_predict(self, known: GraphBelief, X: Array) -> Array:
        """log P(z ≤ ½) and log P(z > ½), given what is known of the items of the fit: (n_items, 2).

        An x that coincides with one of those items is that item; with several, what is known of them all.
        """
        place: dict[bytes, int] = {}
        keys = _keys(self._prepared.items(known.posterior))
        group = np.array([place.setdefault(key, len(place)) for key in keys], dtype=np.intp)
        found = np.array([place.get(key, -1) for key in _keys(X)], dtype=np.intp)
        mean, variance = _mixed(known.posterior, group)
        return _log_probability(self._at(known.posterior, X, mean[found], variance[found], found >= 0))

    def posterior_at(self, known: GraphBelief, X: Array, evidence: Evidence) -> Array:
        """p(z | x, labels) of each item by itself, exact given the annotators: (n_items, 2).

        Labels of an item of the fit replace those it had, so these are taken out of its posterior again; a
        new item takes the graph's word as its prior.
        """
        assert isinstance(evidence, QuadraticEvidence)
        evidence = _weighted(evidence)
        item, here = self._find(known, X, evidence)
        own = known.posterior
        prior = self._at(own, X, own.mean[item], own.variance[item], here)
        precision, pull = 1 / prior.variance + evidence.precision, prior.mean / prior.variance + evidence.pull
        precision[here] -= known.evidence.precision[item[here]]
        pull[here] -= known.evidence.pull[item[here]]
        return np.exp(_log_probability(GaussianPosterior(pull / precision, 1 / precision)))

    def _at(
        self, posterior: GaussianPosterior, X: Array, mean: Array, variance: Array, here: Mask
    ) -> GaussianPosterior:
        """Return what is known of each x: of an item what is given, of any other what the graph says."""
        there = self._prepared.at(posterior, X)
        return GaussianPosterior(np.where(here, mean, there.mean), np.where(here, variance, there.variance))

    def _find(self, known: GraphBelief, X: Array, evidence: QuadraticEvidence) -> tuple[Rows, Mask]:
        """Return which item of the fit each x is, and whether it is one; of twins, the one labelled so.

        Where only items with labels are remembered, one without is nobody's twin: it is like a new one.
        """
        items = self._prepared.items(known.posterior)
        place = dict(zip(_keys(items)[::-1], range(len(items))[::-1], strict=True))  # of twins the first
        item = np.array([place.get(key, -1) for key in _keys(X)], dtype=np.intp)
        if len(place) < len(items):
            labelled = dict(zip(_keys(items, known.evidence), range(len(items)), strict=True))
            item = np.array([labelled.get(key, x) for key, x in zip(_keys(X, evidence), item, strict=True)])
        if not self.needs_all:
            item = np.where(evidence.precision > 0, item, -1)
        return item, item >= 0


@dataclass(frozen=True)
class GraphBelief:
    """What a fit of `GraphTruth` leaves behind: the items' posterior, and the evidence it rests on."""

    posterior: GaussianPosterior
    evidence: QuadraticEvidence


def _weighted(evidence: QuadraticEvidence) -> QuadraticEvidence:
    """Labels of an item that counts twice count twice: the items have one joint truth, none has a copy."""
    w = evidence.weight
    if w is None:
        return evidence
    return QuadraticEvidence(w * evidence.precision, w * evidence.pull, w * evidence.constant)


def _mixed(posterior: GaussianPosterior, group: Rows) -> tuple[Array, Array]:
    """Mean and variance of an even mixture of the items of each group: two (n_groups,)."""
    size = np.bincount(group)
    mean = np.bincount(group, posterior.mean) / size
    return mean, np.bincount(group, posterior.variance + (posterior.mean - mean[group]) ** 2) / size


def _log_probability(posterior: GaussianPosterior) -> Array:
    """log P(z ≤ ½) and log P(z > ½) of each item: (n_items, 2)."""
    distance = (posterior.mean - 0.5) / np.sqrt(posterior.variance)
    return np.column_stack([norm.logcdf(-distance), norm.logcdf(distance)])


def _keys(X: Array, evidence: QuadraticEvidence | None = None) -> list[bytes]:
    """Return one key an item: its x, to the last bit, and what its labels say, to nine digits."""
    columns = [X] if evidence is None else [X, *np.round([evidence.precision, evidence.pull], 9)]
    return [row.tobytes() for row in np.column_stack(columns) + 0.0]  # −0 is 0
