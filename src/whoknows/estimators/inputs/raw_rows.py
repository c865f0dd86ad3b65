"""X as the user gave it, for a classifier: arrays with NaN, dataframes, sparse matrices, texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, validate_data

from whoknows._array import Array, namespace, to_numpy
from whoknows.data.dataframes import is_frame
from whoknows.data.errors import InputError

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class RawRows:
    """Rows of X in the container that the user gave; rows taken from it stay in one of the same kind."""

    raw: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns; a text is one column."""
        shape = np.shape(self.raw) if isinstance(self.raw, list) else self.raw.shape
        return len(self), shape[1] if len(shape) == 2 else 1

    def __len__(self) -> int:
        return int(_num_samples(self.raw))

    def __getitem__(self, rows: Any) -> RawRows:
        by_position = is_frame(self.raw) or isinstance(self.raw, list) or hasattr(self.raw, "iloc")
        return RawRows(_safe_indexing(self.raw, rows) if by_position else self.raw[rows])


def check_raw(estimator: Any, X: Any, *, reset: bool) -> RawRows:
    """Return X in its container; values are left to the classifier, which knows what it takes."""
    if getattr(estimator, "device", None) is not None:
        raise InputError(
            f"device={estimator.device!r} is for the features of a map; a classifier as truth takes X from "
            "main memory. Leave device=None, and set the classifier's own device if it has one."
        )
    X = X if namespace(X) is np else to_numpy(X)
    if is_texts(X):
        _check_columns(estimator, 1, reset)
        return RawRows(X)
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return RawRows(X)
    options = {"dtype": None, "accept_sparse": "csr", "ensure_all_finite": False}
    return RawRows(validate_data(estimator, X, reset=reset, **options))


def is_texts(X: Any) -> bool:
    """Whether X is a list, array or Series of texts."""
    one_per_item = isinstance(X, list) or len(getattr(X, "shape", ())) == 1
    return one_per_item and isinstance(next(iter(X), None), str)


def _check_columns(estimator: Any, n_columns: int, reset: bool) -> None:
    """Refuse another number of columns than in the fit."""
    if not reset and estimator.n_features_in_ != n_columns:
        raise InputError(
            f"X holds texts, one per item; {type(estimator).__name__} was fitted to "
            f"{estimator.n_features_in_} columns. Pass X as in fit."
        )
    estimator.n_features_in_ = n_columns


# --- columns: numbers or texts ----------------------------------------------------------------------


def columns_of(rows: RawRows) -> Iterator[Any]:
    """Give each column: floats with NaN where a number is missing, or objects, texts and None."""
    raw = rows.raw
    if is_texts(raw):
        yield np.array([str(text) for text in raw], dtype=object)
    elif is_frame(raw):
        import narwhals.stable.v2 as nw

        for series in nw.from_native(raw, eager_only=True).iter_columns():
            is_number = series.dtype.is_numeric() or series.dtype == nw.Boolean
            yield as_floats(series.to_list()) if is_number else as_texts(series.to_list())
    else:
        yield from (_numbers_or_texts(column) for column in np.asarray(raw).T)


def _numbers_or_texts(column: Any) -> Any:
    try:
        return as_floats(column)
    except (TypeError, ValueError):
        return as_texts(column)


def as_floats(values: Any) -> Array:
    """Return numbers, NaN for None."""
    return np.asarray(values, dtype=float)


def as_texts(values: Any) -> NDArray[Any]:
    """Return objects: texts, None for what is missing."""
    return np.array([None if v is None or v != v else str(v) for v in values], dtype=object)


# --- keys: equal for equal rows ---------------------------------------------------------------------


def row_keys(rows: RawRows) -> Keys:
    """Return a hash of the content of each row, the same in every process: (n_items,)."""
    if sp.issparse(rows.raw):
        return _hashes(_sparse_content(sp.csr_array(rows.raw)))
    content = np.column_stack([_bits(column) for column in columns_of(rows)])
    return _hashes(memoryview(row) for row in np.ascontiguousarray(content))


def _sparse_content(X: Any) -> Iterator[bytes]:
    """Give the stored numbers of each row and where they are, in order and without zeros."""
    X = X.astype(float)
    X.sum_duplicates()
    X.eliminate_zeros()
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield X.indices[start:stop].astype(np.int64).tobytes() + X.data[start:stop].tobytes()


def _bits(column: Any) -> Keys:
    """Return 64 bits per value, the same for equal values."""
    if column.dtype != object:
        numbers = np.where(np.isnan(column), np.nan, column + 0.0)  # one NaN, one zero
        return numbers.view(np.uint64)
    code = {text: number for text, number in zip(set(column), _hashes(map(_bytes, set(column))), strict=True)}
    return np.array([code[text] for text in column], dtype=np.uint64)


def _bytes(text: str | None) -> bytes:
    return b"" if text is None else b"." + text.encode("utf-8", "surrogatepass")


def _hashes(contents: Any) -> Keys:
    digests = b"".join(blake2b(content, digest_size=8).digest() for content in contents)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
