"""Where fits start: a weighted vote, and for two classes the best of several fits to the labels alone.

The bound of a fit has several modes: with most annotators on the wrong side, the mirror image of the truth is one.
A fit to the labels alone is fast, so several starts are tried there, and the fit to labels and features starts
from the posterior of the best one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from scipy.stats import binom

from whoknows._array import Array, Mask, like, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.fit.engines import Engine, Serial
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.variational import fit_variational, variational_posterior
from whoknows.model.annotators.population import CrowdBelief
from whoknows.model.evidence import TableEvidence
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.truth import LogisticTruth

VOTE_WEIGHT = 0.8  # log-odds of a single vote in the initial posterior
VOTE_CERTAINTY = 0.98  # largest probability in the initial posterior
VOTE_LABELS = 2.0  # gold labels that the weight of a vote before any gold is worth
NEARLY_ALWAYS = 0.95  # share of one label from which an annotator may be giving a constant answer
CHANCE = 1e-4  # largest probability of that share by chance
ALONE_ITERATIONS, ALONE_TOL = 50, 1e-5  # of fits to the labels alone
SHORT = 8  # iterations of fits from several starts, of which the best is continued


def vote(items: Items, weights: Array | None = None) -> CategoricalPosterior:
    """Return the initial posterior: gold, a soft weighted vote, and uniform for items without labels.

    ``weights`` (n_annotators,) are what the vote of each annotator is worth; default: 1.
    """
    Y = items.Y
    counts = Y.counts if weights is None else Y.counts * weights[Y.annotator]
    cell = Y.item.astype(np.intp) * Y.n_classes + Y.label
    votes = VOTE_WEIGHT * np.bincount(cell, counts, Y.n_items * Y.n_classes).astype(float)
    prob = CategoricalPosterior.from_log_joint(votes.reshape(Y.n_items, Y.n_classes)).prob
    cautious = np.log(np.clip(prob, 1 - VOTE_CERTAINTY, VOTE_CERTAINTY))
    evidence = items.complete(TableEvidence(like(cautious, items.X_annotators)))
    return CategoricalPosterior.from_log_joint(evidence.table, evidence.weight)


@dataclass(frozen=True)
class LabelCounts:
    """What the weights of votes depend on.

    Attributes
    ----------
    labels : (n_annotators, n_classes)
        Number of labels of each class.
    right, on_gold : (n_annotators,)
        Number of labels on gold items, and how many of them are right.
    """

    labels: Array
    right: Array
    on_gold: Array

    @classmethod
    def of(cls, chunks: Sequence[Items], engine: Engine) -> LabelCounts:
        """Count the labels of all chunks."""
        return cls(*engine.sum(_counts, chunks))

    @property
    def vote_weights(self) -> Array:
        """Worth of a vote of each annotator: more if right on gold, none for always the same of two labels."""
        right = self.right + VOTE_LABELS / (1 + np.exp(-VOTE_WEIGHT))
        on_gold = logit(right / (self.on_gold + VOTE_LABELS)) / VOTE_WEIGHT
        weights = np.where(self.on_gold > 0, on_gold, 1.0)
        if self.labels.shape[1] > 2:  # an annotator may have seen items of a single class
            return weights
        return np.where(one_label(self.labels), 0.0, weights)


def one_label(counts: Array) -> Mask:
    """Which annotators give one label nearly always, far more often than the crowd does: (n_annotators,).

    ``counts`` (n_annotators, n_classes) are numbers of labels. A single accuracy cannot describe these
    annotators: they are right on one class and wrong on the others.
    """
    total, most = counts.sum(axis=1), counts.max(axis=1)
    share = counts.sum(axis=0) / max(counts.sum(), 1)
    by_chance = binom.sf(most - 1, total, share[counts.argmax(axis=1)])
    return np.asarray((total > 0) & (most >= NEARLY_ALWAYS * total) & (by_chance < CHANCE))


def labels_by_annotator(Y: Annotations, counts: Array | None = None) -> Array:
    """Return the number of labels of each annotator and class; ``counts`` are how often each label counts."""
    cell = Y.annotator.astype(np.intp) * Y.n_classes + Y.label
    found = np.bincount(cell, counts, minlength=Y.n_annotators * Y.n_classes)
    return found.reshape(-1, Y.n_classes).astype(float)


def weighted_vote(chunks: Sequence[Items], engine: Engine) -> list[Any]:
    """Return the weighted vote of each chunk."""
    return engine.keep(vote, chunks, LabelCounts.of(chunks, engine).vote_weights)


def best_beliefs(model: Model, chunks: Sequence[Items], engine: Engine) -> tuple[CrowdBelief, Belief] | None:
    """Return q(θ) and q(ξ) after a few iterations from the better of two starts, or None without gold.

    The starts are the vote, and the best posterior given the labels alone: from the vote, the vote weighted by
    gold, and the mirror image of the better one. The larger bound wins.
    """
    counts = LabelCounts.of(chunks, engine)
    if not counts.on_gold.any():
        return None
    weights = counts.vote_weights
    plain, weighted = (engine.keep(vote, chunks, w) for w in (np.where(weights == 0, 0.0, 1.0), weights))
    starts = plain, _best_alone(model, chunks, engine, (plain, weighted))
    short = [_fit(model, chunks, engine, start, Monitor(SHORT, 0.0, warn=False)) for start in starts]
    return max(short, key=_bound)[1:]


def _best_alone(model: Model, chunks: Sequence[Items], engine: Engine, starts: Sequence[list[Any]]) -> list[Any]:
    """Return the posterior of each chunk given the labels alone, from the best start or its mirror image."""
    alone, pieces = engine.keep(labels_alone, chunks), Model(model.annotators, _class_share())

    def fit(start: list[Any]) -> tuple[float, list[Any]]:
        bound, crowd, xi = _fit(pieces, alone, engine, start)
        return bound, engine.keep(variational_posterior, alone, pieces, crowd.belief(), xi)

    found = max(map(fit, starts), key=_bound)
    mirrored = fit(engine.keep(_mirror, list(zip(alone, found[1], strict=True))))
    return max((found, mirrored), key=_bound)[1]


def bound_of_labels(annotators: Any, Y: Annotations) -> float:
    """Return the bound of the log-likelihood of the labels alone, to choose between annotator models."""
    one = np.ones((Y.n_items, 1))
    chunks = [Items(one, one, Y)]
    start = [vote(chunks[0], LabelCounts.of(chunks, Serial()).vote_weights)]
    return _fit(Model(annotators, _class_share()), chunks, Serial(), start)[0]


def labels_alone(items: Items) -> Items:
    """Return the items without features."""
    one = like(np.ones((len(items.X_truth), 1)), items.X_truth)
    return Items(one, one, items.Y, items.gold, items.weight)


def _class_share() -> LogisticTruth:
    """p(z), the same for all items."""
    truth = LogisticTruth().for_classes(2)
    return truth.with_precision(np.array([[1 / truth.intercept_variance]]))


def _fit(
    model: Model, chunks: Sequence[Items], engine: Engine, start: Sequence[Any], monitor: Monitor | None = None
) -> tuple[float, CrowdBelief, Belief]:
    """Return the bound, q(θ) and q(ξ)."""
    monitor = monitor or Monitor(ALONE_ITERATIONS, ALONE_TOL, warn=False)
    crowd, xi = fit_variational(model, chunks, start, monitor, engine)
    return max(monitor.history), crowd, xi


def _bound(found: tuple[Any, ...]) -> float:
    return float(found[0])


def _counts(items: Items) -> tuple[Array, Array, Array]:
    Y, T = items.Y, items.Y.n_annotators
    counts = Y.counts if items.weight is None else Y.counts * items.weight[Y.item]
    gold = (np.full(Y.n_items, np.nan) if items.gold is None else items.gold)[Y.item]
    right, known = counts * (Y.label == gold), counts * np.isfinite(gold)
    right, known = (np.bincount(Y.annotator, each, T).astype(float) for each in (right, known))
    return labels_by_annotator(Y, counts), right, known


def _mirror(work: tuple[Items, CategoricalPosterior]) -> CategoricalPosterior:
    """Return the posterior with the two classes exchanged, except for gold items."""
    items, posterior = work
    other = np.log(np.clip(to_numpy(posterior.prob)[:, ::-1], 1 - VOTE_CERTAINTY, VOTE_CERTAINTY))
    evidence = items.complete(TableEvidence(like(other, items.X_truth)))
    return CategoricalPosterior.from_log_joint(evidence.table, evidence.weight)
