"""Parquet and Arrow files, through pyarrow (extra ``io``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from whoknows.data.vocabulary import Factor
from whoknows.io.errors import FileError, Path

PARQUET = b"PAR1"
_ARROW_FILE, _ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"
MAGIC = (PARQUET, _ARROW_FILE, _ARROW_STREAM)


def read_arrow(data: bytes, path: Path) -> Any:
    """Read a Parquet file, or an Arrow file such as ``datasets`` keeps, as a pyarrow table."""
    pa = import_pyarrow(path)
    from pyarrow import ipc, parquet

    source = pa.BufferReader(data)  # not io.BytesIO, which pyarrow's threads may outlive: the process aborts
    try:
        if data.startswith(PARQUET):
            table = parquet.read_table(source)
        elif data.startswith(_ARROW_FILE):
            table = ipc.open_file(source).read_all()
        else:
            table = ipc.open_stream(source).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        what = "Parquet" if data.startswith(PARQUET) else "Arrow"
        reason = str(error).partition("\n")[0].rstrip(".")[:200]
        raise FileError(
            path, f"is damaged, or is no {what} file ({reason}). Export or download it again."
        ) from None
    repeated = [name for name in table.column_names if table.column_names.count(name) > 1]
    if repeated:
        raise FileError(path, f"has several columns named {repeated[0]!r}. Rename all but one.")
    return table


def import_pyarrow(path: Path) -> Any:
    """Import pyarrow, or say how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise FileError(path, "needs pyarrow. Run: pip install 'whoknows[io]'") from None
    return pyarrow


def code_column(table: Any, name: str, path: Path) -> Factor:
    """One column as codes into its distinct values, -1 where it is null."""
    import pyarrow as pa

    column = table[name].combine_chunks()
    if pa.types.is_nested(column.type):
        raise FileError(path, f"holds lists or objects in column {name!r}; expected one value a row.")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Factor(codes.astype(np.int32), column.dictionary.to_pylist())
