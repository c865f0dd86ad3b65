"""Array operations for NumPy and torch, and sums over observed (item, annotator) pairs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

MATRICES_PER_BLOCK = 200  # what fits in a processor's cache
LARGEST = 1e150  # absolute value of a feature, since models sum squares of features


def namespace(x: Any) -> Any:
    """Return numpy, or torch if ``x`` is a tensor, for functions that both have under the same name."""
    package = type(x).__module__.partition(".")[0]
    return sys.modules["torch"] if package == "torch" else np


def like(values: Any, x: Any) -> Any:
    """Return numbers as an array of the same kind and dtype as ``x``, on its device."""
    if namespace(x) is np:
        return np.asarray(values, dtype=x.dtype if x.dtype.kind == "f" else float)
    values = np.asarray(values, order="C") if namespace(values) is np else values  # torch takes no negative strides
    return namespace(x).as_tensor(values, dtype=x.dtype, device=x.device)


def rows_like(rows: Any, x: Any) -> Any:
    """Return row numbers in the form that indexes ``x``: for a tensor, a tensor on its device."""
    xp = namespace(x)
    return rows if xp is np else xp.as_tensor(rows, dtype=xp.int64, device=x.device)


def doubles(x: Any) -> Any:
    """Return the same numbers in double precision, on the same device."""
    return x.astype(float, copy=False) if namespace(x) is np else x.double()


def to_numpy(x: Any) -> Any:
    """Return an array, or a tensor on any device, as a NumPy array."""
    return x.detach().cpu().numpy() if namespace(x) is not np else np.asarray(x)


def positions(x: Any) -> Any:
    """0 … len(x) − 1, on the device of ``x``."""
    return np.arange(len(x)) if namespace(x) is np else namespace(x).arange(len(x), device=x.device)


def sparse_rows(columns: Any, values: Any, n_columns: int) -> Any:
    """Sparse matrix with k entries per row, at ``columns`` (n, k): (n, n_columns)."""
    (n, k), xp = values.shape, namespace(values)
    if xp is np:
        ends = np.arange(n + 1) * k
        return sp.csr_array((values.ravel(), columns.ravel(), ends), shape=(n, n_columns))
    places = xp.stack([positions(values).repeat_interleave(k), columns.ravel()])
    return xp.sparse_coo_tensor(places, values.ravel(), (n, n_columns), check_invariants=False)


def too_large(X: Array) -> tuple[int, int] | None:
    """Row and column of the first number beyond `LARGEST`, or None, in which case nothing is copied."""
    ends = (float(end.reduce(X, axis=None)) for end in (np.fmin, np.fmax)) if X.size else ()
    if not any(abs(end) > LARGEST for end in ends):
        return None  # NaN is not counted
    row, column = np.argwhere(np.abs(X) > LARGEST)[0]
    return int(row), int(column)


def pair_products(X: Array, coefficients: Array, rows: NDArray[Any], columns: NDArray[Any]) -> Array:
    """x_row · coefficients_column for each observed pair, without computing the whole table.

    ``X`` is (n_items, n_features), ``coefficients`` (n_annotators, n_features); the result (n_pairs,).
    """
    if X.shape[1] == 1:  # constant expertise: no copy of whole rows
        return np.asarray(X[rows, 0] * coefficients[columns, 0])
    return np.asarray(np.einsum("ij,ij->i", X[rows], coefficients[columns]))


def pair_sums(weights: Array, X: Array, rows: NDArray[Any], columns: NDArray[Any], n_columns: int) -> Array:
    """Σ over pairs of weight · x_row, grouped by column: (n_columns, n_features)."""
    by_column = sp.csr_array((weights, (columns, rows)), shape=(n_columns, X.shape[0]))
    return np.asarray(by_column @ X)


def segment_sum(values: Array, segments: NDArray[Any], n_segments: int) -> Array:
    """Sum ``values`` (n,) or (n, k) within segments: (n_segments,) or (n_segments, k)."""
    tensor: Any = values
    if namespace(tensor) is not np:
        total = tensor.new_zeros((n_segments, *tensor.shape[1:]))
        return total.index_add_(0, segments, tensor)
    if values.ndim == 1:
        return np.bincount(segments, weights=values, minlength=n_segments).astype(float)
    n = len(values)  # a sum takes a value and a column of this matrix, in which it is the only entry, at a time
    return np.asarray(sp.csc_array((np.ones(n), segments, np.arange(n + 1)), shape=(n_segments, n)) @ values)


def log_logistic(u: Array) -> Array:
    """log 1 / (1 + exp(−u))."""
    xp = namespace(u)
    return u.clip(max=0.0) - xp.log1p(xp.exp(-abs(u)))


def log_softmax(values: Array) -> Array:
    """Log of exp(values) normalised over the last axis; faster than SciPy's."""
    xp = namespace(values)
    below = values - xp.amax(values, axis=-1, keepdims=True)
    return below - xp.log(xp.exp(below).sum(axis=-1, keepdims=True))


