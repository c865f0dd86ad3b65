"""Labels side by side with what expertise sees of their items, so that annotators are worked on together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whoknows._array import Array, Mask, Rows, like, rows_like
from whoknows.data.annotations import Annotations

FEWEST = 0.8  # of the labels of the first annotator in a block, to stand in it
AT_ONCE = 500_000  # numbers in a block: what stays in a processor's cache


@dataclass(frozen=True)
class Block:
    """Annotators with about as many labels each.

    Attributes
    ----------
    annotators : (n,)
        Codes, none twice; the row of a stranger is −1.
    rows : slice
        Where their labels stand in `Pairs`: n times equally many.
    """

    annotators: Rows
    rows: slice

    def shaped(self, values: Array) -> Array:
        """Return this block's part of an array over labels, one annotator after the other: (n, labels, …)."""
        part, n = values[self.rows], len(self.annotators)
        return part.reshape(n, len(part) // n, *part.shape[1:])


@dataclass(frozen=True)
class Pairs:
    """Labels ordered by annotator and cut into blocks; where one has fewer than others, labels of no weight.

    A Python loop over two thousand annotators would take longer than their labels do.

    Attributes
    ----------
    X : (n_items, n_features)
    Y : Annotations
        As they were given.
    """

    X: Array
    Y: Annotations

    @cached_property
    def said(self) -> Annotations:
        """The labels in the order of the blocks, (n_pairs,); those that only fill up have confidence 0.

        Its codes and confidences are arrays of the kind X is.
        """
        Y, (place, real, _) = self.Y, self._layout
        item, annotator, label = (rows_like(codes[place], self.X) for codes in (Y.item, Y.annotator, Y.label))
        sure = like(np.where(real, Y.counts[place], 0.0), self.X)
        return Annotations(item, annotator, label, Y.items, Y.annotators, Y.labels, sure)

    @cached_property
    def x(self) -> Array:
        """Features of each label's item: (n_pairs, n_features)."""
        return self.X[self.said.item]

    @property
    def blocks(self) -> list[Block]:
        """Annotators with about as many labels, together."""
        return self._layout[2]

    @cached_property
    def constant(self) -> Pairs:
        """The same labels with the constant, the last feature, alone."""
        alone = Pairs(self.X[:, -1:], self.Y)
        vars(alone).update(_layout=self._layout, said=self.said)
        return alone

    @cached_property
    def _layout(self) -> tuple[Rows, Mask, list[Block]]:
        """Which label stands where, whether it counts, and the blocks."""
        groups = self.Y.by_annotator
        sizes = np.diff(groups.bounds)
        places, reals, blocks, end = [], [], [], 0
        for annotators, first, most in _shapes(sizes, self.X.shape[1]):
            step = first + np.arange(most)
            real = step < sizes[annotators][:, None]
            within = np.minimum(step, sizes[annotators][:, None] - 1)
            places.append(groups.order[groups.bounds[annotators][:, None] + within].ravel())
            reals.append(real.ravel())
            codes = np.where(annotators == self.Y.n_annotators, -1, annotators)
            blocks.append(Block(codes, slice(end, end + real.size)))
            end += real.size
        if not blocks:
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=bool), []
        return np.concatenate(places), np.concatenate(reals), blocks


def _shapes(sizes: Rows, n_features: int) -> Iterator[tuple[Rows, int, int]]:
    """Give for each block its annotators, the first of their labels that is in it, and how many are."""
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    longest = max(AT_ONCE // n_features, 1)  # labels; of somebody with more they go to several blocks
    while len(order):
        most = int(sizes[order[0]])
        if most > longest:
            for first in range(0, most, longest):
                yield order[:1], first, min(longest, most - first)
            order = order[1:]
            continue
        alike = int((sizes[order] >= FEWEST * most).sum())
        n = min(alike, max(longest // most, 1))
        yield order[:n], 0, most
        order = order[n:]
