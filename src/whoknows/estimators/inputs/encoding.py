"""Encoding of X as the user gave it: numbers for the map of expertise, learned without labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from whoknows._array import LARGEST, Array, Mask
from whoknows.estimators.inputs.raw_rows import RawRows, as_floats, as_texts, columns_of, is_texts
from whoknows.io.texts import TextFeatures, leading_directions

MOST_CATEGORIES = 20  # of a column, the most frequent ones; all others are 0 everywhere
DIRECTIONS = 50  # of sparse matrices and texts


@dataclass(frozen=True)
class TableEncoding:
    """Numbers as they are, the median where one is missing; then one column per frequent category.

    Attributes
    ----------
    medians : (n_columns,)
        0 for a column of categories.
    is_number : (n_columns,)
    categories : tuple of n_columns tuples
        Of each column; empty for numbers.
    """

    medians: Array
    is_number: Mask
    categories: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, rows: RawRows) -> TableEncoding:
        """Learn medians and categories."""
        columns = list(columns_of(rows))
        is_number = np.array([column.dtype != object for column in columns])
        medians = np.array([_median(column) if column.dtype != object else 0.0 for column in columns])
        return cls(medians, is_number, tuple(map(_categories, columns)))

    @property
    def n_columns(self) -> int:
        """Columns of X."""
        return len(self.medians)

    def names(self, columns: list[str]) -> list[str]:
        """Names of the features, from those of the columns of X."""
        kinds = zip(columns, self.is_number, self.categories, strict=True)
        named = ([name] if number else [f"{name} = {each}" for each in kind] for name, number, kind in kinds)
        return [name for names in named for name in names]

    def transform(self, rows: RawRows) -> Array:
        """Return floats: (n_items, n_features)."""
        parts = []
        for column, place in zip(columns_of(rows), range(self.n_columns), strict=True):
            if self.is_number[place]:
                numbers = as_floats(column)
                known = np.isfinite(numbers)
                parts.append(np.where(known, numbers, self.medians[place]).clip(-LARGEST, LARGEST)[:, None])
            else:
                parts.append(as_texts(column)[:, None] == np.array(self.categories[place], dtype=object))
        return np.hstack(parts).astype(float)


@dataclass(frozen=True)
class SparseEncoding:
    """Leading right singular vectors of a sparse matrix: (n_features, n_columns)."""

    components: Array

    @classmethod
    def of(cls, rows: RawRows) -> SparseEncoding:
        """Learn the directions."""
        return cls(leading_directions(rows.raw, DIRECTIONS))

    @property
    def n_columns(self) -> int:
        """Columns of X."""
        return self.components.shape[1]

    def names(self, columns: list[str]) -> list[str]:
        """Names of the features, which are directions in the space of the columns."""
        return [f"direction {place}" for place in range(len(self.components))]

    def transform(self, rows: RawRows) -> Array:
        """Return floats: (n_items, n_features)."""
        return np.asarray(rows.raw @ self.components.T)


@dataclass(frozen=True)
class TextEncoding:
    """TF-IDF of words, projected onto a few directions."""

    features: TextFeatures

    n_columns = 1

    @classmethod
    def of(cls, rows: RawRows) -> TextEncoding:
        """Learn words and directions."""
        return cls(TextFeatures.of(_by_row(rows), DIRECTIONS))

    def names(self, columns: list[str]) -> list[str]:
        """Names of the features, as `TextFeatures` has them."""
        return [f"text_{place}" for place in range(len(self.features.components))]

    def transform(self, rows: RawRows) -> Array:
        """Return floats: (n_items, n_features)."""
        return np.asarray(self.features.transform(_by_row(rows)).X, dtype=float)


Encoding = TableEncoding | SparseEncoding | TextEncoding


def fit_encoding(rows: RawRows) -> Encoding:
    """Return the encoding that suits the container, fitted to rows."""
    if sp.issparse(rows.raw):
        return SparseEncoding.of(rows)
    return TextEncoding.of(rows) if is_texts(rows.raw) else TableEncoding.of(rows)


def _median(column: Array) -> float:
    known = column[np.isfinite(column)]
    return float(np.median(known)) if len(known) else 0.0


def _categories(column: Any) -> tuple[str, ...]:
    if column.dtype != object:
        return ()
    counts = Counter(text for text in column if text is not None)
    frequent = sorted(counts, key=lambda text: (-counts[text], text))  # whatever the order of the rows
    return tuple(frequent[:MOST_CATEGORIES])


def _by_row(rows: RawRows) -> dict[Any, str]:
    return dict(enumerate(map(str, rows.raw)))
