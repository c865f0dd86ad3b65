"""Numbers in files, read into memory: columns of a table, lists in its rows, or an array; with their ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.errors import Advice, Message
from whoknows.data.vocabulary import Factor, factorize, show
from whoknows.io.binary import ARROW, NUMPY, factorize_column, is_list, is_number, read_arrow, read_npy, read_npz
from whoknows.io.containers import TRUTH, Record, find_id, kind_of, looks_like_json, must_have, read_records
from whoknows.io.delimited import (
    blocks,
    factorize_cells,
    has_comma,
    is_blank,
    is_date,
    is_missing_text,
    later_header,
    parse_ids,
    read_header,
    unescaped,
    with_points,
)
from whoknows.io.encoding import decode
from whoknows.io.errors import FileError, Path
from whoknows.io.excel import is_workbook, read_sheet

OF_TEXT = Advice("text", "For text, see TextFeatures.")
SPLITS = ("split", "fold", "subset", "partition")  # names of columns that say which items are for testing
PARTS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev", "eval", "holdout"}
MAX_CATEGORIES = 20  # distinct texts of a column that is encoded with one feature per text

Categories = Mapping[str, Sequence[str]]


@dataclass
class Numbers:
    """Numbers of a file of features.

    Parameters
    ----------
    ids : sequence of ids, or None
    columns : dict from name to (n_items,)
    vectors : dict from name to function that gives (n_items, n_features)
        Read only when called, as a file may hold several.
    texts : dict from name to Factor
        Columns of texts.
    left_out : dict from name to a value
        Columns that are not used, and a value that is not a number.
    notes : list of str
        On how the file was read, and on other cells of numeric columns; they are NaN.
    """

    ids: Sequence[Any] | None = None
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    vectors: dict[str, Callable[[], NDArray[Any]]] = field(default_factory=dict)
    texts: dict[str, Factor] = field(default_factory=dict)
    left_out: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, column: Factor, parse: Callable[[Any], float]) -> None:
        """Add a column, with NaN for other cells, if at least half of its non-blank cells are numbers.

        Parameters
        ----------
        name : str
        column : Factor
        parse : function from cell to number
            NaN for a blank cell, ValueError for one that is neither blank nor a number.
        """
        parsed, odd = np.full(len(column.values) + 1, np.nan), []
        for code, cell in enumerate(column.values):
            try:
                parsed[code] = parse(cell)
            except ValueError:
                odd.append(code)
        numbers = parsed[column.codes]
        if odd:
            example = next((code for code in odd if has_comma(column.values[code])), odd[0])
            value, n_odd = column.values[example], int(np.isin(column.codes, odd).sum())
            if n_odd > np.count_nonzero(~np.isnan(numbers)) or has_comma(value):
                self.texts[name] = column
                return
            cells = "1 cell is not a number (" if n_odd == 1 else f"{n_odd} cells are not numbers (first "
            row = int(np.argmax(column.codes == example)) + 1
            self.notes.append(f"{name}: {cells}{str(value)[:40]!r}, row {row}): treated as missing")
        self.columns[name] = numbers

    def leave_out(self, ignore: Sequence[str], path: Path) -> None:
        """Remove columns that are not to be used."""
        for name in ignore:
            must_have(self.names, name, "column", path)
            for kind in (self.columns, self.vectors, self.texts, self.left_out):
                kind.pop(name, None)

    def encode(self, categories: Categories | None) -> dict[str, tuple[str, ...]]:
        """Add a feature of zeros and ones for each text of the columns of few texts; return the texts.

        Parameters
        ----------
        categories : mapping from column to texts, or None
            Texts of an earlier fit: others are 0 in all features of the column, and so are missing ones.
        """
        texts = {name: _stripped(column) for name, column in self.texts.items()}
        if categories is None:
            few = {name: column for name, column in texts.items() if _are_few(name, column)}
            used = {name: tuple(sorted(map(str, column.values))) for name, column in few.items()}
        else:
            used = {name: tuple(categories[name]) for name in categories if name in self.names}
        if categories is None:
            candidates: dict[str, Sequence[str]] = {**dict.fromkeys(self.columns, ()), **used}
            self.notes += [_on_split(name) for name, known in candidates.items() if _is_split(name, known)]
        for name, known in used.items():
            column = texts.get(name) or Factor(np.full(self.n_rows, -1, dtype=np.int32), [])
            self.columns.pop(name, None)
            for text in known:
                is_text = np.array([*(value == text for value in column.values), False])
                self.columns[f"{name}={text}"] = is_text[column.codes].astype(float)
            others = sorted(str(value) for value in column.values if value not in known)
            if others:
                self.notes.append(f"{name}: {show(others)} did not occur in the fit: all its features are 0")
        self.left_out |= {name: _example(column) for name, column in self.texts.items() if name not in used}
        if used and categories is None:
            shown = ", ".join(f"{name!r} ({show(known, 3)})" for name, known in used.items())
            self.notes.append(f"columns of texts encoded with one feature per text: {shown}")
        return used

    @property
    def names(self) -> list[str]:
        """Names of all columns but the ids."""
        return [*self.columns, *self.vectors, *self.texts, *self.left_out]

    @property
    def n_rows(self) -> int:
        """Number of items, if there is a column of numbers."""
        return len(next(iter(self.columns.values()), ()))

    def matrix(self, vector: str | None, path: Path) -> tuple[NDArray[Any], tuple[str, ...], list[str]]:
        """Return features, their names, and notes on what was left out."""
        others = {name: f"such as {str(value)[:40]!r}" for name, value in self.left_out.items()}
        chosen, notes = choose_columns(list(self.columns), list(self.vectors), others, vector, path)
        if not chosen:
            raise FileError(path, "has no column of numbers.", *_why_not(self.left_out))
        if any(map(has_comma, self.left_out.values())):
            notes[0] = Message(notes[0], " Use a decimal point in numbers.")
        if chosen[0] not in self.vectors:
            return np.column_stack(list(self.columns.values())), tuple(chosen), notes + self.notes
        X = self.vectors[chosen[0]]()
        check_matrix(X, path)
        X = X.astype(np.float32 if X.dtype in (np.float16, np.float32) else np.float64)
        return X, tuple(f"{chosen[0]}{place}" for place in range(X.shape[1])), notes


def _is_split(name: str, texts: Sequence[str]) -> bool:
    """Whether a column says which items are for training and which for testing, by its name or its texts."""
    return name.strip().lower() in SPLITS or (bool(texts) and PARTS.issuperset(map(str.lower, texts)))


def _on_split(name: str) -> Message:
    advice = Advice("ignore", f"ignore=[{name!r}]", name=name)
    what = f"{name!r} seems to say which items are for testing, and is used as a feature; leave it out with "
    return Message(what, advice)


def _stripped(column: Factor) -> Factor:
    """Return a column of texts without spaces around them and without texts for a missing value."""
    values = [None if is_missing_text(value) else str(value).strip() for value in column.values]
    parsed = factorize(values, "text")
    return Factor(np.append(parsed.codes, np.int32(-1))[column.codes], parsed.values)


def _are_few(name: str, column: Factor) -> bool:
    """Whether the texts of a column are few, as categories are, and neither dates nor true labels."""
    few = 2 <= len(column.values) <= min(MAX_CATEGORIES, len(column.codes) // 2)
    odd = name.strip().lower() in TRUTH or any(is_date(value) or has_comma(value) for value in column.values)
    return few and not odd


def _example(column: Factor) -> Any:
    """Return a cell that is not a number; one with a decimal comma if there is any."""
    return next(filter(has_comma, column.values), next(iter(column.values), None))


def choose_columns(
    numbers: Sequence[str], lists: Sequence[str], others: Mapping[str, str], vector: str | None, path: Path
) -> tuple[Sequence[str], list[str]]:
    """Return the columns to use as features, and notes on the other ones.

    Parameters
    ----------
    numbers, lists : sequence of str
        Columns of numbers, and of lists of numbers: one of these is used, if there is any.
    others : mapping from column to what it holds
    vector : str or None
        Which column of lists to use.
    """
    if vector is not None:
        must_have(lists, vector, "column of lists", path)
    elif len(lists) > 1:
        advice = Advice("vector", "vector=...")
        raise FileError(path, f"has several columns of lists: {show(lists)}. Choose one: ", advice)
    chosen = [vector] if vector is not None else lists or numbers
    notes: list[str] = []
    if others and chosen:
        shown = ", ".join(f"{name!r} ({what})" for name, what in list(others.items())[:5])
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        notes.append(Message(f"columns left out, as they hold no numbers: {shown}{more}. ", OF_TEXT))
    unused = [name for name in (*numbers, *lists) if name not in chosen]
    return chosen, [*notes, f"columns left out: {show(unused)}"] if unused else notes


def _why_not(left_out: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a column without numbers holds, and what to do about it."""
    if not left_out:
        return ()
    name, value = next(iter(left_out.items()))
    return f" Column {name!r} holds {str(value)[:40]!r}. ", ("Use a decimal point." if has_comma(value) else OF_TEXT)


