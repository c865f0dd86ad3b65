"""Ids of items in two files: 1 in one and "1" or "01" in the other are the same item."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Literal

import numpy as np

from whoknows._array import Rows
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements, places

How = Literal["", "as text", "as numbers"]

_NUMBER = re.compile(r"(-?\d{1,18})(?:\.0+)?", re.ASCII)


def match_ids(wanted: Iterable[Any], known: Any) -> tuple[Rows, How]:
    """Return the position of each wanted id among the known ones, and how ids were compared.

    Ids are compared as they are, as text without surrounding spaces, and as integers (those that are no
    integers, as text). One comparison is used for all: the one that matches most ids, or the first of those.
    A comparison that makes two ids of one side equal is not used; if no other matches any, it is an error.

    Parameters
    ----------
    wanted : iterable of ids, distinct
    known : array, Arrow column or iterable of ids, distinct
        May be millions: integers are searched by sorting, an Arrow column is read chunk by chunk.

    Returns
    -------
    rows : (n_wanted,)
        -1 where there is no match.
    how : {"", "as text", "as numbers"}

    Examples
    --------
    >>> match_ids([1, 2], [2, 3])
    (array([-1,  0]), '')
    >>> match_ids([1, 2], ["2", "3"])
    (array([-1,  0]), 'as text')
    >>> match_ids(["01", "10"], [1, 10])
    (array([0, 1]), 'as numbers')
    """
    wanted = list(wanted)
    best: tuple[Rows, How] = np.full(len(wanted), -1), ""
    rows, n_best, refused = best[0], 0, None
    for how in _KEYS:
        lost = [name for name, row in zip(wanted, rows.tolist(), strict=True) if row < 0]
        if not any(isinstance(_number(name), int) for name in lost) and how == "as numbers":
            break  # those not found as text are no integers: nothing more can be found
        rows, equal = _search(wanted, known, how)
        equal = equal or _first_equal(wanted, rows)
        n_found = int((rows >= 0).sum())
        if equal is not None:
            refused = InputError(f"The ids {equal[0]!r} and {equal[1]!r} are the same {how}. Rename one.")
        elif n_found > n_best:
            best, n_best = (rows, how), n_found
        if n_best == len(wanted):
            break
    if refused is not None and not n_best:
        raise refused
    return best


def find_ids(wanted: Iterable[Any], known: Any) -> Rows:
    """Return the position of each wanted id, repeated or not, among known integers or texts; -1 if none."""
    numbers = isinstance(known, np.ndarray) and known.dtype == np.int64
    return _search(list(wanted), known, "as numbers" if numbers else "as text")[0]


def _search(wanted: list[Any], known: Any, how: How) -> tuple[Rows, tuple[Any, Any] | None]:
    """Return the position of each wanted id, and two known ids that are equal if compared this way."""
    key = _KEYS[how]
    keys = [key(name) for name in wanted]
    if isinstance(known, np.ndarray) and known.dtype == np.int64 and len(known):
        return _search_integers(keys, known, how), None
    places_of: dict[Hashable, tuple[int, Any]] = dict.fromkeys(keys, (-1, None))
    equal = None
    for row, name in enumerate(_each(known)):
        found = places_of.get(key(name))
        if found is not None:
            if found[0] < 0:
                places_of[key(name)] = row, name
            elif equal is None:
                equal = found[1], name
    return np.array([places_of[each][0] for each in keys], dtype=np.intp), equal


def _search_integers(keys: list[Any], known: Any, how: How) -> Rows:
    """Return the position of each key in an int64 array; text matches only if it is compared as text."""
    numbers = [_integer(key) if how or not isinstance(key, str) else None for key in keys]
    rows = places(np.array([number or 0 for number in numbers], dtype=np.int64), known)
    return np.where([number is None for number in numbers], -1, rows).astype(np.intp)


def _integer(key: Any) -> int | None:
    """Return a key as an integer of 64 bits, None if it is none; of texts, only as Python writes integers."""
    try:
        number = int(key)
    except (TypeError, ValueError, OverflowError):
        return None
    same = str(number) == key if isinstance(key, str) else number == key
    return number if same and -(2**63) <= number < 2**63 else None


def _each(known: Any) -> Iterable[Any]:
    """Iterate over ids; those of an Arrow column chunk by chunk."""
    if hasattr(known, "chunks"):
        return (name for chunk in known.chunks for name in chunk.to_pylist())
    return elements(known) if isinstance(known, np.ndarray) else known


def _first_equal(wanted: list[Any], rows: Rows) -> tuple[Any, Any] | None:
    """Return two wanted ids that were found in the same place."""
    first: dict[int, Any] = {}
    for name, row in zip(wanted, rows.tolist(), strict=True):
        if row >= 0 and row in first:
            return first[row], name
        first[row] = name
    return None


def _number(name: Any) -> int | str:
    """Return an id as an integer, as text if it is none."""
    text = str(name).strip()
    match = _NUMBER.fullmatch(text)
    return int(match[1]) if match else text


_KEYS: Mapping[How, Callable[[Any], Any]] = {
    "": lambda name: name,
    "as text": lambda name: str(name).strip(),
    "as numbers": _number,
}
