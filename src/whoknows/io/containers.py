"""Content of a file of any kind: a table, records, or a bundle of files."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows.data.dataframes import ALIASES
from whoknows.data.vocabulary import Factor, factorize, show
from whoknows.io.binary import ARROW, factorize_column, read_arrow
from whoknows.io.delimited import later_header, parse_ids, parse_labels, read_columns, unescaped
from whoknows.io.encoding import (
    ZIP,
    allowed_size,
    decode,
    read_bytes,
    refuse_large_json,
    refuse_long_lines,
    refuse_many_cells,
    size_limit,
    unzip,
)
from whoknows.io.errors import FileError, Path, SeveralLabels, naming, reading
from whoknows.io.excel import is_workbook, read_sheet

TRUTH = ("truth", "true_label", "gold_label")  # columns of true labels
MAX_CELLS = 10_000_000  # of a table of records that need not be full
MAX_SPARSITY = 100  # cells per value of a larger one
_MAX_MEMBERS = 10_000  # files in a bundle
_OPEN_STRING = re.compile(r'"(?:[^"\\]|\\.)*+\\?', re.DOTALL)  # JSON that ends inside a string
_TRANSCRIPT = re.compile(
    r"samples/.*_epoch_\d+\.json", re.DOTALL
)  # in logs of Inspect, whose summaries have the scores
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


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
        return by_row(Factor(column.codes, unescaped(column.values)) if self.is_text else column)

    def records(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return rows as records; columns named in ``ids`` hold ids, the others labels or text."""
        columns = [by_row(self.ids(name) if name in ids else self.labels(name)) for name in self.names]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _parsed(self, name: str, parse: Callable[[list[Any]], list[Any]]) -> Factor:
        """Return a column with its distinct values parsed."""
        column = self.column(name)
        parsed = factorize(unescaped(parse(column.values)) if self.is_text else column.values, name)
        codes = np.append(parsed.codes, np.int32(-1))[column.codes]
        return Factor(codes, parsed.values)


def by_row(column: Factor) -> list[Any]:
    """Return the value of each row of a column, None if missing."""
    values = [*column.values, None]
    return [values[code] for code in column.codes.tolist()]


def keep_values(column: Factor, kept: list[int]) -> Factor:
    """Return a column with only some of its values, given by code; the others are missing."""
    code = np.full(len(column.values) + 1, -1, dtype=np.int32)
    code[kept] = np.arange(len(kept), dtype=np.int32)
    return Factor(code[column.codes], [column.values[place] for place in kept])


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
    notes : sequence of str
        Remarks for the user on how it was read.
    """

    path: Path
    container: str
    table: Table | None = None
    rows: Callable[[], list[Record]] | None = None
    members: Mapping[str, Content] | None = None
    notes: Sequence[str] = ()

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns, or keys of the records; none for a bundle."""
        return self.table.names if self.table else ()

    def table_of(self, expected: str) -> Table:
        """Return the table; if there is none, an error says what was expected."""
        if self.table is None:
            raise FileError(self.path, f"is {self}; expected {expected}.")
        return self.table

    def records(self, expected: str, ids: Sequence[str] = ()) -> list[Record]:
        """Return the records, or rows of CSV if columns named in ``ids`` hold ids; else raise an error."""
        if self.rows is not None:
            return self.rows()
        if not ids:
            raise FileError(self.path, f"is {self}; expected {expected}.")
        return _numbered(self.table_of(expected).records(ids), self.path)

    def __str__(self) -> str:
        """Describe the content, for a message."""
        if self.members is not None:
            return f"a {self.container} with the files {show(self.members)}"
        what = "keys" if self.container.startswith("JSON") else "columns"
        return f"{self.container} with the {what} {show(self.names, 12)}"


def open_content(path: Path, encoding: str | None = None) -> Content:
    """Read a file or a folder by its content; the name of a file is ignored."""
    if os.path.isdir(path):
        return _open_folder(path, encoding)
    return open_data(read_bytes(path), path, encoding)


def open_data(data: bytes, path: Path, encoding: str | None = None) -> Content:
    """Parse the bytes of a file of any kind."""
    if data.startswith(ARROW):
        return _of_arrow(read_arrow(data, path), path)
    if is_workbook(data):
        return _of_text(*read_sheet(data, path), path, "Excel")
    if data.startswith(ZIP):
        return _open_zip(data, path, encoding)
    refuse_many_cells(data, path)
    text, notes = decode(data, path, encoding)
    if looks_like_json(text):
        container, records = read_records(text, path)
        return Content(path, container, _of_records(records, path), lambda: records, notes=notes)
    return _of_text(text, notes, path, "CSV")


def _of_text(text: str, notes: list[str], path: Path, container: str) -> Content:
    """Return a text table."""
    columns, more = read_columns(text, path)
    table = Table(list(columns), columns.__getitem__, is_text=True, hint=later_header(text))
    return Content(path, container, table, notes=notes + more)