def with_constant(X: Array) -> Array:
    """Append the column of ones that carries the intercept."""
    xp, first = namespace(X), X[:, :1] if X.shape[1] else like(np.ones((len(X), 1)), X)
    return xp.concatenate([X, xp.ones_like(first)], 1)


@dataclass(frozen=True)
class Groups:
    """Entries sorted by code; see `group_by`.

    Attributes
    ----------
    order : (n_entries,)
        Positions of the entries, sorted by code, and in the original order within a code.
    bounds : (n_groups + 1,)
        Where each code's entries begin in ``order``; the last is the end.
    """

    order: Rows
    bounds: Rows


def group_by(codes: NDArray[Any], n_groups: int) -> Groups:
    """Sort entries by code, 0 … n_groups − 1."""
    order = np.argsort(codes, kind="stable")
    return Groups(order, np.searchsorted(codes[order], np.arange(n_groups + 1)))


def spans(groups: Groups) -> Iterator[tuple[int, slice]]:
    """Give each code that has entries, and the slice of ``order`` with them."""
    for group in np.flatnonzero(np.diff(groups.bounds)):
        yield int(group), slice(int(groups.bounds[group]), int(groups.bounds[group + 1]))


def inverses(matrices: Array) -> tuple[Array, Array]:
    """Inverses of symmetric positive definite matrices (n, D, D), and the logarithms of their determinants.

    LAPACK inverts matrices one by one; for many of them, batched products are twice as fast.
    """
    if len(matrices) <= MATRICES_PER_BLOCK:
        alone = np.linalg.inv(matrices)
        inverse: Array = np.asarray(0.5 * (alone + alone.swapaxes(1, 2)))
        return inverse, -log_determinants(np.linalg.cholesky(inverse))
    inverse, log_det = np.empty_like(matrices), np.empty(len(matrices))
    for start in range(0, len(matrices), MATRICES_PER_BLOCK):
        rows = slice(start, start + MATRICES_PER_BLOCK)
        root = np.linalg.cholesky(matrices[rows])
        half, log_det[rows] = _inverses_of_triangular(root), log_determinants(root)
        np.matmul(half.swapaxes(1, 2), half, out=inverse[rows])
    return inverse, log_det


def log_determinants(roots: Any) -> Array:
    """log |LLᵀ| of triangular L (n, D, D): (n,)."""
    return np.asarray(2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1))


def _inverses_of_triangular(L: Any) -> Array:
    """[A 0; B C]⁻¹ = [A⁻¹ 0; −C⁻¹BA⁻¹ C⁻¹], recursively: (n, D, D), lower triangular."""
    half = L.shape[1] // 2
    if half == 0:
        return np.asarray(1 / L)
    parts = L[:, :half, :half], L[:, half:, :half], L[:, half:, half:]
    A, B, C = map(np.ascontiguousarray, parts)  # products of views are slow
    A, C = _inverses_of_triangular(A), _inverses_of_triangular(C)
    found = np.zeros(L.shape)
    found[:, :half, :half], found[:, half:, :half], found[:, half:, half:] = A, -(C @ (B @ A)), C
    return found
