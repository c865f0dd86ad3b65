"""CSV and similar text tables: the delimiter is detected, rows are read in blocks."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time
from itertools import count, islice
from operator import methodcaller
from typing import Any

import numpy as np

from whoknows.data.dataframes import ALIASES
from whoknows.data.vocabulary import Codes, Factor, show
from whoknows.io.encoding import MAX_LINE, refuse_long_lines
from whoknows.io.errors import FileError, Path

DELIMITERS = ",;\t|"
MAX_COLUMNS = 100_000
_WHOLE = re.compile(r" *(0|-?[1-9]\d{0,17})(?:\.0+)? *", re.ASCII)  # fits 64 bits; 007 is text
_REAL = re.compile(r" *[+-]?(?:(?:0|[1-9]\d{0,15})(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})? *", re.ASCII)
_COMMA = re.compile(r" *[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+ *", re.ASCII)  # 2,5 or 1.234,5
_DATE = re.compile(r"(\d{4}-\d\d-\d\d|\d{4}/\d\d?/\d\d?|\d\d?([./-])\d\d?\2\d{4})([ T]\d\d?:\d\d\S*)?$", re.ASCII)
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_MISSING = {"", "nan", "na", "n/a", "<na>", "null", "none"}
_BLOCK = 8192  # rows
_CHARACTERS = 1 << 20  # of which lines are made at once
_USUAL = {name for role, aliases in ALIASES.items() for name in (role, *aliases)}


def read_header(text: str, path: Path) -> tuple[str, list[str]]:
    """Return the delimiter and the column names of a text table.

    The delimiter is the one that splits the first rows into most columns, the same number in each.
    """
    refuse_long_lines(text, path)
    best = ","
    most = 1
    for delimiter in DELIMITERS:
        try:
            rows = list(islice(_rows(text, delimiter, path, at_once=20), 20))
        except FileError:
            continue
        if len(rows[0]) > most and all(len(row) == len(rows[0]) for row in rows):
            best, most = delimiter, len(rows[0])
    if most == 1:  # ragged, or one column: the header alone decides
        first = text.lstrip("\r\n").partition("\n")[0]
        counts = [first.count(delimiter) for delimiter in DELIMITERS]
        best = DELIMITERS[int(np.argmax(counts))]
    header = [name.strip("\ufeff \t\r\n") for name in next(_rows(text, best, path, at_once=1))]
    if len(header) > MAX_COLUMNS:
        raise FileError(path, f"has {len(header)} columns; expected at most {MAX_COLUMNS}.")
    refuse_repeated(header, path)
    return best, header


def blocks(text: str, delimiter: str, path: Path) -> Iterator[list[Sequence[str]]]:
    """Yield the columns of a text table, one block of rows at a time, without the header.

    Each block is a list with one sequence of cells per column. Rows may have more or fewer blank cells at
    the end than the header, as spreadsheets write them.
    """
    rows = _rows(text, delimiter, path)
    header = next(rows)
    if '"' not in text:  # no cell holds a delimiter or a line end: all cells of a block are split at once
        yield from _unquoted_blocks(text, delimiter, header, path)
        return
    while block := list(islice(rows, _BLOCK)):
        if set(map(len, block)) != {len(header)}:
            block = _all_fitted(block, header, text, delimiter, path)
        yield list(zip(*block, strict=True))


def _unquoted_blocks(text: str, delimiter: str, header: list[str], path: Path) -> Iterator[list[Sequence[str]]]:
    """Yield the columns of a text table without quotes."""
    lines = filter(None, _lines(text))
    next(lines)  # the header
    separators, width = methodcaller("count", delimiter), len(header)
    while block := list(islice(lines, _BLOCK)):
        if set(map(separators, block)) != {width - 1}:
            rows = _all_fitted([line.split(delimiter) for line in block], header, text, delimiter, path)
            block = list(map(delimiter.join, rows))
        cells = delimiter.join(block).split(delimiter)
        yield [cells[place::width] for place in range(width)]


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, which end as the csv module knows it."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _CHARACTERS) + 1 or len(text)
        yield from text[start:end].replace("\r", "\n").split("\n")
        start = end


def _all_fitted(block: list[list[str]], header: list[str], text: str, delimiter: str, path: Path) -> list[list[str]]:
    """Return rows of the length of the header; refuse others."""
    block = [_fitted(row, header) for row in block]
    if [] in block:
        raise _ragged(text, delimiter, path)
    return block


def _fitted(row: list[str], header: list[str]) -> list[str]:
    """Return a row of the length of the header by adding or removing blank cells; empty if impossible."""
    width = len(header)
    if any(map(str.strip, row[width:])) or any(map(str.strip, header[len(row) :])):
        return []
    return row[:width] + [""] * (width - len(row))


def _ragged(text: str, delimiter: str, path: Path) -> FileError:
    """Return the error for the first row that is longer or shorter than the header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    with _long_cells():
        header = next(filter(None, reader))
        row = next(row for row in reader if row and not _fitted(row, header))
    cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
    found = f"has {cells} in the row that ends at line {reader.line_num}; expected {len(header)}."
    quotes = f" Put a cell that contains {delimiter!r} in quotes." if len(row) > len(header) else ""
    return FileError(path, found + (later_header(text) or quotes))


