"""Features that are not a plain array in memory: rows are computed, cached or moved when they are taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.data.errors import InputError
from whoknows.io.parquet import ParquetFeatures


@dataclass(frozen=True)
class TransformedRows:
    """Rows of X, transformed when they are taken, so that only the rows in use are in memory."""

    X: Any
    function: Callable[[Array], Array]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.X), int(self[:1].shape[1])

    @property
    def is_cuda(self) -> bool:
        """Whether the rows are on a GPU."""
        return getattr(self[:1], "is_cuda", False)

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> Array:
        return self.function(self.X[rows])


@dataclass(frozen=True)
class RowCache:
    """Out-of-core features with some rows in memory: those that a fit reads again and again.

    Attributes
    ----------
    X : ParquetFeatures
    rows : (n_cached,)
        Numbers of the cached rows, sorted.
    cached : (n_cached, D)
    """

    X: ParquetFeatures
    rows: Rows
    cached: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.X.shape

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> Array:
        if not isinstance(rows, slice) and np.asarray(rows).dtype.kind == "i":
            place = np.searchsorted(self.rows, rows).clip(max=len(self.rows) - 1)
            if np.array_equal(self.rows[place], rows):
                return self.cached[place]
        return self.X[rows]


def with_cache(X: Any, rows: Rows) -> Any:
    """Return out-of-core features with some rows cached; features in memory as they are."""
    return RowCache(X, rows, X[rows]) if isinstance(X, ParquetFeatures) else X


def on_device(X: Any, device: Any) -> Any:
    """Return rows that are on a device when they are taken; a tensor is moved as a whole if it fits.

    ``device`` is torch's name for it, such as "cuda" or "cuda:1"; None leaves X where it is.
    """
    if device is None:
        return X
    torch = _torch(device)
    if not isinstance(X, torch.Tensor):
        return TransformedRows(X, partial(torch.as_tensor, device=device))
    try:
        return X.to(device)
    except torch.cuda.OutOfMemoryError:
        return TransformedRows(X, lambda rows: rows.to(device))


def _torch(device: Any) -> Any:
    """Return torch, or say what is missing."""
    try:
        import torch
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"device={str(device)!r} needs torch, which is not installed: pip install 'whoknows[gpu]', or "
            "leave device=None."
        ) from None
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"device={str(device)!r} was requested, but torch {torch.__version__} finds no CUDA device. "
            "Check nvidia-smi and that torch is a CUDA build, or leave device=None to use the processor."
        )
    return torch
