"""Blocks of rows out of row groups: read in order where they can be, turned into arrays, and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows._array import LARGEST, too_large
from whoknows.io.errors import FileError
from whoknows.io.parquet.files import open_file, readable
from whoknows.io.parquet.layout import Column, Layout

_STRIPE = 2048  # rows that are turned from columns at a time: they stay in the cache


class Cursor:
    """Reads some columns of a data set, row group after row group; holds one open file.

    Parameters
    ----------
    layout : Layout
    columns : sequence of str
    most : int
        Rows read at a time; a larger row group is read in several batches.
    """

    def __init__(self, layout: Layout, columns: Sequence[str], most: int) -> None:
        self.layout, self.columns, self.most = layout, list(columns), most
        self._file: tuple[str, bool, Any] | None = None
        self._batches: Iterator[Any] = iter(())
        self._group, self._next = -1, 0

    def batch_at(self, row: int) -> tuple[int, Any]:
        """First row of the batch that a row is in, and the batch; on in a group without reading twice."""
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
            raise FileError(path, "is cut off: it has fewer rows than it says. Write it again.")
        return batch


def to_array(batch: Any, start: int, layout: Layout) -> NDArray[Any]:
    """Features of a batch whose first row is ``start``, (n_rows, n_features), every one a finite number."""
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
    """Numbers of a column, (n_rows, width); NaN where there is none."""
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
    """Refuse a feature that is missing, infinite or too large to be squared."""
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
    """Say where something stands: file, row group, row, column, item."""
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
