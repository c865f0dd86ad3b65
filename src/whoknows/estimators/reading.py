"""How the posterior of items with labels is read from a fit: by which model, how surely, and corrected by gold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whoknows._array import Array, Rows, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.fit.alternatives import all_alike, as_one, features_say_nothing, joined, sample_of, without_features
from whoknows.fit.engines import Chunks
from whoknows.fit.item_effect import with_best_item_effect
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.second_factor import labels_contradict
from whoknows.fit.solve import Solution, as_chunks, solve, without_own_labels
from whoknows.model.gold import GoldCorrection, fit_correction
from whoknows.model.protocols import BiasAnnotators, ItemEffectAnnotators, supports
from whoknows.model.truth import LogisticTruth

LITTLE = 0.02  # share of gold among items: with more, a model that was fitted to it looks better there than it is
ROUGH = 1e-4  # tolerance of the fit without gold
UNSEEN = 0.5  # items that mislead all annotators, per error of a label, in crowds who err together


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
        items, pieces = self.seen(items), self.model
        annotators, truth = pieces.annotators, pieces.truth
        evidence = annotators.evidence_at(self.solution.annotators, items.X_annotators, items.Y)  # type: ignore[attr-defined]
        return to_numpy(truth.posterior_at(self.solution.truth, items.X_truth, evidence))  # type: ignore[attr-defined]

    def seen(self, items: Items) -> Items:
        """Return the items as the model sees them."""
        return items if self.sees_x else as_one(items)

    def with_item_effect(self, items: Items | Chunks) -> Source:
        """Return the source with the item effect under which the labels are most likely."""
        data = as_chunks(items)
        seen = Chunks(data.engine.keep(self.seen, data.chunks), data.engine)
        return replace(self, model=with_best_item_effect(self.model, seen, self.solution))


@dataclass(frozen=True)
class Reading:
    """What is done to the posterior of a fit, on items with labels.

    Attributes
    ----------
    source : Source, optional
        Its posterior takes the place of that of the fit.
    doubt : float
        Probability that an item misleads all annotators in ways that labels do not show.
    correction : GoldCorrection, optional
        How gold corrects the result, in place of doubt.
    """

    source: Source | None = None
    doubt: float = 0.0
    correction: GoldCorrection | None = None

    def posterior(self, of_fit: Array, items: Items) -> Array:
        """Return the posterior of items, given that of the fit; that of gold items is their truth."""
        labelled = items.Y.labelled if items.gold is None else items.Y.labelled & ~np.isfinite(items.gold)
        prob = of_fit if self.source is None else self.source.posterior(items)
        prob = self._doubted(prob) if self.correction is None else self.correction.corrected(prob, items.Y)
        return np.where(labelled[:, None], prob, of_fit)

    def _doubted(self, prob: Array) -> Array:
        return (1 - self.doubt) * prob + self.doubt / prob.shape[1]


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
    simpler = simpler_source(model, solution, bare) if err_together else None
    source = simpler or Source(model, solution)
    if not n_gold:
        return Reading(simpler, doubt_of(source, sample_of(items))) if err_together else None
    if simpler is None and n_gold > LITTLE * n_items:
        monitor = Monitor(settings.max_iter, max(settings.tol, ROUGH), warn=False)
        alone = solve(model, bare, None, monitor, settings.solver)
        source = Source(model, without_own_labels(model, bare, alone))
    labels, *arrays = data.engine.sum(_of_gold, data.chunks, source)
    prob, gold, counts = map(np.concatenate, arrays)
    return Reading(source, correction=fit_correction(prob, joined(labels), gold, counts))


def simpler_source(model: Model, solution: Solution, items: Items | Chunks) -> Source | None:
    """Return a simpler model to read labels by, or None.

    Annotators count alike where they contradict each other in more than one way; features do not count where they say
    nothing about the truth.
    """
    sample = sample_of(items)
    if labels_contradict(sample.Y, _expertise(model, solution, sample)):
        return alike(items, model.annotators.group)  # type: ignore[attr-defined]
    if type(model.truth) is LogisticTruth and sample.X_truth.shape[1] > 1 and features_say_nothing(model, sample):
        return Source(*without_features(model, items), sees_x=False).with_item_effect(items)
    return None


def alike(items: Items | Chunks, group: Rows | None) -> Source:
    """Return annotators who all count alike; ``group`` is that of each row of θ, if there are groups."""
    return Source(*all_alike(items, group), sees_x=False).with_item_effect(items)


def _expertise(model: Any, solution: Solution, items: Items) -> Array:
    """Probability that each annotator is right on each item, all classes alike: (n_items, n_annotators)."""
    even = np.full((len(items.X_truth), items.Y.n_classes), 1 / items.Y.n_classes)
    return np.asarray(model.annotators.expertise(solution.annotators, items.X_annotators, even)[:, :-1])


def doubt_of(source: Source, items: Items) -> float:
    """Return the probability that an item misleads all its annotators, 0 if labels show no item effect.

    Errors that all share look like the truth. In crowds who err together, half as many items are assumed to mislead
    everybody as single labels are wrong.
    """
    annotators: Any = source.model.annotators
    if not annotators.item_effect or not items.Y.n_annotations:
        return 0.0
    return UNSEEN * label_errors(source.posterior(items), items.Y)


def label_errors(prob: Array, Y: Annotations) -> float:
    """Share of the labels that are wrong, by the posterior of the items."""
    return 1 - float(np.average(prob[Y.item, Y.label], weights=Y.counts))


def _sizes(items: Items) -> tuple[int, int]:
    """Return the number of items with labels, and how many of them are gold."""
    labelled = items.Y.labelled
    return int(labelled.sum()), 0 if items.gold is None else int((labelled & np.isfinite(items.gold)).sum())


def _without_gold(items: Items) -> Items:
    return replace(items, gold=None)


def _of_gold(items: Items, source: Source) -> tuple[list[Any], ...]:
    """Return labels, posterior, truth and weights of the gold items with labels of a chunk, each in a list."""
    items = items.on_host
    gold = np.full(items.Y.n_items, np.nan) if items.gold is None else items.gold
    rows = np.flatnonzero(items.Y.labelled & np.isfinite(gold))
    counts = np.ones(len(gold)) if items.weight is None else items.weight
    return [items.Y[rows]], [source.posterior(items)[rows]], [gold[rows]], [counts[rows]]
