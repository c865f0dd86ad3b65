"""Values as JSON knows them: Python numbers, text, lists and dicts; what is not a number is None."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isfinite
from typing import Any

import numpy as np

Facts = dict[str, Any]
Table = dict[str, list[Any]]


def plain(value: Any) -> Any:
    """Return the same value for JSON; floats keep six digits.

    >>> import numpy as np
    >>> plain({"a": np.array([1.0, np.nan]), "b": (np.int64(2), 0.1 + 0.2)})
    {'a': [1.0, None], 'b': [2, 0.3]}
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def names(ids: Iterable[Any]) -> list[Any]:
    """Ids as JSON knows them: numbers and text as they are, anything else as text.

    >>> names([1, "b", (2, "c")])
    [1, 'b', "(2, 'c')"]
    """
    listed = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return [_name(each.item() if isinstance(each, np.generic) else each) for each in listed]


def _name(value: Any) -> Any:
    """Id as it is, to its last digit: rounded, two could become one."""
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str)) else str(value)


# --- in a sentence ----------------------------------------------------------------------------------


def thousands(n: int) -> str:
    """Return a whole number with its thousands set apart.

    >>> thousands(1234567)
    '1 234 567'
    """
    return f"{n:,}".replace(",", " ")


def count(n: int, noun: str) -> str:
    """Say how many.

    >>> count(1, "item"), count(20000, "item")
    ('1 item', '20 000 items')
    """
    return f"{thousands(n)} {noun}{'' if n == 1 else 's'}"


def called(annotator: Any) -> str:
    """Name an annotator; a number alone would say too little.

    >>> called("anna"), called(7)
    ('anna', 'annotator 7')
    """
    return annotator if isinstance(annotator, str) else f"annotator {annotator}"


def item_called(item: Any) -> str:
    """Name an item; an id that says so already needs no more words.

    >>> item_called("item032"), item_called(7)
    ('item032', 'item 7')
    """
    return str(item) if str(item).lower().startswith("item") else f"item {item}"


def is_of_texts(feature: str) -> bool:
    """Whether a feature is a direction in which texts vary: its name says nothing to a reader.

    >>> is_of_texts("text_7"), is_of_texts("text length")
    (True, False)
    """
    return re.fullmatch(r"text_\d+", feature) is not None


def digits(value: float) -> str:
    """Three digits, without an exponent where that can be read.

    >>> digits(0.01234), digits(1339.7), digits(2.5e9)
    ('0.0123', '1340', '2.5e+09')
    """
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"
