"""doccano: a zip (or folder) with one file per member of the project, who is the annotator.

doccano does not write users into records. A project with shared annotations exports ``all.jsonl``, in which
the labels of all members are merged, without their annotators. Versions before 1.0 did write the user, in
``annotations`` or ``username``.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any

from whoknows.data.vocabulary import show
from whoknows.io.containers import Content, Record
from whoknows.io.errors import FileError
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
        before = len(raw.rows)
        for record in member.records("doccano's records", ids=("id", "doc_id")):
            _add(raw, record, user, options)
        if user == _MERGED and any(who == user and label is not None for _, who, label in raw.rows[before:]):
            raise FileError(
                member.path,
                "holds the merged labels of all members, without their annotators. In the settings of the "
                "project in doccano, untick «Share annotations across all users» and export again.",
            )
    if content.members is None and all(who is None or who == user for _, who, _ in raw.rows):
        raw.notes.append(f"doccano does not write annotators: {user!r} is the name of the file")
    return raw


def _is_export(content: Content) -> bool:
    """Whether a file has an id and labels, as doccano writes them."""
    names = set(content.names)
    return bool(names & {"id", "doc_id"}) and bool(names & {*_LABEL, "annotations"}) and "data" not in names


def _has_lists(content: Content) -> bool:
    """Whether labels are lists, as in doccano's records but not in a long table."""
    records = content.records("records")
    return any(isinstance(record.get(name), list) for record in records for name in (*_LABEL, "annotations"))


def _add(raw: RawLabels, record: Record, user: str, options: Options) -> None:
    """Add the item of a record, its text and its labels."""
    item = record.scalar(options.columns.get("item") or ("id" if "id" in record else "doc_id"))
    raw.add_item(item, record.get(options.columns.get("text", "text")))
    if "annotations" in record:
        raw.rows += [(item, who, label) for who, label in _with_users(record)]
        return
    key = options.columns.get("annotator") or next((name for name in _USER if name in record), "")
    who = record.scalar(key) if key else user
    names = (options.columns["label"],) if "label" in options.columns else _LABEL
    value = next((record[name] for name in names if name in record), None)
    label = raw.answer(item, partial(_label, record, value))
    if label is not None or who != _NOBODY:
        raw.rows.append((item, who, label))


def _with_users(record: Record) -> Iterator[tuple[Hashable, Hashable]]:
    """Yield user and label of the annotations of a record from before version 1.0."""
    for entry in record.objects("annotations"):
        user, label = (f"{what}_name" if f"{what}_name" in entry else what for what in ("user", "label"))
        yield entry.scalar(user), entry.scalar(label)


def _label(record: Record, value: Any) -> Hashable:
    """Return the only label of an item."""
    if isinstance(value, str) and all(value.split("#")):  # how CSV joins them
        value = value.split("#")
    if isinstance(value, list) and any(isinstance(entry, (list, dict)) for entry in value):
        raise FileError(
            record.path,
            f"marks parts of the text ({show(value, 1)} in record {record.number}). Expected one label per item.",
        )
    return record.answer(value)


FORMAT = Format(
    "doccano",
    "doccano's zip with one file per member, or one such file (id, text and a list of labels)",
    recognise,
    read,
)
