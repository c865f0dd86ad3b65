"""Ids and label values as the user wrote them, and the integer codes that represent them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.errors import InputError

Codes = NDArray[np.int32]
Ids = NDArray[Any]

_NUMPY_SCALARS = (np.bool_, np.integer, np.floating, np.str_)
_LONGEST_SHOWN = 200  # characters of a value in a message
_LONGEST_PADDED_STRING = 1000  # a numpy string array pads every id to the longest one


@dataclass(frozen=True)
class Factor:
    """A column as integer codes into its distinct values.

    Parameters
    ----------
    codes : int32 array of shape (n_rows,)
        Position in ``values``; -1 where the value is missing.
    values : list
        The distinct values in order of first appearance, without missing ones.
    """

    codes: Codes
    values: list[Hashable]


def factorize(values: Any, role: str, *, missing: Any = None, width: int = 1) -> Factor:
    """Encode a column of hashable values; ``role`` names it in messages.

    None, NaN, NaT, NA and blank strings are missing, and so is the value given as ``missing``.
    For a flattened table of ``width`` columns, messages give the row of the table.
    """
    column = as_column(values, role)
    if column.dtype != object:
        return _factorize_numbers(column)
    _reject_bools_among_numbers(column, f"The {role} column")
    return _without_missing(*_factorize_objects(column.tolist(), role, width), missing)


def make_vocabulary(values: Any, name: str) -> Ids:
    """Return the ids that the user passed as ``name`` as an array; they must be distinct, none missing."""
    values = np.arange(values.start, values.stop, values.step) if isinstance(values, range) else values
    integers = isinstance(values, np.ndarray) and values.size and values.dtype.kind == "i"
    if integers and _in_order(values.ravel()):
        return as_column(values, name).astype(np.int64)  # ascending, hence distinct: fast for millions
    factor = factorize(values, name)
    if factor.codes.min(initial=0) < 0:
        row = int(np.argmin(factor.codes))
        raise InputError(f"{name} must not hold missing values; position {row} (counting from 0) is empty.")
    if len(factor.codes) > len(factor.values):
        twice = int(np.argmax(np.bincount(factor.codes) > 1))
        raise InputError(f"{name} must not repeat ids; {factor.values[twice]!r} occurs more than once.")
    return tight_array(plain_labels(factor.values) if name == "labels=" else factor.values)


def look_up(column: Factor, vocabulary: Ids, role: str, advice: str | None) -> Codes:
    """Encode a column by a vocabulary; values outside it are an error with this advice, or -1 if None."""
    code = np.append(codes_of(column.values, vocabulary), np.int32(-1))  # code -1 stays -1
    unknown = np.unique(column.codes[(code[column.codes] < 0) & (column.codes >= 0)])
    if unknown.size and advice is not None:
        values = [column.values[place] for place in unknown]
        counted = f"{unknown.size} {role}s are" if unknown.size > 1 else f"One {role} is"
        advice = _advice_on_types(values, elements(vocabulary)) or advice
        raise InputError(f"{counted} not among the known {role}s: {show(values)}. {advice}")
    return code[column.codes]


def codes_of(values: list[Hashable], vocabulary: Ids) -> Codes:
    """Return the code of each value in a vocabulary, -1 where it is not in it."""
    if vocabulary.dtype == np.int64 and vocabulary.size and _fit_int64(values):
        return places(np.array(values, dtype=np.int64), vocabulary)
    known = elements(vocabulary)
    _reject_bools_among_numbers([*values, *known], "A table and its vocabulary")
    position = {value: code for code, value in enumerate(known)}
    return np.fromiter((position.get(value, -1) for value in values), np.int32, len(values))


def codes_of_names(names: list[Hashable], vocabulary: Ids) -> Codes:
    """Return codes as `codes_of` does; a name that is not there is that of an id with the same text, if any.

    The cells of a text file have no type: "1" in a CSV file is the id 1. Whoever asks for "1" means it.

    >>> codes_of_names(["2", 1, "01"], np.array([1, 2])).tolist()
    [1, 0, -1]
    """
    codes = codes_of(names, vocabulary)
    by_text = {str(each): code for code, each in enumerate(elements(vocabulary))} if (codes < 0).any() else {}
    found = (by_text.get(str(name), -1) if code < 0 else code for name, code in zip(names, codes, strict=True))
    return np.fromiter(found, np.int32, len(names))


def _advice_on_types(unknown: list[Any], known: list[Any]) -> str | None:
    """Return advice for unknown values that would all be known if they were strings."""
    twins = {str(value): value for value in known}
    if not all(str(value) in twins for value in unknown):
        return None
    mine = " and ".join(sorted({type(value).__name__ for value in unknown}))
    theirs = " and ".join(sorted({type(twins[str(value)]).__name__ for value in unknown}))
    return f"They are of type {mine}, those of the vocabulary {theirs}. Convert both to the same type."


def row_numbers(rows: Any, n_items: int) -> NDArray[np.intp]:
    """Return non-negative row numbers for any index that scikit-learn uses; cost is that of the rows."""
    if isinstance(rows, slice):
        return np.arange(*rows.indices(n_items))
    numbers = np.atleast_1d(np.asarray(rows))
    if numbers.size == 0 and numbers.dtype == float:
        numbers = numbers.astype(np.intp)
    is_mask = numbers.dtype.kind == "b"
    if numbers.ndim != 1 or numbers.dtype.kind not in "biu" or (is_mask and np.ndim(rows) == 0):
        raise IndexError(f"Expected row numbers, a mask or a slice of items, got {rows!r}.")
    np.broadcast_to(np.False_, n_items)[numbers]  # raises IndexError for rows out of range
    if is_mask:
        return np.flatnonzero(numbers)
    return np.where(numbers < 0, numbers + n_items, numbers).astype(np.intp)


def as_column(values: Any, role: str) -> Ids:
    """Return values as a 1-d array of numbers, or of Python objects exactly as they were given."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"Expected plain values for {role}, got a masked array. Pass values.filled(...) instead.")
    if isinstance(values, (str, bytes, set, frozenset, dict)) or not hasattr(values, "__iter__"):
        raise TypeError(f"Expected a list or array for {role}, got {type(values).__name__}. Pass a list.")
    if not isinstance(values, np.ndarray):
        listed = _as_list(values)
        return np.fromiter(listed, dtype=object, count=len(listed))
    if values.ndim != 1:
        raise InputError(
            f"Expected one dimension for {role}, got an array of shape {values.shape}. Pass values.ravel()."
        )
    if values.dtype.kind in "biuf":
        return values
    times = values.dtype.kind in "mM"
    column: Ids = (values.astype(f"{values.dtype.kind}8[us]") if times else values).astype(object)
    return column


