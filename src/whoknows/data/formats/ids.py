"""Ids of items in two files: 1 in one and "1" or "01" in the other are the same item."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

_NUMBER = re.compile(r"(-?\d{1,18})(?:\.0+)?", re.ASCII)


def match_ids(wanted: Iterable[Any], known: Iterable[Any]) -> tuple[dict[Hashable, Hashable], str]:
    """Which known id each wanted one stands for, and how that was found.

    Ids are compared as they are. Only if no two are equal they are compared as text without the spaces
    around it, and only if that finds none either as whole numbers: a file is read in one way.

    Parameters
    ----------
    wanted, known : ids, distinct

    Returns
    -------
    match : dict from wanted to known
        Without those that stand for none.
    how : {"", "as text", "as numbers"}

    Examples
    --------
    >>> match_ids([1, 2], [2, 3])
    ({2: 2}, '')
    >>> match_ids([1, 2], ["2", "3"])
    ({2: '2'}, 'as text')
    >>> match_ids(["01"], [1, 2])
    ({'01': 1}, 'as numbers')
    """
    wanted, known = list(wanted), list(known)
    for how, key in _WAYS.items():
        mine, theirs = _by_key(wanted, key), _by_key(known, key)
        shared = [name for name in mine if name in theirs]
        for ids in (mine, theirs):
            several = next((ids[name] for name in shared if len(ids[name]) > 1), None)
            if several:
                raise ValueError(f"The ids {several[0]!r} and {several[1]!r} are the same {how}. Rename one.")
        if shared:
            return {mine[name][0]: theirs[name][0] for name in shared}, how
    return {}, ""


def _by_key(ids: list[Any], key: Callable[[Any], Any]) -> dict[Hashable, list[Hashable]]:
    """Ids by what they are compared by; those that have no such thing are left out."""
    groups: dict[Hashable, list[Hashable]] = {}
    for name in ids:
        compared = key(name)
        if compared is not None:
            groups.setdefault(compared, []).append(name)
    return groups


def _number(name: Any) -> int | None:
    """Id as a whole number, None if it is none."""
    match = _NUMBER.fullmatch(str(name).strip())
    return int(match[1]) if match else None


_WAYS: Mapping[str, Callable[[Any], Any]] = {
    "": lambda name: name,
    "as text": lambda name: str(name).strip(),
    "as numbers": _number,
}
