"""Features of items: one interface whether they are in memory, memory-mapped or in Parquet files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whoknows._array import LARGEST, too_large
from whoknows.data.errors import Advice
from whoknows.data.vocabulary import Ids, factorize, show, tight_array
from whoknows.io.binary import NOT_NUMPY, NUMPY, PARQUET, is_list, is_number, read_npy
from whoknows.io.containers import by_row, find_id, must_have, open_content, refuse_repeated_ids
from whoknows.io.delimited import parse_ids, unescaped
from whoknows.io.encoding import MAX_FEATURES, decode, read_bytes
from whoknows.io.errors import FileError, Path, reading
from whoknows.io.feature_files import Categories, Numbers, check_matrix, choose_columns, read_numbers
from whoknows.io.parquet import MEMORY, ParquetFeatures
from whoknows.io.parquet_files import find_files, open_file


@dataclass(frozen=True, eq=False)
class Features:
    """Features of items.

    Parameters
    ----------
    ids : (n_items,)
        Distinct: an array, or an Arrow column of text for features out of core.
    X : float array, numpy.memmap or ParquetFeatures, of shape (n_items, n_features)
    names : tuple of n_features str
    notes : tuple of str
        Remarks for the user, such as which columns were left out.
    path : str or path
    numbered : bool
        Whether the file has no ids: they are the row numbers 0, 1, 2, ….
    categories : mapping from column to tuple of str
        Columns of texts that are encoded with one feature per text, and the texts.
    """

    ids: Any
    X: Any
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    path: Path = "features"
    numbered: bool = False
    categories: Categories = field(default_factory=dict)

    @classmethod
    def of(cls, X: ParquetFeatures) -> Features:
        """Return features in Parquet files, with their ids and names."""
        return cls(X.ids, X, X.columns, (), X.path, X.id_column is None)

    def __len__(self) -> int:
        """Return the number of items."""
        return int(self.X.shape[0])

    @property
    def in_memory(self) -> bool:
        """Whether all features are in memory; else rows are read when they are used (out of core)."""
        return type(self.X) is np.ndarray

    def ids_at(self, rows: Any) -> list[Any]:
        """Return the ids of some rows, given as a slice or an array of integers."""
        if isinstance(self.ids, np.ndarray):
            return self.ids[rows].tolist()
        return list((self.ids[rows] if isinstance(rows, slice) else self.ids.take(rows)).to_pylist())

    def take(self, rows: Any) -> Features:
        """Read some rows, given as a slice or an array of integers, into memory as float64."""
        X = np.asarray(self.X[rows], dtype=float)
        return replace(self, ids=tight_array(self.ids_at(rows)), X=X)

    def select(self, names: Sequence[str]) -> Features:
        """Return the features of these names, in this order."""
        if isinstance(self.X, ParquetFeatures):
            X = ParquetFeatures(self.X.files, self.X.id_column, names, memory=self.X.memory)
            return replace(self, X=X, names=tuple(names))
        places = [self.names.index(name) for name in names]
        if not self.in_memory and places == list(range(len(places))):
            return replace(self, X=self.X[:, : len(places)], names=tuple(names))  # a view: nothing is read
        return replace(self, X=self.X[:, places], names=tuple(names))

    def with_ids(self, path: Path, id_column: str | None = None, encoding: str | None = None) -> Features:
        """Return the same rows with the ids that a file lists: text, a table with an id column, or .npy."""
        notes = tuple(note for note in self.notes if note != NUMBERED)
        ids = check_ids(read_ids(path, id_column, encoding), len(self), path)
        return replace(self, ids=ids, notes=notes, numbered=False)


NUMBERED = "the file has no ids: items are numbered 0, 1, 2, … by row"


def read_features(
    path: Path,
    id_column: str | None = None,
    *,
    ids: Path | None = None,
    vector: str | None = None,
    memory: int | None = None,
    encoding: str | None = None,
    categories: Categories | None = None,
    ignore: Sequence[str] = (),
) -> Features:
    """Read features of items from CSV, Excel, Parquet, JSON, JSONL, .npy or .npz.

    Parameters
    ----------
    path : str or path
        A table: an id and numbers in each row, or an id and one column of lists of equal length (also the
        vectors of Argilla's records). ``.npy``: a matrix. ``.npz``: arrays X and, optionally, ids. A folder
        of Parquet files with the same columns.
    id_column : str, optional
        Column of the ids, in the features or, if they have none, in the table that lists them. Default: item,
        task, example or id, also with _id; else row numbers are the ids.
    ids : str or path, optional
        File with the ids of the rows: text with one per line, a table with an id column, or .npy. Default
        for ``NAME.npy``: ``NAME.ids.txt`` or ``NAME.ids.csv`` in the same folder.
    vector : str, optional
        Which column of lists to use, if there are several.
    memory : int, optional
        Features in Parquet or .npy that need more bytes than this are not read but used out of core. A
        folder always is. Default: every single file is read.
    encoding : str, optional
        Encoding of a text file. Default: UTF-8, UTF-16 or, with a note, Windows-1252.
    categories : mapping from column to texts, optional
        ``categories`` of the features of a fit, to encode other items in the same way. Default: columns of up
        to 20 distinct texts are encoded with one feature of zeros and ones per text.
    ignore : sequence of str
        Columns that are no features.

    Returns
    -------
    Features
    """
    limit = MEMORY if memory is None else min(memory, MEMORY)
    if os.path.isdir(path) or (memory is not None and bytes_needed(path) > memory):
        is_npy = _starts_with(path, NUMPY)
        features = _map_npy(path) if is_npy else _open_parquet(path, id_column, vector, limit, ignore)
    else:
        numbers = read_numbers(read_bytes(path, MAX_FEATURES), path, id_column, encoding)
        numbers.leave_out(ignore, path)
        features = _in_memory(numbers, path, vector, categories)
    ids = ids_file(path) if ids is None and features.numbered else ids
    if ids is None:
        return features
    return features.with_ids(ids, id_column if features.numbered else None, encoding)


def bytes_needed(path: Path) -> int:
    """Return the bytes that features take in memory as float64, for Parquet and .npy; 0 for other files.

    A file that is missing or damaged needs 0: the error is raised when it is read.
    """
    try:
        if _starts_with(path, NUMPY):
            return int(_map_npy(path).X.size) * 8
        if not _starts_with(path, PARQUET):
            return 0
        metadata = open_file(os.fspath(path)).metadata
    except (FileError, OSError):
        return 0
    groups = (metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    return max(metadata.num_rows * metadata.num_columns * 8, 2 * sum(groups))  # float32 becomes float64


def impute_median(features: Features, medians: Mapping[str, float] | None = None) -> tuple[Features, dict[str, float]]:
    """Replace missing numbers by the median of their column, of an earlier fit or of these items.

    Parameters
    ----------
    features : Features
        In memory.
    medians : mapping from feature to number, optional
        Of an earlier fit, for every feature. Default: of these items; columns without any number are then
        left out.

    Returns
    -------
    features : Features
        With further notes on what was replaced or left out.
    medians : dict from feature to number
    """
    _refuse_huge(features)
    if medians is None:
        features = _without_empty(features)
        medians = dict(zip(features.names, np.nanmedian(features.X, axis=0).tolist(), strict=True))
    missing = np.isnan(features.X)
    if missing.any():
        gaps = [name for name, some in zip(features.names, missing.any(axis=0), strict=True) if some]
        note = f"missing numbers replaced by the median of their column: {show(gaps)}"
        usual = np.array([medians[name] for name in features.names], dtype=features.X.dtype)
        X = np.where(missing, usual, features.X)
        features = replace(features, X=X, notes=(*features.notes, note))
    return features, dict(medians)


def _refuse_huge(features: Features) -> None:
    """Refuse numbers that are infinite or too large to be squared."""
    place = too_large(features.X)
    if place is not None:
        row, column = place
        raise FileError(
            features.path,
            f"expected numbers up to {LARGEST:g}, got {features.X[row, column]:g} in "
            f"{features.names[column]!r} of item {features.ids_at([row])[0]!r}. "
            "Leave such cells blank, or use another unit.",
        )


def _without_empty(features: Features) -> Features:
    """Return the columns that hold a number."""
    empty = np.isnan(features.X).all(axis=0)
    if empty.all():
        raise FileError(features.path, "holds no numbers; expected some for each item.")
    if not empty.any():
        return features
    names = np.array(features.names, dtype=object)
    note = f"columns without any number left out: {show(names[empty])}"
    return replace(features.select(names[~empty].tolist()), notes=(*features.notes, note))


# --- reading ----------------------------------------------------------------------------------------


def _in_memory(numbers: Numbers, path: Path, vector: str | None, categories: Categories | None) -> Features:
    """Return the features of a file that was read."""
    encoded = numbers.encode({} if numbers.vectors else categories)
    X, names, notes = numbers.matrix(vector, path)
    if numbers.ids is None and ids_file(path) is None:
        notes.append(NUMBERED)
    missing = np.isnan(X).sum(axis=0)
    if missing.any():
        first = names[int(np.argmax(missing > 0))]
        several = f"{int(missing.sum())} numbers are missing, the first in {first!r}"
        notes.append(several if missing.sum() > 1 else f"1 number is missing, in {first!r}")
    ids = check_ids(numbers.ids, len(X), path)
    return Features(ids, X, names, tuple(notes), path, numbers.ids is None, encoded)


def _open_parquet(
    path: Path, id_column: str | None, vector: str | None, memory: int, ignore: Sequence[str]
) -> Features:
    """Open Parquet files without reading features; those columns are used that would be read."""
    file = find_files(path)[0]
    schema = open_file(file).schema_arrow
    item = find_id(schema.names, id_column, file)
    for name in ignore:
        must_have(schema.names, name, "column", file)
    kinds = {name: kind for name, kind in zip(schema.names, schema.types, strict=True) if name not in (item, *ignore)}
    numbers = [name for name, kind in kinds.items() if is_number(kind)]
    lists = [name for name, kind in kinds.items() if is_list(kind)]
    others = {name: str(kind) for name, kind in kinds.items() if name not in (*numbers, *lists)}
    columns, notes = choose_columns(numbers, lists, others, vector, file)
    if not columns:
        raise FileError(file, f"has no column of numbers; there are {show(schema.names, 20)}.")
    features = Features.of(ParquetFeatures(path, id_column, columns, memory=memory))
    return replace(features, notes=tuple(notes), path=path)


def _starts_with(path: Path, magic: bytes) -> bool:
    """Whether a path is that of a file that starts with some bytes."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _map_npy(path: Path) -> Features:
    """Open a .npy file through a memory map."""
    with reading(path, NOT_NUMPY, ValueError, EOFError):
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    check_matrix(X, path)
    names = tuple(f"f{place}" for place in range(X.shape[1]))
    return Features(np.arange(len(X)), X, names, (), path, numbered=True)


# --- ids --------------------------------------------------------------------------------------------


def ids_file(path: Path) -> Path | None:
    """Return the file that lists the ids of the rows of NAME.npy: NAME.ids.txt or NAME.ids.csv."""
    stem = os.path.splitext(os.fspath(path))[0]
    return next((name for name in (f"{stem}.ids.txt", f"{stem}.ids.csv") if os.path.isfile(name)), None)


def read_ids(path: Path, id_column: str | None = None, encoding: str | None = None) -> list[Any]:
    """Read ids from an array, a table with an id column, or text with one id per line."""
    data = read_bytes(path)
    if data.startswith(NUMPY):
        return read_npy(data, path).ravel().tolist()
    if os.fspath(path).lower().endswith(".txt"):
        text, _ = decode(data, path, encoding)
        lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")
        return unescaped(parse_ids(lines))
    content = open_content(path, encoding)
    table = content.table_of("a list of ids")
    name = find_id(content.names, id_column, path)
    if name is None and len(content.names) > 1:
        advice = Advice("id_column", "id_column=...")
        raise FileError(path, f"has no column of ids; there are {show(content.names, 20)}. Name it: ", advice)
    return by_row(table.ids(name or content.names[0]))


def check_ids(ids: Sequence[Any] | None, n_rows: int, path: Path) -> Ids:
    """Return the ids of the rows, which must be distinct and complete; row numbers if there are none."""
    if ids is None:
        return np.arange(n_rows)
    if len(ids) != n_rows:
        raise FileError(path, f"lists {len(ids)} ids for {n_rows} rows of features.")
    try:
        factor = factorize(list(ids), "item")
    except (TypeError, ValueError) as error:
        raise FileError(path, str(error)) from None
    refuse_repeated_ids(factor, path)
    return tight_array(factor.values)