def check_matrix(X: NDArray[Any], path: Path) -> None:
    """Refuse an array that is not a matrix of numbers."""
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        raise FileError(
            path,
            f"holds an array of shape {X.shape} and type {X.dtype}; expected numbers, one row per item "
            "and one column per feature.",
        )


def read_numbers(data: bytes, path: Path, id_column: str | None, encoding: str | None = None) -> Numbers:
    """Read a file of features by its content."""
    if data.startswith(NUMPY):
        return Numbers(vectors={"f": partial(read_npy, data, path)})
    if data.startswith(ARROW):
        return _of_arrow(read_arrow(data, path), path, id_column)
    if data.startswith(b"PK") and not is_workbook(data):
        return _of_npz(read_npz(data, path), path)
    text, notes = read_sheet(data, path) if is_workbook(data) else decode(data, path, encoding)
    if looks_like_json(text):
        numbers = _of_records(read_records(text, path)[1], path, id_column)
    else:
        numbers = _of_csv(text, path, id_column)
    numbers.notes[:0] = notes
    return numbers


def _of_npz(members: dict[str, NDArray[Any]], path: Path) -> Numbers:
    """Return the arrays X and ids of a .npz file."""
    if not members:
        raise FileError(path, "is a zip that holds no arrays. Expected CSV, Parquet, .npy or .npz.")
    must_have(list(members), "X", "array", path)
    ids = members.get("ids")
    if ids is not None and ids.dtype.kind == "S":
        ids = np.char.decode(ids, "utf-8", "replace")
    return Numbers(None if ids is None else ids.ravel().tolist(), vectors={"f": lambda: members["X"]})


