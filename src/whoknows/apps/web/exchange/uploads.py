"""What an uploaded file holds: labels, items or true labels, as the readers of whoknows.io see it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from whoknows.apps.web.store.items import Item
from whoknows.data.dataframes import ALIASES
from whoknows.data.errors import InputError, Message
from whoknows.data.vocabulary import show
from whoknows.io.containers import (
    TRUTH,
    Table,
    by_row,
    find_name,
    item_column,
    must_have,
    open_content,
    refuse_repeated_ids,
)
from whoknows.io.errors import FileError
from whoknows.io.features import impute_median, read_features
from whoknows.io.labels.read import read_gold, read_labels

Kind = Literal["labels", "items", "gold"]
ROLES: dict[Kind, tuple[str, ...]] = {
    "labels": ("item", "annotator", "label", "text"),
    "items": ("item", "text", "second_text", "image"),
    "gold": ("item", "label"),
}
NEEDED = {"item", "annotator", "label"}
USUAL = {"text": ("text", "text_a", "first_text", "content"), "second_text": ("second_text", "text_b", "text2")}
IMAGE = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/gif;base64,", "data:image/webp;base64,")
LONGEST_TEXT, LONGEST_ID = 100_000, 500
WORDINGS = {  # advice of the readers, in terms of the page
    "columns": "choose {name!r} as the column of the {role}",
    "columns_or_format": "Export it in one of these formats, or choose its columns.",
    "duplicates": "the file through whoknows convert with --duplicates 'first'",
    "encoding": "whoknows convert --encoding NAME",
    "label_column": "choose the column of the labels",
    "max_size": "ask whoever runs the server",
}


@dataclass(frozen=True)
class Upload:
    """A file as it came in.

    Parameters
    ----------
    kind : {"labels", "items", "gold"}
    name : str
        Of the file, for messages; no file is opened by it.
    content : bytes
    columns : mapping from role to column
        Chosen by a person; others are found by their names.
    """

    kind: Kind
    name: str
    content: bytes
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """What a file holds, as text.

    Parameters
    ----------
    names : list of str
        Columns that can be chosen; none if the file is no table.
    roles : dict from role to column
        Which column was used for what.
    notes : list of str
        What a person should know.
    items : list of Item
    labels : list of (item, annotator, label)
    gold : dict from item to label
    features : list of str
        Names of the features.
    format : str
    problem : str, optional
        Why the file cannot be read with these columns; others can be chosen.
    """

    names: list[str]
    roles: dict[str, str]
    notes: list[str]
    items: list[Item]
    labels: list[tuple[str, str, str]] = field(default_factory=list)
    gold: dict[str, str] = field(default_factory=dict)
    features: list[str] = field(default_factory=list)
    format: str = "table"
    problem: str | None = None


def read(upload: Upload) -> Reading:
    """Read a file; what is wrong with it is an `InputError`, or a problem of columns that can be chosen."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "upload")
        with open(path, "wb") as file:
            file.write(upload.content)
        found = _read(path, upload)
    _check(found)
    return found


def _read(path: str, upload: Upload) -> Reading:
    try:
        return READERS[upload.kind](path, upload.columns)
    except FileError as error:
        problem, names = f"{upload.name}: {error.problem.reworded(WORDINGS)}", _names(path)
    needed, roles = NEEDED & set(ROLES[upload.kind]), _roles(upload.kind, names, upload.columns)
    if len(names) < len(needed):
        raise InputError(problem)
    if not upload.columns and needed <= set(roles) and any(" " in name for name in roles.values()):
        return _read(path, replace(upload, columns=roles))  # names such as Item ID, which the formats do not have
    return Reading(names, roles, [], [], problem=problem)


def _names(path: str) -> list[str]:
    """Return the columns of a table; none if the file is no table."""
    try:
        return list(open_content(path).names)
    except FileError:
        return []


def _check(found: Reading) -> None:
    """Refuse ids that are too long, or that no database can hold."""
    names = [each.key for each in found.items] + [name for row in found.labels for name in row] + [*found.gold.values()]
    texts = [text for each in found.items for text in (each.text, each.second_text) if text]
    too_long = [name for name in names if len(name) > LONGEST_ID] + [text for text in texts if len(text) > LONGEST_TEXT]
    if too_long:
        start = f"{too_long[0][:40]}…"
        raise InputError(
            f"Expected ids of at most {LONGEST_ID} and texts of at most {LONGEST_TEXT} characters: {start}"
        )
    if any("\0" in text for text in (*names, *texts)):
        raise InputError("Expected text; the file has null characters.")


