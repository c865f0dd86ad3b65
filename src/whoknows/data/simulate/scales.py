"""Annotators who give a number: a score in steps, or any real value."""

from __future__ import annotations

from typing import Any

import numpy as np

from whoknows.data.simulate.arguments import (
    Codes,
    Floats,
    finite_numbers,
    one_each,
    refuse_unless_count,
    stream,
)


def ordered_scores(z: Any, severity: Any, spread: Any, n_levels: int = 5, random_state: Any = 0) -> Codes:
    """Scores 1, …, n_levels: the truth, off by a severity each, plus noise; rounded and kept in the range.

    y = min(max(round(z + severity_t + spread_t ε), 1), n_levels), with ε ~ N(0, 1).

    Parameters
    ----------
    z : (n_items,)
        The truth on the same scale, whole or not.
    severity : (n_annotators,)
        How many levels above the truth each scores; negative: below.
    spread : (n_annotators,), or (n_items, n_annotators) if it depends on the item
    n_levels : int
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
        Integers.
    """
    refuse_unless_count(n_levels, "n_levels=")
    levels = finite_numbers(z, "z")
    if levels.size and not (levels.min() >= 1 and levels.max() <= n_levels):
        raise ValueError(
            f"Expected a truth between 1 and n_levels={n_levels}, got values from {levels.min():g} "
            f"to {levels.max():g}. Shift it, or pass n_levels=."
        )
    severity = one_each(severity, "severity=")
    noisy = _noisy(levels, severity, spread, stream("ordered_scores", random_state))
    return np.clip(np.rint(noisy), 1, n_levels).astype(np.intp)


def real_values(z: Any, bias: Any, spread: Any, random_state: Any = 0) -> Floats:
    """Numbers: the truth plus a bias and noise, y = z + bias_t + spread_t ε, with ε ~ N(0, 1).

    Parameters
    ----------
    z : (n_items,)
        The truth, numbers.
    bias : (n_annotators,)
    spread : (n_annotators,), or (n_items, n_annotators) if it depends on the item
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
    """
    bias = one_each(bias, "bias=")
    return _noisy(finite_numbers(z, "z"), bias, spread, stream("real_values", random_state))


def _noisy(z: Floats, bias: Floats, spread: Any, rng: np.random.Generator) -> Floats:
    """z + bias_t + spread ε, shape (n_items, n_annotators)."""
    shape = len(z), len(bias)
    spread = np.asarray(spread, dtype=float)
    if spread.shape not in ((), shape[1:], shape) or not (np.isfinite(spread) & (spread >= 0)).all():
        raise ValueError(
            f"spread= must hold one number of at least 0 for each annotator, shape {shape[1:]}, or for each "
            f"item and annotator, shape {shape}; got shape {spread.shape}"
            f"{f' and {spread.min():g} as the smallest' if spread.size else ''}."
        )
    noisy: Floats = z[:, None] + bias + spread * rng.normal(size=shape)
    return noisy
