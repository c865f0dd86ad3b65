"""Ids and label values as the user wrote them, and the integer codes that stand for them."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Ids = NDArray[Any]
DUPLICATES = ("error", "first", "last", "majority")

_NUMPY_SCALARS = (np.bool_, np.integer, np.floating, np.str_)
_LONGEST_PADDED_STRING = 1000  # a numpy string array pads every id to the longest one


@dataclass(frozen=True)
class Coded:
    """A column as integer codes into its distinct values.

    Parameters
    ----------
    codes : int32 array of shape (n_rows,)
        Position in ``values``; -1 where the row holds nothing.
    values : list
        The distinct values in order of first appearance, without missing ones.
    """

    codes: Codes
    values: list[Hashable]

    def against(self, vocabulary: Ids) -> Codes:
        """Code of each of ``values`` in another vocabulary, -1 where it is not there."""
        known = elements(vocabulary)
        _reject_bools_among_numbers([*self.values, *known], "A table and its vocabulary")
        position = {value: code for code, value in enumerate(known)}
        return np.fromiter((position.get(value, -1) for value in self.values), np.int32, len(self.values))


def factorize(values: Any, role: str, *, missing: Any = None, width: int = 1) -> Coded:
    """Code a column of hashable values; ``role`` names it in messages.

    None, NaN, NaT, NA and blank strings are missing, and so is the value given as ``missing``.
    A flattened table of ``width`` columns is reported by its row.
    """
    column = as_column(values, role)
    if column.dtype != object:
        return _factorize_numbers(column)
    _reject_bools_among_numbers(column, f"The {role} column")
    return _without_missing(*_factorize_objects(column.tolist(), role, width), missing)


def make_vocabulary(values: Any, name: str) -> Ids:
    """Make an id array of what the user gave as ``name``: distinct, none missing, order kept."""
    coded = factorize(values, name)
    if coded.codes.min(initial=0) < 0:
        row = int(np.argmin(coded.codes))
        raise ValueError(f"{name} must not hold missing values; position {row} (counting from 0) is empty.")
    if len(coded.codes) > len(coded.values):
        twice = int(np.argmax(np.bincount(coded.codes) > 1))
        raise ValueError(f"{name} must not repeat ids; {coded.values[twice]!r} is there more than once.")
    return tight_array(plain_labels(coded.values) if name == "labels=" else coded.values)


def look_up(column: Coded, vocabulary: Ids, role: str, advice: str | None) -> Codes:
    """Code a column against a vocabulary; a value outside it is an error with this advice, or -1 if None."""
    code = np.append(column.against(vocabulary), np.int32(-1))  # code -1 stays -1
    unknown = np.unique(column.codes[(code[column.codes] < 0) & (column.codes >= 0)])
    if unknown.size and advice is not None:
        names = show(column.values[place] for place in unknown)
        counted = f"{unknown.size} {role}s are" if unknown.size > 1 else f"One {role} is"
        raise ValueError(f"{counted} not in {role}s=: {names}. {advice}")
    return code[column.codes]


def name_axis(codes: Codes, size: int, found: Any, given: Any, role: str) -> tuple[Coded, Any]:
    """Name the rows or columns of a matrix: by the ids found in it, else by those given, else by position."""
    ids = found if found is not None else given if given is not None else np.arange(size)
    names = make_vocabulary(ids, f"The {role}s of y" if found is not None else f"{role}s=")
    if len(names) != size:
        line = "row" if role == "item" else "column"
        raise ValueError(f"Expected {size} ids in {role}s=, one for each {line} of y; got {len(names)}.")
    return Coded(codes, elements(names)), names if given is None else given


def triples(
    columns: tuple[Coded, Coded, Coded], vocabularies: tuple[Any, Any, Any], duplicates: str
) -> tuple[Codes, Codes, Codes, Ids, Ids, Ids]:
    """Code item, annotator and label columns, drop rows without a label, sort by (item, annotator).

    Parameters
    ----------
    columns : three Coded of n_rows rows
        Item, annotator and label.
    vocabularies : three sequences or None
        The items, annotators and labels that may occur; None takes those that do.
    duplicates : {"error", "first", "last", "majority"}
        What to do with several labels of one annotator on one item.

    Returns
    -------
    item, annotator, label : int32 arrays of shape (n_annotations,)
    items, annotators, labels : arrays of ids
    """
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates= must be one of {show(DUPLICATES)}; got {duplicates!r}.")
    _check_lengths(columns, vocabularies[0])
    item, annotator, label = _labelled_rows(*columns)
    label = Coded(label.codes, plain_labels(label.values))
    defaults = (item.values, sorted_if_possible(annotator.values), sorted_if_possible(label.values))
    items, annotators, labels = (
        tight_array(default) if given is None else make_vocabulary(given, name)
        for given, default, name in zip(
            vocabularies, defaults, ("items=", "annotators=", "labels="), strict=True
        )
    )
    coded = ((item, items, "item"), (annotator, annotators, "annotator"), (label, labels, "label"))
    codes = [look_up(*column, f"Add to {column[2]}s=, or drop the rows.") for column in coded]
    kept = _one_label_a_pair(codes, (items, annotators, labels), duplicates)
    return codes[0][kept], codes[1][kept], codes[2][kept], items, annotators, labels


def as_column(values: Any, role: str) -> Ids:
    """One-dimensional array of numbers, or of Python objects exactly as they were given."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"Expected plain values for {role}, got a masked array. Pass values.filled(...) instead."
        )
    if isinstance(values, (str, bytes, set, frozenset, dict)) or not hasattr(values, "__iter__"):
        raise TypeError(f"Expected a list or array for {role}, got {type(values).__name__}. Pass a list.")
    if not isinstance(values, np.ndarray):
        listed = _as_list(values)
        return np.fromiter(listed, dtype=object, count=len(listed))
    if values.ndim != 1:
        raise ValueError(
            f"Expected one dimension for {role}, got an array of shape {values.shape}. Pass values.ravel()."
        )
    if values.dtype.kind in "biuf":
        return values
    times = values.dtype.kind in "mM"
    column: Ids = (values.astype(f"{values.dtype.kind}8[us]") if times else values).astype(object)
    return column


