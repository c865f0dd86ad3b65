"""From columns a user gave to sorted triples: lengths, missing labels, labels given twice."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array
from whoknows.data.vocabulary import (
    Coded,
    Codes,
    Ids,
    elements,
    look_up,
    make_vocabulary,
    plain_labels,
    row_numbers_first,
    show,
    sorted_if_possible,
    tight_array,
)

HOW_MUCH = "Use 1 for a label that counts in full, 0 for one that does not count."
DUPLICATES = ("error", "first", "last", "majority")


def triples(
    columns: tuple[Coded, Coded, Coded],
    vocabularies: tuple[Any, Any, Any],
    duplicates: str,
    confidence: Any = None,
) -> tuple[Codes, Codes, Codes, Ids, Ids, Ids, Array | None]:
    """Code item, annotator and label columns, drop rows without a label, sort by (item, annotator).

    Parameters
    ----------
    columns : three Coded of n_rows rows
        Item, annotator and label.
    vocabularies : three sequences or None
        The items, annotators and labels that may occur; None takes those that do.
    duplicates : {"error", "first", "last", "majority"}
        What to do with several labels of one annotator on one item.
    confidence : (n_rows,), optional
        How much each label counts.

    Returns
    -------
    item, annotator, label : int32 arrays of shape (n_annotations,)
    items, annotators, labels : arrays of ids
    confidence : (n_annotations,) or None
    """
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates= must be one of {show(DUPLICATES)}; got {duplicates!r}.")
    _check_lengths(columns, vocabularies[0])
    sure = check_confidence(confidence, len(columns[2].codes))
    labelled = columns[2].codes >= 0
    item, annotator, label = _labelled_rows(*columns)
    sure = None if sure is None else _refuse_bad_confidence(sure[labelled], item, annotator)
    label = Coded(label.codes, plain_labels(label.values))
    defaults = (
        row_numbers_first(item.values),
        sorted_if_possible(annotator.values),
        sorted_if_possible(label.values),
    )
    items, annotators, labels = (
        tight_array(default) if given is None else make_vocabulary(given, name)
        for given, default, name in zip(
            vocabularies, defaults, ("items=", "annotators=", "labels="), strict=True
        )
    )
    coded = ((item, items, "item"), (annotator, annotators, "annotator"), (label, labels, "label"))
    codes = [look_up(*column, f"Add to {column[2]}s=, or drop the rows.") for column in coded]
    kept = _one_label_a_pair(codes, (items, annotators, labels), duplicates)
    sure = None if sure is None else sure[kept]
    return codes[0][kept], codes[1][kept], codes[2][kept], items, annotators, labels, sure


def check_confidence(confidence: Any, n_rows: int) -> Array | None:
    """Return one number a row, or say what is wrong with it."""
    if confidence is None:
        return None
    try:
        sure = np.asarray(confidence, dtype=float)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"Expected confidence to be numbers: {problem}. {HOW_MUCH}") from None
    if sure.shape != (n_rows,):
        raise ValueError(
            f"Expected a confidence for each of the {n_rows} labels, got an array of shape {sure.shape}."
        )
    return sure


def _refuse_bad_confidence(sure: Array, item: Coded, annotator: Coded) -> Array:
    """Return the confidences of the rows that hold a label, 0 or more; name the first that is not."""
    bad = np.flatnonzero(~(np.isfinite(sure) & (sure >= 0)))
    if bad.size:
        what, who = (repr(column.values[column.codes[bad[0]]]) for column in (item, annotator))
        raise ValueError(
            f"Expected every confidence to be a number of 0 or more, got {sure[bad[0]]} for item {what}, "
            f"annotator {who}. {HOW_MUCH}"
        )
    return sure


def _check_lengths(columns: tuple[Coded, Coded, Coded], items: Any) -> None:
    """Three columns of one length; an empty table needs its items from elsewhere."""
    item, annotator, label = (len(column.codes) for column in columns)
    if not item == annotator == label:
        raise ValueError(
            f"Expected item, annotator and label of one length, got {item}, {annotator} and {label}. "
            "Pass one row for each label."
        )
    if item == 0 and items is None:
        raise ValueError(
            "Expected at least one row, got an empty table. If nobody has labelled anything yet, "
            "pass the ids of the items as items=."
        )


def _labelled_rows(item: Coded, annotator: Coded, label: Coded) -> list[Coded]:
    """Rows that hold a label; the others are counted in a warning."""
    keep = label.codes >= 0
    if not keep.all():
        first = int(np.argmin(keep))
        who, what = (
            show([None if c.codes[first] < 0 else c.values[c.codes[first]]]) for c in (annotator, item)
        )
        warnings.warn(
            f"Dropped {np.sum(~keep)} of {len(keep)} rows without a label "
            f"(first: item {what}, annotator {who}).",
            stacklevel=4,
        )
    for column, role in ((item, "item"), (annotator, "annotator")):
        nameless = np.flatnonzero(keep & (column.codes < 0))
        if nameless.size:
            raise ValueError(
                f"Expected an {role} id in every row, got none in row {nameless[0]} "
                f"(counting from 0; {nameless.size} in all). Fill it in, or drop the row."
            )
    return [Coded(column.codes[keep], column.values) for column in (item, annotator, label)]


def _one_label_a_pair(
    codes: Sequence[Codes], vocabularies: Sequence[Ids], duplicates: str
) -> NDArray[np.intp]:
    """Rows to keep, sorted by (item, annotator), with one label for each such pair."""
    item, annotator, label = codes
    pair = item.astype(np.int64) * len(vocabularies[1]) + annotator
    order = np.argsort(pair, kind="stable")
    starts = np.diff(pair[order], prepend=-1) > 0
    kept = np.flatnonzero(starts)
    if len(kept) == len(order):
        return order
    if duplicates == "error":
        raise _said_twice(pair, order[~starts], codes, vocabularies)
    if duplicates == "last":
        kept = np.append(kept[1:], len(order)) - 1
    elif duplicates == "majority":
        kept = _first_most_frequent(np.cumsum(starts) - 1, label[order])
    return order.take(kept)


def _said_twice(
    pair: NDArray[np.int64], repeats: NDArray[np.intp], codes: Sequence[Codes], vocabularies: Sequence[Ids]
) -> ValueError:
    """Name the first annotator who labelled an item more than once."""
    rows = np.flatnonzero(pair == pair[repeats.min()])
    item, annotator, said = (elements(ids[code[rows]]) for ids, code in zip(vocabularies, codes, strict=True))
    times = "twice" if len(rows) == 2 else f"{len(rows)} times"
    others = len(np.unique(pair[repeats])) - 1
    also = f" So did {others} more pairs of annotator and item." if others else ""
    return ValueError(
        f"Annotator {annotator[0]!r} labelled item {item[0]!r} {times} ({_and(said)}). "
        f"Keep one row, or pass duplicates='first', 'last' or 'majority'.{also}"
    )


def _and(values: list[Any]) -> str:
    """List values as in a sentence."""
    return f"{show(values[:-1])} and {values[-1]!r}"


def _first_most_frequent(group: NDArray[np.intp], label: Codes) -> NDArray[np.intp]:
    """Row of the most frequent label of each group; ties go to the label that appeared first."""
    n_labels = int(label.max()) + 1
    vote, first, count = np.unique(group * n_labels + label, return_index=True, return_counts=True)
    best = np.lexsort((first, -count, vote // n_labels))
    rows: NDArray[np.intp] = first[best][np.diff(vote[best] // n_labels, prepend=-1) > 0]
    return rows