# --- readers -----------------------------------------------------------------------------------------------


def _labels(path: str, columns: Mapping[str, str]) -> Reading:
    """Read labels of any tool, with texts and true labels if the file has them."""
    read_, content = read_labels(path, columns=columns), open_content(path)
    Y, text = read_.annotations, read_.text or {}
    items = [Item(str(item), _text(text.get(item))) for item in Y.items.tolist()]
    names = Y.items[Y.item].tolist(), Y.annotators[Y.annotator].tolist(), Y.labels[Y.label].tolist()
    rows = [(str(item), str(who), str(label)) for item, who, label in zip(*names, strict=True)]
    gold = {str(item): str(label) for item, label in (read_.gold or {}).items()}
    roles = _roles("labels", content.names, columns) if read_.format == "long" else {}
    return Reading(list(content.names), roles, _words(read_.notes), items, rows, gold, format=read_.format)


def _gold(path: str, columns: Mapping[str, str]) -> Reading:
    """Read true labels."""
    content = open_content(path)
    truth = {str(item): str(label) for item, label in read_gold(path, columns).items()}
    roles = _roles("gold", content.names, columns)
    return Reading(list(content.names), roles, _words(content.notes), [Item(key) for key in truth], [], truth)


def _items(path: str, columns: Mapping[str, str]) -> Reading:
    """Read items: an id, texts and images in columns that are found or chosen; numbers are features."""
    content = open_content(path)
    table, roles = content.table_of("a table with a row per item"), _roles("items", content.names, columns)
    keys = _keys(table, roles, path)

    def values(role: str) -> list[Any]:
        return table.values(roles[role]) if role in roles else [None] * len(keys)

    images = [_image(value) for value in values("image")]
    lost = sum(value is not None for value in values("image")) - sum(map(bool, images))
    left_out = [f"{lost} images left out: expected data URIs of PNG, JPEG, GIF or WebP"] if lost else []
    X, names, notes = _features(path, roles) if len(content.names) > len(roles) else (None, [], [])
    texts = (map(_text, values(role)) for role in ("text", "second_text"))
    found = [Item(*row) for row in zip(keys, *texts, images, [None] * len(keys) if X is None else X, strict=True)]
    return Reading(list(content.names), roles, [*_words(content.notes), *notes, *left_out], found, features=names)


READERS = {"labels": _labels, "items": _items, "gold": _gold}


def _keys(table: Table, roles: Mapping[str, str], path: str) -> list[str]:
    """Return the id of each row; each must occur once."""
    name = must_have(table.names, roles.get("item", "item"), "column for the item", path)
    ids = table.ids(name)
    refuse_repeated_ids(ids, path)
    return list(map(str, by_row(ids)))


def _features(path: str, roles: Mapping[str, str]) -> tuple[Any, list[str], list[str]]:
    """Return the numbers of a table as features; a table of texts may have none."""
    ignored = [name for role, name in roles.items() if role != "item"]
    try:
        found, _ = impute_median(read_features(path, roles["item"], ignore=ignored))
    except FileError as error:
        return None, [], [f"no features: {error.problem.reworded(WORDINGS)}"]
    X = np.asarray(found.X, dtype=np.float32)
    if not np.isfinite(X).all():
        raise FileError(path, f"expected features below 3e38 in size; {show(found.names, 3)}.")
    return X, list(found.names), _words(found.notes)


def _roles(kind: Kind, names: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each role: as chosen, or by its name."""
    return dict(_found_roles(kind, names, columns))


def _found_roles(kind: Kind, names: Sequence[str], columns: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    named = {name.strip().replace(" ", "_"): name for name in reversed(names)}
    for role in ROLES[kind]:
        truth = TRUTH if (kind, role) == ("gold", "label") else ()
        usual = (*truth, role, *ALIASES.get(role, ()), *USUAL.get(role, ()))
        name = columns.get(role) or named.get(find_name(list(named), *usual) or "")
        name = item_column(names) if role == "item" and not name else name
        if name:
            yield role, name


def _words(notes: Iterable[str]) -> list[str]:
    return [note.reworded(WORDINGS) if isinstance(note, Message) else str(note) for note in notes]


def _text(value: Any) -> str | None:
    return str(value) if value is not None and str(value).strip() else None


def _image(value: Any) -> str | None:
    return value if isinstance(value, str) and value.startswith(IMAGE) else None