def _of_csv(text: str, path: Path, id_column: str | None) -> Numbers:
    """Read the numbers of a text table, block by block; columns with other cells are read once more."""
    delimiter, header = read_header(text, path)
    name = find_id(header, id_column, path)
    numbers: dict[int, list[NDArray[np.float64]]]
    numbers = {place: [] for place, column in enumerate(header) if column != name}
    ids: list[str] = []
    others: set[int] = set()
    underscores = "_" in text
    for block in blocks(text, delimiter, path):
        ids += () if name is None else block[header.index(name)]
        for place in numbers.keys() - others:
            if underscores and any("_" in cell for cell in block[place]):  # Python reads 2021_05 as 202105
                others.add(place)
                continue
            try:
                numbers[place].append(np.array(block[place], dtype=float))
            except ValueError:
                others.add(place)
    factors = factorize_cells(text, delimiter, others, path)
    pointed, notes = with_points({header[place]: column for place, column in factors.items()}, delimiter)
    table = Numbers(None if name is None else unescaped(parse_ids(ids)), notes=notes)
    for place, parts in numbers.items():
        if not header[place] and (place not in factors or not is_blank(factors[place])):
            hint = later_header(text)
            raise FileError(path, f"has no name for column {place + 1}. Write one in the first row.{hint}")
        if place in factors and header[place]:
            table.add(header[place], pointed[header[place]], _number_in_text)
        elif parts:
            table.columns[header[place]] = np.concatenate(parts)
    return table


def _number_in_text(cell: str) -> float:
    """Return the number in a cell; true and false are 1 and 0, as in other kinds of files."""
    if is_missing_text(cell):
        return np.nan
    truth = {"true": 1.0, "false": 0.0}
    word = cell.strip().lower()
    if "_" in word:
        raise ValueError(f"{cell!r} is not a number")
    return truth[word] if word in truth else float(word)


