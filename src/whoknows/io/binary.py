"""Binary files of bounded size in memory: NumPy's .npy and .npz (never pickles), Parquet and Arrow.

Parquet and Arrow are read through pyarrow (extra ``io``).
"""

from __future__ import annotations

import io
import math
import struct
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.vocabulary import Factor
from whoknows.io.delimited import refuse_repeated
from whoknows.io.encoding import CELL, allowed_size, refuse_expansion, unzip
from whoknows.io.errors import FileError, Path, import_pyarrow, reading

NUMPY = b"\x93NUMPY"
PARQUET = b"PAR1"
_ARROW_FILE, _ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"
ARROW = (PARQUET, _ARROW_FILE, _ARROW_STREAM)
_FILE_FOOTER = 10  # bytes after the footer of Arrow's file format: its length, and the magic number
_VIEWS = ("string_view", "binary_view")
_ROWS = 1 << 16  # rows of Parquet read at a time
_DAMAGED = "is cut off or damaged, or is not a Parquet file ({}). Write or download it again."
NOT_NUMPY = "is damaged, or is not a NumPy file ({}). Save it again."
_BROKEN = (
    *(ValueError, TypeError, EOFError, OverflowError),
    *(SyntaxError, TokenError, RecursionError, MemoryError),  # the header of .npy is a Python expression
)
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npy(data: bytes, path: Path, name: str = "the array") -> NDArray[Any]:
    """Read one array from the bytes of a .npy file."""
    source = io.BytesIO(data)
    with reading(path, NOT_NUMPY, *_BROKEN), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # headers written by Python 2 are valid
        version = np.lib.format.read_magic(source)
        if version not in _HEADERS:
            raise ValueError(f"version {version} of the format")
        shape, _, dtype = _HEADERS[version](source)
        if dtype.hasobject:
            raise FileError(path, f"holds {name} as Python objects, which are not loaded. Save it as numbers or text.")
        n_values: int = math.prod(shape)
        if dtype.itemsize == 0 and n_values:  # any number of them fits into no bytes at all
            raise ValueError(f"{n_values:,} values of {dtype}, which have no bytes")
        if min(shape, default=0) < 0 or n_values * dtype.itemsize > len(data) - source.tell():
            raise ValueError(f"too short for an array of shape {shape}")
        source.seek(0)
        array = np.lib.format.read_array(source, allow_pickle=False)
    if array.dtype.kind == "U":
        codes = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
        if codes.max(initial=0) > sys.maxunicode:
            raise FileError(path, f"holds {name} with characters that do not exist.")
    return array


