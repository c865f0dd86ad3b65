"""Argilla: records as JSON, JSONL or Parquet, nested or flat, and its folder on disk.

Nested: ``responses`` holds a list of values and user ids for each question. Flat, as ``to_datasets`` gives
them: columns such as ``label.responses``, ``label.responses.users`` and ``label.responses.status``. Only
submitted responses count, where the status is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

from whoknows.io.containers import Content
from whoknows.io.errors import FileError, Path
from whoknows.io.json_records import Record, as_list, as_object, as_scalar, single
from whoknows.io.labels.format import Format, Options, choose
from whoknows.io.labels.label_file import OF_MODELS, Found

Response = tuple[str, Any, Any, Any]  # question, value, user, status
_FLAT = ".responses"


def recognise(content: Content, options: Options) -> bool:
    """Whether records have responses, nested or flat."""
    return any(_has_responses(part) for part in _parts(content))


def read(content: Content, options: Options) -> Found:
    """Read the responses of every record."""
    path = content.path
    records = [r for part in _parts(content) if _has_responses(part) and part.rows for r in part.rows()]
    said = [list(_responses(record, number, path)) for number, record in enumerate(records, 1)]
    names = list(dict.fromkeys(question for responses in said for question, *_ in responses))
    question = choose(names, options.columns.get("label"), "question", path)
    found = Found()
    count = Counter[Any]()
    for number, (record, responses) in enumerate(zip(records, said, strict=True), 1):
        item = _item(record, options, number, path)
        found.rows.append((item, None, None))
        text = _entry(record, options.columns.get("text", "text"), number, path)
        if isinstance(text, str):
            found.text[item] = text
        for asked, value, user, status in responses:
            if asked != question:
                continue
            count[status] += 1
            if status in (None, "submitted"):
                who = as_scalar(user, "user_id", number, path)
                found.rows.append((item, who, single(value, number, path)))
        _take_suggestion(found, record, item, question, options, number)
    for status in ("draft", "discarded"):
        found.note(count[status], f"{status} response left out", f"{status} responses left out")
    if count[None]:
        found.notes.append(
            "this export has no status: drafts and discarded responses count as labels; "
            "records.to_datasets() keeps it"
        )
    if any(record.get("vectors") for record in records):
        found.notes.append("records have vectors: the same file can be read as features")
    return found


def _parts(content: Content) -> list[Content]:
    """Files that make up an export: one, or those of a folder."""
    return [content] if content.members is None else list(content.members.values())


def _has_responses(content: Content) -> bool:
    """Whether a file has responses, nested or flat."""
    nested = {"fields", "responses"} <= set(content.names)
    return content.rows is not None and (nested or any(name.endswith(_FLAT) for name in content.names))


def _responses(record: Record, number: int, path: Path) -> Iterator[Response]:
    """Every response in a record; nested by question, nested by user (the server's form), or flat."""
    nested = record.get("responses")
    if isinstance(nested, dict):
        for question, entries in nested.items():
            for entry in as_list(entries, f"responses to {question!r}", number, path):
                said = as_object(entry, "a response", number, path)
                yield question, said.get("value"), said.get("user_id"), _status(said)
        return
    for entry in as_list(nested, "responses", number, path):
        said = as_object(entry, "a response", number, path)
        for question, value in as_object(said.get("values"), "values", number, path).items():
            answer = as_object(value, "a value", number, path)
            yield question, answer.get("value"), said.get("user_id"), _status(said)
    yield from _flat_responses(record, number, path)


def _flat_responses(record: Record, number: int, path: Path) -> Iterator[Response]:
    """Responses in columns, one list for values, users and status each."""
    for name in record:
        if not name.endswith(_FLAT):
            continue
        values, users = (as_list(record.get(key), key, number, path) for key in (name, f"{name}.users"))
        statuses = as_list(record.get(f"{name}.status"), f"{name}.status", number, path)
        statuses = statuses or [None] * len(values)
        if not len(values) == len(users) == len(statuses):
            raise FileError(
                path, f"has {len(values)} responses by {len(users)} users in {name!r} of record {number}."
            )
        for value, user, status in zip(values, users, statuses, strict=True):
            yield name.removesuffix(_FLAT), value, user, status if isinstance(status, str) else None


def _status(said: Record) -> str | None:
    """Status of a response, None where the export lost it."""
    status = said.get("status")
    return status if isinstance(status, str) else None


def _item(record: Record, options: Options, number: int, path: Path) -> Hashable:
    """Id of a record: the user's own, else the server's."""
    if "item" in options.columns:
        value = _entry(record, options.columns["item"], number, path)
    else:
        value = record.get("id") if record.get("id") is not None else record.get("_server_id")
    return as_scalar(value, "id", number, path)


def _entry(record: Record, name: str, number: int, path: Path) -> Any:
    """Entry of a record, wherever it stands: by itself, among its fields or its metadata."""
    for place in ("fields", "metadata"):
        inside = record.get(place)
        if isinstance(inside, dict) and name in inside:
            return inside[name]
    return record.get(name)


def _take_suggestion(
    found: Found, record: Record, item: Hashable, question: str, options: Options, number: int
) -> None:
    """Suggestion of a model for the question, as an annotator's label if the user wants it."""
    nested = record.get("suggestions")
    entry = nested.get(question) if isinstance(nested, dict) else None
    value, agent = record.get(f"{question}.suggestion"), record.get(f"{question}.suggestion.agent")
    if isinstance(entry, dict):
        value, agent = entry.get("value"), entry.get("agent")
    if isinstance(value, (dict, list)) or value is None:
        return
    if options.predictions:
        found.rows.append((item, agent if isinstance(agent, str) else "model", value))
    elif not any(note.startswith("suggestions") for note in found.notes):
        found.notes.append(f"suggestions {OF_MODELS}")


FORMAT = Format(
    "argilla",
    "Argilla's records (JSON, JSONL, Parquet): fields and responses, or columns such as label.responses",
    recognise,
    read,
)
