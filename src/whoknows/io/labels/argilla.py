"""Argilla: records as JSON, JSONL or Parquet, nested or flat, and its folder on disk.

Nested: ``responses`` holds a list of values and user ids per question. Flat, as written by ``to_datasets``:
columns such as ``label.responses``, ``label.responses.users`` and ``label.responses.status``. Only
submitted responses are used, if the status is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any

from whoknows.data.errors import Message
from whoknows.io.containers import Content, Record
from whoknows.io.errors import FileError
from whoknows.io.labels.format import OF_MODELS, Format, Options, RawLabels, choose

Response = tuple[str, Any, Any, Any]  # question, value, user, status
_FLAT = ".responses"


def recognise(content: Content, options: Options) -> bool:
    """Whether records have responses, nested or flat."""
    return any(_has_responses(part) for part in _parts(content))


def read(content: Content, options: Options) -> RawLabels:
    """Read the responses of every record."""
    records = [r for part in _parts(content) if _has_responses(part) for r in part.records("records")]
    responses_of = [list(_responses(record)) for record in records]
    names = list(dict.fromkeys(question for responses in responses_of for question, *_ in responses))
    question = choose(names, options.columns.get("label"), "question", content.path)
    raw = RawLabels()
    count = Counter[Any]()
    for record, responses in zip(records, responses_of, strict=True):
        item = _item(record, options)
        raw.add_item(item, _entry(record, options.columns.get("text", "text")))
        for asked, value, user, status in responses:
            if asked == question:
                status = status if isinstance(status, str) else None
                count[status] += 1
                if status in (None, "submitted"):
                    label = raw.answer(item, partial(record.answer, value))
                    raw.rows.append((item, record.as_scalar(user, "'user_id'"), label))
        _add_suggestion(raw, record, item, question, options)
    for status in ("draft", "discarded"):
        raw.note(count[status], f"{status} response left out", f"{status} responses left out")
    if count[None]:
        raw.notes.append(
            "this export has no status: drafts and discarded responses are treated as labels; "
            "records.to_datasets() keeps it"
        )
    if any(record.get("vectors") for record in records):
        raw.notes.append("records have vectors: the same file can be read as features")
    return raw


def _parts(content: Content) -> list[Content]:
    """Return the files of an export: one, or those of a folder."""
    return [content] if content.members is None else list(content.members.values())


def _has_responses(content: Content) -> bool:
    """Whether a file has responses, nested or flat."""
    nested = {"fields", "responses"} <= set(content.names)
    return content.rows is not None and (nested or any(name.endswith(_FLAT) for name in content.names))


def _responses(record: Record) -> Iterator[Response]:
    """Yield all responses of a record: nested by question, nested by user (as on the server), or flat."""
    if isinstance(record.get("responses"), dict):
        by_question = record.inner("responses")
        for question in by_question:
            for response in by_question.objects(question):
                yield question, response.get("value"), response.get("user_id"), response.get("status")
        return
    for response in record.objects("responses"):
        values = response.inner("values")
        for question in values:
            value = values.inner(question).get("value")
            yield question, value, response.get("user_id"), response.get("status")
    for name in record:
        if name.endswith(_FLAT):
            yield from _flat_responses(record, name)


def _flat_responses(record: Record, name: str) -> Iterator[Response]:
    """Yield responses in columns, one list each for values, users and status."""
    values, users = record.entries(name), record.entries(f"{name}.users")
    statuses = record.entries(f"{name}.status") or [None] * len(values)
    if not len(values) == len(users) == len(statuses):
        raise FileError(
            record.path, f"has {len(values)} responses by {len(users)} users in {name!r} of record {record.number}."
        )
    for value, user, status in zip(values, users, statuses, strict=True):
        yield name.removesuffix(_FLAT), value, user, status


def _item(record: Record, options: Options) -> Hashable:
    """Return the id of a record: the user's own, else the server's."""
    if "item" in options.columns:
        return record.as_scalar(_entry(record, options.columns["item"]), "the item")
    return record.scalar("id" if record.get("id") is not None else "_server_id")


def _entry(record: Record, name: str) -> Any:
    """Return an entry of a record, of its fields or of its metadata."""
    places = (record.get("fields"), record.get("metadata"), record)
    return next((place[name] for place in places if isinstance(place, dict) and name in place), None)


def _add_suggestion(raw: RawLabels, record: Record, item: Hashable, question: str, options: Options) -> None:
    """Add the suggestion of a model, as a label by an annotator if the user wants it, else as a note."""
    nested = record.get("suggestions")
    entry = nested.get(question) if isinstance(nested, dict) else None
    value, agent = record.get(f"{question}.suggestion"), record.get(f"{question}.suggestion.agent")
    if isinstance(entry, dict):
        value, agent = entry.get("value"), entry.get("agent")
    if isinstance(value, (dict, list)) or value is None:
        return
    if options.predictions:
        raw.rows.append((item, agent if isinstance(agent, str) else "model", value))
    elif (note := Message("suggestions", *OF_MODELS)) not in raw.notes:
        raw.notes.append(note)


FORMAT = Format(
    "argilla",
    "Argilla's records (JSON, JSONL, Parquet): fields and responses, or columns such as label.responses",
    recognise,
    read,
)