def later_header(text: str) -> str:
    """Return a hint if the names of the columns seem to be below the first row."""
    lines = re.split(r"\r\n|\r|\n", text[:10_000])[:20]
    for number, line in enumerate(lines, 1):
        if any(cell.strip(' "\ufeff').lower() in _USUAL for cell in re.split(r"[,;\t|]", line)):
            above = any(map(str.strip, lines[: number - 1]))
            return f" Line {number} seems to be the header: delete the lines above it." if above else ""
    return ""


def read_columns(text: str, path: Path) -> tuple[dict[str, Factor], list[str]]:
    """Return the columns of a text table by name, as codes into their distinct cells, and notes.

    Blank columns are left out, decimal commas are replaced by points.
    """
    delimiter, header = read_header(text, path)
    columns = factorize_cells(text, delimiter, range(len(header)), path)
    kept = [(header[place], column) for place, column in columns.items() if header[place] or not is_blank(column)]
    if sum(not name for name, _ in kept) > 1:
        raise FileError(
            path, f"has several columns without a name. Give them names in the first row.{later_header(text)}"
        )
    return with_points(dict(kept), delimiter)


def with_points(columns: dict[str, Factor], delimiter: str) -> tuple[dict[str, Factor], list[str]]:
    """Return columns with decimal points where they have decimal commas, and a note on that."""
    changed = {}
    for name, column in columns.items():
        values = _pointed(column.values, delimiter)
        if values is not None:
            changed[name] = Factor(column.codes, values)
    notes = ["columns are separated by semicolons"] if delimiter == ";" else []
    if changed:
        notes.append(f"commas in numbers are read as decimal points: {show(changed)}")
    return columns | changed, notes


def _pointed(cells: Sequence[Any], delimiter: str) -> list[Hashable] | None:
    """Return cells with a point for every decimal comma; None if commas are not that.

    In a column of numbers with decimal commas no other number has a point, except as in 1.234,5. If commas
    also separate columns, 1,234 could as well be a thousand.
    """
    given = [cell for cell in cells if not is_missing_text(cell)]
    commas = [cell for cell in given if _COMMA.fullmatch(cell)]
    whole = [cell for cell in given if _WHOLE.fullmatch(cell)]
    if 2 * (len(commas) + len(whole)) <= len(given) or any("." in cell for cell in whole):
        return None
    clear = delimiter != "," or any(len(cell.strip().rpartition(",")[2]) != 3 for cell in commas)
    if not (commas and clear) or any(map(_REAL.fullmatch, set(given) - set(whole))):
        return None
    known = set(commas)
    return [cell.replace(".", "").replace(",", ".") if cell in known else cell for cell in cells]


def is_blank(column: Factor) -> bool:
    """Whether a column holds only spaces."""
    return not any(str(cell).strip() for cell in column.values)


def factorize_cells(text: str, delimiter: str, wanted: Iterable[int], path: Path) -> dict[int, Factor]:
    """Return some columns of a text table, by their position, as codes into their distinct cells."""
    known: dict[int, defaultdict[str, int]] = {place: defaultdict(count().__next__) for place in wanted}
    codes: dict[int, list[Codes]] = {place: [np.empty(0, np.int32)] for place in known}
    for block in blocks(text, delimiter, path) if known else ():
        for place, position in known.items():
            column = map(position.__getitem__, block[place])
            codes[place].append(np.fromiter(column, np.int32, len(block[place])))
    return {place: Factor(np.concatenate(codes[place]), list(known[place])) for place in known}


