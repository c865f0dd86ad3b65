"""What changed from one fit to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whoknows.insight.summary.summary import Summary
from whoknows.insight.summary.text import Facts

CLEAR_CHANGE = 0.1  # share of a typical error, where there is no interval to compare with


def changes(before: Summary, after: Summary) -> Facts:
    """Compare two fits of one project.

    Returns
    -------
    dict
        ``n_labels``, labels added (negative if some were removed); ``flips``, items whose consensus differs, the
        most certain first; ``moved``, annotators whose skill left its earlier 90 % interval; ``new``, annotators
        who were not there before.
    """
    known = set(before.annotators["annotator"])
    return {
        "n_labels": after.given["n_labels"] - before.given["n_labels"],
        "flips": sorted(_flips(before, after), key=lambda flip: -flip.get("confidence", 0.0)),
        "moved": list(_moved(before, after)),
        "new": [name for name in after.annotators["annotator"] if name not in known],
    }


def _flips(before: Summary, after: Summary) -> Iterator[Facts]:
    """Items in both fits with different consensus; numbers differ if they moved by more than their uncertainty."""
    earlier = {row["item"]: row for row in _rows(before.consensus, "item", "consensus", "std")}
    for row in _rows(after.consensus, "item", "consensus", "confidence"):
        old = earlier.get(row["item"])
        if old is not None and _differ(old, row["consensus"]):
            yield {**row, "before": old["consensus"]}


def _differ(old: Facts, new: Any) -> bool:
    return abs(new - old["consensus"]) > old["std"] if "std" in old else new != old["consensus"]


def _moved(before: Summary, after: Summary) -> Iterator[Facts]:
    skill = "expertise" if "expertise" in after.annotators else "typical_error"
    columns = ("annotator", skill, "low", "high")
    earlier = {row["annotator"]: row for row in _rows(before.annotators, *columns)}
    for row in _rows(after.annotators, *columns):
        old = earlier.get(row["annotator"])
        if old is not None and not _within(row[skill], old[skill], old["low"], old["high"]):
            yield {"annotator": row["annotator"], "before": old[skill], "after": row[skill]}


def _within(value: float, old: float, low: float | None, high: float | None) -> bool:
    if low is None or high is None:
        return abs(value - old) <= CLEAR_CHANGE * old
    return low <= value <= high


def _rows(table: Facts, *names: str) -> Iterator[Facts]:
    """Rows of a table, with those of the columns that it has."""
    present = [name for name in names if name in table]
    for values in zip(*(table[name] for name in present), strict=True):
        yield dict(zip(present, values, strict=True))
