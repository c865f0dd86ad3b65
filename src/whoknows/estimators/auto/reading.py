"""How the posterior of an ensemble is read: one reading of the average, in place of one per member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.estimators.auto.selection import Selection
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.reading import UNSEEN, Reading, alike, label_errors
from whoknows.fit.alternatives import ENOUGH_ITEMS
from whoknows.fit.items import Items
from whoknows.fit.second_factor import labels_contradict
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
    contradict = labels_contradict(data.annotations[some], expertise(some))
    annotators: Any = pairs[0].prepared.model.annotators
    source = alike(labels_of(labels[rows]), annotators.group) if contradict else None
    gold = np.full(len(labelled), np.nan) if data.gold is None else np.where(labelled, data.gold, np.nan)
    held_out, known = (rows[np.isfinite(gold[rows])] for rows in (scored, np.arange(len(gold))))
    if not len(known):
        return Reading(source, _doubt(labels[some], pairs, selection, partial(posterior, some)))
    known = held_out if len(held_out) == len(selection.of_gold) == len(known) else known
    if source is not None:
        prob = source.posterior(labels_of(labels[known]))
    else:
        prob = selection.of_gold if known is held_out else posterior(known, labels[known])
    counts = np.ones(len(known)) if data.weight is None else data.weight[known]
    return Reading(source, correction=fit_correction(prob, data.annotations[known], gold[known], counts))


def _doubt(
    labels: TrainingData, pairs: list[FittedPair], selection: Selection, posterior: Callable[[TrainingData], Array]
) -> float:
    """Return the same as `doubt_of`, by the share of members whose annotators err together."""
    annotators: list[Any] = [pair.prepared.model.annotators for pair in pairs]
    share = float(selection.on_labelled @ [float(each.item_effect > 0) for each in annotators])
    return UNSEEN * share * label_errors(posterior(labels), labels.annotations) if share else 0.0


def labels_of(data: TrainingData) -> Items:
    """Return items without features."""
    one = np.ones((data.annotations.n_items, 1))
    return Items(one, one, data.annotations, data.gold, data.weight)