def _of_records(records: list[Record], path: Path) -> Table:
    """Return records as a table; keys that a record does not have are missing values."""
    names = list(dict.fromkeys(key for record in records for key in record))

    def column(name: str) -> Factor:
        with naming(path):  # true next to 1
            return factorize([record.scalar(name) for record in records], name)

    return Table(names, column, is_text=False)


def _of_arrow(table: Any, path: Path) -> Content:
    columns = Table(table.column_names, lambda name: factorize_column(table, name, path), is_text=False)
    return Content(path, "Parquet", columns, lambda: _numbered(table.to_pylist(), path))


def _open_folder(path: Path, encoding: str | None) -> Content:
    """Read every file of a folder that is not hidden."""
    with reading(path, "cannot be read ({})."):
        files = [entry.name for entry in os.scandir(path) if entry.is_file()]
    names = sorted(filter(_is_visible, files))
    if len(names) > _MAX_MEMBERS:
        raise FileError(path, f"holds {len(names)} files; expected at most {_MAX_MEMBERS}.")
    content = {name: read_bytes(os.path.join(path, name)) for name in names}
    return _bundle(path, "folder", content, encoding)


def _open_zip(data: bytes, path: Path, encoding: str | None) -> Content:
    """Read every file of a zip archive that is not hidden, within the size limit of the archive."""
    limit = allowed_size(len(data))
    with size_limit(limit):
        return _bundle(path, "zip", unzip(data, path, limit, _is_visible), encoding)


def _is_visible(name: str) -> bool:
    """Whether a file is neither hidden, nor metadata that macOS adds to archives, nor a transcript."""
    hidden = any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
    return not hidden and _TRANSCRIPT.fullmatch(name) is None


def _bundle(path: Path, container: str, files: Mapping[str, bytes], encoding: str | None) -> Content:
    """Read several files by name; empty files are left out, and archives but for logs of Inspect in a folder."""
    members = {
        name: open_data(data, os.path.join(path, name), encoding)
        for name, data in files.items()
        if data and not data.isspace()
        if not data.startswith(ZIP) or (container == "folder" and name.endswith(".eval"))
    }
    if not members:
        raise FileError(path, f"is a {container} without a file of labels.")
    notes = [note for member in members.values() for note in member.notes]
    return Content(path, container, members=members, notes=notes)


# --- names of columns -------------------------------------------------------------------------------


