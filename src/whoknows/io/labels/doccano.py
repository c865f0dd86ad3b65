"""doccano: a zip (or folder) with one file per member of the project, who is the annotator.

doccano does not write users into records. A project with shared annotations exports ``all.jsonl``, in which
the labels of all members are merged, without their annotators. Versions before 1.0 did write the user, in
``annotations`` or ``username``.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from typing import Any

from whoknows.data.vocabulary import show
from whoknows.io.containers import Content, Record, as_list, as_object, as_scalar, single
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import Format, Options, RawLabels

_LABEL = ("label", "labels", "cats")
_USER = ("username", "user", "annotator")
_NOBODY = "unknown"  # the file of items without a label, in some versions
_MERGED = "all"


def recognise(content: Content, options: Options) -> bool:
    """Whether this is a bundle of doccano's files, or one of them."""
    if content.members is not None:
        return all(_is_export(member) for member in content.members.values())
    return content.container.startswith("JSON") and _is_export(content) and _has_lists(content)


def read(content: Content, options: Options) -> RawLabels:
    """Read the file of each member."""
    raw = RawLabels()
    files = content.members if content.members is not None else {os.fspath(content.path): content}
    for name, member in files.items():
        user = os.path.splitext(os.path.basename(name))[0]
        if not _is_export(member):
            raise FileError(member.path, f"is {member}; expected doccano's id, text and label.")
        rows = list(_rows(member, user, options, raw.text))
        if user == _MERGED and any(who == user and label is not None for _, who, label in rows):
            raise FileError(
                member.path,
                "holds the merged labels of all members, without their annotators. In the settings of the "
                "project in doccano, untick «Share annotations across all users» and export again.",
            )
        raw.rows += rows
    if content.members is None and all(who is None or who == user for _, who, _ in raw.rows):
        raw.notes.append(f"doccano does not write annotators: {user!r} is the name of the file")
    return raw


def _is_export(content: Content) -> bool:
    """Whether a file has an id and labels, as doccano writes them."""
    names = set(content.names)
    return bool(names & {"id", "doc_id"}) and bool(names & {*_LABEL, "annotations"}) and "data" not in names


def _has_lists(content: Content) -> bool:
    """Whether labels are lists, as in doccano's records but not in a long table."""
    records = content.rows() if content.rows else []
    return any(isinstance(record.get(name), list) for record in records for name in (*_LABEL, "annotations"))


def _rows(
    content: Content, user: str, options: Options, text: dict[Hashable, str]
) -> Iterator[tuple[Hashable, Hashable, Hashable]]:
    """Yield item, annotator and label of every record; texts are added to a dictionary."""
    path = content.path
    for number, record in enumerate(_records(content), 1):
        key = options.columns.get("item") or ("id" if "id" in record else "doc_id")
        item = as_scalar(record.get(key), key, number, path)
        words = record.get(options.columns.get("text", "text"))
        if isinstance(words, str):
            text[item] = words
        yield item, None, None
        if "annotations" in record:
            yield from _named(record, item, number, path)
            continue
        name = options.columns.get("annotator") or next((name for name in _USER if name in record), "")
        who = as_scalar(record.get(name), name, number, path) if name else user
        label = _label(_value(record, options), number, path)
        if label is not None or who != _NOBODY:
            yield item, who, label


def _named(
    record: Record, item: Hashable, number: int, path: Path
) -> Iterator[tuple[Hashable, Hashable, Hashable]]:
    """Yield the labels of a record from before version 1.0, with their users."""
    for entry in as_list(record["annotations"], "annotations", number, path):
        entry = as_object(entry, "an annotation", number, path)
        who, label = (entry.get(f"{what}_name", entry.get(what)) for what in ("user", "label"))
        yield item, as_scalar(who, "user", number, path), as_scalar(label, "label", number, path)


def _value(record: Record, options: Options) -> Any:
    """Return the labels of a record."""
    names = (options.columns["label"],) if "label" in options.columns else _LABEL
    return next((record[name] for name in names if name in record), None)


def _label(value: Any, number: int, path: Path) -> Hashable:
    """Return the only label of an item."""
    if isinstance(value, str) and all(value.split("#")):  # how CSV joins them
        value = value.split("#")
    if isinstance(value, list) and any(isinstance(entry, (list, dict)) for entry in value):
        raise FileError(
            path,
            f"marks parts of the text ({show(value, 1)} in record {number}). Expected one label per item.",
        )
    return single(value, number, path)


def _records(content: Content) -> list[Record]:
    """Return the records of JSON, or rows of CSV."""
    if content.rows is not None:
        return content.rows()
    assert content.table is not None
    return content.table.records(ids=("id", "doc_id"))


FORMAT = Format(
    "doccano",
    "doccano's zip with one file per member, or one such file (id, text and a list of labels)",
    recognise,
    read,
)
