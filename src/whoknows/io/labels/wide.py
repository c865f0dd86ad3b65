"""Wide tables: one row an item, one column an annotator; a blank cell is no label."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import Factor, Ids, factorize
from whoknows.io.containers import Content, Table
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import Format, Options, item_column, must_have
from whoknows.io.labels.label_file import Found
from whoknows.io.labels.long import TRUTH, is_close, take_truth, text_by_item
from whoknows.io.parsing import parse_ids, parse_labels, plain

_RESERVED = ("item", "text")


def recognise(content: Content, options: Options) -> bool:
    """Whether every row is an item and the other columns share few values, as those of labels do."""
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
    except FileError:  # lists, such as embeddings, are no labels
        return False
    distinct = {value for column in columns for value in column.values}
    filled = sum(int((column.codes >= 0).sum()) for column in columns)
    return len(items.values) == len(items.codes) and len(distinct) <= max(12, filled // 5)


def read(content: Content, options: Options) -> Found:
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
        raise FileError(path, "has no column besides the item; expected one for each annotator.")
    found = Found()
    items = table.ids(item) if item is not None else _row_numbers(table)
    if item is None:
        found.notes.append("no column for the item: items are called 0, 1, 2, … by row")
    _refuse_repeated(items, path)
    found.columns = _melt(table, items, people)
    found.note_spaces([cell for name in people for cell in table.column(name).values])
    if text is not None and text != item:
        found.text = text_by_item(items, table.values(text))
    take_truth(found, items, table, path)
    _note_strangers(found, table, people)
    return found


def _called(table: Table, names: Sequence[str]) -> str | None:
    """First column with one of these names, in any case."""
    return next((name for name in table.names if name.strip().lower() in names), None)


def _people(table: Table, options: Options) -> list[str]:
    """Columns that are annotators: those that are not known for something else."""
    item = options.columns.get("item") or item_column(table.names)
    text = options.columns.get("text") or _called(table, ("text",))
    besides = (*TRUTH, "image")
    return [name for name in table.names if name not in (item, text) and name.strip().lower() not in besides]


def _note_strangers(found: Found, table: Table, people: list[str]) -> None:
    """Say which columns share no label with any other: they may be no annotators."""
    said = {name: {str(value).strip() for value in table.column(name).values} for name in people}
    for name, labels in said.items():
        others = set().union(*(said[other] for other in people if other != name))
        if labels and len(people) > 1 and not labels & others:
            found.notes.append(
                f"column {name!r} shares no label with any other and counts as an annotator; leave it out of "
                "the file if it is none"
            )


def columns(said: Annotations) -> Mapping[Hashable, Ids]:
    """Columns to write: the item and one for each annotator, who must not be called like it."""
    people = [str(name) for name in said.annotators.tolist()]
    odd = [name for name in people if name.strip().lower() in _RESERVED or not name.strip()]
    if odd or len(set(people)) < len(people):
        raise ValueError(
            "Expected annotators of distinct names, other than 'item' and 'text', for one column each; "
            f"got {odd or people}. Write a long table instead."
        )
    cells = np.full(said.shape, None, dtype=object)
    cells[said.item, said.annotator] = said.labels[said.label].tolist()
    return {"item": said.items} | {name: cells[:, t] for t, name in enumerate(said.annotators.tolist())}


def _row_numbers(table: Table) -> Factor:
    """Ids 0, 1, 2, … for the rows."""
    return factorize(np.arange(len(table.column(table.names[0]).codes)), "item")


def _refuse_repeated(items: Factor, path: Path) -> None:
    """Refuse an item that has two rows, or a row that has no item."""
    if (items.codes < 0).any():
        row = int(np.argmin(items.codes)) + 1
        raise FileError(path, f"has no item in row {row} below the header.")
    if len(items.values) < len(items.codes):
        twice = items.values[int(np.argmax(np.bincount(items.codes) > 1))]
        raise FileError(path, f"has several rows for item {twice!r}; expected one row an item.")


def _melt(table: Table, items: Factor, people: list[str]) -> tuple[Factor, Factor, Factor]:
    """One row a label. Whether labels are numbers is found over all columns together."""
    cells = [table.column(name) for name in people]
    values: list[Any] = [value for column in cells for value in column.values]
    label = factorize(plain(parse_labels(values)) if table.written else values, "label")
    annotator = factorize(plain(parse_ids(people)) if table.written else parse_ids(people), "annotator")
    starts = np.cumsum([0, *(len(column.values) for column in cells)])
    parts = []
    for place, column in enumerate(cells):
        said = np.append(label.codes[starts[place] : starts[place + 1]], np.int32(-1))[column.codes]
        rows = np.flatnonzero(said >= 0)
        parts.append((items.codes[rows], np.full(len(rows), annotator.codes[place]), said[rows]))
    item_codes, annotator_codes, label_codes = map(np.concatenate, zip(*parts, strict=True))
    return (
        Factor(item_codes, items.values),
        Factor(annotator_codes, annotator.values),
        Factor(label_codes, label.values),
    )


FORMAT = Format(
    "wide",
    "a table with one row an item, a column item and one column for each annotator",
    recognise,
    read,
    columns,
)