def must_have(names: Sequence[str], wanted: str, what: str, path: Path) -> str:
    """Return the wanted name if it exists; else raise an error that lists the existing names."""
    if wanted in names:
        return wanted
    near = difflib.get_close_matches(wanted, names[:1000], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    seen = f"There are {show(names, 20)}." if names else "There is none."
    raise FileError(path, f"has no {what} {wanted!r}.{hint} {seen}")


def find_name(names: Sequence[str], *usual: str) -> str | None:
    """Return the column with the first usual name that occurs, ignoring case and surrounding spaces."""
    bare = {name.strip().lower(): name for name in reversed(names)}
    return next((bare[name] for name in usual if name in bare), None)


def item_column(names: Sequence[str]) -> str | None:
    """Return the column of ids: item, an alias of it, or the index as pandas writes it."""
    index = "__index_level_0__" if "__index_level_0__" in names else None
    index = names[0] if names and names[0] in ("", "Unnamed: 0") else index
    return find_name(names, "item", *ALIASES["item"]) or index


def find_id(names: Sequence[str], given: str | None, path: Path) -> str | None:
    """Return the column of the ids: the given one, else that of `item_column`; None if there is none."""
    return item_column(names) if given is None else must_have(names, given, "column for the item", path)


def refuse_repeated_ids(ids: Factor, path: Path) -> None:
    """Refuse rows without an id, and ids of several rows."""
    if (ids.codes < 0).any():
        row = int(np.argmin(ids.codes)) + 1
        raise FileError(path, f"has no id in row {row}, not counting a header; expected one in every row.")
    if len(ids.values) < len(ids.codes):
        twice = ids.values[int(np.argmax(np.bincount(ids.codes) > 1))]
        raise FileError(path, f"has item {twice!r} more than once; expected one row per item.")


# --- JSON: records, and checked access to their values ----------------------------------------------


def looks_like_json(text: str) -> bool:
    """Whether a text starts as JSON or JSONL does."""
    return text.lstrip()[:1] in ("[", "{")


def read_records(text: str, path: Path) -> tuple[str, list[Record]]:
    """Return the name of the container, JSON or JSONL, and the objects in it.

    A file that starts with an object is JSONL if its first line is a complete object.
    """
    refuse_large_json(text, path)
    first = text.lstrip().partition("\n")[0]
    if first.startswith("{") and _is_json(first):
        return "JSONL", _alike(_numbered(_read_lines(text, path), path), path)
    content = _parse(text, path)
    records = content if isinstance(content, list) else [content]
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise FileError(path, f"expected a list of objects, got {kind_of(record)} at position {number}.")
    if not records:
        raise FileError(path, "holds an empty list.")
    return "JSON", _alike(_numbered(records, path), path)


def _alike(records: list[Record], path: Path) -> list[Record]:
    """Return records; refuse those that have hardly a key in common, whose table would be huge."""
    n_keys = len({key for record in records for key in record})
    n_cells = n_keys * len(records)
    if n_cells > MAX_CELLS and n_cells > MAX_SPARSITY * sum(map(len, records)):
        raise FileError(
            path, f"has {n_keys} different keys in {len(records)} records; expected about the same in each."
        )
    return records


def _numbered(records: Iterable[dict[str, Any]], path: Path) -> list[Record]:
    return [Record(record, number, path) for number, record in enumerate(records, 1)]


class Record(dict[str, Any]):
    """An object of a JSON file, with checked access to its values; errors name the record by its number.

    Parameters
    ----------
    values : dict
    number : int
        Position of the record in the file, counting from 1.
    path : str or path
    """

    __slots__ = ("number", "path")  # there may be millions

    def __init__(self, values: dict[str, Any], number: int, path: Path) -> None:
        super().__init__(values)
        self.number, self.path = number, path

    def scalar(self, key: str) -> Hashable:
        """Return a value that is text, a number or null."""
        value = self.get(key)
        return self.as_scalar(value, repr(key)) if isinstance(value, (dict, list)) else value

    def entries(self, key: str) -> list[Any]:
        """Return a value that is a list; [] if it is null."""
        return list(self._expect(list, self.get(key), repr(key)))

    def inner(self, key: str) -> Record:
        """Return a value that is an object; {} if it is null."""
        return self.as_object(self.get(key), repr(key))

    def objects(self, key: str) -> list[Record]:
        """Return a value that is a list of objects."""
        return [self.as_object(entry, f"an entry of {key!r}") for entry in self.entries(key)]

    def as_object(self, value: Any, what: str) -> Record:
        """Return an object in this record; {} if it is null."""
        return Record(self._expect(dict, value, what), self.number, self.path)

    def as_scalar(self, value: Any, what: str) -> Hashable:
        """Return a value that is text, a number or null."""
        if isinstance(value, (dict, list)):
            raise self._unexpected("text or a number", value, what)
        return value

    def answer(self, value: Any) -> Hashable:
        """Return the only answer in a value: text, a number, or the only entry of a list."""
        if isinstance(value, list) and len(value) > 1:
            raise SeveralLabels(value)
        if isinstance(value, list):
            value = value[0] if value else None
        return self.as_scalar(value, "the answer")

    def _expect(self, kind: type, value: Any, what: str) -> Any:
        """Return a value of this type, an empty one if it is null."""
        if value is not None and not isinstance(value, kind):
            raise self._unexpected(_KINDS[kind], value, what)
        return kind() if value is None else value

    def _unexpected(self, expected: str, value: Any, what: str) -> FileError:
        return FileError(self.path, f"expected {what} of record {self.number} to be {expected}, got {kind_of(value)}.")


def kind_of(value: Any) -> str:
    """Return the JSON type of a value, for a message."""
    return _KINDS.get(type(value), "a number")


def _read_lines(text: str, path: Path) -> Iterator[dict[str, Any]]:
    """Parse the lines of a JSONL file. Only a line feed ends a line: text may hold other line ends."""
    refuse_long_lines(text, path)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            record = _parse(line, path, number)
            if not isinstance(record, dict):
                raise FileError(path, f"expected an object in line {number}, got {kind_of(record)}.")
            yield record


def _parse(text: str, path: Path, line: int | None = None) -> Any:
    """Parse one JSON text; ``line`` is its line number in a JSONL file."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except _RepeatedKey as error:
        where = "" if line is None else f" in line {line}"
        raise FileError(path, f"has the key {error.args[0]!r} twice in one object{where}. Keep one.") from None
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or _OPEN_STRING.fullmatch(text, error.pos)
        raise FileError(
            path,
            f"is not valid JSON at line {line or error.lineno}, character {error.colno} ({error.msg})."
            + (" It seems to be cut off: export or download it again." if cut else ""),
        ) from None
    except RecursionError:
        raise FileError(path, "is nested too deeply to be an export of labels.") from None
    except ValueError as error:  # a number with more digits than Python accepts
        raise FileError(path, f"holds a number that cannot be read ({error}).") from None


class _RepeatedKey(Exception):
    """A key that occurs twice in one object, of which json would keep the last."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, whose keys must be distinct."""
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return made


def _is_json(text: str) -> bool:
    """Whether a text is valid JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
