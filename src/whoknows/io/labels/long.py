"""Long tables: one row per label, with a column each for the item, the annotator and the label.

Further columns: ``text`` is the text of the item; ``truth``, ``true_label`` or ``gold_label`` its true label;
if ``is_gold`` is true, the label of the row is.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from typing import Any

from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import ALIASES, CONFIDENCE, match_columns
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Factor, Ids, show
from whoknows.io.containers import Content, Table, must_have
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import Format, Options, RawLabels

TRUTH = ("truth", "true_label", "gold_label")
_YES = ("true", "1", "yes")


def recognise(content: Content, options: Options) -> bool:
    """Whether there is a column for each role, or the user named one."""
    if content.table is None:
        return False
    if {"annotator", "label"} & options.columns.keys():
        return True
    try:
        match_columns(content.names, _roles(options))
    except InputError:
        return False
    return True


def is_close(names: Sequence[str]) -> bool:
    """Whether a column has a usual name of the annotator or of the label."""
    known = {name for role in ("annotator", "label") for name in (role, *ALIASES[role])}
    return not known.isdisjoint(name.strip().lower() for name in names)


def read(content: Content, options: Options) -> RawLabels:
    """Read a long table."""
    table = content.table
    if table is None:
        raise FileError(content.path, f"is {content}; expected one table.")
    names = find_columns(table, options, content.path)
    item, annotator = table.ids(names["item"]), table.ids(names["annotator"])
    raw = RawLabels(columns=(item, annotator, table.labels(names["label"])), gaps=True)
    raw.note_spaces(table.column(names["label"]).values)
    if CONFIDENCE in options.columns:
        raw.confidence = _numbers(table, options.columns[CONFIDENCE], content.path)
    _read_gold_rows(raw, table, content.path)
    text = options.columns.get("text", "text")
    if text in table.names and text not in names.values():
        raw.text = text_by_item(item, table.values(text))
    return raw


def find_columns(table: Table, options: Options, path: Path) -> dict[str, str]:
    """Return the column of each role, named by the user, by its name or an alias; else suggest one."""
    for role, name in options.columns.items():
        must_have(table.names, name, f"column for the {role}", path)
    try:
        return match_columns(table.names, _roles(options))
    except InputError as error:
        raise FileError(path, error.message, hint(table)) from None


def text_by_item(item: Factor, text: list[Any]) -> dict[Hashable, str]:
    """Return the first text of each item."""
    first: dict[Hashable, str] = {}
    for code, words in zip(item.codes, text, strict=True):
        if code >= 0 and isinstance(words, str) and words.strip():
            first.setdefault(item.values[code], words)
    return first


def columns(Y: Annotations) -> dict[Hashable, Ids]:
    """Return the columns to write; the confidence only if it is known."""
    named: dict[Hashable, Ids] = {
        "item": Y.items[Y.item],
        "annotator": Y.annotators[Y.annotator],
        "label": Y.labels[Y.label],
    }
    return named if Y.confidence is None else {**named, CONFIDENCE: Y.confidence}


def add_true_label(gold: dict[Hashable, Hashable], item: Hashable, label: Hashable, path: Path) -> None:
    """Store the true label of an item; refuse two different ones."""
    if gold.setdefault(item, label) != label:
        raise FileError(path, f"has two true labels of item {item!r}: {gold[item]!r} and {label!r}.")


def _roles(options: Options) -> dict[str, str]:
    """Return the columns named by the user for the required roles."""
    return {role: name for role, name in options.columns.items() if role in ALIASES}


def read_truth_column(raw: RawLabels, item: Factor, table: Table, path: Path) -> None:
    """Read true labels from their own column."""
    for name in table.names:
        if name.strip().lower() in TRUTH:
            truth = table.labels(name)
            for place, code in zip(item.codes, truth.codes, strict=True):
                if place >= 0 and code >= 0:
                    add_true_label(raw.gold, item.values[place], truth.values[code], path)
            raw.note(len(raw.gold), f"true label read from {name!r}", f"true labels read from {name!r}")


def _read_gold_rows(raw: RawLabels, table: Table, path: Path) -> None:
    """Read true labels, and rows marked as gold, which are not labels by an annotator."""
    assert raw.columns is not None
    item, annotator, label = raw.columns
    read_truth_column(raw, item, table, path)
    marks = [name for name in table.names if name.strip().lower() == "is_gold"]
    if not marks:
        return
    is_gold = [str(value).strip().lower() in _YES for value in table.values(marks[0])]
    codes = label.codes.copy()
    for row, marked in enumerate(is_gold):
        if marked and item.codes[row] >= 0 and codes[row] >= 0:
            add_true_label(raw.gold, item.values[item.codes[row]], label.values[codes[row]], path)
            codes[row] = -1
    raw.note(sum(is_gold), "row is marked as gold", "rows are marked as gold")
    people = sorted(
        {int(a) for a, marked in zip(annotator.codes, is_gold, strict=True) if not marked and a >= 0}
    )
    raw.columns = (item, _only(annotator, people), Factor(codes, label.values))


def _only(annotator: Factor, people: list[int]) -> Factor:
    """Return only the annotators with labels that are not gold."""
    place = {code: position for position, code in enumerate(people)}
    codes = annotator.codes.copy()
    codes[:] = [place.get(int(code), -1) for code in annotator.codes]
    return Factor(codes, [annotator.values[code] for code in people])


def _numbers(table: Table, name: str, path: Path) -> list[float]:
    """Return a column of numbers."""
    column = table.labels(name)
    wrong = [value for value in column.values if not isinstance(value, (int, float))]
    if wrong or (column.codes < 0).any():
        raise FileError(path, f"expected a number in every row of {name!r}, got {show(wrong or [None])}.")
    return [float(column.values[code]) for code in column.codes]


def hint(table: Table) -> str:
    """Return a hint if no column fits: a misspelt name, or a first row without names."""
    if table.hint:
        return table.hint
    numbers = [name for name in table.names if name.replace(".", "", 1).lstrip("-").isdigit()]
    if numbers and table.is_text:
        return " The first row seems to be data: add a header."
    known = [name for role, aliases in ALIASES.items() for name in (role, *aliases)]
    for name in table.names[:50]:
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8)
        if near and near[0] != name.lower():
            return f" Did you mean {near[0]!r} by {name!r}?"
    return ""


LONG = Format(
    "long",
    "a table (CSV, Parquet, JSONL) with one row per label and the columns item, annotator, label",
    recognise,
    read,
    columns,
)


# --- crowd-kit: a long table with the columns task, worker and label --------------------------------

_CROWDKIT = {"item": "task", "annotator": "worker", "label": "label"}


def recognise_crowdkit(content: Content, options: Options) -> bool:
    """Whether the three columns exist."""
    return not options.columns and set(_CROWDKIT.values()) <= set(content.names)


def crowdkit_columns(Y: Annotations) -> dict[Hashable, Ids]:
    """Return the three columns to write."""
    written = columns(Y)
    return {name: written[role] for role, name in _CROWDKIT.items()}


CROWDKIT = Format(
    "crowdkit",
    "a long table with the columns task, worker, label",
    recognise_crowdkit,
    read,
    crowdkit_columns,
)
