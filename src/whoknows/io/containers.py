"""Content of a file of any kind: a table, records, or a bundle of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Factor, factorize, show
from whoknows.io.arrow import MAGIC, factorize_column, read_arrow
from whoknows.io.delimited import later_header, parse_ids, parse_labels, read_columns, unescaped
from whoknows.io.encoding import ZIP, allowed_size, decode, read_bytes, size_limit, unzip
from whoknows.io.errors import FileError, Path
from whoknows.io.json_records import Record, as_scalar, looks_like_json, read_records

_MAX_MEMBERS = 10_000  # files in a bundle


@dataclass(frozen=True)
class Table:
    """Named columns of one length.

    Parameters
    ----------
    names : sequence of str
    column : function from name to Factor
        Distinct values of a column as in the file, and codes into them.
    is_text : bool
        Whether all values are text, as in CSV, so that numbers must be parsed.
    hint : str
        What seems to be wrong with the names, for a message.
    """

    names: Sequence[str]
    column: Callable[[str], Factor]
    is_text: bool
    hint: str = ""

    def ids(self, name: str) -> Factor:
        """Return a column of ids: integers if all are, else as in the file."""
        return self._parsed(name, parse_ids)

    def labels(self, name: str) -> Factor:
        """Return a column of labels: numbers if all are, else as in the file."""
        return self._parsed(name, parse_labels)

    def values(self, name: str) -> list[Any]:
        """Return the values of a column as in the file, None if missing."""
        column = self.column(name)
        values = [*(unescaped(column.values) if self.is_text else column.values), None]
        return [values[code] for code in column.codes]

    def records(self, ids: Sequence[str]) -> list[Record]:
        """Return rows as records; columns named in ``ids`` hold ids, the others labels or text."""
        parsed = {name: self.ids(name) if name in ids else self.labels(name) for name in self.names}
        values = [[*column.values, None] for column in parsed.values()]
        codes = [column.codes.tolist() for column in parsed.values()]
        return [
            dict(zip(parsed, (known[code] for known, code in zip(values, row, strict=True)), strict=True))
            for row in zip(*codes, strict=True)
        ]

    def _parsed(self, name: str, parse: Callable[[list[Any]], list[Any]]) -> Factor:
        """Return a column with its distinct values parsed."""
        column = self.column(name)
        parsed = factorize(unescaped(parse(column.values)) if self.is_text else column.values, name)
        codes = np.append(parsed.codes, np.int32(-1))[column.codes]
        return Factor(codes, parsed.values)


@dataclass(frozen=True)
class Content:
    """Content of a file: a table, or a bundle of files; JSON and JSONL are both table and records.

    Parameters
    ----------
    path : str or path
    container : str
        CSV, Parquet, JSON, JSONL, zip or folder.
    table : Table, optional
    rows : function without arguments, optional
        Returns the records, if rows can hold lists and objects.
    members : mapping from file name to Content, optional
    """

    path: Path
    container: str
    table: Table | None = None
    rows: Callable[[], list[Record]] | None = None
    members: Mapping[str, Content] | None = None

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns, or keys of the records; none for a bundle."""
        return self.table.names if self.table else ()

    def __str__(self) -> str:
        """Describe the content, for a message."""
        if self.members is not None:
            return f"a {self.container} with the files {show(self.members)}"
        what = "keys" if self.container.startswith("JSON") else "columns"
        return f"{self.container} with the {what} {show(self.names, 12)}"


def open_content(path: Path) -> Content:
    """Read a file or a folder by its content; the name of a file is ignored."""
    if os.path.isdir(path):
        return _open_folder(path)
    return open_data(read_bytes(path), path)


def open_data(data: bytes, path: Path) -> Content:
    """Parse the bytes of a file of any kind."""
    if data.startswith(MAGIC):
        return _of_arrow(read_arrow(data, path), path)
    if data.startswith(ZIP):
        return _open_zip(data, path)
    text = decode(data, path)
    if looks_like_json(text):
        container, records = read_records(text, path)
        return Content(path, container, table_of_records(records, path), lambda: records)
    columns = read_columns(text, path)
    table = Table(list(columns), columns.__getitem__, is_text=True, hint=later_header(text))
    return Content(path, "CSV", table)


def table_of_records(records: list[Record], path: Path) -> Table:
    """Return records as a table; keys that a record does not have are missing values."""
    names = list(dict.fromkeys(key for record in records for key in record))

    def column(name: str) -> Factor:
        values = [as_scalar(r.get(name), repr(name), n, path) for n, r in enumerate(records, 1)]
        try:
            return factorize(values, name)
        except InputError as error:  # true next to 1
            raise FileError(path, error.message) from None

    return Table(names, column, is_text=False)


def _of_arrow(table: Any, path: Path) -> Content:
    columns = Table(table.column_names, lambda name: factorize_column(table, name, path), is_text=False)
    return Content(path, "Parquet", columns, table.to_pylist)


def _open_folder(path: Path) -> Content:
    """Read every file of a folder that is not hidden."""
    try:
        names = sorted(
            entry.name for entry in os.scandir(path) if entry.is_file() and _is_visible(entry.name)
        )
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror}).") from None
    if len(names) > _MAX_MEMBERS:
        raise FileError(path, f"holds {len(names)} files; expected at most {_MAX_MEMBERS}.")
    return _bundle(path, "folder", {name: read_bytes(os.path.join(path, name)) for name in names})


def _open_zip(data: bytes, path: Path) -> Content:
    """Read every file of a zip archive that is not hidden, within the size limit of the archive."""
    limit = allowed_size(len(data))
    with size_limit(limit):
        return _bundle(path, "zip", unzip(data, path, limit, _is_visible))


def _is_visible(name: str) -> bool:
    """Whether a file is neither hidden nor metadata that macOS adds to archives."""
    return not any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def _bundle(path: Path, container: str, files: Mapping[str, bytes]) -> Content:
    """Read several files by name; nested archives and empty files are left out."""
    members = {
        name: open_data(data, os.path.join(path, name))
        for name, data in files.items()
        if data.strip() and not data.startswith(ZIP)
    }
    if not members:
        raise FileError(path, f"is a {container} without a file of labels.")
    return Content(path, container, members=members)
