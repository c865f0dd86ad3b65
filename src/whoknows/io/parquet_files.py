"""Where the rows of a Parquet dataset are: its files, their row groups, and the columns they share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path as LocalPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whoknows.data.errors import InputError
from whoknows.data.vocabulary import show
from whoknows.io.binary import is_list, is_number, readable
from whoknows.io.containers import find_id, must_have
from whoknows.io.delimited import refuse_repeated
from whoknows.io.errors import FileError, Path, import_pyarrow

ENDINGS = (".parquet", ".pq")
_BUFFER = 1 << 16  # bytes of a column that are read at a time if a row group does not fit
_SINGLE = ("halffloat", "float", "bool", "int8", "uint8", "int16", "uint16")  # what float32 holds exactly


@dataclass(frozen=True)
class Column:
    """A column of numbers, or of lists of numbers that all have the same length.

    Attributes
    ----------
    name : str
    width : int or None
        Length of the lists; None if the column holds numbers.
    single : bool
        Whether float32 represents the numbers exactly.
    """

    name: str
    width: int | None
    single: bool

    @property
    def features(self) -> list[str]:
        """Names of its features."""
        return [self.name] if self.width is None else [f"{self.name}{place}" for place in range(self.width)]


class Group(NamedTuple):
    """A row group: its file, its number in that file, the number of rows before it in the file, its rows."""

    path: str
    number: int
    before: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows in order, and where to read them.

    Attributes
    ----------
    groups : tuple of n_groups Group
    bounds : (n_groups + 1,)
        First row of each group, and the end of the last one. In a part of a dataset the first group may
        start before row 0, and the last one end after the last row.
    n_rows : int
    columns : tuple of Column
    id_column : str or None
    """

    groups: tuple[Group, ...]
    bounds: NDArray[np.int64]
    n_rows: int
    columns: tuple[Column, ...]
    id_column: str | None

    @classmethod
    def of(cls, files: Sequence[str], id_column: str | None, columns: Sequence[str] | None) -> Layout:
        """Read the footers of all files, which must have the same columns."""
        schema = open_file(files[0]).schema_arrow
        item = find_id(schema.names, id_column, files[0])
        chosen = _chosen(schema, item, columns, files[0])
        wanted = {each: schema.field(each).type for each in (*chosen, *([item] if item else []))}
        groups: list[Group] = []
        for path in files:
            file = open_file(path)
            _check_same(file.schema_arrow, wanted, columns is None, path, files[0])
            groups += _groups(path, file.metadata)
        if not groups:
            more = f" The other {len(files) - 1} files hold none either." if len(files) > 1 else ""
            raise FileError(files[0], f"holds no rows; expected one per item.{more}")
        bounds = np.cumsum([0, *(group.n_rows for group in groups)])
        made = tuple(_column(schema.field(each), groups[0].path) for each in chosen)
        return cls(tuple(groups), bounds, int(bounds[-1]), made, item)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the features: float32 if it represents all of them exactly, else float64."""
        return np.dtype(np.float32 if all(column.single for column in self.columns) else np.float64)

    def part(self, start: int, stop: int) -> Layout:
        """Return the layout of the rows from start up to stop."""
        first, end = self.group_of(start), self.group_of(stop - 1) + 1
        bounds = self.bounds[first : end + 1] - start
        return replace(self, groups=self.groups[first:end], bounds=bounds, n_rows=stop - start)

    def group_of(self, row: int) -> int:
        """Return the row group of a row."""
        return int(np.searchsorted(self.bounds, row, side="right")) - 1

    def where(self, row: int) -> tuple[str, int, int]:
        """Return the file of a row, its row group and its position in that file, counting from 0."""
        place = self.group_of(row)
        group = self.groups[place]
        return group.path, group.number, int(group.before + row - self.bounds[place])


def _groups(path: str, metadata: Any) -> Iterator[Group]:
    """Yield the row groups of a file that hold rows."""
    before = 0
    for number in range(metadata.num_row_groups):
        n_rows = metadata.row_group(number).num_rows
        if n_rows:
            yield Group(path, number, before, n_rows)
        before += n_rows


def _chosen(schema: Any, item: str | None, columns: Sequence[str] | None, path: str) -> list[str]:
    """Return the columns of features; refuse one without numbers."""
    refuse_repeated(schema.names, path)
    if columns is None:
        chosen = [name for name in schema.names if name != item]
    else:
        chosen = [must_have(schema.names, name, "column of features", path) for name in columns]
    others = {name: schema.field(name).type for name in chosen}
    odd = [f"{name!r} ({kind})" for name, kind in others.items() if not (is_number(kind) or is_list(kind))]
    if odd:
        more = f" and {len(odd) - 5} more" if len(odd) > 5 else ""
        raise FileError(
            path,
            f"expected numbers, or lists of numbers, in every column of features, got {', '.join(odd[:5])}"
            f"{more}. Name the columns of features: columns=[...].",
        )
    if not chosen:
        raise FileError(path, f"has no column of features; there are {show(schema.names)}.")
    return chosen


def _check_same(schema: Any, wanted: dict[str, Any], all_of_them: bool, path: str, first: str) -> None:
    """Refuse a file whose columns differ from those of the first one."""
    there = dict(zip(schema.names, schema.types, strict=True))
    missing = [name for name in wanted if name not in there]
    others = [
        f"{name!r} is {there[name]} and not {kind}"
        for name, kind in wanted.items()
        if name in there and there[name] != kind
    ]
    more = [name for name in there if name not in wanted] if all_of_them else []
    differ = [f"it lacks {show(missing)}"] if missing else []
    differ += [f"it has {show(more)} in addition"] if more else []
    differ += others[:5]
    if differ:
        raise FileError(
            path,
            f"expected the same columns as in the first file, {first}; {'; '.join(differ)}. "
            "Write all files with one schema, or leave this one out.",
        )


def _column(field: Any, path: str) -> Column:
    """Describe a column of features; the length of its lists is that of the first row if not declared."""
    kind = field.type
    if is_number(kind):
        return Column(field.name, None, str(kind) in _SINGLE)
    width = getattr(kind, "list_size", None)
    if width is None:
        with readable(path):
            batches = open_file(path, streamed=True).iter_batches(batch_size=1, columns=[field.name])
            first = next(batch for batch in batches if batch.num_rows).column(field.name)[0]
        width = len(first) if first.is_valid else 0
    if not width:
        raise FileError(path, f"expected lists of numbers in {field.name!r}, got an empty one in row 0.")
    return Column(field.name, int(width), str(kind.value_type) in _SINGLE)


# --- files ------------------------------------------------------------------------------------------


def find_files(path: Path | Sequence[Path]) -> tuple[str, ...]:
    """Return the files of a dataset: one, a list, or all Parquet files of a folder and its subfolders."""
    if not isinstance(path, (str, os.PathLike)):
        files = tuple(os.fspath(each) for each in path)
        if not files:
            raise InputError("Expected a file, a folder or a list of files of features; got an empty list.")
        return files
    if not os.path.isdir(path):
        return (os.fspath(path),)
    folder = LocalPath(path)
    inside = (each.relative_to(folder) for each in folder.rglob("*") if each.suffix.lower() in ENDINGS)
    files = tuple(str(folder / each) for each in sorted(filter(_is_data, inside), key=attrgetter("parts")))
    if not files:
        seen = sorted(each.name for each in folder.iterdir())[:5]
        found = f"there are {', '.join(map(repr, seen))}" if seen else "it is empty"
        raise FileError(
            path,
            f"is a folder without Parquet files; expected names that end in {' or '.join(ENDINGS)}, {found}. "
            "Pass the folder that holds them.",
        )
    return files


def _is_data(path: LocalPath) -> bool:
    """Whether a file is neither hidden nor metadata of a writer, such as _metadata."""
    return not any(part.startswith((".", "_")) for part in path.parts)


def open_file(path: str, streamed: bool = False) -> Any:
    """Open a file; if ``streamed``, a few pages are kept in memory and not a whole row group."""
    import_pyarrow(path)
    from pyarrow import parquet

    options: dict[str, Any] = {"pre_buffer": False, "buffer_size": _BUFFER} if streamed else {}
    with readable(path):
        return parquet.ParquetFile(path, page_checksum_verification=True, **options)
