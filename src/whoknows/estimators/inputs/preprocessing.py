"""Preprocessing: the scale of the columns of X and the map, learned from all items, labelled or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from whoknows._array import Array, Mask, like, namespace, with_constant
from whoknows.data.errors import InputError
from whoknows.estimators.inputs.resolve import resolve_map
from whoknows.estimators.inputs.rows import TransformedRows
from whoknows.fit.items import Items
from whoknows.model.distances import enough_of
from whoknows.model.maps import LinearFeatures, MapFeatures, MapItems, principal_axes

SIMILAR = 5.0  # largest ratio of the 90 % to the 10 % quantile of the columns' ranges with one common unit
MOST_AXES = 128  # that distances are measured in: the others of an embedding are mostly noise
LONG_TAIL = 1.0  # skewness: 2 for an exponential distribution, 0 for a symmetric one


@dataclass(frozen=True)
class Scale:
    """Square roots of some columns, then (x − mean) / width, then principal axes.

    Attributes
    ----------
    roots : (D,)
        Columns whose square root is taken.
    mean, width : (D,)
        0 and 1 for columns that are left as they are.
    axes : (D, n_axes), optional
        Leading principal axes of the items; None leaves the columns.
    """

    roots: Mask
    mean: Array
    width: Array
    axes: Array | None = None


@dataclass(frozen=True)
class Preprocessing:
    """From X to the features of the truth and of the annotators' expertise.

    Attributes
    ----------
    scale : Scale
        Brings columns to units in which a graph can measure distances.
    features : MapFeatures
        The map, fitted to the scaled items.
    directions : int
        Number of leading features that expertise depends on.
    seed : int
        Random seed for graphs.
    of_annotators : MapFeatures, optional
        Features of expertise, if it has a map of its own.
    """

    scale: Scale
    features: MapFeatures
    directions: int
    seed: int
    of_annotators: MapFeatures | None = None

    @property
    def places_new(self) -> bool:
        """Whether items that were not in the fit have features, too."""
        return self.features.places_new and (self.of_annotators is None or self.of_annotators.places_new)

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return len(self.scale.mean)

    @property
    def is_linear(self) -> bool:
        """Whether features are linear in x, so that coefficients have its units."""
        return isinstance(self.features, LinearFeatures) and not self.scale.roots.any()

    def encoded(self, X: Any) -> Array:
        """X as numbers, before they are scaled."""
        return np.asarray(X, dtype=float)

    def encoded_names(self, columns: list[str]) -> list[str]:
        """Names of these numbers, from those of the columns of X."""
        return columns

    def scaled(self, X: Any) -> Array:
        """X with scaled columns: an array of doubles, or a tensor of its own type."""
        return scaled(self.scale, np.asarray(X, dtype=float) if namespace(X) is np else X)

    def truth_features(self, X: Any, labelled: bool = False) -> Array:
        """Features of the truth, the constant last; those of a map ignore whether labels of X are at hand."""
        return with_constant(self.features.transform(self.scaled(X)))

    def annotator_features(self, X: Any, X_truth: Array) -> Array:
        """Features of expertise, the constant last; ``X_truth`` are the truth's features of the same X."""
        if self.of_annotators is None:
            return with_constant(X_truth[:, :-1][:, : self.directions])
        return with_constant(self.of_annotators.transform(self.scaled(X)))

    def raw_rows(self, X: Any) -> Any:
        """X itself, if the features have a variance that depends on it; a map does not need it."""
        return None

    def truth_variance(self, items: Items) -> Array | float:
        """Variance of the truth features themselves: (n_items, n_outputs); those of a map have none."""
        return 0.0

    def to_input_units(self, slopes: Array, intercepts: Array) -> tuple[Array, Array]:
        """Turn coefficients of the scaled x into those of the user's x (without square roots)."""
        slopes = slopes / self.scale.width
        return slopes, intercepts - slopes @ self.scale.mean


