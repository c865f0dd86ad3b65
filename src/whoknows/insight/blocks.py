"""Blocks of annotators who agree among themselves and contradict the others: only gold can tell who is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.insight.pairwise import pairwise_agreement

APART = 0.6  # kappa between blocks, as a share of that within, below which they contradict each other
LEAST_KAPPA = 0.1  # within a block
LEAST_ITEMS = 30  # common items of a pair, below which its kappa is mostly chance
DECISIVE = 10  # gold items on which the blocks differ that decide between them


@dataclass(frozen=True, eq=False)
class Blocks:
    """Two blocks of annotators.

    Attributes
    ----------
    first, second : lists of ids
        The larger block first.
    within, between : float
        Mean kappa of pairs in one block (the smaller of the two), and across.
    gold_needed : int
        How many gold items, drawn at random, are likely to include ten on which the blocks differ.
    """

    first: list[Any]
    second: list[Any]
    within: float
    between: float
    gold_needed: int


def contradicting_blocks(annotations: Annotations) -> Blocks | None:
    """Find two blocks of annotators that contradict each other; None if there are none.

    The blocks are the signs of the leading eigenvector of the pairwise kappas, centred. Blocks of one annotator do
    not count.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from whoknows.insight import contradicting_blocks
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=200)
    >>> right = rng.random((200, 5)) < [0.9, 0.9, 0.2, 0.2, 0.2]
    >>> y = Annotations.from_matrix(np.where(right, truth[:, None], 1 - truth[:, None]), annotators=list("abcde"))
    >>> found = contradicting_blocks(y)
    >>> found.first, found.second, found.gold_needed
    (['c', 'd', 'e'], ['a', 'b'], 12)
    """
    kappa = _kappas(annotations)
    side = _sides(kappa)
    if min(side.sum(), (~side).sum()) < 2:
        return None
    larger, smaller = (side, ~side) if side.sum() >= (~side).sum() else (~side, side)
    within = min(_mean(kappa[np.ix_(block, block)]) for block in (larger, smaller))
    between = _mean(kappa[np.ix_(larger, smaller)])
    if not (within >= LEAST_KAPPA and between < APART * within):
        return None
    names = annotations.annotators
    differ = _share_of_differences(annotations, larger, smaller)
    return Blocks(names[larger].tolist(), names[smaller].tolist(), within, between, int(np.ceil(DECISIVE / differ)))


def _kappas(annotations: Annotations) -> Array:
    """Kappa of all pairs, NaN on the diagonal and where it is not known: (n_annotators, n_annotators)."""
    pairs = pairwise_agreement(annotations, LEAST_ITEMS)
    place = {name: t for t, name in enumerate(annotations.annotators.tolist())}
    first, second = ([place[name] for name in names.tolist()] for names in (pairs.first, pairs.second))
    found = np.full((len(place), len(place)), np.nan)
    found[first, second] = found[second, first] = pairs.kappa
    return found


def _sides(kappa: Array) -> Mask:
    """Which of two blocks each annotator is in: (n_annotators,)."""
    if not np.isfinite(kappa).any():
        return np.ones(len(kappa), dtype=bool)
    known = np.where(np.isfinite(kappa), kappa, np.nanmean(kappa))
    centred = known - known.mean(axis=0) - known.mean(axis=1)[:, None] + known.mean()
    return np.asarray(np.linalg.eigh(centred)[1][:, -1] >= 0)


def _mean(kappa: Array) -> float:
    return float(np.nanmean(kappa)) if np.isfinite(kappa).any() else np.nan


def _share_of_differences(annotations: Annotations, one: Mask, other: Mask) -> float:
    """Share of the items labelled by both blocks on which their majorities differ; at least a hundredth."""
    votes = np.zeros((2, annotations.n_items, annotations.n_classes))
    for place, block in enumerate((one, other)):
        mine = block[annotations.annotator]
        np.add.at(votes[place], (annotations.item[mine], annotations.label[mine]), 1)
    both = (votes.sum(axis=2) > 0).all(axis=0)
    differ = votes[0].argmax(axis=1) != votes[1].argmax(axis=1)
    return max(float(differ[both].mean()) if both.any() else 0.0, 0.01)