def tight_array(values: Sequence[Hashable]) -> Ids:
    """Array of the values, typed if they share a type that numpy keeps intact, else of objects."""
    kinds = set(map(type, values))
    if kinds == {str} and max(map(len, values)) <= _LONGEST_PADDED_STRING:  # type: ignore[arg-type]
        strings = np.array(values)
        if strings.tolist() == values:  # numpy cuts trailing NUL characters
            return strings
    elif kinds in ({bool}, {float}):
        return np.array(values)
    elif kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):  # type: ignore[operator]
        return np.array(values, dtype=np.int64)
    return np.fromiter(values, dtype=object, count=len(values))


def elements(array: Ids) -> list[Any]:
    """Give the entries of an id array as plain Python values."""
    return array.tolist()  # type: ignore[no-any-return]


def same_ids(left: Ids, right: Ids) -> bool:
    """Whether two id arrays hold equal ids of equal types; 1, 1.0 and True differ."""
    mine, theirs = elements(left), elements(right)
    return mine == theirs and list(map(type, mine)) == list(map(type, theirs))


def sorted_if_possible(values: list[Hashable]) -> list[Hashable]:
    """Sort the values; leave values that cannot be compared in order of appearance."""
    try:
        return sorted(values)  # type: ignore[type-var]
    except TypeError:
        return values


def plain_labels(values: list[Hashable]) -> list[Hashable]:
    """Label values as the user meant them: whole floats become integers, 0 beside 0.5 becomes 0.0."""
    floats = [value for value in values if isinstance(value, float)]
    if any(np.isinf(floats)):
        raise ValueError("Expected finite labels, got inf. Use None or NaN for a missing label.")
    if all(value.is_integer() for value in floats):
        return [int(value) if isinstance(value, float) else value for value in values]
    if all(type(value) in (int, float) for value in values):
        return [float(value) for value in values]  # type: ignore[arg-type]
    return values