def tight_array(values: Sequence[Hashable]) -> Ids:
    """Return an array of the values: of their common type if numpy keeps it intact, else of objects."""
    kinds = set(map(type, values))
    if kinds == {str} and max(len(str(value)) for value in values) <= _LONGEST_PADDED_STRING:
        strings = np.array(values)
        if strings.tolist() == values:  # numpy drops trailing NUL characters
            return strings
    elif kinds in ({bool}, {float}):
        return np.array(values)
    elif kinds == {int} and _fit_int64(values):
        return np.array(values, dtype=np.int64)
    return np.fromiter(values, dtype=object, count=len(values))


def _fit_int64(values: Sequence[Any]) -> bool:
    """Whether all values are integers of 64 bits."""
    return all(type(value) is int and -(2**63) <= value < 2**63 for value in values)


def _in_order(numbers: Ids) -> bool:
    """Whether numbers are strictly ascending."""
    return bool((numbers[1:] > numbers[:-1]).all())


def places(wanted: NDArray[np.int64], known: Ids) -> Codes:
    """Return the position of each number among distinct ones, -1 where it is not there; no dictionary."""
    order = None if _in_order(known) else np.argsort(known)
    place = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    place = place if order is None else order[place]
    return np.where(known[place] == wanted, place, -1).astype(np.int32)


def elements(array: Ids) -> list[Any]:
    """Return the entries of an id array as plain Python values."""
    return array.tolist()


def same_ids(left: Ids, right: Ids) -> bool:
    """Whether two id arrays hold equal ids of equal types; 1, 1.0 and True differ."""
    mine, theirs = elements(left), elements(right)
    return mine == theirs and list(map(type, mine)) == list(map(type, theirs))


def sorted_if_possible(values: list[Any]) -> list[Any]:
    """Return values sorted, or in order of appearance if they cannot be compared."""
    try:
        return sorted(values)
    except TypeError:
        return values


def row_numbers_first(values: list[Hashable]) -> list[Hashable]:
    """Return ids sorted if they are exactly the row numbers 0, 1, …, n - 1, else in order of appearance."""
    if not all(type(value) in (int, float) for value in values):
        return values
    ordered = sorted_if_possible(values)
    return ordered if ordered == list(range(len(values))) else values


