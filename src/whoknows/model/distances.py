"""Distances, neighbours and k-means: what graphs and maps are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whoknows._array import Array, segment_sum

BLOCK = 10_000_000  # distances held at once


def squared_distances(A: Array, B: Array) -> Array:
    """|a − b|² for all pairs: (len(A), len(B))."""
    centre = B.mean(axis=0)  # the formula below cancels badly when all points lie far from zero
    A, B = A - centre, B - centre
    squared = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None, :] - 2 * A @ B.T
    return np.asarray(np.maximum(squared, 0.0))


def nearest(X: Array, nodes: Array, k: int) -> tuple[Array, Array]:
    """Index and squared distance of the k nearest nodes of each x, nearest first: two (n_items, k)."""
    found = [_nearest_in_block(X[rows], nodes, k) for rows in blocks(len(X), len(nodes))]
    return np.vstack([index for index, _ in found]), np.vstack([squared for _, squared in found])


def neighbors(X: Array, k: int) -> tuple[Any, Array]:
    """Index and squared distance of each item's k nearest *other* items: two (n_items, k)."""
    index, squared = nearest(X, X, k + 1)
    own = index == np.arange(len(X))[:, None]
    own[~own.any(axis=1), -1] = True  # among many copies an item may miss itself: drop the farthest
    return index[~own].reshape(len(X), k), squared[~own].reshape(len(X), k)


def _nearest_in_block(X: Array, nodes: Array, k: int) -> tuple[Any, Array]:
    squared = squared_distances(X, nodes)
    index = np.argpartition(squared, k - 1, axis=1)[:, :k] if k < len(nodes) else np.argsort(squared, axis=1)
    found = np.take_along_axis(squared, index, axis=1)
    order = np.argsort(found, axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(found, order, axis=1)


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut rows so that a block of ``n_columns`` distances each stays small."""
    size = max(BLOCK // max(n_columns, 1), 1)
    return (slice(start, start + size) for start in range(0, max(n_rows, 1), size))


def draw(X: Array, n: int, rng: np.random.Generator) -> Array:
    """Draw ``n`` items at random, the same ones whatever order the rows come in: (n, D)."""
    if n >= len(X):
        return X
    canonical = np.argsort(X @ np.random.default_rng(0).normal(size=X.shape[1]), kind="stable")
    return np.asarray(X[canonical[np.sort(rng.choice(len(X), n, replace=False))]])


def k_means(X: Array, n_centres: int, rng: np.random.Generator, n_rounds: int = 15) -> Array:
    """Lloyd's algorithm from randomly drawn items: (n_centres, D). A centre that loses its items stays."""
    centres = draw(X, n_centres, rng)
    for _ in range(n_rounds):
        member = nearest(X, centres, 1)[0][:, 0]
        count = np.bincount(member, minlength=n_centres)
        means = segment_sum(X, member, n_centres) / np.maximum(count, 1)[:, None]
        centres = np.where(count[:, None] > 0, means, centres)
    return np.asarray(centres)
