"""Files written whole or not at all: any content, lines of text, and tables by the suffix of the name."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from whoknows.data.vocabulary import Ids
from whoknows.io.delimited import escape
from whoknows.io.errors import FileError, Path, UnwritableError, import_pyarrow

Columns = Mapping[Any, Sequence[Any] | Ids]

DELIMITERS = {".csv": ",", ".tsv": "\t"}
_QUOTED = ',;\t|"\r\n'  # also what separates cells elsewhere: after it, = would start a formula
SUFFIXES = (*DELIMITERS, ".parquet", ".jsonl")


def replace_file(path: Path, write: Callable[[str], None]) -> None:
    """Let ``write`` fill a temporary file in the same folder, then move it to ``path`` in one step.

    Readers see the old file or the new one; if writing fails, the old one stays.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileError(path, "is not a file that can be replaced.")
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(4)}.part")
    try:
        write(temporary)
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except UnicodeEncodeError as error:
        raise FileError(
            path, f"cannot be written as UTF-8: {error.object[error.start]!r} is a lone surrogate."
        ) from None
    except OSError as error:
        raise UnwritableError(path, f"cannot be written ({error.strerror or error}).") from None
    finally:
        with suppress(OSError):
            os.remove(temporary)


def write_lines(lines: Iterable[str], path: Path) -> None:
    """Write lines of text as UTF-8."""

    def write(temporary: str) -> None:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)

    replace_file(path, write)


# --- tables -----------------------------------------------------------------------------------------


def write_table(columns: Columns, path: Path) -> None:
    """Write named columns of equal length, whole or not at all; None and NaN are blank or null.

    Parameters
    ----------
    columns : mapping from name to values
    path : str or path
        Ends in .csv, .tsv, .parquet or .jsonl. An existing file is replaced.
    """
    write_blocks([columns], path)


def write_blocks(blocks: Iterable[Columns], path: Path, types: Columns | None = None) -> None:
    """Write a table that comes in blocks with the same columns, whole or not at all.

    Parameters
    ----------
    blocks : iterable of mappings from name to values
    path : str or path
        Ends in .csv, .tsv, .parquet or .jsonl. An existing file is replaced.
    types : mapping from name to values, optional
        Examples of the values of columns that may be empty for a whole block: Parquet needs their type.
    """
    if check_suffix(path) == ".parquet":
        import_pyarrow(path)
        replace_file(path, lambda temporary: _write_row_groups(blocks, temporary, path, types or {}))
    else:
        write_lines(_lines(blocks, path), path)


def check_suffix(path: Path) -> str:
    """Return the suffix of a file name, if such files can be written."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in SUFFIXES:
        raise FileError(path, f"expected a name that ends in {', '.join(SUFFIXES)}.")
    return suffix


def to_list(column: Sequence[Any] | Ids) -> list[Any]:
    """Return the Python values of a column; NaN becomes None."""
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [None if value != value else value for value in values]


def _lines(blocks: Iterable[Columns], path: Path) -> Iterable[str]:
    """Yield the lines of a text table, or of JSONL."""
    delimiter = DELIMITERS.get(check_suffix(path))
    for number, columns in enumerate(blocks):
        names = tuple(columns)
        rows = zip(*map(to_list, columns.values()), strict=True)
        if delimiter is None:
            yield from (_json(dict(zip(names, row, strict=True)), path) for row in rows)
            continue
        for row in rows if number else [names, *rows]:
            yield delimiter.join(map(_cell, row))


def _cell(value: Any) -> str:
    """Return a cell of a text table; text is made safe for spreadsheets."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    text = escape(value) if isinstance(value, str) else str(value)
    if any(sign in text for sign in _QUOTED) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _json(record: dict[Any, Any], path: Path) -> str:
    """Return one line of JSONL."""
    try:
        return json.dumps(record, ensure_ascii=False)
    except TypeError as error:
        raise FileError(path, f"cannot be written as JSON ({error}). Convert ids to text.") from None


def _write_row_groups(blocks: Iterable[Columns], temporary: str, path: Path, types: Columns) -> None:
    """Write blocks as row groups of one Parquet file, in which a column holds one type."""
    import pyarrow as pa
    from pyarrow import parquet

    writer: Any = None
    try:
        for block in blocks:
            columns = {str(name): to_list(values) for name, values in block.items()}
            if writer is None:
                kinds = {name: pa.array(types.get(name, values)).type for name, values in columns.items()}
                writer = parquet.ParquetWriter(temporary, pa.schema(kinds))
            writer.write_table(pa.table(columns, writer.schema))
    except (pa.ArrowException, OverflowError) as error:
        raise FileError(
            path, f"cannot be written as Parquet, in which a column holds one type ({error}). Write JSONL."
        ) from None
    finally:
        if writer is not None:
            writer.close()
