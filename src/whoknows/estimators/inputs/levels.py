"""Levels: the order of labels, where they have one."""

from __future__ import annotations

from typing import Any

from whoknows.data.annotations import Annotations
from whoknows.data.errors import Advice, InputError
from whoknows.data.vocabulary import elements, make_vocabulary, show
from whoknows.estimators.inputs.validation import check_classes, check_some_labels
from whoknows.model.truth import OrderedTruth


def is_ordered(truth: Any) -> bool:
    """Whether a truth setting means ordered levels."""
    return isinstance(truth, OrderedTruth) or truth == "ordered"


def check_labels(said: Annotations, truth: Any, levels: Any) -> Annotations:
    """Return labels that this truth can learn from, the lowest level first where they have an order."""
    if not is_ordered(truth):
        if levels is not None:
            raise InputError(
                f"levels=[{show(list(levels))}] says that labels are ordered, which truth={truth!r} does not "
                "use. Pass ",
                Advice("ordered", "truth='ordered'"),
                ", or leave levels out.",
            )
        check_classes(said)
        return said
    if levels is None:
        check_classes(said)
        _check_sorted_by_themselves(said)
        return said
    check_some_labels(said)
    vocabulary = make_vocabulary(levels, "levels=")
    missing = [label for label in elements(said.labels) if label not in elements(vocabulary)]
    if missing:
        raise InputError(
            "Expected every label to be one of ",
            Advice("levels", "levels="),
            f"{show(elements(vocabulary), 10)}, got {show(missing)} too. Add them in their place, or drop "
            "such labels.",
        )
    if len(vocabulary) < 2:
        raise InputError(f"Expected at least two levels, got {show(elements(vocabulary))}.")
    return said.recode(said.annotators, vocabulary)


def _check_sorted_by_themselves(said: Annotations) -> None:
    if said.labels.dtype.kind not in "iufb":
        labels = elements(said.labels)
        raise InputError(
            Advice("ordered", "truth='ordered'"),
            f" needs to know the order of {show(labels)}: only numbers sort by themselves. Pass them all as ",
            Advice("all_levels", "levels=[…]"),
            ", the lowest first.",
        )
