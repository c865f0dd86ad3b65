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

from whoknows._array import LARGEST, Rows, too_large
from whoknows.data.errors import Advice, InputError
from whoknows.data.vocabulary import row_numbers
from whoknows.io.binary import readable
from whoknows.io.errors import FileError, Path
from whoknows.io.id_matching import find_ids
from whoknows.io.parquet_files import Column, Layout, find_files, open_file

MEMORY = 1 << 30  # bytes that reading may use
_COPIES = 4  # of a block in memory: as in the file, as an array, as returned, and a margin
_STRIPE = 2048  # rows that are copied from columns at a time, so that they stay in the cache
_IDS = 1 << 20  # ids that are read at a time
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
    files : tuple of str
        Files with rows, in the order of the rows.
    at_once : int
        Maximum number of rows that are read at a time.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from whoknows.io import ParquetFeatures
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
        self._use(Layout.of(files, id_column, columns))
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

    def _use(self, layout: Layout) -> None:
        """Set the rows and columns to read."""
        self._layout = layout
        self.files = tuple(dict.fromkeys(group.path for group in layout.groups))
        self.id_column, self.dtype = layout.id_column, layout.dtype
        self.columns = tuple(name for column in layout.columns for name in column.features)
        self.shape = layout.n_rows, len(self.columns)
        self.at_once = max(self.memory // (_COPIES * self.shape[1] * self.dtype.itemsize), 1)

    def __len__(self) -> int:
        """Return the number of items."""
        return self.shape[0]

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
        wanted = row_numbers(rows, len(self))
        order = np.argsort(wanted, kind="stable")
        X, done = np.empty((len(wanted), self.shape[1]), dtype=self.dtype), 0
        while done < len(wanted):
            first, block = self._block_at(int(wanted[order[done]]))
            until = int(np.searchsorted(wanted, first + len(block), sorter=order))
            X[order[done:until]] = block[wanted[order[done:until]] - first]
            done = until
        return X if isinstance(rows, slice) or np.ndim(rows) else X[0]

    def part(self, start: int, stop: int) -> ParquetFeatures:
        """Return the rows from start up to stop, for another process: it opens only their files."""
        if not 0 <= start < stop <= len(self):
            raise InputError(f"Expected a part of at least one row between 0 and {len(self)}, got {start} to {stop}.")
        part = copy.copy(self)
        part._use(self._layout.part(start, stop))
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
        """Read consecutive rows, without a further copy of them."""
        X, row = np.empty((stop - start, self.shape[1]), dtype=self.dtype), start
        while row < stop:
            first, block = self._block_at(row)
            last = min(first + len(block), stop)
            X[row - start : last - start] = block[row - first : last - first]
            row = last
        return X

    def _block_at(self, row: int) -> tuple[int, NDArray[Any]]:
        """Return the first row of the block of a row, and the block; the last block is kept."""
        with self._lock:
            start, block = self._block
            if not start <= row < start + len(block):
                self._block, block = _NOTHING, _NOTHING[1]  # frees memory before the next is read
                if self._cursor is None:
                    names = [column.name for column in self._layout.columns]
                    self._cursor = Cursor(self._layout, names, self.at_once)
                start, batch = self._cursor.batch_at(row)
                self._block = start, block = start, to_array(batch, start, self._layout)
                if self.progress is not None:
                    self.progress(min(start + len(block), len(self)), len(self))
            return start, block


# --- blocks of rows -----------------------------------------------------------------------------------


class Cursor:
    """Reader of some columns of a dataset, one row group after the other; holds one open file.

    Parameters
    ----------
    layout : Layout
    columns : sequence of str
    most : int
        Maximum number of rows per batch; a larger row group is read in several batches.
    """

    def __init__(self, layout: Layout, columns: Sequence[str], most: int) -> None:
        self.layout, self.columns, self.most = layout, list(columns), most
        self._file: tuple[str, bool, Any] = "", False, None
        self._batches: Iterator[Any] = iter(())
        self._group, self._next = -1, 0

    def batch_at(self, row: int) -> tuple[int, Any]:
        """Return the first row of the batch of a row, and the batch; a group read in order is read once."""
        group = self.layout.group_of(row)
        batch: Any = None
        if group != self._group or row < self._next:
            self._start(group)
        while row >= self._next:
            with readable(self._file[0]):
                batch = next(self._batches, None)
            if batch is None:
                raise FileError(self._file[0], "is cut off: it has fewer rows than it declares. Write it again.")
            self._next += batch.num_rows
        return self._next - len(batch), batch

    def _start(self, place: int) -> None:
        """Begin to read a row group; its file stays open, as reading the footer may take long."""
        group = self.layout.groups[place]
        streamed = group.n_rows > self.most
        if self._file[:2] != (group.path, streamed):
            self._file = group.path, streamed, open_file(group.path, streamed)
        file = self._file[2]
        known = group.number < file.metadata.num_row_groups and file.metadata.row_group(group.number).num_rows
        if known != group.n_rows:
            raise FileError(group.path, "has changed since it was opened. Open the features again.")
        self._group, self._next = place, int(self.layout.bounds[place])
        with readable(group.path):
            self._batches = file.iter_batches(self.most, row_groups=[group.number], columns=self.columns)


def to_array(batch: Any, start: int, layout: Layout) -> NDArray[Any]:
    """Return the features of a batch that starts in row ``start``, (n_rows, n_features); all finite."""
    parts = [_numbers(batch.column(column.name), column, start, layout) for column in layout.columns]
    widths = [column.width or 1 for column in layout.columns]
    X = np.empty((batch.num_rows, sum(widths)), dtype=layout.dtype)
    places = np.cumsum([0, *widths])
    for top in range(0, len(X), _STRIPE):
        rows = slice(top, top + _STRIPE)
        for place, width, part in zip(places, widths, parts, strict=False):
            X[rows, place : place + width] = part[rows]
    _check(X, start, layout)
    return X


def _numbers(values: Any, column: Column, start: int, layout: Layout) -> NDArray[Any]:
    """Return the numbers of a column, (n_rows, width); NaN where one is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.width is not None:
        lengths = pc.list_value_length(values).fill_null(0).to_numpy()
        odd = np.flatnonzero(lengths != column.width)
        if odd.size:
            raise _problem(
                f"expected {column.width} numbers in every list, got {lengths[odd[0]]}",
                column.name,
                start + int(odd[0]),
                layout,
                f"Write lists of one length in {column.name!r}",
            )
        values = values.flatten()
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return numbers.reshape(-1, column.width or 1)


def _check(X: NDArray[Any], start: int, layout: Layout) -> None:
    """Refuse features that are missing, infinite or too large to be squared."""
    finite = np.isfinite(X)
    place: Any = too_large(X) if X.dtype == np.float64 else None
    expected, advice = f"a number up to {LARGEST:g}", "Use another unit"
    if not finite.all():
        place, expected, advice = np.argwhere(~finite)[0], "a finite number", "Fill it in"
    if place is None:
        return
    row, column = map(int, place)
    got = "none (null or NaN)" if np.isnan(X[row, column]) else f"{X[row, column]:g}"
    name = [name for each in layout.columns for name in each.features][column]
    raise _problem(
        f"expected {expected} in every feature, got {got}",
        name,
        start + row,
        layout,
        f"{advice}, or leave the item or the column out",
    )


def _problem(what: str, column: str, row: int, layout: Layout, advice: str) -> FileError:
    """Return an error with its place: file, row group, row, column, item."""
    path, group, in_file = layout.where(row)
    item = "" if layout.id_column is None else f", item {_id_of(row, layout)!r}"
    return FileError(
        path,
        f"{what} in column {column!r}, row {in_file} of the file (counting from 0; row group {group}){item}. {advice}.",
    )


def _id_of(row: int, layout: Layout) -> Any:
    start, batch = Cursor(layout, [str(layout.id_column)], _STRIPE).batch_at(row)
    return batch.column(layout.id_column)[row - start].as_py()


# --- ids --------------------------------------------------------------------------------------------


def read_ids(layout: Layout) -> Any:
    """Read the ids of all rows, distinct and complete: an int64 array, or an Arrow column of text."""
    import pyarrow as pa

    if layout.id_column is None:
        return np.arange(layout.n_rows)
    column = pa.chunked_array(_chunks(layout))
    _refuse_repeats(column, layout)
    return column if pa.types.is_string(column.type) else column.to_numpy()


def _chunks(layout: Layout) -> Iterator[Any]:
    """Yield the ids in chunks, as Arrow's int64 or text; none may be missing."""
    cursor, row = Cursor(layout, [str(layout.id_column)], _IDS), 0
    while row < layout.n_rows:
        start, batch = cursor.batch_at(row)
        stop = min(start + batch.num_rows, layout.n_rows)
        chunk = batch.column(layout.id_column)[row - start : stop - start]
        if chunk.null_count:
            missing = row + int(np.argmin(chunk.is_valid().to_numpy(zero_copy_only=False)))
            path, _, in_file = layout.where(missing)
            raise FileError(
                path,
                f"expected an id in every row of {layout.id_column!r}, got none in row {in_file} (counting "
                "from 0). Write one, or leave the row out.",
            )
        yield _integers_or_texts(chunk, layout)
        row = stop


def _integers_or_texts(chunk: Any, layout: Layout) -> Any:
    """Return ids as Arrow's int64 or text; refuse other types."""
    import pyarrow as pa
    import pyarrow.types as types

    kind = chunk.type.value_type if types.is_dictionary(chunk.type) else chunk.type
    texts = types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"
    try:
        if texts or types.is_integer(kind):
            return chunk.cast(pa.string() if texts else pa.int64())
        problem = str(kind)
    except pa.ArrowInvalid as error:  # uint64 beyond int64
        problem = str(error)
    raise FileError(
        layout.groups[0].path,
        f"expected integers or text as ids in {layout.id_column!r}, got {problem}. Write them as text, "
        "or name another column: ",
        Advice("id_column", "id_column=..."),
    )


def _refuse_repeats(ids: Any, layout: Layout) -> None:
    """Refuse an id that occurs in two rows."""
    import pyarrow.compute as pc

    if pc.count_distinct(ids).as_py() == len(ids):
        return
    first: dict[Any, int] = {}
    for row, name in enumerate(ids.to_pylist()):
        if first.setdefault(name, row) < row:
            (one, _, before), (other, _, after) = layout.where(first[name]), layout.where(row)
            raise FileError(
                other,
                f"expected one row per item, got item {name!r} in row {after} and in row {before}"
                f"{'' if one == other else f' of {one}'} (counting from 0). Keep one of them.",
            )
