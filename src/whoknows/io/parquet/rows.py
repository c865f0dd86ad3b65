"""ParquetFeatures: features of items in Parquet files, read when they are used (out of core)."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Rows
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import row_numbers
from whoknows.io.errors import Path
from whoknows.io.id_matching import find_ids
from whoknows.io.parquet.blocks import Cursor, read_ids, to_array
from whoknows.io.parquet.layout import Layout, find_files

MEMORY = 1 << 30  # bytes that reading may use
_COPIES = 4  # of a block in memory: as in the file, as an array, as returned, and a margin
_NOTHING: tuple[int, NDArray[Any]] = (0, np.empty((0, 0)))


class ParquetFeatures:
    """Features of items in Parquet files, read block by block: ``X[rows]`` is an array.

    Rows are those of the files in order. Every number is checked when it is read: a missing or infinite one
    is an error that names its place. Consecutive slices read each row group once; an index array reads the
    row groups of its rows. Threads that take turns read row groups repeatedly: give each its own `part`.

    Parameters
    ----------
    path : str or path, or sequence of them
        A file; a folder, for all Parquet files in it and in its subfolders, sorted by name; or several files.
        All must have the same columns.
    id_column : str, optional
        Column of the ids. Default: item, task, example or id, also with _id; else row numbers are the ids.
    columns : sequence of str, optional
        Columns of features: numbers, or lists of numbers of one length. Default: all but the ids.
    memory : int
        Bytes that reading may use, approximately; larger row groups are read in pieces.
    progress : callable(rows, n_rows), optional
        Called after each block with the row at its end, and the number of all rows.

    Attributes
    ----------
    shape : (n_items, n_features)
    dtype : float32 if it represents all numbers exactly, else float64
    columns : tuple of n_features str
        Names of the features; those of the lists in column "v" are v0, v1, ….

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
            raise InputError(f"memory must be a number of bytes of 1 or more; got {memory}.")
        self.memory, self.progress = memory, progress
        files = find_files(path)
        self.path = os.fspath(path) if isinstance(path, (str, os.PathLike)) else files[0]
        self._layout = Layout.of(files, id_column, columns)
        self._cursor: Cursor | None = None
        self._block: tuple[int, NDArray[Any]] = _NOTHING
        self._ids: Any = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return paths, columns and row groups, without open files and data: enough to read elsewhere."""
        light = {**vars(self), "progress": None, "_cursor": None, "_block": _NOTHING, "_ids": None}
        del light["_lock"]
        return light

    def __setstate__(self, light: dict[str, Any]) -> None:
        vars(self).update(light, _lock=Lock())

    @property
    def files(self) -> tuple[str, ...]:
        """Files, in the order of the rows."""
        return self._layout.files

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for column in self._layout.columns for name in column.features)

    @property
    def id_column(self) -> str | None:
        """Column of the ids; None if row numbers are the ids."""
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
        """Maximum number of rows that are read at a time."""
        return max(self.memory // (_COPIES * self.shape[1] * self.dtype.itemsize), 1)

    def __len__(self) -> int:
        """Return the number of items."""
        return self._layout.n_rows

    def __repr__(self) -> str:
        """Return counts."""
        n_items, n_features = self.shape
        n_files = f"{len(self.files)} file{'s' if len(self.files) > 1 else ''}"
        return f"ParquetFeatures({n_items} items, {n_features} features, {n_files})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Refuse an implicit conversion to an array."""
        n_items, n_features = self.shape
        raise TypeError(
            f"Features in files are not an array: these {n_items} × {n_features} numbers may not fit into "
            "memory. Take some rows, X[rows], or all of them, X[:]."
        )

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Read items by position: a slice, integers in any order or a mask; one integer is one item."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            return self._between(start, max(stop, start))
        X = self._take(row_numbers(rows, len(self)))
        return X if isinstance(rows, slice) or np.ndim(rows) else X[0]

    def part(self, start: int, stop: int) -> ParquetFeatures:
        """Return the rows from start up to stop, for another process: it opens only their files."""
        if not 0 <= start < stop <= len(self):
            raise InputError(
                f"Expected a part of at least one row between 0 and {len(self)}, got {start} to {stop}."
            )
        part = copy.copy(self)
        part._layout = self._layout.part(start, stop)
        return part

    def blocks(self) -> Iterator[slice]:
        """Yield slices that cover all rows in order, each read at once: a row group or a piece of one."""
        bounds = np.clip(self._layout.bounds, 0, len(self)).tolist()
        for start, stop in pairwise(bounds):
            for top in range(start, stop, self.at_once):
                yield slice(top, min(top + self.at_once, stop))

    @property
    def ids(self) -> Any:
        """Ids of the items: an int64 array, or an Arrow column of text; row numbers without an id column.

        Read at first use, row group by row group, and kept: 8 bytes per item, for texts their length plus 4.
        A duplicate or missing id is an error.
        """
        if self._ids is None:
            self._ids = read_ids(self._layout)
        return self._ids

    def rows_of(self, ids: Any) -> Rows:
        """Return the row of each id, -1 if it is in no file; ids are compared as the files hold them.

        If the files hold integers, text is converted to integers; if they hold text, integers to text.
        """
        return find_ids(ids.tolist() if isinstance(ids, np.ndarray) else ids, self.ids)

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
        """Return the first row of the block of a row, and the block; the last block is kept."""
        with self._lock:
            start, block = self._block
            if not start <= row < start + len(block):
                self._block, block = _NOTHING, _NOTHING[1]  # frees memory before the next is read
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
