"""How far a fit is, as its pages show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_BOUNDS = 500  # values of the bound that are kept


class Progress:
    """What a fit reports: how much is done, and the bound by iteration of the model that is being fitted.

    An ensemble fits many models, some in parallel. Their bounds cannot be compared, since they are of different
    items; so each fit begins a curve of its own, and the one that began last is shown.
    """

    def __init__(self) -> None:
        self._done, self._total = 0, None
        self._member, self._curves = "", dict[str, list[float]]()

    def facts(self) -> dict[str, Any]:
        """Return done, total (None if unknown), member (empty if there is one model) and bound, a list."""
        curve = self._curves.get(self._member, [])
        return {"done": self._done, "total": self._total, "member": self._member, "bound": curve[-MOST_BOUNDS:]}

    def of_model(self, iteration: int, bound: float, seconds: float) -> None:
        """Take note of an iteration of the only model."""
        self._done = iteration
        self._add("", iteration, bound)

    def of_ensemble(self, done: int, total: int, seconds: float) -> None:
        """Take note of the end of a fit of an ensemble."""
        self._done, self._total = done, total

    def of_member(self, member: Any, iteration: int, bound: float, seconds: float) -> None:
        """Take note of an iteration of a member."""
        self._add(_name(member), iteration, bound)

    def end_with(self, member: Any, history: Sequence[float]) -> None:
        """Show the curve of one member from now on."""
        self._member = _name(member)
        self._curves[self._member] = list(history)

    def _add(self, name: str, iteration: int, bound: float) -> None:
        if iteration == 1:
            self._member, self._curves[name] = name, []
        self._curves[name].append(float(bound))


def _name(member: Any) -> str:
    return f"map {member.map}, prior variance {member.variance:g}, expertise {member.expertise}"
