"""Labels with an order or a distance, and refusals where they have none."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements, show


def positions(said: Annotations, level: Literal["ordinal", "interval"]) -> Array:
    """Labels as points on a line: mean ranks of their occurrences, or their values: (n_classes,)."""
    if level == "ordinal":
        refuse_unordered(said, "level='ordinal'")
        # Σ of the counts from c to k, less half of both ends, is a difference of mean ranks
        n_k = np.bincount(said.label, minlength=said.n_classes)
        return np.asarray(np.cumsum(n_k) - n_k / 2)
    if not all(_is_number(label) for label in elements(said.labels)):
        raise InputError(
            f"level='interval' expected labels that are numbers, got {show(elements(said.labels))}. "
            "Use level='nominal', or level='ordinal' if they have an order."
        )
    return said.labels.astype(float)


def refuse_unordered(said: Annotations, setting: str) -> None:
    """Labels that cannot be compared, or numbers up and down, have no order to use."""
    labels = elements(said.labels)
    try:
        ascending = sorted(labels)
    except TypeError:
        ascending = None
    numbers = all(_is_number(label) for label in labels)
    if ascending is None or (numbers and labels not in (ascending, ascending[::-1])):
        raise InputError(
            f"{setting} expected labels in their order, got {show(labels)}. "
            "Pass labels= in ascending order, all of one kind, when making the Annotations."
        )


def _is_number(label: Any) -> bool:
    """Whether a label is a number and not a boolean."""
    return isinstance(label, (int, float)) and not isinstance(label, bool)
