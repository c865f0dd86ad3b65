"""Engines: how a sum over items is carried out. Every step of every solver is such a sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Engine(Protocol):
    """Adds up what a function says of each chunk."""

    def sum(
        self, function: Callable[..., tuple[Any, ...]], chunks: Sequence[Any], *args: Any
    ) -> tuple[Any, ...]:
        """Return Σ over chunks of function(chunk, *args), element by element."""


class Serial:
    """One chunk after the other, in this process."""

    def sum(
        self, function: Callable[..., tuple[Any, ...]], chunks: Sequence[Any], *args: Any
    ) -> tuple[Any, ...]:
        """Return Σ over chunks of function(chunk, *args), element by element."""
        parts = (function(chunk, *args) for chunk in chunks)
        total = next(parts)
        for part in parts:
            total = tuple(a + b for a, b in zip(total, part, strict=True))
        return total
