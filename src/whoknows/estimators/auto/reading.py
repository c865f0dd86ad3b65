"""How the posterior of an ensemble is read: one reading of the average, in place of one per member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.estimators.auto.selection import Selection
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.reading import LITTLE_WEIGHT, UNSEEN, Reading, Source, alike, label_errors
from whoknows.fit.alternatives import ENOUGH_ITEMS, fit_labels_alone
from whoknows.fit.items import Items
from whoknows.fit.second_factor import contradiction
from whoknows.model.gold import fit_correction

Posterior = Callable[[Rows, TrainingData], Array]  # of some rows of X, of which this is known


def read_ensemble(
    data: TrainingData,
    pairs: list[FittedPair],
    selection: Selection,
    scored: Rows,
    posterior: Posterior,
    expertise: Callable[[Rows], Array],
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
    """
    labels, labelled = replace(data, gold=None), data.annotations.labelled
    rows = np.flatnonzero(labelled)
    some = rows[:: -(-len(rows) // ENOUGH_ITEMS)]
    share = contradiction(data.annotations[some], expertise(some))
    annotators: Any = pairs[0].prepared.model.annotators
    source = None if share < LITTLE_WEIGHT else alike(labels_of(labels[rows]), annotators.group)
    gold = np.full(len(labelled), np.nan) if data.gold is None else np.where(labelled, data.gold, np.nan)
    held_out, known = (rows[np.isfinite(gold[rows])] for rows in (scored, np.arange(len(gold))))
    if not len(known):
        one = source if share > 0.5 else None
        alone = one or Source(*fit_labels_alone(annotators, labels_of(labels[some])), sees_x=False)
        chance = alone.chance_of_item_effect(labels_of(labels[some]))
        errors = label_errors(posterior(some, labels[some]), labels.annotations[some], labels[some].weight)
        return Reading(source, UNSEEN * chance * errors, share=share)
    known = held_out if len(held_out) == len(selection.of_gold) == len(known) else known
    prob = selection.of_gold if known is held_out else posterior(known, labels[known])
    if source is not None:
        prob = share * source.posterior(labels_of(labels[known])) + (1 - share) * prob
    counts = np.ones(len(known)) if data.weight is None else data.weight[known]
    return Reading(source, correction=fit_correction(prob, data.annotations[known], gold[known], counts), share=share)


def labels_of(data: TrainingData) -> Items:
    """Return items without features."""
    one = np.ones((data.annotations.n_items, 1))
    return Items(one, one, data.annotations, data.gold, data.weight)