def plain_labels(values: list[Any]) -> list[Any]:
    """Return label values in their intended type: whole floats as integers, 0 next to 0.5 as 0.0."""
    floats = [value for value in values if isinstance(value, float)]
    if any(np.isinf(floats)):
        raise InputError("Expected finite labels, got inf. Use None or NaN for a missing label.")
    if all(value.is_integer() for value in floats):
        return [int(value) if isinstance(value, float) else value for value in values]
    if all(type(value) in (int, float) for value in values):
        return [float(value) for value in values]
    return values


def show(values: Iterable[Any], limit: int = 5) -> str:
    """Return the first values as text for a message."""
    listed = list(values)
    shown = ", ".join(map(_short, listed[:limit]))
    return shown if len(listed) <= limit else f"{shown}, …"


def _short(value: Any) -> str:
    """Return a value as text of bounded length."""
    text = repr(value[:_LONGEST_SHOWN]) if isinstance(value, str) else repr(value)
    return text[:_LONGEST_SHOWN] + ("…" if len(text) > _LONGEST_SHOWN else "")


def closest(value: Any, known: list[Any]) -> str:
    """Say for a message which known values are most similar to one that is not known."""
    by_text = {str(each): each for each in known}
    near = [by_text[text] for text in get_close_matches(str(value), by_text)]
    return f"The closest are {show(near)}." if near else f"There are {show(known, 20)}."


def _as_list(values: Any) -> list[Any]:
    """Return the Python values of a list, a series of any dataframe library or any other iterable."""
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(values, method):
            return getattr(values, method)()
    return list(values)


def _factorize_numbers(column: Ids) -> Factor:
    """Encode an array of numbers by sorting it; only NaN is missing."""
    distinct, first, codes = np.unique(column, return_index=True, return_inverse=True)
    first = first[distinct == distinct]  # NaN comes last
    by_appearance = np.argsort(first)
    rank = np.full(len(distinct), -1, dtype=np.int32)
    rank[by_appearance] = np.arange(len(first), dtype=np.int32)
    return Factor(rank[codes], distinct[by_appearance].tolist())


def _factorize_objects(column: list[Any], role: str, width: int) -> tuple[Codes, list[Hashable]]:
    """Encode a list of hashable values with a dictionary."""
    try:
        position = {value: code for code, value in enumerate(dict.fromkeys(column))}
    except TypeError:
        _refuse_unhashable(column, role, width)
        raise
    return np.fromiter(map(position.__getitem__, column), np.int32, len(column)), list(position)


def _refuse_unhashable(column: list[Any], role: str, width: int) -> None:
    """Raise an error about the first value that cannot be a dictionary key."""
    for place, value in enumerate(column):
        try:
            hash(value)  # isinstance(value, Hashable) is true of a tuple that holds a list
        except TypeError:
            raise TypeError(
                f"Expected a hashable {role} (a number, string or tuple), got the {type(value).__name__} "
                f"{value!r} in row {place // width} (counting from 0). Turn it into a string or a tuple."
            ) from None


def _without_missing(codes: Codes, distinct: list[Hashable], missing: Any) -> Factor:
    """Give missing values the code -1 and remove them from the distinct values."""
    present = [not _is_missing(value) for value in distinct]
    if missing is not None:
        present = [here and not _is_same(value, missing) for here, value in zip(present, distinct, strict=True)]
    renumbered = np.where(present, np.cumsum(present) - 1, -1).astype(np.int32)
    values = [v.item() if isinstance(v, _NUMPY_SCALARS) else v for v in compress(distinct, present)]
    return Factor(renumbered[codes], values)


def _is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT, NA or a blank string."""
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


def _reject_bools_among_numbers(values: Iterable[Any], where: str) -> None:
    """Refuse True next to 1: they are equal in Python, but not to a reader."""
    if set(map(type, values)).isdisjoint({bool, np.bool_}):
        return
    number = next((value for value in values if _is_number(type(value)) and value == value), None)
    if number is not None:
        raise InputError(
            f"{where} must hold either booleans or numbers, got both (a boolean and {number!r}): "
            "True and 1 would become one. Convert all of them to one type."
        )


def _is_number(kind: type) -> bool:
    """Whether a type is a number and not a boolean."""
    return issubclass(kind, (int, float, np.number)) and not issubclass(kind, bool)
