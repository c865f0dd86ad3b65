"""Ids of items in two files: 1 in one and "1" or "01" in the other are the same item."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

_NUMBER = re.compile(r"(-?\d{1,18})(?:\.0+)?", re.ASCII)


def match_ids(wanted: Iterable[Any], known: Iterable[Any]) -> tuple[dict[Hashable, Hashable], str]:
    """Which known id each wanted one stands for, and how that was found.

    Ids are compared as they are, as text without the spaces around it, and as whole numbers (those that are
    none, as text). A file is read in one way: the one that finds most, and of several the plainest. A way in
    which two ids of one side would be the same is taken only if no other finds any, to be refused.

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
    >>> match_ids(["01", "10"], [1, 10])
    ({'01': 1, '10': 10}, 'as numbers')
    """
    wanted, known = list(wanted), list(known)
    best: tuple[dict[Hashable, Hashable], str] = {}, ""
    refused = ""
    for how, key in _WAYS.items():
        mine, theirs = _by_key(wanted, key), _by_key(known, key)
        shared = [name for name in mine if name in theirs]
        several = next((ids[name] for name in shared for ids in (mine, theirs) if len(ids[name]) > 1), None)
        if several:
            refused = f"The ids {several[0]!r} and {several[1]!r} are the same {how}. Rename one."
        elif len(shared) > len(best[0]):
            best = {mine[name][0]: theirs[name][0] for name in shared}, how
    if refused and not best[0]:
        raise ValueError(refused)
    return best


def _by_key(ids: list[Any], key: Callable[[Any], Any]) -> dict[Hashable, list[Hashable]]:
    """Ids by what they are compared by."""
    groups: dict[Hashable, list[Hashable]] = {}
    for name in ids:
        groups.setdefault(key(name), []).append(name)
    return groups


def _number(name: Any) -> int | str:
    """Id as a whole number, as text if it is none."""
    text = str(name).strip()
    match = _NUMBER.fullmatch(text)
    return int(match[1]) if match else text


_WAYS: Mapping[str, Callable[[Any], Any]] = {
    "": lambda name: name,
    "as text": lambda name: str(name).strip(),
    "as numbers": _number,
}