def fit_preprocessing(
    settings: Any,
    X: Array,
    directions: int,
    sample: Array | None = None,
    n_labelled: int = 0,
    scale: Scale | None = None,
) -> Preprocessing:
    """Fit scale and map to validated X (n_items, D), with an estimator's settings.

    Everything but a map that is made of a graph is fitted to ``sample``, at most `ENOUGH` of the rows; None
    draws it. ``n_labelled`` as in `MapItems`. ``scale`` is that of another map of the same kind; None fits
    it.
    """
    seed = int(check_random_state(settings.random_state).randint(2**31 - 1))
    sample = enough_of(X, seed) if sample is None else sample
    map = resolve_map("map", settings.map)
    if scale is None:
        scale = fit_scale(sample, settings.standardize, map.measures_distances)
    everything = _scaled_rows(scale, X, sample)
    features = map.prepare(MapItems(scaled(scale, sample), seed, directions, everything, n_labelled))
    found = Preprocessing(scale, features, directions, seed)
    return with_annotator_map(found, settings.annotator_map, X, sample)


def with_annotator_map(known: Preprocessing, choice: Any, X: Array, sample: Array) -> Preprocessing:
    """Return the preprocessing with a map of its own for expertise; as it is if ``choice`` is None."""
    if choice is None:
        return known
    everything, map = _scaled_rows(known.scale, X, sample), resolve_map("annotator_map", choice)
    features = map.prepare(MapItems(scaled(known.scale, sample), known.seed, None, everything))
    return replace(known, of_annotators=features)


def _scaled_rows(scale: Scale, X: Array, sample: Array) -> TransformedRows | None:
    """All rows, scaled when they are taken; None where the sample is all of them."""
    return None if len(sample) == len(X) else TransformedRows(X, lambda rows: scaled(scale, rows))


def fit_scale(X: Array, standardize: bool | str, for_distances: bool = False) -> Scale:
    """Fit the scale to X (n_items, D), as the estimators' ``standardize`` says.

    For a map that measures distances, many columns are reduced to their leading principal axes.
    """
    scale = _scale_of_columns(X, standardize)
    if not for_distances or X.shape[1] <= MOST_AXES:
        return scale
    return replace(scale, axes=principal_axes(scaled(scale, X), MOST_AXES))


def _scale_of_columns(X: Array, standardize: bool | str) -> Scale:
    if standardize not in (True, False, "roots", "units"):
        raise InputError(f"standardize must be True, False, 'roots' or 'units'; got {standardize!r}.")
    roots, one_unit = np.zeros(X.shape[1], dtype=bool), False
    if standardize in ("roots", "units"):
        roots, one_unit = skewed_amounts(X), share_one_unit(X)
        # Columns in one unit are treated alike: all of them, or none.
        roots = np.full(len(roots), roots.mean() > 0.5) if one_unit else roots
    if not standardize or (standardize == "units" and one_unit):
        return Scale(roots, np.zeros(X.shape[1]), np.ones(X.shape[1]))
    return Scale(roots, *mean_and_width(with_roots(X, roots)))


def scaled(scale: Scale, X: Array) -> Array:
    """Scaled columns of X, or their principal axes, of the kind and type X has."""
    columns = with_roots(X, scale.roots) - like(scale.mean, X)
    columns /= like(scale.width, X)  # in place: X may be large
    return columns if scale.axes is None else columns @ like(scale.axes, X)


def mean_and_width(X: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column; 1 where that is mere rounding: two (D,)."""
    mean = X.mean(axis=0)
    width = np.sqrt(((X - mean) ** 2).mean(axis=0))
    varies = width > len(X) * np.finfo(float).eps * np.abs(mean)
    return mean, np.where(varies, width, 1.0)


def skewed_amounts(X: Array) -> Mask:
    """Which columns are amounts with a long tail: never below zero, and of skewness above one: (D,)."""
    amounts = np.asarray(X.min(axis=0) >= 0)
    centred = X[:, amounts] - X[:, amounts].mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    skewness = (centred * centred * centred).mean(axis=0) / np.where(spread > 0, spread, 1.0) ** 3
    amounts[amounts] = skewness > LONG_TAIL
    return amounts


def share_one_unit(X: Array) -> bool:
    """Whether columns have similar ranges, as pixels and embeddings do: then raw distances are meaningful."""
    ranges = np.ptp(X, axis=0)
    ranges = ranges[ranges > 0]
    return len(ranges) > 0 and bool(np.quantile(ranges, 0.9) <= SIMILAR * np.quantile(ranges, 0.1))


def with_roots(X: Array, roots: Mask) -> Array:
    """X with the square root of some columns; 0 where a value is negative (the fit saw none)."""
    if not roots.any():
        return X
    xp = namespace(X)
    return xp.where(like(roots, X) > 0, xp.sqrt(X.clip(min=0.0)), X)
