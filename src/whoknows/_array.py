"""Sums over observed (item, annotator) pairs, the only arrays the models loop over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

LARGEST = 1e150  # feature: models square them and add the squares up


def too_large(X: Array) -> tuple[int, int] | None:
    """Row and column of the first number beyond `LARGEST`; no copy is made where there is none."""
    ends = (float(end.reduce(X, axis=None)) for end in (np.fmin, np.fmax)) if X.size else ()
    if not any(abs(end) > LARGEST for end in ends):
        return None  # NaN is none
    row, column = np.argwhere(np.abs(X) > LARGEST)[0]
    return int(row), int(column)


def pair_products(X: Array, coefficients: Array, rows: NDArray[Any], columns: NDArray[Any]) -> Array:
    """Give x_row · coefficients_column for each observed pair, never the whole table.

    ``X`` is (n_items, n_features), ``coefficients`` (n_annotators, n_features); the result (n_pairs,).
    """
    if X.shape[1] == 1:  # constant expertise: no gather of whole rows
        return np.asarray(X[rows, 0] * coefficients[columns, 0])
    return np.asarray(np.einsum("ij,ij->i", X[rows], coefficients[columns]))


def pair_sums(weights: Array, X: Array, rows: NDArray[Any], columns: NDArray[Any], n_columns: int) -> Array:
    """Σ over pairs of weight · x_row, one row of the result for each column: (n_columns, n_features)."""
    by_column = sp.csr_array((weights, (columns, rows)), shape=(n_columns, X.shape[0]))
    return np.asarray(by_column @ X)


def segment_sum(values: Array, segments: NDArray[Any], n_segments: int) -> Array:
    """Sum ``values`` (n,) or (n, k) within segments: (n_segments,) or (n_segments, k)."""
    if values.ndim == 1:
        return np.bincount(segments, weights=values, minlength=n_segments).astype(float)
    return np.column_stack([segment_sum(column, segments, n_segments) for column in values.T])


def with_constant(X: Array) -> Array:
    """Append the column of ones that carries the intercept."""
    return np.column_stack([X, np.ones(len(X))])


@dataclass(frozen=True)
class Groups:
    """Entries sorted by their code, so that those of one code stand together.

    Attributes
    ----------
    order : (n_entries,)
        Positions of the entries, sorted by code and, within one, as they came.
    bounds : (n_groups + 1,)
        Where in ``order`` each code's entries begin; the last is the end.
    """

    order: Rows
    bounds: Rows

    @classmethod
    def of(cls, codes: NDArray[Any], n_groups: int) -> Groups:
        """Sort entries by code, 0 … n_groups − 1."""
        order = np.argsort(codes, kind="stable")
        return cls(order, np.searchsorted(codes[order], np.arange(n_groups + 1)))

    def __iter__(self) -> Iterator[tuple[int, slice]]:
        """Give each code that has entries, with their place in ``order``."""
        for group in np.flatnonzero(np.diff(self.bounds)):
            yield int(group), slice(int(self.bounds[group]), int(self.bounds[group + 1]))
