"""How the posterior of an ensemble is read: one reading of the average, in place of one per member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.estimators.auto.members import TREES
from whoknows.estimators.auto.selection import Selection
from whoknows.estimators.corrected_fit import fit_to_posterior
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.reading import LITTLE_WEIGHT, UNSEEN, Reading, Source, alike, corrected_by_gold, label_errors
from whoknows.fit.alternatives import ENOUGH_ITEMS
from whoknows.fit.engines import Chunks
from whoknows.fit.items import Items
from whoknows.fit.second_factor import contradiction
from whoknows.fit.solve import as_chunks, covariances_of

Posterior = Callable[[Rows, TrainingData], Array]  # of some rows of X, of which this is known


def read_ensemble(
    data: TrainingData,
    pairs: list[FittedPair],
    selection: Selection,
    scored: Rows,
    posterior: Posterior,
    expertise: Callable[[Rows], Array],
    features: Callable[[Rows], Array],
    chance: Callable[[Rows], float],
) -> Reading:
    """Return how the average posterior of the members is read.

    Parameters
    ----------
    data : TrainingData
    pairs : list of FittedPair
    selection : Selection
    scored : (n_scored,)
        Items that members were scored on, in the order of the scores.
    posterior : callable
        Gives the average. Gold corrects what members said of gold items while these were held out; or, unless all
        of them were, after the fit.
    expertise : callable
        Gives the average expertise on some rows of X.
    features : callable
        Gives the features that gold teaches a classifier from, of some rows of X.
    chance : callable
        Gives the probability that annotators err together, by the labels of some rows of X.
    """
    labels, labelled = replace(data, gold=None), data.annotations.labelled
    rows = np.flatnonzero(labelled)
    some = rows[:: -(-len(rows) // ENOUGH_ITEMS)]
    share = contradiction(data.annotations[some], expertise(some))
    annotators: Any = pairs[0].prepared.model.annotators
    # As for a single pair: if features probably say nothing, members without them are read in place of the vote.
    blind = selection.on_labelled @ np.array([member.map == "none" for member in selection.members])
    source = None if share < max(LITTLE_WEIGHT, blind) else alike(labels_of(labels[rows]), annotators.group)
    gold = np.full(len(labelled), np.nan) if data.gold is None else np.where(labelled, data.gold, np.nan)
    held_out, known = (rows[np.isfinite(gold[rows])] for rows in (scored, np.arange(len(gold))))
    if not len(known):
        by_vote = source is not None and share > 0.5
        together = source.chance_of_item_effect(labels_of(labels[some])) if by_vote else chance(some)
        errors = label_errors(posterior(some, labels[some]), labels.annotations[some], labels[some].weight)
        return Reading(source, UNSEEN * together * errors, share=share)
    known = held_out if len(held_out) == len(selection.of_gold) == len(known) else known
    prob = selection.of_gold if known is held_out else posterior(known, labels[known])
    counts = np.ones(len(known)) if data.weight is None else data.weight[known]
    reading = Reading(source, share=share)
    prob = reading.averaged(prob, labels_of(labels[known]))
    return corrected_by_gold(reading, prob, data.annotations[known], features(known), gold[known], counts)


def labels_of(data: TrainingData, X: Array | None = None) -> Items:
    """Return items with these features of the truth, or without features."""
    one = np.ones((data.annotations.n_items, 1))
    return Items(one if X is None else X, one, data.annotations, data.gold, data.weight)


def most_telling(selection: Selection) -> int:
    """Return the member with a map, or any other if none has one, that says most about the truth of new items."""
    has_map = np.array([member.map not in ("none", TREES) for member in selection.members])
    return int(np.argmax(selection.on_truth * has_map if has_map.any() else selection.on_truth))


def corrected(pair: FittedPair, items: Items | Chunks, prob: Array, settings: Any) -> FittedPair:
    """Return a member with classifier and expertise fitted to the posterior of its items, which gold corrected.

    Its own posterior stays what it was: that is what gold corrects in the average.
    """
    model, data = pair.prepared.model, as_chunks(items)
    (sizes,) = data.engine.sum(_n_items, data.chunks)
    solution = fit_to_posterior(model, data, np.split(prob, np.cumsum(sizes)[:-1]), settings)
    covariances = covariances_of(model, items, solution)
    return replace(pair, solution=solution, covariances=covariances, reading=Reading(Source(model, pair.solution)))


def _n_items(items: Items) -> tuple[list[int]]:
    return ([items.Y.n_items],)
