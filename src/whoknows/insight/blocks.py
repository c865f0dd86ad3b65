"""Blocks of annotators who agree among themselves and contradict the others: only gold can tell who is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.estimators.baselines.two_step import votes
from whoknows.insight.pairwise import pairwise_agreement

APART = 0.6  # kappa between blocks, as a share of that within, below which they contradict each other
LEAST_KAPPA = 0.1  # within a block
LEAST_ITEMS = 30  # common items of a pair, below which its kappa is mostly chance
CLEARLY_APART = 2.0  # difference between the kappas within and between, in standard errors of one kappa
SHOWN = 10  # annotators of a block that are named
MOST = 300  # annotators that are compared, those with most labels
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

    def sentence(self, annotators: str = "Annotators") -> str:
        """Say who contradicts whom, and how many gold items tell who is right."""
        one, other = (f"{', '.join(map(str, block[:SHOWN]))}{', …' * (len(block) > SHOWN)}" for block in self)
        return (
            f"{annotators} fall into two blocks that contradict each other: {one}; and {other}. Labels alone cannot "
            f"tell which block is right: label about {self.gold_needed} items drawn at random as gold."
        )

    def __iter__(self) -> Iterator[list[Any]]:
        """Give both blocks."""
        return iter((self.first, self.second))


def contradicting_blocks(annotations: Annotations) -> Blocks | None:
    """Find two blocks of annotators that contradict each other; None if there are none.

    The blocks are the signs of the leading eigenvector of the pairwise kappas, centred. They contradict each other if
    kappa is clearly lower between them than within both, and if the majorities of the two blocks differ by more than
    that one of them is stricter: their kappa is compared with the highest that their shares of classes allow. Blocks of
    one annotator do not count.

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
    busiest = np.argsort(-annotations.labels_per_annotator, kind="stable")[:MOST]
    annotations = annotations.only(np.isin(annotations.annotator, busiest)).recode(
        annotations.annotators[np.sort(busiest)], annotations.labels
    )
    kappa, n_items = _kappas(annotations)
    side = _sides(kappa)
    if min(side.sum(), (~side).sum()) < 2:
        return None
    larger, smaller = (side, ~side) if side.sum() >= (~side).sum() else (~side, side)
    within = min(_mean(kappa[np.ix_(block, block)]) for block in (larger, smaller))
    between = _mean(kappa[np.ix_(larger, smaller)])
    apart = between < APART * within and (within - between) * np.sqrt(n_items) > CLEARLY_APART
    if not (within >= LEAST_KAPPA and apart):
        return None
    kappa_of_majorities, differ = _contradictions(annotations, larger, smaller)
    if not kappa_of_majorities < APART:
        return None
    names = annotations.annotators
    return Blocks(names[larger].tolist(), names[smaller].tolist(), within, between, int(np.ceil(DECISIVE / differ)))


def _kappas(annotations: Annotations) -> tuple[Array, float]:
    """Kappa of all pairs, NaN on the diagonal and where it is not known, and the median of their common items."""
    pairs = pairwise_agreement(annotations, LEAST_ITEMS)
    place = {name: t for t, name in enumerate(annotations.annotators.tolist())}
    first, second = ([place[name] for name in names.tolist()] for names in (pairs.first, pairs.second))
    found = np.full((len(place), len(place)), np.nan)
    found[first, second] = found[second, first] = pairs.kappa
    return found, float(np.median(pairs.n_items)) if len(pairs) else 0.0


def _sides(kappa: Array) -> Mask:
    """Which of two blocks each annotator is in: (n_annotators,)."""
    if not np.isfinite(kappa).any():
        return np.ones(len(kappa), dtype=bool)
    known = np.where(np.isfinite(kappa), kappa, np.nanmean(kappa))
    centred = known - known.mean(axis=0) - known.mean(axis=1)[:, None] + known.mean()
    return np.asarray(np.linalg.eigh(centred)[1][:, -1] >= 0)


def _mean(kappa: Array) -> float:
    return float(np.nanmean(kappa)) if np.isfinite(kappa).any() else np.nan


def _contradictions(annotations: Annotations, one: Mask, other: Mask) -> tuple[float, float]:
    """Kappa of the majorities of both blocks as a share of its maximum, and the share of items on which they differ.

    Two blocks of which one is stricter differ in one direction only: their kappa is low, but as high as it can be.
    """
    of_blocks = (annotations.only(block[annotations.annotator]) for block in (one, other))
    counts = np.array([votes(labels, weighted=False) for labels in of_blocks])
    both = (counts.sum(axis=2) > 0).all(axis=0)
    table = np.zeros((annotations.n_classes, annotations.n_classes))
    np.add.at(table, tuple(counts[:, both].argmax(axis=2)), 1 / max(both.sum(), 1))
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    same, at_most, by_chance = np.trace(table), np.minimum(rows, columns).sum(), rows @ columns
    if at_most <= by_chance:
        return np.nan, 1.0
    return float((same - by_chance) / (at_most - by_chance)), max(float(1 - same), 0.01)
