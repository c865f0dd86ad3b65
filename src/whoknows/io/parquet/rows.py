"""ParquetFeatures: features of items that stay in their files until they are asked for."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Rows
from whoknows.data.vocabulary import row_numbers
from whoknows.io.errors import Path
from whoknows.io.parquet import ids
from whoknows.io.parquet.blocks import Cursor, to_array
from whoknows.io.parquet.files import find_files
from whoknows.io.parquet.layout import Layout

MEMORY = 1 << 30  # bytes that reading may take
_COPIES = 4  # of a block in memory: as a file has it, as an array, as the caller gets it, and some room
_NOTHING: tuple[int, NDArray[Any]] = (0, np.empty((0, 0)))


class ParquetFeatures:
    """Features of items in Parquet files, read a block after the other: ``X[rows]`` is an array.

    Rows are those of the files in order. Every number that is read is checked: one that is missing or
    infinite is refused, with its place. Slices in order read each row group once; an index array reads the
    row groups its rows are in. Threads that read in turns read more often: give each its `part`.

    Parameters
    ----------
    path : str or path, or sequence of them
        A file; a folder, with all Parquet files in it and in its folders, sorted by name; or several files.
        All have the same columns.
    id_column : str, optional
        Column of the ids. Default: item, task, example or id, also with _id; without one, rows are counted.
    columns : sequence of str, optional
        Columns of features: numbers, or lists of as many numbers in every row. Default: all but the ids.
    memory : int
        Bytes that reading may take, about; row groups that are larger are read in pieces.
    progress : callable(rows, n_rows), optional
        Called when a block has been read with the row where it ends, and how many rows there are.

    Attributes
    ----------
    shape : (n_items, n_features)
    dtype : float32 if that holds all numbers exactly, else float64
    columns : tuple of n_features str
        Names of the features; those of the lists in column "v" are v0, v1, ….
    notes : tuple of str
        What a user should hear, such as which columns were left out.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from whoknows.io.parquet import ParquetFeatures
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pa.table({"item": ["a", "b", "c"], "size": [1.0, 2.0, 3.0], "age": [7, 8, 9]})
    ...     parquet.write_table(table, os.path.join(folder, "part-0.parquet"))
    ...     X = ParquetFeatures(folder)
    ...     X, X[1:].tolist(), X.rows_of(["c", "z"]).tolist()
    (ParquetFeatures(3 items, 2 features, 1 file), [[2.0, 8.0], [3.0, 9.0]], [2, -1])
    """

    ndim = 2

    def __init__(
        self,
        path: Path | Sequence[Path],
        id_column: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        memory: int = MEMORY,
        progress: Callable[[int, int], Any] | None = None,
    ) -> None:
        if memory < 1:
            raise ValueError(f"memory must be a number of bytes of 1 or more; got {memory}.")
        self.memory, self.progress = memory, progress
        self.notes: tuple[str, ...] = ()
        self._layout = Layout.of(find_files(path), id_column, columns)
        self._cursor: Cursor | None = None
        self._block: tuple[int, NDArray[Any]] = _NOTHING
        self._ids: Any = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Paths, columns and row groups: whoever has the files can read on. Nothing is open or held."""
        light = {**vars(self), "progress": None, "_cursor": None, "_block": _NOTHING, "_ids": None}
        del light["_lock"]
        return light

    def __setstate__(self, light: dict[str, Any]) -> None:
        vars(self).update(light, _lock=Lock())

    @property
    def files(self) -> tuple[str, ...]:
        """Files in the order of their rows."""
        return self._layout.files

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for column in self._layout.columns for name in column.features)

    @property
    def id_column(self) -> str | None:
        """Column of the ids, None where rows are counted."""
        return self._layout.id_column

    @property
    def shape(self) -> tuple[int, int]:
        """(n_items, n_features)."""
        return self._layout.n_rows, sum(column.width or 1 for column in self._layout.columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the arrays."""
        return self._layout.dtype

    @property
    def at_once(self) -> int:
        """Rows that are read at a time."""
        return max(self.memory // (_COPIES * self.shape[1] * self.dtype.itemsize), 1)

    def __len__(self) -> int:
        """Count the items."""
        return self._layout.n_rows

    def __repr__(self) -> str:
        """Say how many there are of what."""
        n_items, n_features = self.shape
        n_files = f"{len(self.files)} file{'s' if len(self.files) > 1 else ''}"
        return f"ParquetFeatures({n_items} items, {n_features} features, {n_files})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Refuse to become an array unasked."""
        n_items, n_features = self.shape
        raise TypeError(
            f"Features in files are not an array: these {n_items} × {n_features} numbers need not fit into "
            "memory. Take some rows, X[rows], or all of them, X[:]."
        )

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Take items by position: a slice, integers in any order or a mask; one integer is one item."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            return self._between(start, max(stop, start))
        X = self._take(row_numbers(rows, len(self)))
        return X if isinstance(rows, slice) or np.ndim(rows) else X[0]

    def part(self, start: int, stop: int) -> ParquetFeatures:
        """Rows from start up to stop, for another process: it takes along only the files these are in."""
        if not 0 <= start < stop <= len(self):
            raise ValueError(
                f"Expected a part of at least one row between 0 and {len(self)}, got {start} to {stop}."
            )
        part = copy.copy(self)
        part._layout = self._layout.part(start, stop)
        return part

    def blocks(self) -> Iterator[slice]:
        """Give slices that cover all rows in order, each read at once: a row group or a piece of one."""
        bounds = np.clip(self._layout.bounds, 0, len(self)).tolist()
        for start, stop in pairwise(bounds):
            for top in range(start, stop, self.at_once):
                yield slice(top, min(top + self.at_once, stop))

    @property
    def ids(self) -> Any:
        """Ids of the items: int64 array, or Arrow's column of text; row numbers if there is no id column.

        Read when first asked for, row group by row group, and kept: 8 bytes an item, of texts their length
        and 4 more. An id that is there twice, or missing, is refused.
        """
        if self._ids is None:
            self._ids = ids.read_ids(self._layout)
        return self._ids

    def rows_of(self, wanted: Any) -> Rows:
        """Row of each of these ids, -1 where it is in no file.

        Where the files hold numbers, text that is a whole number is one; where they hold text, numbers are
        text.
        """
        return ids.rows_of(wanted, self.ids)

    # --- inside ------------------------------------------------------------------------------------

    def _between(self, start: int, stop: int) -> NDArray[Any]:
        X, row = np.empty((stop - start, self.shape[1]), dtype=self.dtype), start
        while row < stop:
            first, block = self._block_at(row)
            last = min(first + len(block), stop)
            X[row - start : last - start] = block[row - first : last - first]
            row = last
        return X

    def _take(self, rows: Rows) -> NDArray[Any]:
        X, done = np.empty((len(rows), self.shape[1]), dtype=self.dtype), 0
        order = np.argsort(rows, kind="stable")
        in_order = rows[order]
        while done < len(rows):
            first, block = self._block_at(int(in_order[done]))
            until = int(np.searchsorted(in_order, first + len(block)))
            X[order[done:until]] = block[in_order[done:until] - first]
            done = until
        return X

    def _block_at(self, row: int) -> tuple[int, NDArray[Any]]:
        """First row of the block that a row is in, and the block; the last one is kept."""
        with self._lock:
            start, block = self._block
            if not start <= row < start + len(block):
                self._block, block = _NOTHING, _NOTHING[1]  # room for the next
                self._block = start, block = self._read(row)
                if self.progress is not None:
                    self.progress(min(start + len(block), len(self)), len(self))
            return start, block

    def _read(self, row: int) -> tuple[int, NDArray[Any]]:
        if self._cursor is None:
            names = [column.name for column in self._layout.columns]
            self._cursor = Cursor(self._layout, names, self.at_once)
        start, batch = self._cursor.batch_at(row)
        return start, to_array(batch, start, self._layout)
