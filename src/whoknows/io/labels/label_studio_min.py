"""Label Studio JSON-MIN and CSV: one record an annotation, cancelled ones already left out."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from whoknows.io.containers import Content
from whoknows.io.errors import FileError, Path
from whoknows.io.json_records import Record, as_scalar, single
from whoknows.io.labels.format import Format, Options, choose, must_have
from whoknows.io.labels.label_file import Found
from whoknows.io.labels.label_studio import KINDS, taxonomy_path

_ALWAYS = {"annotator", "annotation_id", "lead_time"}
_KNOWN = _ALWAYS | {"id", "created_at", "updated_at", "agreement", "history"}


def recognise(content: Content, options: Options) -> bool:
    """Whether the columns are there that Label Studio always writes."""
    return set(content.names) >= _ALWAYS


def read(content: Content, options: Options) -> Found:
    """Read the records in the order of time."""
    table, path = content.table, content.path
    if table is None:
        raise FileError(path, f"is {content}; expected one record an annotation.")
    records = content.rows() if content.rows else _rows(content)
    question = choose(_questions(content, records), options.columns.get("label"), "question", path)
    item = must_have(table.names, options.columns.get("item", "id"), "entry for the item", path)
    text = options.columns.get("text", "text")
    found = Found(duplicates="last")
    said: list[tuple[str, Hashable, Hashable, Hashable]] = []
    for number, record in enumerate(records, 1):
        name = as_scalar(record.get(item), item, number, path)
        found.rows.append((name, None, None))
        if isinstance(record.get(text), str):
            found.text[name] = record[text]
        who = as_scalar(record.get("annotator"), "annotator", number, path)
        label = _label(record.get(question), number, path)
        when = str(record.get("updated_at") or record.get("created_at") or "")
        if who is not None and who != "":
            said.append((when, name, who, label))
    found.rows += [(name, who, label) for _, name, who, label in sorted(said, key=lambda entry: entry[0])]
    missing = sum(label is None for _, _, _, label in said)
    found.note(missing, "annotation has no answer", "annotations have no answer")
    return found


def _rows(content: Content) -> list[Record]:
    """Rows of a CSV export; answers with structure as the JSON they hold."""
    assert content.table is not None
    rows = content.table.records(ids=("id", "annotator"))
    return [{name: _structure(cell) for name, cell in row.items()} for row in rows]


def _structure(cell: Any) -> Any:
    """Cell of a CSV export: an object or a list where it holds one as JSON."""
    if isinstance(cell, str) and cell[:1] in "[{":
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def _questions(content: Content, records: list[Record]) -> list[str]:
    """Entries that could be a question: in JSON those between the task's id and the annotator.

    Label Studio writes the task's data first, then the id, the answers and the annotator. CSV is sorted by
    name, so that any column may be a question.
    """
    if not content.container.startswith("JSON"):
        return [name for name in content.names if name not in _KNOWN]
    names: dict[str, None] = {}
    for record in records:
        keys = list(record)
        if "id" in keys and "annotator" in keys:
            names |= dict.fromkeys(keys[keys.index("id") + 1 : keys.index("annotator")])
    return [name for name in names if name not in _KNOWN]


def _label(value: Any, number: int, path: Path) -> Hashable:
    """Label in an answer: itself, or within an object named after the kind of question."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict):
        return single(value, number, path)
    kind = next((kind for kind in KINDS if kind in value), None)
    if kind is None:
        raise FileError(
            path, f"answers with {sorted(value)} in record {number}; expected one of {list(KINDS)}."
        )
    return (
        taxonomy_path(value[kind], number, path) if kind == "taxonomy" else single(value[kind], number, path)
    )


FORMAT = Format(
    "label-studio-min",
    "Label Studio's export JSON-MIN or CSV: one record an annotation, with annotator and annotation_id",
    recognise,
    read,
)
