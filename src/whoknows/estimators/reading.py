"""How the posterior of items with labels is read from a fit: by which model, how surely, and corrected by gold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from whoknows._array import Array, Rows, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.estimators.gold_classifier import GoldClassifier, teach
from whoknows.fit.alternatives import all_alike, as_one, joined, sample_of, weight_of_features, without_features
from whoknows.fit.engines import Chunks
from whoknows.fit.item_effect import with_best_item_effect
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.second_factor import contradiction
from whoknows.fit.solve import Solution, as_chunks, solve, without_own_labels
from whoknows.model.gold import GoldCorrection, fit_correction
from whoknows.model.protocols import (
    BiasAnnotators,
    ClassAnnotators,
    ClassTruth,
    ItemEffectAnnotators,
    require,
    supports,
)
from whoknows.model.truth import LogisticTruth

LITTLE = 0.02  # share of gold among items: with more, a model that was fitted to it looks better there than it is
ROUGH = 1e-4  # tolerance of the fit without gold
SIZES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # of an item effect that all annotators share
LITTLE_WEIGHT = 0.02  # of a source, below which it is left out
UNSEEN = 0.5  # doubt per error of a label, in crowds who err together: see `doubt_of`


@dataclass(frozen=True)
class Source:
    """The model whose posterior is read.

    Attributes
    ----------
    model : Model
    solution : Solution
    sees_x : bool
        Whether p(z | x) depends on x.
    """

    model: Model
    solution: Solution
    sees_x: bool = True

    def posterior(self, items: Items) -> Array:
        """p(z | x, labels) of each item, whatever gold says: (n_items, n_classes)."""
        items, solution = self.seen(items), self.solution
        truth: ClassTruth = require(self.model.truth, ClassTruth, "a posterior of classes")
        evidence = self.model.annotators.evidence_at(solution.annotators, items.X_annotators, items.Y)
        return to_numpy(truth.posterior_at(solution.truth, items.X_truth, evidence))

    def seen(self, items: Items) -> Items:
        """Return the items as the model sees them."""
        return items if self.sees_x else as_one(items)

    def with_item_effect(self, items: Items | Chunks) -> Source:
        """Return the source with the item effect under which the labels are most likely."""
        data = as_chunks(items)
        seen = Chunks(data.engine.keep(self.seen, data.chunks), data.engine)
        return replace(self, model=with_best_item_effect(self.model, seen, self.solution))

    def chance_of_item_effect(self, items: Items) -> float:
        """Probability that annotators err together, given the labels; ½ before, all sizes of the effect alike."""
        items, pieces = self.seen(items), self.model
        truth: ClassTruth = require(pieces.truth, ClassTruth, "a posterior of classes")
        annotators: ItemEffectAnnotators = require(pieces.annotators, ItemEffectAnnotators, "an item effect")
        log_prior = to_numpy(truth.log_predict(self.solution.truth, items.X_truth))
        counts = np.ones(len(log_prior)) if items.weight is None else items.weight

        def log_lik(size: float) -> float:
            kind: ClassAnnotators = require(annotators.with_item_effect(size), ClassAnnotators, "evidence")
            evidence = kind.predictive(self.solution.annotators, items.X_annotators, items.Y)
            return float(counts @ np.logaddexp.reduce(log_prior + to_numpy(evidence.table), axis=1))

        independent, *together = map(log_lik, SIZES)
        return float(expit(logsumexp(together) - np.log(len(together)) - independent))


@dataclass(frozen=True)
class Reading:
    """What is done to the posterior of a fit, on items with labels.

    Attributes
    ----------
    source : Source, optional
        Its posterior takes the place of that of the fit, or a share of it.
    doubt : float
        Probability that an item misleads all annotators in ways that labels do not show.
    correction : GoldCorrection, optional
        How gold corrects the result, in place of doubt.
    classifier : GoldClassifier, optional
        What gold alone teaches about x.
    share : float
        Weight of the source.
    rest : Source, optional
        What has the rest of the weight, in place of the fit.
    """

    source: Source | None = None
    doubt: float = 0.0
    correction: GoldCorrection | None = None
    classifier: GoldClassifier | None = None
    share: float = 1.0
    rest: Source | None = None

    def posterior(self, of_fit: Array, items: Items) -> Array:
        """Return the posterior of items, given that of the fit; that of gold items is their truth."""
        prob = self.averaged(of_fit, items)
        prob = self.doubted(prob) if self.correction is None else self._corrected(prob, items, self.correction)
        prob = np.where(items.Y.labelled[:, None], prob, self.doubted(of_fit))
        return prob if items.gold is None else np.where(np.isfinite(items.gold)[:, None], of_fit, prob)

    def doubted(self, prob: Array) -> Array:
        """Return probabilities of classes less sure: the classifier learned from the labels that may mislead."""
        return (1 - self.doubt) * prob + self.doubt / prob.shape[1]

    def doubted_limits(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return limits of probabilities, wider: an item that misleads may be of any class."""
        return (1 - self.doubt) * low, (1 - self.doubt) * high + self.doubt

    def averaged(self, of_fit: Array, items: Items) -> Array:
        """Return the average of the source and the rest, before doubt or gold: (n_items, n_classes)."""
        rest = of_fit if self.rest is None else self.rest.posterior(items)
        return rest if self.source is None else self.share * self.source.posterior(items) + (1 - self.share) * rest

    def _corrected(self, prob: Array, items: Items, correction: GoldCorrection) -> Array:
        log_g = None if self.classifier is None else self.classifier.log_prob(to_numpy(items.X_truth))
        return correction.corrected(prob, items.Y, log_g)


