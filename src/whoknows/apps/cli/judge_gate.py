"""The gate of `whoknows judges --fail-under`, for continuous integration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whoknows.apps.cli.console import count
from whoknows.apps.cli.errors import UsageError
from whoknows.apps.cli.judge_tables import number

if TYPE_CHECKING:
    from whoknows.insight import AgainstGold

MEASURES = ("accuracy", "kappa")
EVERY = "every"  # stands for every judge that labelled gold items

Gate = tuple[str, str, float]  # judge ("" is the consensus), measure and threshold


def read_gate(given: str) -> Gate:
    """Return judge, measure and threshold of --fail-under.

    >>> read_gate("kappa=0.6"), read_gate("gpt:5:accuracy=0.9")
    (('', 'kappa', 0.6), ('gpt:5', 'accuracy', 0.9))
    """
    left, _, threshold = given.rpartition("=")
    who, _, measure = left.rpartition(":")
    try:
        least = float(threshold)
    except ValueError:
        least = math.nan
    if measure not in MEASURES or not -1 <= least <= 1:
        raise UsageError(
            f"--fail-under expects kappa=0.6 or accuracy=0.9, or JUDGE:kappa=0.6 for one judge; got {given!r}."
        )
    return who, measure, least


def failure(found: AgainstGold, gate: Gate) -> str | None:
    """Return a sentence about those below the threshold; None if there is nobody."""
    who, measure, least = gate
    value, low, high = getattr(found, measure)
    below = [t for t in _rows(found, who) if not value[t] >= least]
    if not below:
        return None
    said = [_has(found, t, measure, number(value[t], low[t], high[t])) for t in below]
    return f"{'; '.join(said)}. --fail-under requires {measure} {least:g}."


def _rows(found: AgainstGold, who: str) -> list[int]:
    """Return the rows of a judge, of all, or of the consensus, which is the last."""
    judges = [str(name) for name in found.annotator.tolist()[:-1]]
    if who == "":
        return [len(judges)]
    if who == EVERY:
        return [t for t, n in enumerate(found.n_gold[:-1]) if n]
    if who not in judges:
        raise UsageError(f"--fail-under names {who!r}, who is not a judge. There are {', '.join(judges[:10])}.")
    return [judges.index(who)]


def _has(found: AgainstGold, row: int, measure: str, shown: str) -> str:
    name, n = str(found.annotator.tolist()[row]), int(found.n_gold[row])
    name = f"The {name}" if row == len(found) - 1 else name
    if not n:
        return f"{name} has no {measure}: it labelled no gold item"
    if shown == "-":
        return f"{name} has no {measure}: all {count(n, 'gold item')} are of one class"
    return f"{name} has {measure} {shown} on {count(n, 'gold item')}"
