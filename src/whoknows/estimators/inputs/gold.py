"""Gold: items whose truth is known."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements, factorize, show, sorted_if_possible
from whoknows.estimators.inputs.validation import brings_ids, row_ids

SEVERAL = 3  # annotators who all say the same: that all are wrong is hardly chance


def by_row(gold: Any, index: list[Any] | None, y: Any) -> Any:
    """Return gold by place where it goes by the ids of X's rows, ``index``, and y brings none of its own."""
    known = _as_mapping(gold)
    if known is None or index is None:
        return gold
    is_series = not isinstance(gold, Mapping)
    if is_series and list(known) == index:
        return list(known.values())
    place = {item: row for row, item in enumerate(index)}
    may_be_places = not is_series and set(known) <= set(range(len(index)))
    if brings_ids(y) or may_be_places or len(place) < len(index) or not set(known) <= set(place):
        return gold
    return {place[item]: value for item, value in known.items()}


def with_classes_of(gold: Any, said: Annotations) -> Annotations:
    """Return the annotations with room for classes that only gold knows."""
    values = [] if gold is None else factorize(_known(gold, said)[1], "gold label").values
    labels = elements(said.labels)
    if set(values) <= set(labels):
        return said
    _refuse_another_kind(values, labels)
    return said.recode(said.annotators, sorted_if_possible(list(dict.fromkeys([*labels, *values]))))


def gold_codes(gold: Any, said: Annotations) -> Array | None:
    """Return gold as class codes, NaN where it is not known: (n_items,)."""
    if gold is None:
        return None
    row, value = _known(gold, said)
    label = factorize(value, "gold label")
    code = {name: position for position, name in enumerate(elements(said.labels))}
    codes = np.full(said.n_items, np.nan)
    codes[row] = [code[label.values[c]] if c >= 0 else np.nan for c in label.codes]
    _warn_of_contradictions(codes, said)
    return codes


def check_gold_numbers(gold: Any, said: Annotations) -> Array | None:
    """Return gold as numbers, (n_items,), NaN where it is not known."""
    if gold is None:
        return None
    row, value = _known(gold, said)
    numbers = np.full(said.n_items, np.nan)
    known = factorize(value, "gold number")
    if not all(isinstance(v, (int, float)) and np.isfinite(v) for v in known.values):
        raise InputError(f"Expected gold to be finite numbers, got {show(known.values)}.")
    numbers[row] = np.array([*known.values, np.nan], dtype=float)[known.codes]
    return numbers


def _refuse_another_kind(gold: list[Any], labels: list[Any]) -> None:
    """Refuse gold that is text where labels are numbers, or the other way round: '1' is not the class 1."""
    if len({isinstance(value, str) for value in [*gold, *labels]}) > 1:
        raise InputError(
            f"gold holds {show(gold, 3)} and y the labels {show(labels, 3)}: text and numbers are different "
            "classes. Turn both into one kind."
        )


def _known(gold: Any, said: Annotations) -> tuple[Any, list[Any]]:
    """Row and value of each entry of gold, by id or by place."""
    by_id = _as_mapping(gold)
    if by_id is not None:
        place = {item: position for position, item in enumerate(elements(said.items))}
        strange = [item for item in by_id if item not in place]
        if strange:
            raise InputError(
                f"gold names {len(strange)} of {len(by_id)} items that are not in y, such as "
                f"{show(strange, 3)}; y has {show(elements(said.items), 3)}. Use the ids of y's items."
            )
        return [place[item] for item in by_id], list(by_id.values())
    values = list(gold) if isinstance(gold, (list, tuple)) else elements(np.asarray(gold))
    if np.ndim(gold) != 1 or len(values) != said.n_items:
        raise InputError(
            f"gold must have a label for each of the {said.n_items} items, None or NaN where it is not "
            f"known, or be a mapping from item ids to labels; got {_shape(gold)}."
        )
    return np.arange(said.n_items), values


def _unanimous(said: Annotations) -> Mask:
    """Which items have several labels, all the same."""
    lowest, highest = np.full(said.n_items, said.n_classes), np.full(said.n_items, -1)
    np.minimum.at(lowest, said.item, said.label)
    np.maximum.at(highest, said.item, said.label)
    return np.asarray((said.labels_per_item >= SEVERAL) & (lowest == highest))


def _as_mapping(gold: Any) -> dict[Any, Any] | None:
    """Gold by item id: a mapping, or a pandas Series whose index does more than count rows."""
    if isinstance(gold, Mapping):
        return dict(gold)
    index = row_ids(gold)
    if index is None or np.ndim(gold) != 1:
        return None
    if len(set(index)) < len(index):
        twice = next(item for item in index if index.count(item) > 1)
        raise InputError(f"gold names item {twice!r} more than once. Keep one truth an item.")
    return dict(zip(index, gold.tolist(), strict=True))


def _shape(gold: Any) -> str:
    return f"an array of shape {np.shape(gold)}" if np.ndim(gold) else f"{gold!r}"


def _warn_of_contradictions(codes: Array, said: Annotations) -> None:
    """Warn where gold is what none of an item's annotators said, if that cannot well be chance."""
    agrees = np.bincount(said.item, weights=said.label == codes[said.item], minlength=said.n_items)
    judged = np.isfinite(codes) & said.labelled
    alone = judged & (agrees == 0)
    if 2 * alone.sum() <= judged.sum() and not (alone & _unanimous(said)).any():
        return
    shown = show([elements(said.items)[i] for i in np.flatnonzero(alone)[:3]], 3)
    warnings.warn(
        f"gold contradicts every annotator on {alone.sum()} of the {judged.sum()} gold items that have "
        f"labels (such as {shown}). It is taken as true; check that its labels mean the same as theirs.",
        stacklevel=4,
    )
