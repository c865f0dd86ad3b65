"""From the columns of a table to sorted triples: lengths, missing labels and duplicates are checked."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array
from whoknows.data.errors import Advice, InputError
from whoknows.data.vocabulary import (
    Codes,
    Factor,
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

CONFIDENCE_ADVICE = "Use 1 for a label with full weight, 0 for one with zero weight."
DUPLICATES = ("error", "first", "last", "majority")


def triples(
    columns: tuple[Factor, Factor, Factor], vocabularies: tuple[Any, Any, Any], duplicates: str, confidence: Any = None
) -> tuple[Codes, Codes, Codes, Ids, Ids, Ids, Array | None]:
    """Encode item, annotator and label columns, drop rows without a label, sort by (item, annotator).

    Parameters
    ----------
    columns : three Factor of n_rows rows
        Item, annotator and label.
    vocabularies : three sequences or None
        The items, annotators and labels that may occur; None stands for those that do.
    duplicates : {"error", "first", "last", "majority"}
        What to do with several labels by one annotator for one item.
    confidence : (n_rows,), optional
        Weight of each label.

    Returns
    -------
    item, annotator, label : int32 arrays of shape (n_annotations,)
    items, annotators, labels : arrays of ids
    confidence : (n_annotations,) or None
    """
    if duplicates not in DUPLICATES:
        raise InputError(f"duplicates= must be one of {show(DUPLICATES)}; got {duplicates!r}.")
    _check_lengths(columns, vocabularies[0])
    item, annotator, label = _labelled_rows(*columns)
    confidence = _confidence_of_labels(confidence, columns)
    label = Factor(label.codes, plain_labels(label.values))
    encoded = (
        _encode(item, vocabularies[0], row_numbers_first(item.values), "item"),
        _encode(annotator, vocabularies[1], sorted_if_possible(annotator.values), "annotator"),
        _encode(label, vocabularies[2], sorted_if_possible(label.values), "label"),
    )
    codes, (items, annotators, labels) = zip(*encoded, strict=True)
    kept = _one_label_per_pair(codes, (items, annotators, labels), duplicates)
    confidence = None if confidence is None else confidence[kept]
    return codes[0][kept], codes[1][kept], codes[2][kept], items, annotators, labels, confidence


def _encode(column: Factor, given: Any, default: list[Hashable], role: str) -> tuple[Codes, Ids]:
    """Return the codes of a column, and their vocabulary: the given one or, if it is None, the default."""
    vocabulary = tight_array(default) if given is None else make_vocabulary(given, f"{role}s=")
    return look_up(column, vocabulary, role, f"Add to {role}s=, or drop the rows."), vocabulary


def _confidence_of_labels(confidence: Any, columns: Sequence[Factor]) -> Array | None:
    """Return the confidence of each row with a label; refuse what is no number of 0 or more."""
    if confidence is None:
        return None
    item, annotator, label = columns
    try:
        floats = np.asarray(confidence, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected confidence to be numbers: {error}. {CONFIDENCE_ADVICE}") from None
    if floats.shape != label.codes.shape:
        raise InputError(
            f"Expected a confidence for each of the {len(label.codes)} labels, got an array of shape {floats.shape}."
        )
    bad = np.flatnonzero((label.codes >= 0) & ~(np.isfinite(floats) & (floats >= 0)))
    if bad.size:
        what, who = (column.values[column.codes[bad[0]]] for column in (item, annotator))
        raise InputError(
            f"Expected every confidence to be a number of 0 or more, got {floats[bad[0]]} for item "
            f"{what!r}, annotator {who!r}. {CONFIDENCE_ADVICE}"
        )
    return floats[label.codes >= 0]


def _check_lengths(columns: tuple[Factor, Factor, Factor], items: Any) -> None:
    """Refuse columns of different lengths, and an empty table without a list of items."""
    item, annotator, label = (len(column.codes) for column in columns)
    if not item == annotator == label:
        raise InputError(
            f"Expected item, annotator and label of one length, got {item}, {annotator} and {label}. "
            "Pass one row per label."
        )
    if item == 0 and items is None:
        raise InputError(
            "Expected at least one row, got an empty table. If nobody has labelled anything yet, "
            "pass the ids of the items as items=."
        )


def _labelled_rows(item: Factor, annotator: Factor, label: Factor) -> list[Factor]:
    """Return the rows that have a label; a warning counts the others."""
    keep = label.codes >= 0
    if not keep.all():
        first = int(np.argmin(keep))
        who, what = (show([None if c.codes[first] < 0 else c.values[c.codes[first]]]) for c in (annotator, item))
        warnings.warn(
            f"Dropped {np.sum(~keep)} of {len(keep)} rows without a label (first: item {what}, annotator {who}).",
            stacklevel=4,
        )
    for column, role in ((item, "item"), (annotator, "annotator")):
        nameless = np.flatnonzero(keep & (column.codes < 0))
        if nameless.size:
            raise InputError(
                f"Expected an {role} id in every row, got none in row {nameless[0]} "
                f"(counting from 0; {nameless.size} in total). Fill in the id, or drop the row."
            )
    return [Factor(column.codes[keep], column.values) for column in (item, annotator, label)]


def _one_label_per_pair(codes: Sequence[Codes], vocabularies: Sequence[Ids], duplicates: str) -> NDArray[np.intp]:
    """Return the rows to keep, sorted by (item, annotator), one per pair."""
    item, annotator, label = codes
    pair = item.astype(np.int64) * len(vocabularies[1]) + annotator
    order = np.argsort(pair, kind="stable")
    starts = np.diff(pair[order], prepend=-1) > 0
    kept = np.flatnonzero(starts)
    if len(kept) == len(order):
        return order
    if duplicates == "error":
        raise _duplicate_error(pair, order[~starts], codes, vocabularies)
    if duplicates == "last":
        kept = np.append(kept[1:], len(order)) - 1
    elif duplicates == "majority":
        kept = _first_most_frequent(np.cumsum(starts) - 1, label[order])
    return order.take(kept)


def _duplicate_error(
    pair: NDArray[np.int64], repeats: NDArray[np.intp], codes: Sequence[Codes], vocabularies: Sequence[Ids]
) -> InputError:
    """Return the error for the first annotator who labelled an item more than once."""
    rows = np.flatnonzero(pair == pair[repeats.min()])
    item, annotator, label = (elements(ids[code[rows]]) for ids, code in zip(vocabularies, codes, strict=True))
    times = "twice" if len(rows) == 2 else f"{len(rows)} times"
    others = len(np.unique(pair[repeats])) - 1
    also = f" Further such pairs: {others}." if others else ""
    return InputError(
        f"Annotator {annotator[0]!r} labelled item {item[0]!r} {times} "
        f"({show(label[:-1])} and {label[-1]!r}). Keep one row, or pass ",
        Advice("duplicates", "duplicates='first'"),
        f", 'last' or 'majority'.{also}",
    )


def _first_most_frequent(group: NDArray[np.intp], label: Codes) -> NDArray[np.intp]:
    """Return the row of the most frequent label of each group; the first label wins ties."""
    n_labels = int(label.max()) + 1
    vote, first, count = np.unique(group * n_labels + label, return_index=True, return_counts=True)
    best = np.lexsort((first, -count, vote // n_labels))
    rows: NDArray[np.intp] = first[best][np.diff(vote[best] // n_labels, prepend=-1) > 0]
    return rows