def read_npz(data: bytes, path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a .npz file by name."""
    limit = allowed_size(len(data))
    members = unzip(data, path, limit, lambda name: name.endswith(".npy"))
    found = {name.removesuffix(".npy"): read_npy(member, path, repr(name)) for name, member in members.items()}
    refuse_expansion(CELL * sum(array.size for array in found.values()), limit, path)  # as float64
    return found


# --- Parquet and Arrow -------------------------------------------------------------------------------


def read_arrow(data: bytes, path: Path) -> Any:
    """Read a Parquet file, or an Arrow file such as ``datasets`` keeps, as a pyarrow table.

    What it decompresses to is known before it is decompressed, and bounded.
    """
    pyarrow = import_pyarrow(path)
    limit = allowed_size(len(data))
    what = "Parquet" if data.startswith(PARQUET) else "Arrow"
    problem = f"is damaged, or is not a valid {what} file ({{}}). Export or download it again."
    with readable(path, problem):
        table = (_read_parquet if what == "Parquet" else _read_ipc)(data, limit, path)
        table.validate(full=True)
        refuse_expansion(sum(map(_text_size, table.columns)), limit, path)
        refuse_repeated(table.column_names, path)
        return pyarrow.table(dict(zip(table.column_names, map(_decoded, table.columns), strict=True)))


def _read_parquet(data: bytes, limit: int, path: Path) -> Any:
    """Read a Parquet file in batches; text stays codes until its size is known, as runs repeat it freely."""
    import pyarrow as pa
    from pyarrow import parquet

    # Not io.BytesIO, which pyarrow's threads may outlive: the process aborts.
    schema = parquet.ParquetFile(pa.BufferReader(data)).schema_arrow
    texts = [field.name for field in schema if is_text(field.type)]
    file = parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
    refuse_expansion(_declared_size(file.metadata), limit, path)
    batches, size = [], 0
    for batch in file.iter_batches(_ROWS):
        batches.append(batch)
        size += sum(getattr(column, "indices", column).nbytes for column in batch.columns)
        refuse_expansion(size, limit, path)
    return pa.Table.from_batches(batches, file.schema_arrow)


def _decoded(column: Any) -> Any:
    """Return a column without dictionaries and runs; decimals as floats, dates as text such as 2021-03-04."""
    import pyarrow as pa
    from pyarrow import compute, types

    kind = column.type
    if types.is_run_end_encoded(kind):
        return _decoded(compute.run_end_decode(column))
    if types.is_dictionary(kind):
        empty = _decoded(pa.array([], kind.value_type))
        plain = [pa.DictionaryArray.from_arrays(c.indices, _decoded(c.dictionary)) for c in column.chunks]
        return pa.chunked_array([c.dictionary_decode() for c in plain], empty.type)
    if str(kind) == "string_view":
        return column.cast(pa.string())
    if types.is_decimal(kind):
        return column.cast(pa.float64())
    if types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind):
        return column.cast(pa.string())
    return column


def _declared_size(metadata: Any) -> int:
    """Bytes of all columns of a Parquet file as its footer declares them, a cell counted as `CELL` bytes."""
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    columns = [group.column(place) for group in groups for place in range(metadata.num_columns)]
    n_cells = max(sum(c.num_values for c in columns), metadata.num_rows)
    return max(sum(c.total_uncompressed_size for c in columns), CELL * n_cells)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text or bytes."""
    from pyarrow import types

    binary = types.is_binary(kind) or types.is_large_binary(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind) or binary or str(kind) in _VIEWS)


def _text_size(column: Any) -> int:
    """Bytes of the texts of a column that may refer to one text many times, if each had its own copy."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind) and is_text(kind.value_type):
        sizes = [_lengths(c.dictionary)[c.indices.drop_null().to_numpy()].sum() for c in column.chunks]
    elif str(kind) in _VIEWS:
        sizes = [_lengths(c).sum() for c in column.chunks]
    else:
        return 0
    return int(sum(sizes))


def _lengths(texts: Any) -> NDArray[np.int64]:
    """Bytes of each text of an array."""
    from pyarrow import compute

    if str(texts.type) not in _VIEWS:
        lengths: NDArray[Any] = compute.binary_length(texts).fill_null(0).to_numpy()
    else:  # 16 bytes each, the length first
        lengths = np.frombuffer(texts.buffers()[1], np.int32)[::4][texts.offset :][: len(texts)]
    return lengths.astype(np.int64)


def _read_ipc(data: bytes, limit: int, path: Path) -> Any:
    """Read Arrow's stream format, or its file format, whose footer says where its messages are."""
    import pyarrow as pa
    from pyarrow import ipc

    buffer, is_file = pa.py_buffer(data), data.startswith(_ARROW_FILE)
    messages = _messages(data) if is_file else ipc.MessageReader.open_stream(buffer)
    size = 0
    for message in messages:
        if message.type in ("record batch", "dictionary"):
            size += _message_size(message)
            refuse_expansion(size, limit, path)
    return (ipc.open_file if is_file else ipc.open_stream)(buffer).read_all()


