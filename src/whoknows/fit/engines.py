"""Engines: where chunks of items are kept, and how sums over them are carried out.

Every step of every solver is such a sum. Whatever the engine, a sum is taken in one order, so that a fit ends
at the same numbers wherever it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

ITEMS_A_CHUNK = 100_000  # at most: the same chunks, and so the same numbers, whatever the size of a cluster

Sums = tuple[Any, ...]
Branch = tuple[int, int]  # of the tree along which sums are taken: its first chunk, and how many it has


@runtime_checkable
class Engine(Protocol):
    """Keeps chunks, and adds up what a function says of each."""

    def keep(self, make: Callable[..., Any], parts: Sequence[Any], *args: Any) -> list[Any]:
        """Return make(part, *args) of each part, or a handle to it: what `sum` and `keep` take as chunks.

        A part may itself be a chunk, or a tuple of chunks and plain things.
        """

    def sum(self, function: Callable[..., Sums], chunks: Sequence[Any], *args: Any) -> Sums:
        """Return Σ over chunks of function(chunk, *args), element by element; lists add up to lists."""

    def close(self) -> None:
        """Let go of what was opened for this engine."""


@dataclass(frozen=True)
class Chunks:
    """Chunks of items, and the engine that keeps them."""

    chunks: Sequence[Any]
    engine: Engine


class Serial:
    """One chunk after the other, in this process."""

    def keep(self, make: Callable[..., Any], parts: Sequence[Any], *args: Any) -> list[Any]:
        """Return make(part, *args) of each part."""
        return [make(part, *args) for part in parts]

    def sum(self, function: Callable[..., Sums], chunks: Sequence[Any], *args: Any) -> Sums:
        """Return Σ over chunks of function(chunk, *args), element by element; lists add up to lists."""
        terms = {(place, 1): partial(function, chunk, *args) for place, chunk in enumerate(chunks)}
        return climb(terms, 0, len(chunks))[0, len(chunks)]

    def close(self) -> None:
        """Nothing was opened."""


def resolve_engine(engine: Any) -> Engine:
    """Return the engine that a word, an address or a client stands for; None is this process."""
    if engine is None:
        return Serial()
    if isinstance(engine, Engine):
        return engine
    from whoknows.fit.dask import DaskEngine  # loads nothing heavy, but only a cluster needs it

    return DaskEngine.of(engine)


@contextmanager
def opened(engine: Any) -> Iterator[Engine]:
    """Give the engine that something stands for, and close what was opened for it."""
    found = resolve_engine(engine)
    try:
        yield found
    finally:
        if found is not engine:
            found.close()


def climb(known: Mapping[Branch, Callable[[], Sums]], first: int, n_chunks: int) -> dict[Branch, Sums]:
    """Add up along a tree over chunks, as far as what is known of them reaches.

    The left branch of each fork is the largest power of two that leaves something for the right one: so the
    order in which numbers are added does not depend on where they are. What is known is asked for in the
    order of the chunks, and let go once it is added.
    """
    here = first, n_chunks
    if here in known:
        return {here: known[here]()}
    if n_chunks == 1:
        return {}
    half = 1 << ((n_chunks - 1).bit_length() - 1)
    found = climb(known, first, half) | climb(known, first + half, n_chunks - half)
    forks = (first, half), (first + half, n_chunks - half)
    if not all(fork in found for fork in forks):
        return found
    left, right = (found[fork] for fork in forks)
    return {here: tuple(a + b for a, b in zip(left, right, strict=True))}
