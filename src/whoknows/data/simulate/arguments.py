"""What the simulated annotators are given: checked, and said in words where it is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.vocabulary import factorize, show, sorted_if_possible, tight_array

Labels = NDArray[Any]
Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def stream(kind: str, random_state: Any) -> np.random.Generator:
    """Random numbers of one kind of annotator: under one seed, two kinds must not err on the same items."""
    seed = seed_of(random_state)
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(None if seed is None else [seed, *kind.encode()])


def seed_of(random_state: Any) -> int | np.random.Generator | None:
    """Return what numpy's generators start from; a RandomState, scikit-learn's, draws a number."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise ValueError(
            f"random_state must be a whole number of 0 or more, a Generator, a RandomState or None; got "
            f"{random_state!r}."
        )
    return int(random_state)


def classes_of(z: Any) -> tuple[Labels, Codes]:
    """Sorted classes, and the code of each item's truth."""
    found = factorize(z, "z")
    missing = np.flatnonzero(found.codes < 0)
    if missing.size:
        raise ValueError(
            f"Expected the truth of every item in z, got none in row {missing[0]} "
            f"(counting from 0; {missing.size} in all). Leave such items out."
        )
    values = sorted_if_possible(found.values)
    if len(values) < 2:
        raise ValueError(f"Expected two classes or more in z, got {show(values) or 'no items'}.")
    place = {value: code for code, value in enumerate(values)}
    return tight_array(values), np.array([place[value] for value in found.values])[found.codes]


def finite_numbers(values: Any, name: str) -> Floats:
    """One finite number an item or annotator."""
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} must be a list of finite numbers, got "
            f"{'NaN or inf in it' if numbers.ndim == 1 else f'an array of shape {numbers.shape}'}."
        )
    return numbers


def one_each(values: Any, name: str) -> Floats:
    """One finite number an annotator, one annotator or more."""
    numbers = finite_numbers(values, name)
    if not len(numbers):
        raise ValueError(f"{name} must hold a number for each annotator, got none.")
    return numbers


def refuse_unless_share(share: Any, name: str) -> None:
    """A probability or a share is between 0 and 1."""
    try:
        share = np.asarray(share, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be between 0 and 1; got {share!r}.") from None
    bad = share[~((share >= 0) & (share <= 1))]
    if bad.size:
        raise ValueError(f"{name} must be between 0 and 1; got {bad[0]:g}.")


def refuse_unless_count(count: Any, name: str) -> None:
    """A count is a whole number of at least 1."""
    if not isinstance(count, (int, np.integer)) or count < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {count!r}.")
