"""Blocks of rows from row groups: read in order, converted to arrays or ids, and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows._array import LARGEST, too_large
from whoknows.data.errors import Advice
from whoknows.io.errors import FileError
from whoknows.io.parquet.layout import Column, Layout, open_file, readable

_STRIPE = 2048  # rows that are copied from columns at a time, so that they stay in the cache
_IDS = 1 << 20  # ids that are read at a time


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
        self._file: tuple[str, bool, Any] | None = None
        self._batches: Iterator[Any] = iter(())
        self._group, self._next = -1, 0

    def batch_at(self, row: int) -> tuple[int, Any]:
        """Return the first row of the batch of a row, and the batch; a group read in order is read once."""
        group = self.layout.group_of(row)
        if group != self._group or row < self._next:
            self._start(group)
        while True:
            start, batch = self._next, self._read()
            self._next += batch.num_rows
            if row < self._next:
                return start, batch

    def _start(self, group: int) -> None:
        layout = self.layout
        path, number = layout.files[layout.file[group]], int(layout.number[group])
        n_rows = int(layout.bounds[group + 1] - layout.bounds[group])
        streamed = n_rows > self.most
        if self._file is None or self._file[:2] != (path, streamed):
            self._file = path, streamed, open_file(path, streamed)
        file = self._file[2]
        known = number < file.metadata.num_row_groups and file.metadata.row_group(number).num_rows
        if known != n_rows:
            raise FileError(path, "has changed since it was opened. Open the features again.")
        self._group, self._next = group, int(layout.bounds[group])
        with readable(path):
            self._batches = file.iter_batches(self.most, row_groups=[number], columns=self.columns)

    def _read(self) -> Any:
        path = self.layout.files[self.layout.file[self._group]]
        with readable(path):
            batch = next(self._batches, None)
        if batch is None:
            raise FileError(path, "is cut off: it has fewer rows than it declares. Write it again.")
        return batch


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
    place = None if finite.all() else np.argwhere(~finite)[0]
    large = too_large(X) if place is None and X.dtype == np.float64 else None
    if place is None and large is None:
        return
    row, column = map(int, place if place is not None else large)  # type: ignore[arg-type]
    value = X[row, column]
    expected = f"a number up to {LARGEST:g}" if large else "a finite number"
    got = "none (null or NaN)" if np.isnan(value) else f"{value:g}"
    name = [name for each in layout.columns for name in each.features][column]
    advice = "Use another unit" if large else "Fill it in"
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
        f"{what} in column {column!r}, row {in_file} of the file (counting from 0; row group {group})"
        f"{item}. {advice}.",
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
    numbers, texts = np.empty(0, dtype=np.int64), []
    for start, chunk in _chunks(layout):
        if pa.types.is_string(chunk.type):
            texts.append(chunk)
            continue
        if not len(numbers):
            numbers = np.empty(layout.n_rows, dtype=np.int64)
        numbers[start : start + len(chunk)] = chunk.to_numpy()
    ids = pa.chunked_array(texts) if texts else numbers
    _refuse_repeats(ids, layout)
    return ids


def _chunks(layout: Layout) -> Iterator[tuple[int, Any]]:
    """Yield the ids in chunks, each with its first row, as Arrow's int64 or text; none may be missing."""
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
        yield row, _integers_or_texts(chunk, layout)
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
        layout.files[0],
        f"expected integers or text as ids in {layout.id_column!r}, got {problem}. Write them as text, "
        "or name another column: ",
        Advice("id_column", "id_column=..."),
    )


def _refuse_repeats(ids: Any, layout: Layout) -> None:
    """Refuse an id that occurs in two rows."""
    if isinstance(ids, np.ndarray) and (ids[1:] > ids[:-1]).all():
        return
    keys = _keys(ids)
    keys.sort()  # in place: every copy of millions counts
    twice = keys[1:][keys[1:] == keys[:-1]]
    seen: dict[Any, int] = {}
    for row in np.flatnonzero(np.isin(_keys(ids), twice)).tolist() if len(twice) else ():
        name = ids[row].item() if isinstance(ids, np.ndarray) else ids[row].as_py()
        if name in seen:  # different texts may have one hash
            (one, _, first), (other, _, second) = layout.where(seen[name]), layout.where(row)
            raise FileError(
                other,
                f"expected one row per item, got item {name!r} in row {second} and in row {first}"
                f"{'' if one == other else f' of {one}'} (counting from 0). Keep one of them.",
            )
        seen[name] = row


def _keys(ids: Any) -> NDArray[np.int64]:
    """Return ids as integers of 64 bits, texts as their hash, without a list of all texts."""
    if isinstance(ids, np.ndarray):
        return ids.copy()
    keys, start = np.empty(len(ids), dtype=np.int64), 0
    for chunk in ids.chunks:
        words = chunk.to_numpy(zero_copy_only=False)
        keys[start : start + len(chunk)] = np.fromiter(map(hash, words), np.int64, len(words))
        start += len(chunk)
    return keys