def _rows(text: str, delimiter: str, path: Path, at_once: int = _BLOCK) -> Iterator[list[str]]:
    """Yield the cells of each row that is not blank, including the header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = [[]]
    while rows:
        try:
            with _long_cells():
                rows = list(islice(reader, at_once))
        except csv.Error as error:
            where = f"line {reader.line_num} ({error})"
            raise FileError(path, f"is not a valid table at {where}. Check the quotes there.") from None
        yield from filter(None, rows)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let the csv module read cells of any length, here only: the limit is one for all of Python."""
    limit = csv.field_size_limit(MAX_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def refuse_repeated(header: Sequence[str], path: Path) -> None:
    """Refuse duplicate column names; several columns may be without a name."""
    repeated = [name for name, count in Counter(header).items() if name and count > 1]
    if repeated:
        raise FileError(path, f"has several columns named {show(repeated)}. Rename all but one.")


# --- cells ------------------------------------------------------------------------------------------
# A column is numeric if every cell that is not blank is a number, and text otherwise.


def parse_ids(cells: Sequence[str]) -> list[Hashable]:
    """Return the ids in the cells of a column: integers if all are integers and remain distinct, else text.

    >>> parse_ids(["7", "12"]), parse_ids(["07", "12"]), parse_ids(["1", "1.0"])
    ([7, 12], ['07', '12'], ['1', '1.0'])
    """
    given = {cell.strip() for cell in cells} - {""}
    if given and all(map(_WHOLE.fullmatch, given)) and len(set(_integers(list(given)))) == len(given):
        return _integers(cells)
    return [cell if cell.strip() else None for cell in cells]


def _integers(cells: Sequence[str]) -> list[Hashable]:
    return [int(match[1]) if (match := _WHOLE.fullmatch(cell)) else None for cell in cells]


def parse_labels(cells: Sequence[str]) -> list[Hashable]:
    """Return the labels in the cells of a column: numbers, True and False, else text.

    Among numbers, ``nan``, ``NA`` and the like stand for a missing label; among text they are text.
    Spaces around a label, which spreadsheets do not show, are removed.

    >>> parse_labels(["0", "1.5", "NA"]), parse_labels(["yes ", "NA"]), parse_labels(["True", "False"])
    ([0.0, 1.5, None], ['yes', 'NA'], [True, False])
    """
    cells = [cell.strip() for cell in cells]
    given = [cell for cell in cells if not is_missing_text(cell)]
    if given and all(map(_WHOLE.fullmatch, given)):
        return _integers(cells)
    if given and all(map(_REAL.fullmatch, given)):
        return [None if is_missing_text(cell) else float(cell) for cell in cells]
    if given and {cell for cell in cells if cell} <= {"True", "False"}:
        return [cell == "True" if cell else None for cell in cells]
    return [cell or None for cell in cells]


def has_comma(value: Any) -> bool:
    """Whether a cell holds a number with a decimal comma."""
    return isinstance(value, str) and _COMMA.fullmatch(value) is not None


def is_date(value: Any) -> bool:
    """Whether a value is a date or a time, or text that holds one, such as 2021-03-04 or 4.3.2021 12:30."""
    return isinstance(value, date | time) or (isinstance(value, str) and _DATE.match(value.strip()) is not None)


def is_missing_text(value: Any) -> bool:
    """Whether a value is blank text, or a usual way to write that a value is missing."""
    return isinstance(value, str) and value.strip().lower() in _MISSING


def escape(text: str) -> str:
    """Return text that spreadsheets do not run as a formula: an apostrophe before = + - @, tab, line ends.

    >>> escape("=1+1"), escape("'=1+1"), escape("a=1"), unescape(escape("'=1+1"))
    ("'=1+1", "''=1+1", 'a=1', "'=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unescape(text: str) -> str:
    """Remove the apostrophe that `escape` added."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def unescaped(values: Sequence[Any]) -> list[Any]:
    """Return values with every text unescaped."""
    return [unescape(value) if isinstance(value, str) else value for value in values]
