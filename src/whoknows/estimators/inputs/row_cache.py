"""Rows that are not in memory, of which some are: those a fit asks for again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.io.parquet import ParquetFeatures


@dataclass(frozen=True)
class RowCache:
    """Features in files, with some rows held in memory.

    Attributes
    ----------
    X : ParquetFeatures
    rows : (n_held,)
        Rows that are held, in order.
    held : (n_held, D)
    """

    X: ParquetFeatures
    rows: Rows
    held: Array

    @classmethod
    def of(cls, X: Any, rows: Rows) -> Any:
        """Hold some rows of features in files; what is in memory already is returned as it is."""
        return cls(X, rows, X[rows]) if isinstance(X, ParquetFeatures) else X

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
                return self.held[place]
        return self.X[rows]
