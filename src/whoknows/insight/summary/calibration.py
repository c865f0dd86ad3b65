"""Calibration without truth: how often left-out labels agree with the consensus, observed and expected."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whoknows._array import Array, Rows, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.insight.summary.categorical import CERTAIN
from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.text import Facts, percent

MAX_ITEMS = 1_000  # on which labels are left out
ROUNDS = 5  # labels left out per item, one at a time
EDGES = np.array([0.0, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])  # lower ends of the bins of stated probabilities
EXPLANATION = (
    "Each label was compared with the consensus of its item without this label: if the stated probabilities "
    "are right, it agrees as often as the expertise of its annotator implies. Mistakes that annotators share "
    "do not show in this comparison."
)


def calibration(fit: FittedModel) -> Facts:
    """Compare stated probabilities with the agreement of labels that were left out of the consensus.

    The parameters of the fit are not estimated again without these labels. ``bins`` has one row per range of
    stated probabilities: their mean, the agreement they imply, the observed agreement, and the number of
    labels.
    """
    several = np.flatnonzero((fit.annotations.labels_per_item > 1) & ~fit.is_gold)
    if not len(several):
        return {"possible": False}
    rows = fit.sample(fit.affordable(MAX_ITEMS), among=several)
    annotations = fit.annotations[rows]
    parts = []
    for left in _left_out(annotations):
        others = annotations.only(~np.isin(np.arange(annotations.n_annotations), left))
        parts.append((annotations.item[left], *fit.left_out(rows, others, annotations, left)))
    item, stated, expected, agrees = (np.concatenate(part) for part in zip(*parts, strict=True))
    certain = ~(stated < CERTAIN)  # all numbers, which have no stated probability
    facts = {"possible": True, "explanation": EXPLANATION, "n_labels": len(item)}
    if certain.any():
        facts |= _compare(fit.left_out_event, item[certain], expected[certain], agrees[certain])
    return facts | {"bins": _bins(stated, expected, agrees)}


def _left_out(annotations: Annotations) -> Iterator[Rows]:
    """Yield positions of labels, at most one per item in a round, in random order."""
    n = annotations.labels_per_item
    shuffled = np.lexsort((np.random.default_rng(0).random(annotations.n_annotations), annotations.item))
    first = np.cumsum(n) - n
    for k in range(min(ROUNDS, int(n.max()))):
        yield shuffled[(first + k)[n > k]]


def _compare(event: str, item: Array, expected: Array, agrees: Array) -> Facts:
    """Expected and observed agreement, and what their difference means; labels of an item are dependent."""
    observed, implied = float(agrees.mean()), float(expected.mean())
    residual = agrees - expected - (observed - implied)
    per_item = segment_sum(residual, item.astype(np.intp), int(item.max()) + 1)
    error = float(np.sqrt((per_item**2).sum()) / len(item))
    verdict = "about as often as"
    if abs(observed - implied) > 2 * error:
        verdict = "less often than" if observed < implied else "more often than"
    shares = f"{percent(observed)} of the time, {percent(implied)} expected"
    finding = f"{event} {verdict} the model expects: {shares}."
    return {"expected": implied, "observed": observed, "error": error, "finding": finding}


def _bins(stated: Array, expected: Array, agrees: Array) -> Facts | None:
    """Means per range of stated probabilities; None for numbers, which have none."""
    if not np.isfinite(stated).all():
        return None
    place = np.searchsorted(EDGES, stated, side="right") - 1
    used, place, n = np.unique(place, return_inverse=True, return_counts=True)
    columns = {"stated": stated, "expected": expected, "observed": agrees}
    means = {name: segment_sum(values, place, len(used)) / n for name, values in columns.items()}
    return {"from": EDGES[used], **means, "n_labels": n}
