"""Where the rows of a Parquet data set lie: its files, their row groups, and the columns they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.vocabulary import show
from whoknows.io.errors import FileError
from whoknows.io.labels.format import item_column, must_have
from whoknows.io.parquet.files import open_file, readable

_SINGLE = ("halffloat", "float", "bool", "int8", "uint8", "int16", "uint16")  # what float32 holds exactly
_PANDAS_INDEX = "__index_level_0__"


@dataclass(frozen=True)
class Column:
    """A column of numbers, or of lists of as many numbers in every row.

    Attributes
    ----------
    name : str
    width : int or None
        Numbers in a list; None if the column holds numbers.
    single : bool
        Whether float32 holds them exactly.
    """

    name: str
    width: int | None
    single: bool

    @property
    def features(self) -> list[str]:
        """What its numbers are called."""
        return [self.name] if self.width is None else [f"{self.name}{place}" for place in range(self.width)]


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows in order, and where to read them.

    Attributes
    ----------
    files : tuple of str
    file, number, before : (n_groups,)
        File of each row group, its number in that file, and how many rows of the file come before it.
    bounds : (n_groups + 1,)
        Row at which each group starts, and where the last one ends. In a part of a data set the first group
        may start before row 0, and the last end after the last row.
    n_rows : int
    columns : tuple of Column
    id_column : str or None
    """

    files: tuple[str, ...]
    file: NDArray[np.int64]
    number: NDArray[np.int64]
    before: NDArray[np.int64]
    bounds: NDArray[np.int64]
    n_rows: int
    columns: tuple[Column, ...]
    id_column: str | None

    @classmethod
    def of(cls, files: Sequence[str], id_column: str | None, columns: Sequence[str] | None) -> Layout:
        """Read the footers of all files, which must have the same columns."""
        first = open_file(files[0])
        schema = first.schema_arrow
        name = find_id(schema.names, id_column, files[0])
        chosen = _chosen(schema, name, columns, files[0])
        wanted = {each: schema.field(each).type for each in (*chosen, *([name] if name else []))}
        places = []
        for place, path in enumerate(files):
            file = first if place == 0 else open_file(path)
            if place:
                _check_same(file.schema_arrow, wanted, columns is None, path, files[0])
            places += [
                (place, group, file.metadata.row_group(group).num_rows)
                for group in range(file.metadata.num_row_groups)
            ]
        file_of, number, rows = (
            np.array([each for each in places if each[2]], dtype=np.int64).reshape(-1, 3).T
        )
        if not rows.size:
            more = f" Nor does any of the {len(files) - 1} files beside it." if len(files) > 1 else ""
            raise FileError(files[0], f"holds no rows; expected one an item.{more}")
        bounds = np.append(0, np.cumsum(rows))
        before = bounds[:-1] - bounds[np.searchsorted(file_of, file_of)]
        made = tuple(_column(schema.field(each), files[int(file_of[0])]) for each in chosen)
        return cls(tuple(files), file_of, number, before, bounds, int(bounds[-1]), made, name)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type that holds every feature: float32 if it does, else float64."""
        return np.dtype(np.float32 if all(column.single for column in self.columns) else np.float64)

    def part(self, start: int, stop: int) -> Layout:
        """Rows from start up to stop, with only the files these are in."""
        first, last = self.group_of(start), self.group_of(stop - 1)
        groups = slice(first, last + 1)
        kept = np.unique(self.file[groups])
        return replace(
            self,
            files=tuple(self.files[place] for place in kept),
            file=np.searchsorted(kept, self.file[groups]),
            number=self.number[groups],
            before=self.before[groups],
            bounds=self.bounds[first : last + 2] - start,
            n_rows=stop - start,
        )

    def group_of(self, row: int) -> int:
        """Row group that a row is in."""
        return int(np.searchsorted(self.bounds, row, side="right")) - 1

    def where(self, row: int) -> tuple[str, int, int]:
        """File of a row, its row group there, and its place in the file, both counted from 0."""
        group = self.group_of(row)
        in_file = int(self.before[group] + row - self.bounds[group])
        return self.files[self.file[group]], int(self.number[group]), in_file


def find_id(names: Sequence[str], given: str | None, path: str) -> str | None:
    """Column of the ids: the one given, else item or one of its aliases, else the index of pandas."""
    if given is not None:
        return must_have(names, given, "column for the item", path)
    return item_column(names) or (_PANDAS_INDEX if _PANDAS_INDEX in names else None)


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is a number or a boolean."""
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is a list of numbers."""
    import pyarrow.types as types

    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(lists and is_number(kind.value_type))


def _chosen(schema: Any, item: str | None, columns: Sequence[str] | None, path: str) -> list[str]:
    """Names of the columns that hold features; one that holds no numbers is refused."""
    twice = [name for name in schema.names if schema.names.count(name) > 1]
    if twice:
        raise FileError(path, f"has several columns named {twice[0]!r}. Rename all but one.")
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
            f"{more}. Say which columns are features: columns=[...].",
        )
    if not chosen:
        raise FileError(path, f"has no column of features; there are {show(schema.names)}.")
    return chosen


def _check_same(schema: Any, wanted: dict[str, Any], all_of_them: bool, path: str, first: str) -> None:
    """Refuse a file whose columns are not those of the first one."""
    there = dict(zip(schema.names, schema.types, strict=True))
    missing = [name for name in wanted if name not in there]
    others = [
        f"{name!r} is {there[name]} and not {kind}"
        for name, kind in wanted.items()
        if name in there and there[name] != kind
    ]
    more = [name for name in there if name not in wanted] if all_of_them else []
    differ = [
        *([f"it lacks {show(missing)}"] if missing else []),
        *([f"it has {show(more)} besides"] if more else []),
        *others[:5],
    ]
    if differ:
        raise FileError(
            path,
            f"expected the columns of {first}, the first file; {'; '.join(differ)}. "
            "Write all files with one schema, or leave this one out.",
        )


def _column(field: Any, path: str) -> Column:
    """What a column of features is like; how long its lists are is seen in its first row if not said."""
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
