"""Which annotator on which kind of item: how often each is right, by kind, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows._array import Array, spans
from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import NamedColumns
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, factorize, sorted_if_possible, tight_array
from whoknows.estimators.intervals import check_level
from whoknows.insight.accuracy import wilson
from whoknows.insight.rates import rate_of

RIGHT = np.array(["wrong", "right"])


@dataclass(frozen=True, eq=False)
class ByKind(NamedColumns):
    """One row for each annotator and kind with labels.

    Attributes
    ----------
    annotator, kind : ids of shape (n_rows,)
    n_labels, n_gold : int array of shape (n_rows,)
        Labels of this annotator on items of this kind, and how many of these items are gold.
    right, low, high : (n_rows,)
        Share of labels that are right, with limits.
    level : float
    """

    annotator: Ids
    kind: Ids
    n_labels: Any
    n_gold: Any
    right: Array
    low: Array
    high: Array
    level: float

    COLUMNS = ("annotator", "kind", "n_labels", "n_gold", "right", "low", "high")


def by_kind(
    annotations: Annotations, posterior: Array, kind: Any, gold: Array | None = None, level: float = 0.9
) -> ByKind:
    """How often each annotator is right on each kind of item.

    With gold, corrected rates (`rate_of`): the posterior of the label says how likely it is to be right, and the gold
    corrects it. Without, the mean posterior of the labels, with Wilson's interval for their number.

    Parameters
    ----------
    annotations : Annotations
    posterior : (n_items, n_classes)
        With gold, of fits that have not seen it.
    kind : (n_items,)
        Kind of each item; None for items of no kind.
    gold : (n_items,), optional
        Position of the true class, NaN where it is not known.
    level : float
        Nominal coverage of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from whoknows.insight import by_kind
    >>> y = Annotations.from_matrix([[0, 1], [1, 1], [1, 0], [0, 1]], annotators=["anna", "bob"])
    >>> posterior = np.array([[0.9, 0.1], [0.1, 0.9], [0.2, 0.8], [0.8, 0.2]])
    >>> found = by_kind(y, posterior, ["text", "text", "image", "image"])
    >>> found.annotator.tolist(), found.kind.tolist(), found.right.round(2).tolist()
    (['anna', 'anna', 'bob', 'bob'], ['image', 'text', 'image', 'text'], [0.8, 0.9, 0.2, 0.5])
    """
    reach, (names, place) = check_level(level), _kinds(kind)
    if len(place) != annotations.n_items:
        raise InputError(f"kind must have one value for each of the {annotations.n_items} items; got {len(place)}.")
    rows: list[tuple[Any, ...]] = []
    names_of, groups = annotations.annotators.tolist(), annotations.by_annotator
    for t, span in spans(groups):
        mine = groups.order[span]
        item, label = annotations.item[mine], annotations.label[mine]
        right = np.full(len(item), np.nan) if gold is None else _is_right(label, gold[item])
        found = _shares(posterior[item, label], right, place[item], reach, level)
        rows += [(names_of[t], names[k], *numbers) for k, *numbers in found]
    annotator, kind, *numbers = list(zip(*rows, strict=True)) or [()] * 7
    n_labels, n_gold, share, low, high = map(np.array, numbers)
    return ByKind(tight_array(annotator), tight_array(kind), n_labels, n_gold, share, low, high, level)


def _kinds(kind: Any) -> tuple[list[Any], Any]:
    """Names of the kinds in order, and the place of each item's among them, -1 for none."""
    found = factorize(kind, "kind")
    names = sorted_if_possible(list(found.values))
    return names, np.array([*map(names.index, found.values), -1])[found.codes]


def _is_right(label: Any, truth: Array) -> Array:
    """1 where a label is the truth, 0 where it is not, NaN where the truth is not known."""
    return np.where(np.isfinite(truth), label == truth, np.nan)


def _shares(prob: Array, right: Array, kind: Any, reach: float, level: float) -> Iterator[tuple[Any, ...]]:
    """Yield for each kind of one annotator's labels: kind, labels, gold, share that is right, and limits."""
    corrected = None
    if np.isfinite(right).any():
        by = [None if k < 0 else int(k) for k in kind]
        corrected = rate_of(np.column_stack([1 - prob, prob]), right, RIGHT, by=by, level=level, new_items=True)
    for k in np.unique(kind[kind >= 0]).tolist():
        mine = kind == k
        n, n_gold = int(mine.sum()), int(np.isfinite(right[mine]).sum())
        if corrected is None:
            yield k, n, n_gold, *map(float, wilson(prob[mine].sum(), n, reach))
        else:
            row = corrected.row(k, "right")
            yield k, n, n_gold, *(float(each[row]) for each in (corrected.rate, corrected.low, corrected.high))
