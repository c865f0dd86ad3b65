"""`write_labels` and tables in general: CSV, TSV, Parquet and JSONL, by the ending of the name."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import Ids, same_ids, show
from whoknows.io.arrow import import_pyarrow
from whoknows.io.atomic import replace, write_lines
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.read import FORMATS
from whoknows.io.parsing import escape, parse_ids, parse_labels, plain

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*_DELIMITERS, ".parquet", ".jsonl")


def write_labels(said: Annotations, path: Path, format: str = "long") -> tuple[str, ...]:
    """Write annotations as a table, whole or not at all.

    In CSV, text that a spreadsheet would run as a formula gets an apostrophe before it, which `read_labels`
    takes away.

    Parameters
    ----------
    said : Annotations
    path : str or path
        Ends in .csv, .tsv, .parquet or .jsonl. A file of that name is replaced.
    format : str
        A format of `FORMATS` that can be written: "long", "wide" or "crowdkit".

    Returns
    -------
    notes : tuple of str
        What the file does not hold: unlabelled items in a long table, text that reads back as numbers in CSV.
    """
    writable = [name for name, tool in FORMATS.items() if tool.columns]
    tool = FORMATS.get(format)
    if tool is None or tool.columns is None:
        raise ValueError(f"format= must be one of {show(writable)} to be written; got {format!r}.")
    unknown = int((said.annotator < 0).sum())
    if unknown:
        raise ValueError(
            f"{unknown} labels are by annotators outside the vocabulary, who have no name to write."
        )
    suffix = _suffix(path)
    try:
        columns = tool.columns(said)
    except ValueError as error:
        raise FileError(path, str(error)) from None
    write_table(columns, path)
    notes = [] if format == "wide" else _left_out(said)
    return (*notes, *_changed(said)) if suffix in _DELIMITERS else tuple(notes)


def write_table(columns: Mapping[Any, Sequence[Any] | Ids], path: Path) -> None:
    """Write named columns of one length, whole or not at all; None and NaN are blank or null.

    Parameters
    ----------
    columns : mapping from name to values
    path : str or path
        Ends in .csv, .tsv, .parquet or .jsonl. A file of that name is replaced.
    """
    suffix = _suffix(path)
    listed = {name: _plain(column) for name, column in columns.items()}
    rows = zip(*listed.values(), strict=True)
    if suffix == ".parquet":
        _write_parquet(listed, path)
    elif suffix == ".jsonl":
        write_lines((_json(dict(zip(listed, row, strict=True)), path) for row in rows), path)
    else:
        delimiter = _DELIMITERS[suffix]
        lines = (delimiter.join(_cell(value, delimiter) for value in row) for row in [tuple(listed), *rows])
        write_lines(lines, path)


def _suffix(path: Path) -> str:
    """Ending of a file's name, if it is one that can be written."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in SUFFIXES:
        raise FileError(path, f"expected a name that ends in {', '.join(SUFFIXES)}.")
    return suffix


def _plain(column: Sequence[Any] | Ids) -> list[Any]:
    """Python values of a column; NaN becomes None."""
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [None if value != value else value for value in values]


def _cell(value: Any, delimiter: str) -> str:
    """Cell of a text table. Text is made safe for spreadsheets; numbers stay as they are."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    text = escape(value) if isinstance(value, str) else str(value)
    if delimiter in text or '"' in text or "\r" in text or "\n" in text or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _json(record: dict[Any, Any], path: Path) -> str:
    """One line of JSONL."""
    try:
        return json.dumps(record, ensure_ascii=False)
    except TypeError as error:
        raise FileError(path, f"cannot be written as JSON ({error}). Turn ids into text.") from None


def _write_parquet(columns: dict[Any, list[Any]], path: Path) -> None:
    """Parquet, in which a column holds one type."""
    pa = import_pyarrow(path)
    from pyarrow import parquet

    try:
        table = pa.table({str(name): pa.array(values) for name, values in columns.items()})
    except (pa.ArrowException, OverflowError) as error:
        raise FileError(
            path, f"cannot be written as Parquet, in which a column holds one type ({error}). Write JSONL."
        ) from None
    replace(path, lambda temporary: parquet.write_table(table, temporary))


def _left_out(said: Annotations) -> list[str]:
    """What a long table does not hold."""
    unlabelled = int((~said.labelled).sum())
    if not unlabelled:
        return []
    return [f"{unlabelled} items without a label are not in a long table; a wide one holds them"]


def _changed(said: Annotations) -> list[str]:
    """Ids and labels that CSV does not keep as they are: text that looks like numbers, and the reverse."""
    notes = []
    for ids, what, parse in (
        (said.items, "items", parse_ids),
        (said.annotators, "annotators", parse_ids),
        (said.labels, "labels", parse_labels),
    ):
        cells = [escape(value) if isinstance(value, str) else str(value) for value in ids.tolist()]
        again: list[Hashable] = plain(parse(cells))
        if not same_ids(ids, np.fromiter(again, object, len(again))):
            odd = next(pair for pair in zip(ids.tolist(), again, strict=True) if not _same(*pair))
            notes.append(
                f"{what} such as {odd[0]!r} are read back as {odd[1]!r}; Parquet and JSONL keep them"
            )
    return notes


def _same(left: Any, right: Any) -> bool:
    """Whether two values are equal and of one type."""
    return type(left) is type(right) and bool(left == right)
