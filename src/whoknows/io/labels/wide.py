"""Wide tables: one row per item, one column per annotator; a blank cell is a missing label."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Factor, Ids, factorize
from whoknows.io.containers import Content, Table, item_column, must_have
from whoknows.io.delimited import parse_ids, parse_labels, unescaped
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import Format, Options, RawLabels
from whoknows.io.labels.long import TRUTH, is_close, read_truth_column, text_by_item

_RESERVED = ("item", "text")


def recognise(content: Content, options: Options) -> bool:
    """Whether every row is an item, and the other columns hold few distinct values."""
    table = content.table
    named = {"annotator", "label"} & options.columns.keys()
    if table is None or named or content.container.startswith("JSON"):
        return False
    item = options.columns.get("item") or item_column(table.names)
    others = _people(table, options)
    if item is None or item not in table.names or len(others) < 2 or is_close(others):
        return False
    try:
        items = table.column(item)
        columns = [table.column(name) for name in others]
    except FileError:  # lists, such as embeddings, are not labels
        return False
    distinct = {value for column in columns for value in column.values}
    filled = sum(int((column.codes >= 0).sum()) for column in columns)
    return len(items.values) == len(items.codes) and len(distinct) <= max(12, filled // 5)


def read(content: Content, options: Options) -> RawLabels:
    """Read a wide table."""
    table, path = content.table, content.path
    if table is None:
        raise FileError(path, f"is {content}; expected one table.")
    for role, name in options.columns.items():
        must_have(table.names, name, f"column for the {role}", path)
    item = options.columns.get("item") or item_column(table.names)
    text = options.columns.get("text") or _called(table, ("text",))
    people = _people(table, options)
    if not people:
        raise FileError(path, "has no column besides the item; expected one per annotator.")
    raw = RawLabels()
    items = table.ids(item) if item is not None else _row_numbers(table)
    if item is None:
        raw.notes.append("no column for the item: items are numbered 0, 1, 2, … by row")
    _refuse_repeated(items, path)
    raw.columns = _melt(table, items, people)
    raw.note_spaces([cell for name in people for cell in table.column(name).values])
    if text is not None and text != item:
        raw.text = text_by_item(items, table.values(text))
    read_truth_column(raw, items, table, path)
    _note_odd_columns(raw, table, people)
    return raw


def _called(table: Table, names: Sequence[str]) -> str | None:
    """Return the first column with one of these names, ignoring case."""
    return next((name for name in table.names if name.strip().lower() in names), None)


def _people(table: Table, options: Options) -> list[str]:
    """Return the columns of annotators: those without another known meaning."""
    item = options.columns.get("item") or item_column(table.names)
    text = options.columns.get("text") or _called(table, ("text",))
    besides = (*TRUTH, "image")
    return [name for name in table.names if name not in (item, text) and name.strip().lower() not in besides]


def _note_odd_columns(raw: RawLabels, table: Table, people: list[str]) -> None:
    """Add a note on columns that share no label with any other: they may not be annotators."""
    labels_of = {name: {str(value).strip() for value in table.column(name).values} for name in people}
    for name, labels in labels_of.items():
        others = set().union(*(labels_of[other] for other in people if other != name))
        if labels and len(people) > 1 and not labels & others:
            raw.notes.append(
                f"column {name!r} shares no label with any other and is treated as an annotator; remove "
                "it if it is not"
            )


def columns(Y: Annotations) -> Mapping[Hashable, Ids]:
    """Return the columns to write: the item, and one per annotator under another name."""
    people = [str(name) for name in Y.annotators.tolist()]
    odd = [name for name in people if name.strip().lower() in _RESERVED or not name.strip()]
    if odd or len(set(people)) < len(people):
        raise InputError(
            "Expected annotators of distinct names, other than 'item' and 'text', for one column each; "
            f"got {odd or people}. Write a long table instead."
        )
    cells = np.full(Y.shape, None, dtype=object)
    cells[Y.item, Y.annotator] = Y.labels[Y.label].tolist()
    return {"item": Y.items} | {name: cells[:, t] for t, name in enumerate(Y.annotators.tolist())}


def _row_numbers(table: Table) -> Factor:
    """Return the ids 0, 1, 2, … of the rows."""
    return factorize(np.arange(len(table.column(table.names[0]).codes)), "item")


def _refuse_repeated(items: Factor, path: Path) -> None:
    """Refuse items with two rows, and rows without an item."""
    if (items.codes < 0).any():
        row = int(np.argmin(items.codes)) + 1
        raise FileError(path, f"has no item in row {row} below the header.")
    if len(items.values) < len(items.codes):
        twice = items.values[int(np.argmax(np.bincount(items.codes) > 1))]
        raise FileError(path, f"has several rows for item {twice!r}; expected one row per item.")


def _melt(table: Table, items: Factor, people: list[str]) -> tuple[Factor, Factor, Factor]:
    """Return one row per label. Whether labels are numbers is decided for all columns together."""
    cells = [table.column(name) for name in people]
    values: list[Any] = [value for column in cells for value in column.values]
    label = factorize(unescaped(parse_labels(values)) if table.is_text else values, "label")
    annotator = factorize(unescaped(parse_ids(people)) if table.is_text else parse_ids(people), "annotator")
    starts = np.cumsum([0, *(len(column.values) for column in cells)])
    parts = []
    for place, column in enumerate(cells):
        codes = np.append(label.codes[starts[place] : starts[place + 1]], np.int32(-1))[column.codes]
        rows = np.flatnonzero(codes >= 0)
        parts.append((items.codes[rows], np.full(len(rows), annotator.codes[place]), codes[rows]))
    item_codes, annotator_codes, label_codes = map(np.concatenate, zip(*parts, strict=True))
    return (
        Factor(item_codes, items.values),
        Factor(annotator_codes, annotator.values),
        Factor(label_codes, label.values),
    )


FORMAT = Format(
    "wide",
    "a table with one row per item, a column item and one column per annotator",
    recognise,
    read,
    columns,
)
