"""What a fit takes from all items, labelled or not, before it looks at a label: their scale and a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_random_state

from whoknows._array import Array, Mask, with_constant
from whoknows.data.annotations import Annotations
from whoknows.estimators.pieces import resolve_map
from whoknows.model.maps import Features

ALIKE = 5.0  # ratio of the ninth to the first tenth of features' ranges, up to which they share one unit
LONG_TAIL = 1.0  # skewness; of an exponential distribution it is 2, of a symmetric one 0


@dataclass(frozen=True)
class Seen:
    """Items as a model sees them.

    Attributes
    ----------
    scaler : StandardScaler
        Brings columns to mean 0 and variance 1, or leaves them.
    roots : (D,)
        Columns whose square root is taken first.
    features : Features
        The map, learnt from the scaled items.
    directions : int
        How many leading features expertise may depend on.
    seed : int
        For whatever else draws from the items.
    """

    scaler: StandardScaler
    roots: Mask
    features: Features
    directions: int
    seed: int

    @classmethod
    def of_items(cls, settings: Any, X: Array, directions: int) -> Seen:
        """Learn scale and map from checked X (n_items, D), with an estimator's settings."""
        seed = int(check_random_state(settings.random_state).randint(2**31 - 1))
        standardize = settings.standardize
        if standardize not in (True, False, "roots", "units"):
            raise ValueError(f"standardize must be True, False, 'roots' or 'units'; got {standardize!r}.")
        one_unit = standardize in ("roots", "units") and share_one_unit(X)
        roots = np.zeros(X.shape[1], dtype=bool)
        if standardize in ("roots", "units"):
            roots = all_or_none(skewed_amounts(X)) if one_unit else skewed_amounts(X)
        X = with_roots(X, roots)
        scale = bool(standardize) and not (standardize == "units" and one_unit)
        scaler = StandardScaler(with_mean=scale, with_std=scale).fit(X)
        features = resolve_map(settings.map).prepare(scaler.transform(X), seed, leading=directions)
        return cls(scaler, roots, features, directions, seed)

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return int(self.scaler.n_features_in_)

    def scaled(self, X: Array) -> Array:
        """X in units the graph can measure distances in."""
        return np.asarray(self.scaler.transform(with_roots(X, self.roots)))

    def views(self, X: Array) -> tuple[Array, Array]:
        """What the truth sees of checked X, and what expertise may depend on; constants last."""
        features = self.features.transform(self.scaled(X))
        return with_constant(features), with_constant(features[:, : self.directions])

    def to_input_units(self, slopes: Array, intercepts: Array) -> tuple[Array, Array]:
        """Turn coefficients of the scaled x into those of the user's x (no roots taken)."""
        if self.scaler.scale_ is None:
            return slopes, intercepts
        slopes = slopes / self.scaler.scale_
        return slopes, intercepts - slopes @ self.scaler.mean_


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
    X = X.copy()
    X[:, roots] = np.sqrt(np.maximum(X[:, roots], 0.0))
    return X


def silence(n_items: int) -> Annotations:
    """Return annotations in which nobody says anything."""
    none = np.zeros(0, dtype=np.int32)
    return Annotations(none, none, none, np.arange(n_items), np.arange(0), np.arange(0.0))
