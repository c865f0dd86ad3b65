"""What a user asks of `suggest`, checked: how many labels, what they cost, by whom."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements, make_vocabulary, show

Rows = NDArray[np.intp]


def check_count(n: Any) -> int:
    """Return how many labels to ask for."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise InputError(f"n must be a whole number of 1 or more, the labels to ask for; got {n!r}.")
    return int(n)


def check_gain(min_gain: Any) -> float:
    """Return the bits per cost below which nothing is asked."""
    if not _is_number(min_gain) or not 0 <= min_gain < np.inf:
        raise InputError(
            f"min_gain must be a number of 0 or more, in bits per cost; got {min_gain!r}. Bits of one label "
            "are at most log2 of the number of classes."
        )
    return float(min_gain)


def check_costs(costs: Any, known: list[Any], asked: Rows) -> Array:
    """Return what those who may be asked cost: (n_asked,)."""
    if costs is None:
        return np.ones(len(asked))
    by_name = _costs_by_name(costs, known)
    names = [known[t] for t in asked]
    missing = [name for name in names if name not in by_name]
    if missing:
        raise InputError(
            f"costs must have everyone who may be asked; got nothing for {show(missing)}. "
            "Add what they cost, or say with annotators= who may be asked."
        )
    for name in names:
        if not _is_number(by_name[name]) or not 0 < by_name[name] < np.inf:
            raise InputError(
                f"costs must be finite numbers above 0; got {by_name[name]!r} for annotator {name!r}. "
                "To leave someone out, say with annotators= who may be asked."
            )
    return np.array([by_name[name] for name in names], dtype=float)


def _costs_by_name(costs: Any, known: list[Any]) -> dict[Any, Any]:
    """Costs as a mapping; bare numbers are in the order of the annotators of the fit."""
    if isinstance(costs, Mapping) or (hasattr(costs, "to_dict") and hasattr(costs, "index")):
        return dict(costs.items())
    if isinstance(costs, str) or np.ndim(costs) != 1 or len(costs) != len(known):
        got = repr(costs) if np.ndim(costs) == 0 else f"an array of shape {np.shape(costs)}"
        raise InputError(
            f"costs must map annotators to costs, such as {{{known[0]!r}: 1.5}}, or be {len(known)} numbers "
            f"in the order of annotators_; got {got}."
        )
    return dict(zip(known, np.asarray(costs).tolist(), strict=True))


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real)


def positions(annotators: Any, known: Ids) -> Rows:
    """Positions among ``known`` of those who may be asked, in that order: (n_asked,)."""
    if annotators is None:
        return np.arange(len(known))
    names = elements(known)
    wanted = elements(make_vocabulary(annotators, "annotators="))
    if not wanted:
        raise InputError("annotators= must name someone who may be asked; got nobody. Leave it out for all.")
    for name in wanted:
        if name not in names:
            raise InputError(f"annotators= must be annotators of the fit; got {name!r}. {_hint(name, names)}")
    return np.sort([names.index(name) for name in wanted])


def _hint(name: Any, names: list[Any]) -> str:
    by_text = {str(known): known for known in names}
    near = [by_text[text] for text in get_close_matches(str(name), by_text)]
    return f"The nearest: {show(near)}." if near else f"There are {show(names)}."
