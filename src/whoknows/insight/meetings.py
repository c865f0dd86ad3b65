"""Which annotators met on which items, and sums over these items, in blocks of sparse products."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements
from whoknows.insight.cells import count_cells

_PAIRS_AT_ONCE = 1_000_000  # pairs of annotators held in one sparse product


class Meetings:
    """Every two annotators with common items, each pair once, in the order of ``said.annotators``.

    ``first`` and ``second`` are positions in the vocabulary, ``n_items`` counts common items: (n_pairs,).
    """

    def __init__(self, said: Annotations) -> None:
        if np.any(said.annotator < 0):
            raise InputError(
                f"{int(np.sum(said.annotator < 0))} labels are by annotators outside the vocabulary, "
                "so pairs cannot be named. Use the Annotations from before recode(unknown='population')."
            )
        self.said = said
        self._key, self.n_items = self._products(1.0, 1.0, said.item)
        self.first, self.second = np.divmod(self._key, max(said.n_annotators, 1))

    def sum(
        self, left: Array | float = 1.0, right: Array | float = 1.0, *, same_label: bool = False
    ) -> Array:
        """Σ of left · right over common items of each pair, or those on which it agrees: (n_pairs,).

        ``left`` and ``right`` are (n_annotations,), of the pair's first and second annotator.
        """
        key, value = self._products(left, right, self._cell if same_label else self.said.item)
        total = np.zeros(len(self._key))
        total[np.searchsorted(self._key, key)] = value
        return total

    def _products(
        self, left: Array | float, right: Array | float, where: NDArray[Any]
    ) -> tuple[NDArray[np.int64], Array]:
        """Σ of left · right over places where both are, first < second: first · T + second, sorted; sums."""
        T = self.said.n_annotators
        L, Rt = self._sparse(left, where), self._sparse(right, where).T.tocsr()
        keys, sums = [np.empty(0, np.int64)], [np.empty(0)]
        for start, stop in self._blocks:
            block = sp.triu(L[start:stop] @ Rt[:, start:], k=1).tocsr()
            block.sort_indices()
            row = np.repeat(np.arange(start, stop, dtype=np.int64), np.diff(block.indptr))
            keys.append(row * T + block.indices + start)
            sums.append(block.data)
        return np.concatenate(keys), np.concatenate(sums)

    def _sparse(self, values: Array | float, where: NDArray[Any]) -> Any:
        """Table of the values that are not zero, annotators by places."""
        values = np.broadcast_to(values, where.shape)
        there = values != 0
        shape = self.said.n_annotators, int(where.max(initial=-1)) + 1
        return sp.csr_array((values[there], (self.said.annotator[there], where[there])), shape=shape)

    @cached_property
    def _cell(self) -> NDArray[Any]:
        """Which (item, label) each label is in: (n_annotations,)."""
        return count_cells(self.said).place

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        """Runs of annotators that meet about `_PAIRS_AT_ONCE` others in all."""
        T = self.said.n_annotators
        n_i = self.said.labels_per_item[self.said.item].astype(float)
        met = np.cumsum(np.minimum(segment_sum(n_i, self.said.annotator, T), T))
        ends = np.flatnonzero(np.diff(met // _PAIRS_AT_ONCE, append=-1)) + 1
        return list(pairwise([0, *ends.tolist()]))


def pair_names(first: Ids, second: Ids) -> list[str]:
    """Names of pairs, to print."""
    return [f"{one!r}, {other!r}" for one, other in zip(elements(first), elements(second), strict=True)]
