"""Long tables: one row a label, with a column for the item, the annotator and the label.

Further columns that count: ``text`` is the text of the item; ``truth``, ``true_label`` or ``gold_label`` its
true label; where ``is_gold`` is true, the row's label is.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from typing import Any

from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import ALIASES, CONFIDENCE, match_columns
from whoknows.data.vocabulary import Factor, Ids, show
from whoknows.io.containers import Content, Table
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import Format, Options, must_have
from whoknows.io.labels.label_file import Found

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
    except ValueError:
        return False
    return True


def is_close(names: Sequence[str]) -> bool:
    """Whether a column is called like the annotator's or the label's in a long table."""
    known = {name for role in ("annotator", "label") for name in (role, *ALIASES[role])}
    return not known.isdisjoint(name.strip().lower() for name in names)


def read(content: Content, options: Options) -> Found:
    """Read a long table."""
    table = content.table
    if table is None:
        raise FileError(content.path, f"is {content}; expected one table.")
    names = find_columns(table, options, content.path)
    item, annotator = table.ids(names["item"]), table.ids(names["annotator"])
    found = Found(columns=(item, annotator, table.labels(names["label"])), gaps=True)
    found.note_spaces(table.column(names["label"]).values)
    if CONFIDENCE in options.columns:
        found.confidence = _numbers(table, options.columns[CONFIDENCE], content.path)
    _take_gold(found, table, content.path)
    text = options.columns.get("text", "text")
    if text in table.names and text not in names.values():
        found.text = text_by_item(item, table.values(text))
    return found


def find_columns(table: Table, options: Options, path: Path) -> dict[str, str]:
    """Find the column of each role, by the user's word, its name or an alias; else say what is near."""
    for role, name in options.columns.items():
        must_have(table.names, name, f"column for the {role}", path)
    try:
        return match_columns(table.names, _roles(options))
    except ValueError as error:
        raise FileError(path, f"{error}{hint(table)}") from None


def text_by_item(item: Factor, text: list[Any]) -> dict[Hashable, str]:
    """Text of each item: the first that its rows hold."""
    first: dict[Hashable, str] = {}
    for code, words in zip(item.codes, text, strict=True):
        if code >= 0 and isinstance(words, str) and words.strip():
            first.setdefault(item.values[code], words)
    return first


def columns(said: Annotations) -> dict[Hashable, Ids]:
    """Columns to write; the confidence only where it is known."""
    named: dict[Hashable, Ids] = {
        "item": said.items[said.item],
        "annotator": said.annotators[said.annotator],
        "label": said.labels[said.label],
    }
    return named if said.confidence is None else {**named, CONFIDENCE: said.confidence}


def add_gold(gold: dict[Hashable, Hashable], item: Hashable, label: Hashable, path: Path) -> None:
    """Note the true label of an item; two different ones are refused."""
    if gold.setdefault(item, label) != label:
        raise FileError(
            path, f"says that the truth of item {item!r} is {gold[item]!r} and that it is {label!r}."
        )


def _roles(options: Options) -> dict[str, str]:
    """Columns named by the user, without those for roles that every table may lack."""
    return {role: name for role, name in options.columns.items() if role in ALIASES}


def take_truth(found: Found, item: Factor, table: Table, path: Path) -> None:
    """True labels of the items, in a column of their own."""
    for name in table.names:
        if name.strip().lower() in TRUTH:
            truth = table.labels(name)
            for place, code in zip(item.codes, truth.codes, strict=True):
                if place >= 0 and code >= 0:
                    add_gold(found.gold, item.values[place], truth.values[code], path)
            found.note(
                len(found.gold), f"item has its truth in {name!r}", f"items have their truth in {name!r}"
            )


def _take_gold(found: Found, table: Table, path: Path) -> None:
    """True labels, and rows that are gold rather than somebody's label."""
    assert found.columns is not None
    item, annotator, label = found.columns
    take_truth(found, item, table, path)
    marks = [name for name in table.names if name.strip().lower() == "is_gold"]
    if not marks:
        return
    is_gold = [str(value).strip().lower() in _YES for value in table.values(marks[0])]
    codes = label.codes.copy()
    for row, marked in enumerate(is_gold):
        if marked and item.codes[row] >= 0 and codes[row] >= 0:
            add_gold(found.gold, item.values[item.codes[row]], label.values[codes[row]], path)
            codes[row] = -1
    found.note(sum(is_gold), "row marked as gold set apart", "rows marked as gold set apart")
    people = sorted(
        {int(a) for a, marked in zip(annotator.codes, is_gold, strict=True) if not marked and a >= 0}
    )
    found.columns = (item, _only(annotator, people), Factor(codes, label.values))


def _only(annotator: Factor, people: list[int]) -> Factor:
    """Annotators who said something besides gold."""
    place = {code: position for position, code in enumerate(people)}
    codes = annotator.codes.copy()
    codes[:] = [place.get(int(code), -1) for code in annotator.codes]
    return Factor(codes, [annotator.values[code] for code in people])


def _numbers(table: Table, name: str, path: Path) -> list[float]:
    """Numbers of a column."""
    column = table.labels(name)
    wrong = [value for value in column.values if not isinstance(value, (int, float))]
    if wrong or (column.codes < 0).any():
        raise FileError(path, f"expected a number in every row of {name!r}, got {show(wrong or [None])}.")
    return [float(column.values[code]) for code in column.codes]


def hint(table: Table) -> str:
    """What may help where no column fits: a misspelt name, or a first row that holds no names."""
    if table.hint:
        return table.hint
    numbers = [name for name in table.names if name.replace(".", "", 1).lstrip("-").isdigit()]
    if numbers and table.written:
        return " The first row seems to hold data: put the names of the columns above it."
    known = [name for role, aliases in ALIASES.items() for name in (role, *aliases)]
    for name in table.names[:50]:
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8)
        if near and near[0] != name.lower():
            return f" Is {name!r} misspelt for {near[0]!r}?"
    return ""


FORMAT = Format(
    "long",
    "a table (CSV, Parquet, JSONL) with one row a label and the columns item, annotator, label",
    recognise,
    read,
    columns,
)
