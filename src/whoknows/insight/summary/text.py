"""Values for JSON and numbers for sentences: Python numbers, text, lists and dicts; NaN becomes None."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import floor, isfinite
from typing import Any

import numpy as np

from whoknows._array import Array

Facts = dict[str, Any]
Table = dict[str, list[Any]]

MANY_NUMBERED = 50  # features with names such as f0, f1, …: an embedding


# --- for JSON ---------------------------------------------------------------------------------------


def json_value(value: Any) -> Any:
    """Return the same value for JSON; floats keep six digits.

    >>> import numpy as np
    >>> json_value({"a": np.array([1.0, np.nan]), "b": (np.int64(2), 0.1 + 0.2)})
    {'a': [1.0, None], 'b': [2, 0.3]}
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return json_value(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): json_value(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def json_ids(ids: Iterable[Any]) -> list[Any]:
    """Ids for JSON: numbers to their last digit, since rounding could make two equal; the rest as text.

    >>> json_ids([1, "b", (2, "c")])
    [1, 'b', "(2, 'c')"]
    """
    listed = [each.item() if isinstance(each, np.generic) else each for each in ids]
    return [_json_id(each) for each in listed]


def _json_id(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def probabilities(values: Array) -> list[float | None]:
    """Six decimals; None for NaN."""
    return [value if value == value else None for value in np.round(values, 6).tolist()]


def amounts(values: Array, digits: int = 12) -> list[float | None]:
    """Significant digits; twelve drop rounding errors of sums at any magnitude. None for NaN."""
    return [float(f"{value:.{digits}g}") if value == value else None for value in values.tolist()]


def class_columns(classes: list[Any]) -> list[str]:
    """Names of the columns of probabilities; 1 and "1" are distinguished."""
    columns = [f"p_{name}" for name in classes]
    return columns if len(set(columns)) == len(columns) else [f"p_{name!r}" for name in classes]


# --- for sentences ----------------------------------------------------------------------------------


def thousands(n: int) -> str:
    """Return an integer with spaces between thousands.

    >>> thousands(1234567)
    '1 234 567'
    """
    return f"{n:,}".replace(",", " ")


def count(n: int, noun: str) -> str:
    """Return a count with its noun.

    >>> count(1, "item"), count(20000, "item")
    ('1 item', '20 000 items')
    """
    return f"{thousands(n)} {noun}{'' if n == 1 else 's'}"


def annotator_name(annotator: Any) -> str:
    """Name of an annotator in a sentence.

    >>> annotator_name("anna"), annotator_name(7)
    ('anna', 'annotator 7')
    """
    return annotator if isinstance(annotator, str) else f"annotator {annotator}"


def item_name(item: Any) -> str:
    """Name of an item in a sentence.

    >>> item_name("tumour 32"), item_name(7), item_name("7")
    ('tumour 32', 'item 7', 'item 7')
    """
    return item if isinstance(item, str) and not item.isdigit() else f"item {item}"


def opaque_names(features: Sequence[str]) -> set[str]:
    """Names that mean nothing to a reader: of features of texts, and of many that are only numbered.

    >>> sorted(opaque_names(["text_7", "text length", "x1", "x2"]))
    ['text_7']
    >>> len(opaque_names(["age", *(f"f{j}" for j in range(384))]))
    384
    """
    stem = {name: name.rstrip("0123456789") for name in features}
    sizes = Counter(stem[name] for name in features if stem[name] != name)
    return {name for name in features if stem[name] == "text_" or sizes[stem[name]] >= MANY_NUMBERED}


def copying_finding(facts: Facts) -> str:
    """Say how many pairs of annotators agree more than expected, and name the first."""
    n, tested = facts["n_suspects"], f"{count(facts['n_pairs'], 'pair')} of annotators"
    if not n:
        return f"None of {tested} agrees more than the model expects."
    first = " and ".join(annotator_name(facts["suspects"][side][0]) for side in ("first", "second"))
    agree, which = ("agrees", ": ") if n == 1 else ("agree", ", above all ")
    return f"{thousands(n)} of {tested} {agree} more than the model expects{which}{first}."


def region_name(region: Facts) -> str:
    """Say where an annotator is strong or weak: by words, by conditions on features, or by typical items."""
    if region["words"]:
        return f"on texts with the words {', '.join(region['words'])}"
    if region["where"]:
        return f"where {' and '.join(region['where'])}"
    return f"on items such as {', '.join(str(case['item']) for case in region['examples'])}"


def percent(share: float, places: int = 0) -> str:
    """Share as a percentage: of four decimals, rounded half up, as scripts do that know four decimals.

    >>> percent(0.705), percent(0.70496), percent(0.70494), percent(0.12345, 1)
    ('71%', '71%', '70%', '12.4%')
    """
    scale = 10**places
    return f"{floor(100 * scale * round(share, 4) + 0.5) / scale:.{places}f}%"


def three_digits(value: float) -> str:
    """Three significant digits, without an exponent where that is readable.

    >>> three_digits(0.01234), three_digits(1339.7), three_digits(2.5e9)
    ('0.0123', '1340', '2.5e+09')
    """
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"
