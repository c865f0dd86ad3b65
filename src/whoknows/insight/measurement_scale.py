"""Measurement scales of labels: order and distance, and errors for labels that have none."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements, show

Level = Literal["nominal", "ordinal", "interval"]


def positions(annotations: Annotations, level: Literal["ordinal", "interval"]) -> Array:
    """Positions of the labels on a line: their mean ranks, or their values: (n_classes,)."""
    if level == "ordinal":
        check_ordered(annotations, "level='ordinal'")
        # The sum of the counts from c to k, minus half of both ends, is a difference of mean ranks.
        n_k = np.bincount(annotations.label, minlength=annotations.n_classes)
        return np.asarray(np.cumsum(n_k) - n_k / 2)
    if not all(_is_number(label) for label in elements(annotations.labels)):
        raise InputError(
            f"level='interval' expected labels that are numbers, got {show(elements(annotations.labels))}. "
            "Use level='nominal', or level='ordinal' if they have an order."
        )
    return annotations.labels.astype(float)


def check_ordered(annotations: Annotations, setting: str) -> None:
    """Raise if labels cannot be compared, or are numbers that neither ascend nor descend."""
    labels = elements(annotations.labels)
    try:
        ascending = sorted(labels)
    except TypeError:
        ascending = None
    numbers = all(_is_number(label) for label in labels)
    if ascending is None or (numbers and labels not in (ascending, ascending[::-1])):
        raise InputError(
            f"{setting} expected labels in their order, got {show(labels)}. "
            "Pass labels= in ascending order, all of one type, when creating the Annotations."
        )


def _is_number(label: Any) -> bool:
    return isinstance(label, (int, float)) and not isinstance(label, bool)