def _of_arrow(table: Any, path: Path, id_column: str | None) -> Numbers:
    """Return numeric columns, and columns of lists, of a Parquet file."""
    from pyarrow import types

    name = find_id(table.column_names, id_column, path)
    if not table.num_rows:
        raise FileError(path, "holds no rows; expected one per item.")
    numbers = Numbers(None if name is None else table[name].to_pylist())
    for other in table.column_names:
        column = table[other].combine_chunks()
        if other == name:
            continue
        if is_number(column.type):
            numbers.columns[other] = _to_numpy(column)
        elif is_list(column.type):
            numbers.vectors[other] = partial(_of_lists, column, other, path)
        elif types.is_string(column.type):
            numbers.texts[other] = factorize_column(table, other, path)
        elif len(column) and not types.is_nested(column.type):
            numbers.left_out[other] = column[0].as_py()
    return numbers


def _of_lists(column: Any, name: str, path: Path) -> NDArray[Any]:
    """Return an Arrow column of lists as a matrix."""
    import pyarrow.compute as pc

    lengths = pc.list_value_length(column).fill_null(-1).to_numpy()
    odd = np.flatnonzero(lengths != lengths[:1])
    if odd.size or (lengths < 1).any():
        row = int(odd[0]) if odd.size else 0
        raise FileError(
            path,
            f"expected lists of equal length in {name!r}, got {max(lengths[0], 0)} numbers in row 1 "
            f"and {max(lengths[row], 0)} in row {row + 1}.",
        )
    return _to_numpy(column.flatten()).reshape(len(column), -1)


def _to_numpy(column: Any) -> NDArray[Any]:
    """Return an Arrow array as floats, NaN for null; half and single precision become single precision."""
    single = str(column.type) in ("halffloat", "float")
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values.astype(np.float32 if single else np.float64)


def _of_records(records: list[Record], path: Path, id_column: str | None) -> Numbers:
    """Return the numbers or lists of records; Argilla keeps its lists under ``vectors``."""
    names = list(dict.fromkeys(key for record in records for key in record))
    name = find_id(names, id_column, path)
    ids = None if name is None else [record.get(name) for record in records]
    if "vectors" in names:
        records = [r["vectors"] if isinstance(r.get("vectors"), dict) else {} for r in records]
        names, name = list(dict.fromkeys(key for record in records for key in record)), None
    table = Numbers(ids)
    for other in names:
        values = [record.get(other) for record in records]
        if other == name:
            continue
        odd = next((v for v in values if not (v is None or isinstance(v, (int, float)))), None)
        if isinstance(odd, list):
            table.vectors[other] = partial(_stack, values, other, path)
        elif isinstance(odd, str) and all(isinstance(value, str | None) for value in values):
            table.texts[other] = factorize(values, other)
        else:
            table.add(other, Factor(np.arange(len(values), dtype=np.int32), values), _number_in_json)
    return table


def _stack(rows: Sequence[Any], name: str, path: Path) -> NDArray[np.float64]:
    """Return lists of numbers, which must have one length, as a matrix."""
    width = next(len(row) for row in rows if isinstance(row, list))
    for number, row in enumerate(rows, 1):
        wrong = kind_of(row) if not isinstance(row, list) else str(len(row))
        if not isinstance(row, list) or len(row) != width:
            raise FileError(path, f"expected {width} numbers in {name!r} of record {number}, got {wrong}.")
        odd = [value for value in row if not isinstance(value, (int, float))]
        if odd:
            raise FileError(path, f"expected numbers in {name!r} of record {number}, got {show(odd, 1)}.")
    return np.array([[_number_in_json(value) for value in row] for row in rows])


def _number_in_json(value: Any) -> float:
    """Return a number of a record, infinite if it has too many digits; NaN if it is null."""
    if not (value is None or isinstance(value, (int, float))):
        raise ValueError(f"{value!r} is not a number")
    try:
        return np.nan if value is None else float(value)
    except OverflowError:
        return float("inf")
