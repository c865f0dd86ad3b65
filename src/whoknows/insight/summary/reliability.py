"""Reliability diagram: how often the consensus of gold items is right, against the probability that it states."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from whoknows._array import Array, segment_sum
from whoknows.insight.accuracy import wilson
from whoknows.insight.summary.calibration import EDGES
from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.text import Facts, count, percent

LEAST_GOLD = 10  # items, for a diagram
LEVEL = 0.9  # nominal coverage of the intervals
EXPLANATION = (
    "The probability of a gold item is that of a fit to which its own gold was not given. If stated probabilities are "
    "right, dots lie on the diagonal; the lines are 90% intervals."
)


def reliability(fit: FittedModel) -> Facts:
    """Compare stated probabilities with the share that is right, on gold items whose own gold was hidden.

    ``bins`` has one row per range of stated probabilities: their mean, the share right with its interval, and the
    number of gold items.
    """
    prob = fit.prob_without_own_gold() if fit.is_gold.sum() >= LEAST_GOLD else None
    if prob is None:
        return {"possible": False}
    stated, right = prob.max(axis=1), (prob.argmax(axis=1) == fit.gold[fit.is_gold]).astype(float)
    share, low, high = _with_interval(right.sum(), len(right))
    verdict = "about right"
    if not low <= stated.mean() <= high:
        verdict = "too high" if stated.mean() > high else "too low"
    finding = (
        f"Stated probabilities are {verdict}: {percent(stated.mean())} on average on {count(len(right), 'gold item')}, "
        f"of which the consensus is right on {percent(share)} ({percent(low)} to {percent(high)})."
    )
    facts = {"possible": True, "finding": finding, "explanation": EXPLANATION, "n_gold": len(right)}
    return facts | {"stated": stated.mean(), "right": share, "low": low, "high": high, "bins": _bins(stated, right)}


def _bins(stated: Array, right: Array) -> Facts:
    place = np.searchsorted(EDGES, stated, side="right") - 1
    used, place, n = np.unique(place, return_inverse=True, return_counts=True)
    share, low, high = _with_interval(segment_sum(right, place, len(used)), n)
    mean = segment_sum(stated, place, len(used)) / n
    return {"from": EDGES[used], "stated": mean, "right": share, "low": low, "high": high, "n_items": n}


def _with_interval(right: Any, n: Any) -> tuple[Any, Any, Any]:
    """Share right, and the limits of Wilson."""
    return wilson(right, n, NormalDist().inv_cdf((1 + LEVEL) / 2))
