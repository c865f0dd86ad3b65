"""Distances, nearest neighbours and k-means, for graphs and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np

from whoknows._array import Array, like, namespace, positions, segment_sum, to_numpy
from whoknows._threads import side_by_side

Answer = TypeVar("Answer")

BLOCK = 1_000_000  # distances per block: they fit in the processor's cache
ON_GPU = 100  # times larger blocks
ITEMS_PER_CENTRE, FEW_ITEMS = 20, 4_000  # of k-means
ENOUGH = 20_000  # items in a sample: means over them have a relative error far below one percent


def squared_distances(A: Array, B: Array) -> Array:
    """|a − b|² for all pairs: (len(A), len(B)), of the same kind as A."""
    return _squared_to(like(B, A))(A).clip(min=0.0)


def nearest(X: Array, nodes: Array, k: int) -> tuple[Any, Array]:
    """Index and squared distance of the k nearest nodes of each x, nearest first: two (n_items, k)."""
    xp, squared_to = namespace(X), _squared_to(like(nodes, X))
    found = [_smallest(squared_to(X[rows]), k) for rows in blocks(X, len(nodes))]
    index, squared = (xp.concatenate(parts) for parts in zip(*found, strict=True))
    return index, squared.clip(min=0.0)


def _squared_to(nodes: Array) -> Callable[[Array], Array]:
    """Return the function |x − b|² of x for all nodes b, which may be slightly negative by rounding.

    It is one product: (x, |x|², 1) · (−2b, 1, |b|²).
    """
    xp, centre = namespace(nodes), nodes.mean(axis=0)  # avoids cancellation if all points are far from zero
    B = nodes - centre
    b = (B**2).sum(axis=1)[:, None]
    right = xp.concatenate([-2 * B, xp.ones_like(b), b], 1).T

    def squared(X: Array) -> Array:
        A = X - centre
        a = (A**2).sum(axis=1)[:, None]
        return xp.concatenate([A, a, xp.ones_like(a)], 1) @ right

    return squared


def _smallest(table: Array, k: int) -> tuple[Any, Array]:
    """Column and value of the k smallest numbers of each row, smallest first; overwrites the table.

    Repeated argmin: for a few of many columns this is five to ten times faster than a partition.
    """
    xp = namespace(table)
    rows, columns, values = positions(table), [], []
    for _ in range(k):
        columns.append(table.argmin(axis=1))
        values.append(table[rows, columns[-1]])
        table[rows, columns[-1]] = np.inf
    return xp.stack(columns, 1), xp.stack(values, 1)


def neighbors(X: Array, k: int) -> tuple[Any, Array]:
    """Index and squared distance of each item's k nearest *other* items: two (n_items, k)."""
    return without_self(*nearest(X, X, k + 1), np.arange(len(X)))


def without_self(index: Any, squared: Array, rows: Any) -> tuple[Any, Array]:
    """Return nearest items, and their squared distances, without the item of each row itself."""
    own = index == rows[:, None]
    own[~own.any(axis=1), -1] = True  # among many duplicates an item may not find itself: drop the farthest
    return index[~own].reshape(len(index), -1), squared[~own].reshape(len(index), -1)


def blocks(X: Any, n_columns: int) -> Iterator[slice]:
    """Split rows into blocks with ``n_columns`` distances per row, of a size suited to the device."""
    return _cut(X.shape[0], max(_times(X) * BLOCK // max(n_columns, 1), 1))


def blocks_of(X: Any) -> Iterator[slice]:
    """Split items into blocks of some thousand, to be loaded into memory one after another."""
    return _cut(len(X), _times(X) * ENOUGH)


def block_by_block(function: Callable[[slice], Answer], X: Any) -> Iterator[Answer]:
    """Apply a function to each of `blocks_of`, in order; in several threads unless on a GPU."""
    tasks = [partial(function, rows) for rows in blocks_of(X)]
    return (task() for task in tasks) if len(tasks) == 1 or _times(X) > 1 else side_by_side(tasks)


def _times(X: Any) -> int:
    """Factor of the block size: larger on a GPU."""
    return ON_GPU if getattr(X, "is_cuda", False) else 1


def _cut(n_rows: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size))


def in_memory(X: Array, rows: Any = slice(None)) -> Array:
    """Return rows of X, all or some, as a NumPy array of floats."""
    return np.asarray(to_numpy(X[rows]), dtype=float)


def enough_of(X: Array, seed: int) -> Array:
    """Return the items in memory, or a random sample of many, in their order: (at most ENOUGH, D)."""
    if len(X) <= ENOUGH:
        return in_memory(X)
    return in_memory(X, np.sort(np.random.default_rng(seed).choice(len(X), ENOUGH, replace=False)))


def draw(X: Array, n: int, rng: np.random.Generator) -> Array:
    """Draw ``n`` items at random, independently of the order of the rows: (n, D)."""
    if n >= len(X):
        return X
    canonical = np.argsort(X @ np.random.default_rng(0).normal(size=X.shape[1]), kind="stable")
    return np.asarray(X[canonical[np.sort(rng.choice(len(X), n, replace=False))]])


def k_means(X: Array, n_centres: int, rng: np.random.Generator, n_rounds: int = 15) -> Array:
    """Lloyd's algorithm from randomly drawn items: (n_centres, D). A centre without items stays.

    Of many items some per centre are enough.
    """
    X = draw(X, max(ITEMS_PER_CENTRE * n_centres, FEW_ITEMS), rng)
    centres, middle = draw(X, n_centres, rng), X.mean(axis=0)
    coarse = (X - middle).astype(np.float32)  # twice as fast, and precise enough to tell which centre is nearest
    for _ in range(n_rounds):
        member = nearest(coarse, (centres - middle).astype(np.float32), 1)[0][:, 0]
        count = np.bincount(member, minlength=n_centres)
        means = segment_sum(X, member, n_centres) / np.maximum(count, 1)[:, None]
        centres = np.where(count[:, None] > 0, means, centres)
    return np.asarray(centres)
