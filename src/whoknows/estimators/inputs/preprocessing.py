"""What a fit takes from all items, labelled or not, before it looks at a label: their scale and a map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from whoknows._array import Array, Mask, like, namespace, with_constant
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.estimators.inputs.resolve import resolve_map
from whoknows.model.distances import enough_of
from whoknows.model.maps import Features

ALIKE = 5.0  # ratio of the ninth to the first tenth of features' ranges, up to which they share one unit
LONG_TAIL = 1.0  # skewness; of an exponential distribution it is 2, of a symmetric one 0


@dataclass(frozen=True)
class Scale:
    """Brings columns to mean 0 and variance 1, of some the square root first.

    Attributes
    ----------
    roots : (D,)
        Columns whose square root is taken.
    mean, width : (D,)
        What is taken from them then, and what the rest is divided by: 0 and 1 where they are left alone.
    """

    roots: Mask
    mean: Array
    width: Array

    @classmethod
    def of_items(cls, X: Array, standardize: bool | str) -> Scale:
        """Learn from X (n_items, D), as the estimators' ``standardize`` says."""
        if standardize not in (True, False, "roots", "units"):
            raise InputError(f"standardize must be True, False, 'roots' or 'units'; got {standardize!r}.")
        roots, one_unit = np.zeros(X.shape[1], dtype=bool), False
        if standardize in ("roots", "units"):
            roots, one_unit = skewed_amounts(X), share_one_unit(X)
            roots = all_or_none(roots) if one_unit else roots
        if not standardize or (standardize == "units" and one_unit):
            return cls(roots, np.zeros(X.shape[1]), np.ones(X.shape[1]))
        return cls(roots, *mean_and_width(with_roots(X, roots)))

    def transform(self, X: Array) -> Array:
        """X in units the graph can measure distances in, of the kind and type X has."""
        return (with_roots(X, self.roots) - like(self.mean, X)) / like(self.width, X)


@dataclass(frozen=True)
class TransformedRows:
    """Rows made of other rows when they are taken, so that memory holds what is at work."""

    X: Any
    function: Callable[[Array], Array]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.X), int(self[:1].shape[1])

    @property
    def is_cuda(self) -> bool:
        """Whether rows, once taken, are on a GPU."""
        return getattr(self[:1], "is_cuda", False)

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> Array:
        return self.function(self.X[rows])


@dataclass(frozen=True)
class Preprocessing:
    """Items as a model sees them.

    Attributes
    ----------
    scale : Scale
        Brings columns to units the graph can measure distances in.
    features : Features
        The map, learnt from the scaled items.
    directions : int
        How many leading features expertise may depend on.
    seed : int
        For whatever else draws from the items.
    of_annotators : Features, optional
        What expertise depends on in place of those.
    """

    scale: Scale
    features: Features
    directions: int
    seed: int
    of_annotators: Features | None = None

    @classmethod
    def of_items(cls, settings: Any, X: Array, directions: int, sample: Array | None = None) -> Preprocessing:
        """Learn scale and map from checked X (n_items, D), with an estimator's settings.

        All but a map that is made of a graph is learnt from the ``sample``, at most `ENOUGH` of the rows;
        None draws it.
        """
        seed = int(check_random_state(settings.random_state).randint(2**31 - 1))
        sample = enough_of(X, seed) if sample is None else sample
        scale = Scale.of_items(sample, settings.standardize)
        everything = None if len(sample) == len(X) else TransformedRows(X, scale.transform)
        features = resolve_map("map", settings.map).prepare(
            scale.transform(sample), seed, directions, everything
        )
        return cls(scale, features, directions, seed).for_annotators(settings.annotator_map, X, sample)

    def for_annotators(self, choice: Any, X: Array, sample: Array) -> Preprocessing:
        """Return the same with expertise that sees x through a map of its own, or not where that is None."""
        if choice is None:
            return self
        everything = None if len(sample) == len(X) else TransformedRows(X, self.scale.transform)
        map = resolve_map("annotator_map", choice)
        return replace(
            self, of_annotators=map.prepare(self.scale.transform(sample), self.seed, None, everything)
        )

    @property
    def places_new(self) -> bool:
        """Whether items that were not seen can be placed, too."""
        return self.features.places_new and (self.of_annotators is None or self.of_annotators.places_new)

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return len(self.scale.mean)

    @property
    def roots(self) -> Mask:
        """Columns whose square root is taken first: (D,)."""
        return self.scale.roots

    def scaled(self, X: Array) -> Array:
        """X in units the graph can measure distances in: an array of doubles, or a tensor of its own type."""
        return self.scale.transform(np.asarray(X, dtype=float) if namespace(X) is np else X)

    def view(self, X: Array) -> Array:
        """What the truth sees of checked X; the constant last."""
        return with_constant(self.features.transform(self.scaled(X)))

    def views(self, X: Array) -> tuple[Array, Array]:
        """What the truth sees of checked X, and what expertise may depend on; constants last."""
        X_truth = self.view(X)
        return X_truth, self.view_of_annotators(X, X_truth)

    def view_of_annotators(self, X: Array, X_truth: Array) -> Array:
        """Features of expertise, the constant last; ``X_truth`` are those of the truth for the same items."""
        if self.of_annotators is None:
            return with_constant(X_truth[:, :-1][:, : self.directions])
        return with_constant(self.of_annotators.transform(self.scaled(X)))

    def to_input_units(self, slopes: Array, intercepts: Array) -> tuple[Array, Array]:
        """Turn coefficients of the scaled x into those of the user's x (no roots taken)."""
        slopes = slopes / self.scale.width
        return slopes, intercepts - slopes @ self.scale.mean


def mean_and_width(X: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column; a width of 1 where it is but rounding: two (D,)."""
    mean = X.mean(axis=0)
    width = np.sqrt(((X - mean) ** 2).mean(axis=0))
    varies = width > len(X) * np.finfo(float).eps * np.abs(mean)
    return mean, np.where(varies, width, 1.0)


def skewed_amounts(X: Array) -> Mask:
    """Which columns are amounts with a long tail: never below zero, and of skewness above one: (D,)."""
    centred = X - X.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    skewness = (centred**3).mean(axis=0) / np.where(spread > 0, spread, 1.0) ** 3
    return np.asarray((X.min(axis=0) >= 0) & (skewness > LONG_TAIL))


def all_or_none(roots: Mask) -> Mask:
    """Return what most columns are, for all: of columns in one unit none is changed alone."""
    return np.full(len(roots), roots.mean() > 0.5)


def share_one_unit(X: Array) -> bool:
    """Whether features have ranges alike, as pixels and embeddings do: then raw distances mean something."""
    ranges = np.ptp(X, axis=0)
    ranges = ranges[ranges > 0]
    return len(ranges) > 0 and bool(np.quantile(ranges, 0.9) <= ALIKE * np.quantile(ranges, 0.1))


def with_roots(X: Array, roots: Mask) -> Array:
    """X with the square root of some columns; below zero, where the fit saw nothing, zero."""
    if not roots.any():
        return X
    xp = namespace(X)
    return xp.where(like(roots, X) > 0, xp.sqrt(X.clip(min=0.0)), X)


def silence(n_items: int) -> Annotations:
    """Return annotations in which nobody says anything."""
    none = np.zeros(0, dtype=np.int32)
    return Annotations(none, none, none, np.arange(n_items), np.arange(0), np.arange(0.0))
