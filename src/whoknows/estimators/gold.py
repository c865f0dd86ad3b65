"""Gold: items whose truth is known."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import elements, factorize, show, sorted_if_possible
from whoknows.estimators.checks import row_ids


def check_gold(gold: Any, said: Annotations) -> tuple[Annotations, Array | None]:
    """Return the annotations, with room for classes only gold knows, and gold as class codes or NaN."""
    if gold is None:
        return said, None
    row, value = _known(gold, said)
    label = factorize(value, "gold label")
    labels = said.labels
    if not set(label.values) <= set(elements(labels)):
        labels = sorted_if_possible(list(dict.fromkeys([*elements(labels), *label.values])))
        said = said.recode(said.annotators, labels)
    code = {name: position for position, name in enumerate(elements(said.labels))}
    codes = np.full(said.n_items, np.nan)
    codes[row] = [code[label.values[c]] if c >= 0 else np.nan for c in label.codes]
    _warn_of_contradictions(codes, said)
    return said, codes


def check_gold_numbers(gold: Any, said: Annotations) -> Array | None:
    """Return gold as numbers, (n_items,), NaN where it is not known."""
    if gold is None:
        return None
    row, value = _known(gold, said)
    numbers = np.full(said.n_items, np.nan)
    try:
        numbers[row] = [np.nan if v is None else float(v) for v in value]
    except (TypeError, ValueError):
        raise ValueError(f"Expected gold to be numbers, got {show(value)}.") from None
    return numbers


def _known(gold: Any, said: Annotations) -> tuple[Any, list[Any]]:
    """Row and value of each entry of gold, by id or by place."""
    by_id = _as_mapping(gold)
    if by_id is not None:
        place = {item: position for position, item in enumerate(elements(said.items))}
        strange = [item for item in by_id if item not in place]
        if strange:
            raise ValueError(
                f"gold names {len(strange)} of {len(by_id)} items that are not in y, such as "
                f"{show(strange, 3)}; y has {show(elements(said.items), 3)}. Use the ids of y's items."
            )
        return [place[item] for item in by_id], list(by_id.values())
    values = elements(np.asarray(gold)) if not isinstance(gold, list) else gold
    if np.ndim(gold) != 1 or len(values) != said.n_items:
        raise ValueError(
            f"gold must have a label for each of the {said.n_items} items, None or NaN where it is not "
            f"known, or be a mapping from item ids to labels; got {_shape(gold)}."
        )
    return np.arange(said.n_items), values


def _as_mapping(gold: Any) -> dict[Any, Any] | None:
    """Gold by item id: a mapping, or a pandas Series whose index does more than count rows."""
    if isinstance(gold, Mapping):
        return dict(gold)
    index = row_ids(gold)
    return None if index is None else dict(zip(index, gold.tolist(), strict=True))


def _shape(gold: Any) -> str:
    return f"an array of shape {np.shape(gold)}" if np.ndim(gold) else f"{gold!r}"


def _warn_of_contradictions(codes: Array, said: Annotations) -> None:
    """Warn where gold is what none of an item's annotators said, if that cannot well be chance."""
    agrees = np.bincount(said.item, weights=said.label == codes[said.item], minlength=said.n_items)
    count = said.labels_per_item
    judged = np.isfinite(codes) & (count > 0)
    alone = judged & (agrees == 0)
    if not ((alone & (count > 1)).any() or 2 * alone.sum() > judged.sum()):
        return
    shown = show([elements(said.items)[i] for i in np.flatnonzero(alone)[:3]], 3)
    warnings.warn(
        f"gold contradicts every annotator on {alone.sum()} of the {judged.sum()} gold items that have "
        f"labels (such as {shown}). It is taken as true; check that its labels mean the same as theirs.",
        stacklevel=4,
    )
