"""Engines: where chunks of items are stored, and how sums over them are computed.

Every step of every solver is such a sum. Every engine adds in the same order, so that a fit gives the same
numbers wherever it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

ITEMS_A_CHUNK = 100_000  # at most; independent of the size of a cluster, and so are the numbers

Sums = tuple[Any, ...]
Branch = tuple[int, int]  # of the summation tree: its first chunk, and its number of chunks


@runtime_checkable
class Engine(Protocol):
    """Stores chunks, and sums a function over them."""

    def keep(self, make: Callable[..., Any], parts: Sequence[Any], *args: Any) -> list[Any]:
        """Return make(part, *args) for each part, or a handle to it, for use as chunks in `sum` and `keep`.

        A part may itself be a chunk, or a tuple of chunks and other objects.
        """

    def sum(self, function: Callable[..., Sums], chunks: Sequence[Any], *args: Any) -> Sums:
        """Return Σ over chunks of function(chunk, *args), elementwise; lists are concatenated."""

    def close(self) -> None:
        """Close what was opened for this engine."""


@dataclass(frozen=True)
class Chunks:
    """Chunks of items, and the engine that stores them."""

    chunks: Sequence[Any]
    engine: Engine


class Serial:
    """One chunk after another, in this process."""

    def keep(self, make: Callable[..., Any], parts: Sequence[Any], *args: Any) -> list[Any]:
        """Return make(part, *args) for each part."""
        return [make(part, *args) for part in parts]

    def sum(self, function: Callable[..., Sums], chunks: Sequence[Any], *args: Any) -> Sums:
        """Return Σ over chunks of function(chunk, *args), elementwise; lists are concatenated."""
        terms = {(place, 1): partial(function, chunk, *args) for place, chunk in enumerate(chunks)}
        return sum_tree(terms, 0, len(chunks))[0, len(chunks)]

    def close(self) -> None:
        """Do nothing: nothing was opened."""


def resolve_engine(engine: Any) -> Engine:
    """Return the engine for a name, an address or a client; None is this process."""
    if engine is None:
        return Serial()
    if isinstance(engine, Engine):
        return engine
    from whoknows.fit.dask import DaskEngine  # only needed for a cluster

    return DaskEngine.of(engine)


@contextmanager
def opened(engine: Any) -> Iterator[Engine]:
    """Open the engine for a name, an address or a client, and close what was opened."""
    found = resolve_engine(engine)
    try:
        yield found
    finally:
        if found is not engine:
            found.close()


def sum_tree(known: Mapping[Branch, Callable[[], Sums]], first: int, n_chunks: int) -> dict[Branch, Sums]:
    """Sum along a tree over chunks, as far as the terms are known.

    The left branch of each fork is the largest power of two that leaves chunks for the right one, so the
    order of additions does not depend on where the terms are. Terms are computed in the order of the chunks,
    and released once they are added.
    """
    branch = first, n_chunks
    if branch in known:
        return {branch: known[branch]()}
    if n_chunks == 1:
        return {}
    half = 1 << ((n_chunks - 1).bit_length() - 1)
    found = sum_tree(known, first, half) | sum_tree(known, first + half, n_chunks - half)
    forks = (first, half), (first + half, n_chunks - half)
    if not all(fork in found for fork in forks):
        return found
    left, right = (found[fork] for fork in forks)
    return {branch: tuple(a + b for a, b in zip(left, right, strict=True))}