def show(values: Iterable[Any], limit: int = 5) -> str:
    """List the first values for a message."""
    listed = list(values)
    shown = ", ".join(repr(value) for value in listed[:limit])
    return shown if len(listed) <= limit else f"{shown}, …"


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


def _as_list(values: Any) -> list[Any]:
    """List the Python values of a list, a series of any dataframe library or any other iterable."""
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(values, method):
            return getattr(values, method)()  # type: ignore[no-any-return]
    return list(values)


def _factorize_numbers(column: Ids) -> Coded:
    """Code an array of numbers by sorting it; only NaN is missing."""
    distinct, first, codes = np.unique(column, return_index=True, return_inverse=True)
    first = first[distinct == distinct]  # NaN comes last
    by_appearance = np.argsort(first)
    rank = np.full(len(distinct), -1, dtype=np.int32)
    rank[by_appearance] = np.arange(len(first), dtype=np.int32)
    return Coded(rank[codes], distinct[by_appearance].tolist())


def _factorize_objects(column: list[Any], role: str, width: int) -> tuple[Codes, list[Hashable]]:
    """Code a list of any hashables by a dictionary."""
    try:
        position = {value: code for code, value in enumerate(dict.fromkeys(column))}
    except TypeError:
        raise _unhashable(column, role, width) from None
    return np.fromiter(map(position.__getitem__, column), np.int32, len(column)), list(position)


def _unhashable(column: list[Any], role: str, width: int) -> TypeError:
    """Name the first row whose value cannot be a dictionary key."""
    place = next(place for place, value in enumerate(column) if not _is_hashable(value))
    kind = type(column[place]).__name__
    return TypeError(
        f"Expected a hashable {role} (a number, string or tuple), got the {kind} {column[place]!r} "
        f"in row {place // width} (counting from 0). Turn it into a string or a tuple."
    )


def _is_hashable(value: Any) -> bool:
    """Whether a value can be a dictionary key; a tuple of lists cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _without_missing(codes: Codes, distinct: list[Hashable], missing: Any) -> Coded:
    """Give missing values the code -1 and take them out of the distinct values."""
    present = [not (_is_missing(value) or _is_same(value, missing)) for value in distinct]
    kept = np.array(present, dtype=bool)
    if not kept.all():
        renumbered = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        codes = renumbered[codes]
    return Coded(codes, [_plain(value) for value, there in zip(distinct, present, strict=True) if there])


def _is_missing(value: Any) -> bool:
    """Whether a value stands for nothing: None, NaN, NaT, NA or a blank string."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, str):
        return not value.strip()
    return bool(value != value)


def _is_same(value: Any, missing: Any) -> bool:
    """Whether a value is the marker for missing; False is not 0."""
    return _is_bool(value) == _is_bool(missing) and bool(value == missing)


def _is_bool(value: Any) -> bool:
    """Whether a value is Python's or numpy's boolean."""
    return isinstance(value, (bool, np.bool_))


def _plain(value: Any) -> Any:
    """Turn a numpy scalar into the Python value it stands for."""
    return value.item() if isinstance(value, _NUMPY_SCALARS) else value


def _reject_bools_among_numbers(values: Iterable[Any], where: str) -> None:
    """Refuse True beside 1: Python calls them equal, a reader does not."""
    kinds = set(map(type, values))
    if kinds.isdisjoint({bool, np.bool_}) or not any(_is_number(kind) for kind in kinds):
        return
    for value in values:
        if _is_number(type(value)) and value == value:
            raise ValueError(
                f"{where} must hold either booleans or numbers, got both (a boolean and {value!r}): "
                "True and 1 would become one. Turn all of them into one kind."
            )


def _is_number(kind: type) -> bool:
    """Whether a type is a number and not a boolean."""
    return issubclass(kind, (int, float, np.number)) and not issubclass(kind, bool)
