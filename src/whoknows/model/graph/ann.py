"""Approximate nearest neighbours of many items: inverted lists, by faiss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.model.distances import blocks, nearest, without_self

PROBED = 500  # items whose exact neighbours are computed, to estimate the recall
ENOUGH = 0.95  # recall with which a graph is as good as the exact one
TRAINED_ON = 64  # items per list


def is_installed() -> bool:
    """Whether faiss is installed."""
    return find_spec("faiss") is not None


@dataclass(frozen=True)
class Lists:
    """Items in √n_items lists, each around a centre; an x is compared only with items of the nearest lists.

    Lists depend only on the items and the seed.

    Attributes
    ----------
    nodes : (n_items, D)
    seed : int
    n_probe : int
        Number of lists that an x is compared with.
    recall : float
        Share of nearest neighbours that are found, on a sample of the items.
    """

    nodes: Array
    seed: int
    n_probe: int = 1
    recall: float = np.nan

    @classmethod
    def of(cls, X: Array, k: int, seed: int = 0) -> Lists:
        """Double the number of lists searched until the recall on a sample is high enough."""
        lists = cls(X, seed)
        rows = np.sort(np.random.default_rng(seed).choice(len(X), min(PROBED, len(X)), replace=False))
        farthest = nearest(X[rows], X, k + 1)[1][:, -1:] * (1 + 1e-9)
        while True:
            recall = float((lists.neighbors(k, rows)[1] <= farthest).mean())
            if recall >= ENOUGH or lists.n_probe >= lists.n_lists:
                return lists._with(lists.n_probe, recall)
            lists = lists._with(min(2 * lists.n_probe, lists.n_lists), recall)

    @property
    def n_lists(self) -> int:
        """√n_items, which balances the number of centres and the number of items per list."""
        return max(int(np.sqrt(len(self.nodes))), 1)

    @property
    def quality(self) -> str:
        """The recall, for people to read."""
        return f"recall {self.recall:.3f} on {min(PROBED, len(self.nodes))} rows"

    def nearest(self, X: Array, k: int) -> tuple[Any, Array]:
        """Index and squared distance of k near nodes of each x, nearest first: two (n_items, k)."""
        index = self._index.search(self._small(X), k, params=self._params)[1]
        short = np.flatnonzero((index < 0).any(axis=1))  # fewer than k items in the lists searched
        if len(short):
            index[short] = nearest(X[short], self.nodes, k)[0]
        # faiss works in single precision: distances and the order are recomputed in double precision.
        squared = np.empty(index.shape)
        for rows in blocks(X, k * X.shape[1]):
            squared[rows] = ((self.nodes[index[rows]] - X[rows, None]) ** 2).sum(axis=2)
        order = np.argsort(squared, axis=1, kind="stable")
        return np.take_along_axis(index, order, axis=1), np.take_along_axis(squared, order, axis=1)

    def neighbors(self, k: int, rows: Any = slice(None)) -> tuple[Any, Array]:
        """Index and squared distance of k near *other* items of each item in ``rows``: two (n_rows, k)."""
        return without_self(*self.nearest(self.nodes[rows], k + 1), np.arange(len(self.nodes))[rows])

    def _with(self, n_probe: int, recall: float) -> Lists:
        lists = replace(self, n_probe=n_probe, recall=recall)
        vars(lists).update({name: vars(self)[name] for name in ("_unit", "_index")})  # computed once
        return lists

    @cached_property
    def _unit(self) -> tuple[Array, float]:
        """Centre and scale that bring the items to [−1, 1], where single precision is sufficient."""
        centre = self.nodes.mean(axis=0)
        reach = float(np.abs(self.nodes - centre).max())
        return centre, reach if reach > 0 else 1.0

    def _small(self, X: Array) -> Any:
        centre, reach = self._unit
        return np.ascontiguousarray((X - centre) / reach, dtype=np.float32)

    @cached_property
    def _index(self) -> Any:
        faiss = _faiss()
        D = self.nodes.shape[1]
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(D), D, self.n_lists)
        index.cp.seed = self.seed
        index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = 1, TRAINED_ON
        items = self._small(self.nodes)
        index.train(items)
        index.add(items)
        return index

    @property
    def _params(self) -> Any:
        return _faiss().SearchParametersIVF(nprobe=self.n_probe)


def _faiss() -> Any:
    try:
        import faiss
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "KnnGraph(search='faiss') needs faiss. Run: pip install 'whoknows[ann]'. Or use search='exact', "
            "or AnchorGraph(), which need no extra package."
        ) from None
    return faiss