def read_pair(model: Model, solution: Solution, items: Items | Chunks, settings: Any) -> Reading | None:
    """Return how the posterior of a fitted pair is read; None: as it is.

    With gold, the source did not see it, or gold is so little that it makes no difference.
    """
    if supports(model.annotators, BiasAnnotators):  # of ordered labels: gold determines the severity in the fit itself
        return None
    data = as_chunks(items)
    n_items, n_gold = data.engine.sum(_sizes, data.chunks)
    bare = Chunks(data.engine.keep(_without_gold, data.chunks), data.engine) if n_gold else data
    err_together = supports(model.annotators, ItemEffectAnnotators)
    simpler, share = simpler_source(model, solution, bare) if err_together else (None, 0.0)
    if not n_gold:
        source = Source(model, solution) if simpler is None or share < 0.5 else simpler
        return Reading(simpler, doubt_of(source, sample_of(items)), share=share) if err_together else None
    rest = Source(model, solution)
    if share < 1 and n_gold > LITTLE * n_items:
        monitor = Monitor(settings.max_iter, max(settings.tol, ROUGH), warn=False)
        alone = solve(model, bare, None, monitor, settings.solver, before=solution)  # gold tells modes apart
        rest = Source(model, without_own_labels(model, bare, alone))
    reading = Reading(simpler, share=share, rest=rest)
    labels, *arrays = data.engine.sum(_of_gold, data.chunks, reading)
    prob, X, gold, counts = map(np.concatenate, arrays)
    return corrected_by_gold(reading, prob, joined(labels), X, gold, counts)


def corrected_by_gold(reading: Reading, prob: Array, Y: Annotations, X: Array, gold: Array, counts: Array) -> Reading:
    """Return the reading, corrected by gold items: their posterior before that, labels, features, truth and weights."""
    classifier, log_g = teach(X, gold.astype(int), counts, prob.shape[1]) or (None, None)
    return replace(reading, correction=fit_correction(prob, Y, gold, counts, log_g), classifier=classifier)


def simpler_source(model: Model, solution: Solution, items: Items | Chunks) -> tuple[Source | None, float]:
    """Return a simpler model to read labels by, if there is one, and its weight.

    Annotators count alike as far as they contradict each other in more than one way; features do not count as far as
    they probably say nothing about the truth. The larger of both weights decides.
    """
    sample = sample_of(items)
    annotators: ItemEffectAnnotators = require(model.annotators, ItemEffectAnnotators, "an item effect")
    contradict, noise = contradiction(sample.Y, _expertise(model, solution, sample)), 0.0
    if contradict < 1 and type(model.truth) is LogisticTruth and sample.X_truth.shape[1] > 1:
        noise = 1 - weight_of_features(model, sample)
    if max(contradict, noise) < LITTLE_WEIGHT:
        return None, 0.0
    if contradict >= noise:
        return alike(items, annotators.group), contradict
    return Source(*without_features(model, items), sees_x=False).with_item_effect(items), noise


def alike(items: Items | Chunks, group: Rows | None) -> Source:
    """Return annotators who all count alike; ``group`` is that of each row of θ, if there are groups."""
    return Source(*all_alike(items, group), sees_x=False).with_item_effect(items)


def _expertise(model: Any, solution: Solution, items: Items) -> Array:
    """Probability that each annotator is right on each item, all classes alike: (n_items, n_annotators)."""
    even = np.full((len(items.X_truth), items.Y.n_classes), 1 / items.Y.n_classes)
    return np.asarray(model.annotators.expertise(solution.annotators, items.X_annotators, even)[:, :-1])


def doubt_of(source: Source, items: Items) -> float:
    """Return the probability that an item misleads its annotators without the labels showing it.

    Errors that all share look like the truth: labels tell whether annotators err together, but not how many items
    mislead most of them. So this is a prior, explained in docs/uncertainty.md: per error of a label, and in
    proportion to the probability that annotators err together at all.
    """
    if not items.Y.n_annotations:
        return 0.0
    return UNSEEN * source.chance_of_item_effect(items) * label_errors(source.posterior(items), items.Y, items.weight)


def label_errors(prob: Array, Y: Annotations, weight: Array | None) -> float:
    """Share of the labels that are wrong, by the posterior of the items, which have these weights."""
    counts = Y.counts if weight is None else Y.counts * weight[Y.item]
    return 1 - float(np.average(prob[Y.item, Y.label], weights=counts))


def _sizes(items: Items) -> tuple[int, int]:
    """Return the number of items with labels, and how many of them are gold."""
    labelled = items.Y.labelled
    return int(labelled.sum()), 0 if items.gold is None else int((labelled & np.isfinite(items.gold)).sum())


def _without_gold(items: Items) -> Items:
    return replace(items, gold=None)


def _of_gold(items: Items, reading: Reading) -> tuple[list[Any], ...]:
    """Return labels, posterior, features, truth and weights of a chunk's gold items with labels, each in a list."""
    items = items.on_host
    known = np.full(items.Y.n_items, np.nan) if items.gold is None else items.gold
    rows = np.flatnonzero(items.Y.labelled & np.isfinite(known))
    counts = np.ones(len(known)) if items.weight is None else items.weight
    items, gold = items[rows], known[rows]
    prob = reading.averaged(np.empty((len(rows), items.Y.n_classes)), items)  # the reading has a rest
    return [items.Y], [prob], [items.X_truth], [gold], [counts[rows]]
