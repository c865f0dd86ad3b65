"""Checks of the arguments of simulated annotators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.errors import InputError
from whoknows.data.vocabulary import factorize, show, sorted_if_possible, tight_array

Labels = NDArray[Any]
Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def stream(kind: str, random_state: Any) -> np.random.Generator:
    """Return a generator for one kind of annotator: with one seed, two kinds must err on different items."""
    seed = seed_of(random_state)
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(None if seed is None else [seed, *kind.encode()])


def seed_of(random_state: Any) -> int | np.random.Generator | None:
    """Return the seed of a numpy generator; a RandomState, as in scikit-learn, draws one."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise InputError(
            f"random_state must be an integer of 0 or more, a Generator, a RandomState or None; got "
            f"{random_state!r}."
        )
    return int(random_state)


def classes_of(z: Any) -> tuple[Labels, Codes]:
    """Return the sorted classes, and the code of each item's true class."""
    truth = factorize(z, "z")
    missing = np.flatnonzero(truth.codes < 0)
    if missing.size:
        raise InputError(
            f"Expected the true label of every item in z, got none in row {missing[0]} "
            f"(counting from 0; {missing.size} in total). Leave such items out."
        )
    values = sorted_if_possible(truth.values)
    if len(values) < 2:
        raise InputError(f"Expected two classes or more in z, got {show(values) or 'no items'}.")
    place = {value: code for code, value in enumerate(values)}
    return tight_array(values), np.array([place[value] for value in truth.values])[truth.codes]


def finite_numbers(values: Any, name: str) -> Floats:
    """Return a list of finite numbers, one per item or annotator."""
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InputError(
            f"{name} must be a list of finite numbers, got "
            f"{'NaN or inf in it' if numbers.ndim == 1 else f'an array of shape {numbers.shape}'}."
        )
    return numbers


def one_each(values: Any, name: str) -> Floats:
    """Return one finite number per annotator, for one annotator or more."""
    numbers = finite_numbers(values, name)
    if not len(numbers):
        raise InputError(f"{name} must hold a number for each annotator, got none.")
    return numbers


def refuse_unless_share(share: Any, name: str) -> None:
    """Refuse a probability or a share outside of 0 to 1."""
    try:
        share = np.asarray(share, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be between 0 and 1; got {share!r}.") from None
    bad = share[~((share >= 0) & (share <= 1))]
    if bad.size:
        raise InputError(f"{name} must be between 0 and 1; got {bad[0]:g}.")


def refuse_unless_count(count: Any, name: str) -> None:
    """Refuse a count that is not an integer of at least 1."""
    if not isinstance(count, (int, np.integer)) or count < 1:
        raise InputError(f"{name} must be an integer of at least 1; got {count!r}.")
