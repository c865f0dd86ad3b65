"""Ids of millions of items: read row group by row group, kept as numpy or Arrow keep them, looked up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Rows
from whoknows.data.vocabulary import Factor, elements, places
from whoknows.io.errors import FileError
from whoknows.io.parquet.blocks import Cursor
from whoknows.io.parquet.layout import Layout

_AT_ONCE = 1 << 20  # ids that are read at a time


def read_ids(layout: Layout) -> Any:
    """Ids of all rows: an int64 array, or an Arrow column of text; distinct, none missing."""
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


def rows_of(wanted: Any, ids: Any) -> Rows:
    """Row of each wanted id among distinct ones, an array or an Arrow column; -1 where it is not there."""
    listed = elements(wanted) if isinstance(wanted, np.ndarray) else list(wanted)
    if not isinstance(ids, np.ndarray):
        return _rows_in_column(listed, ids)
    if ids.dtype == np.int64:
        numbers = [_number(name) for name in listed]
        found = places(np.array([number or 0 for number in numbers], dtype=np.int64), ids)
        return np.where([number is None for number in numbers], -1, found).astype(np.intp)
    texts = ids.dtype.kind == "U" or all(isinstance(name, str) for name in elements(ids))
    return (
        Factor(np.empty(0, np.int32), [str(name) if texts else name for name in listed])
        .against(ids)
        .astype(np.intp)
    )


def _rows_in_column(wanted: list[Any], ids: Any) -> Rows:
    """Row of each id in an Arrow column of text, in which only the wanted ones are remembered."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pa.array(map(str, wanted), pa.string()).dictionary_encode()
    rows, start = np.full(len(coded.dictionary), -1, dtype=np.intp), 0
    for chunk in pc.index_in(ids, value_set=coded.dictionary).chunks:
        place = chunk.fill_null(-1).to_numpy()
        there = np.flatnonzero(place >= 0)
        rows[place[there]] = start + there
        start += len(chunk)
    return np.asarray(rows[coded.indices.to_numpy()])


def _number(name: Any) -> int | None:
    """Id as a whole number of 64 bits, None if it is none."""
    try:
        number = int(name)
    except (TypeError, ValueError, OverflowError):
        return None
    same = isinstance(name, str) or number == name
    return number if same and -(2**63) <= number < 2**63 else None


def _chunks(layout: Layout) -> Iterator[tuple[int, Any]]:
    """First row of each piece of the ids, and the piece as Arrow's int64 or text; none missing."""
    cursor, row = Cursor(layout, [str(layout.id_column)], _AT_ONCE), 0
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
        yield row, _plain(chunk, layout)
        row = stop


def _plain(chunk: Any, layout: Layout) -> Any:
    """Ids as Arrow's int64 or text; other kinds are refused."""
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
        f"expected whole numbers or text as ids in {layout.id_column!r}, got {problem}. Write them as text, "
        "or name another column: id_column=...",
    )


def _refuse_repeats(ids: Any, layout: Layout) -> None:
    """Refuse an id that two rows have."""
    if isinstance(ids, np.ndarray) and (ids[1:] > ids[:-1]).all():
        return
    keys = _keys(ids)
    keys.sort()  # in place: of millions every copy counts
    twice = keys[1:][keys[1:] == keys[:-1]]
    seen: dict[Any, int] = {}
    for row in np.flatnonzero(np.isin(_keys(ids), twice)).tolist() if len(twice) else ():
        name = ids[row].item() if isinstance(ids, np.ndarray) else ids[row].as_py()
        if name in seen:  # different texts may have one hash
            (one, _, first), (other, _, second) = layout.where(seen[name]), layout.where(row)
            raise FileError(
                other,
                f"expected one row an item, got item {name!r} in row {second} and in row {first}"
                f"{'' if one == other else f' of {one}'} (counting from 0). Keep one of them.",
            )
        seen[name] = row


def _keys(ids: Any) -> NDArray[np.int64]:
    """Ids as numbers of 64 bits, texts by their hash; no list of all texts is made."""
    if isinstance(ids, np.ndarray):
        return ids.copy()
    keys, start = np.empty(len(ids), dtype=np.int64), 0
    for chunk in ids.chunks:
        words = chunk.to_numpy(zero_copy_only=False)
        keys[start : start + len(chunk)] = np.fromiter(map(hash, words), np.int64, len(words))
        start += len(chunk)
    return keys
