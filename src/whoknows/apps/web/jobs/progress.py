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
        self._member, self._curves = None, dict[Any, list[float]]()

    def facts(self) -> dict[str, Any]:
        """Return done, total (None if unknown), member (empty if there is one model) and bound, a list."""
        curve = self._curves.get(self._member, [])
        member = "" if self._member is None else _name(self._member)
        return {"done": self._done, "total": self._total, "member": member, "bound": curve[-MOST_BOUNDS:]}

    def of_model(self, iteration: int, bound: float, seconds: float) -> None:
        """Take note of an iteration of the only model."""
        self._done = iteration
        self.of_member(None, iteration, bound, seconds)

    def of_ensemble(self, done: int, total: int, seconds: float) -> None:
        """Take note of the end of a fit of an ensemble."""
        self._done, self._total = done, total

    def of_member(self, member: Any, iteration: int, bound: float, seconds: float) -> None:
        """Take note of an iteration of a member."""
        if iteration == 1:
            self._member, self._curves[member] = member, []
        self._curves[member].append(float(bound))

    def end_with(self, member: Any, history: Sequence[float]) -> None:
        """Show the curve of one member from now on."""
        self._member, self._curves[member] = member, list(history)


def _name(member: Any) -> str:
    return f"map {member.map}, prior variance {member.variance:g}, expertise {member.expertise}"