def _messages(data: bytes) -> Iterator[Any]:
    """Yield the messages of Arrow's file format that hold data."""
    import pyarrow as pa
    from pyarrow import ipc

    (length,) = struct.unpack_from("<i", data, len(data) - _FILE_FOOTER)
    flat = data[len(data) - _FILE_FOOTER - length : -_FILE_FOOTER]
    for number in (2, 3):  # dictionaries, record batches
        place = _field(flat, _follow(flat, 0), number)
        start = _follow(flat, place) if place else 0
        for block in range(struct.unpack_from("<I", flat, start)[0] if place else 0):
            (offset,) = struct.unpack_from("<q", flat, start + 4 + 24 * block)
            if not 0 <= offset < len(data):
                raise ValueError("a block outside of the file")
            yield ipc.read_message(pa.py_buffer(data).slice(offset))


def _message_size(message: Any) -> int:
    """Bytes of a message of the Arrow stream format once decompressed, a cell counted as `CELL` bytes.

    pyarrow cannot tell without decompressing, but the flatbuffer of the message says where its buffers are,
    and a compressed buffer starts with its length.
    """
    flat, body = message.metadata.to_pybytes(), message.body
    batch = _follow(flat, _field(flat, _follow(flat, 0), 2))
    if message.type == "dictionary":
        batch = _follow(flat, _field(flat, batch, 1))
    n_cells = sum(length for length, _ in _pairs(flat, _field(flat, batch, 1)))
    buffers = _pairs(flat, _field(flat, batch, 2))
    if not _field(flat, batch, 3):  # not compressed
        return max(sum(length for _, length in buffers), CELL * n_cells)
    starts = [(body[start : start + 8].to_pybytes(), length) for start, length in buffers if length]
    sizes = [(int.from_bytes(start, "little", signed=True), length) for start, length in starts]
    return max(sum(length if size < 0 else size for size, length in sizes), CELL * n_cells)


def _follow(flat: bytes, place: int) -> int:
    """Where the offset at a place of a flatbuffer leads."""
    return place + int(struct.unpack_from("<I", flat, place)[0])


def _field(flat: bytes, table: int, number: int) -> int:
    """Place of a field of a table of a flatbuffer, 0 if the table does not have it."""
    vtable = table - struct.unpack_from("<i", flat, table)[0]
    slot = 4 + 2 * number
    if slot >= struct.unpack_from("<H", flat, vtable)[0]:
        return 0
    offset = int(struct.unpack_from("<H", flat, vtable + slot)[0])
    return table + offset if offset else 0


def _pairs(flat: bytes, place: int) -> list[tuple[int, int]]:
    """Vector of pairs of 64-bit integers of a flatbuffer."""
    if not place:
        return []
    start = _follow(flat, place)
    count = struct.unpack_from("<I", flat, start)[0]
    numbers = struct.unpack_from(f"<{2 * count}q", flat, start + 4)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def readable(path: Path, problem: str = _DAMAGED) -> AbstractContextManager[None]:
    """Return a context in which errors of pyarrow and of the system are turned into a `FileError`."""
    import pyarrow as pa

    return reading(path, problem, pa.ArrowException, ValueError, EOFError, struct.error)


def factorize_column(table: Any, name: str, path: Path) -> Factor:
    """Return a column as codes into its distinct values, -1 for null."""
    import pyarrow as pa

    column = table[name].combine_chunks()
    if pa.types.is_nested(column.type):
        raise FileError(path, f"holds lists or objects in column {name!r}; expected one value per row.")
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # bytes that are text
        column = column.cast(pa.string()) if not is_number(column.type) else column
    if not (is_number(column.type) or pa.types.is_string(column.type)):
        raise FileError(path, f"holds {column.type} in column {name!r}; expected numbers or text.")
    column = column.dictionary_encode()
    return Factor(column.indices.fill_null(-1).to_numpy(), column.dictionary.to_pylist())


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is a number or a boolean."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is a list of numbers."""
    from pyarrow import types

    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(lists and is_number(kind.value_type))
