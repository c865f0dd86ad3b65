"""Argilla: records as JSON, JSONL or Parquet, nested or flat, and its folder on disk.

Nested: ``responses`` holds a list of values and user ids per question. Flat, as written by ``to_datasets``:
columns such as ``label.responses``, ``label.responses.users`` and ``label.responses.status``. Only
submitted responses are used, if the status is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

from whoknows.data.errors import Message
from whoknows.io.containers import Content, Record, as_list, as_object, as_scalar, single
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import OF_MODELS, Format, Options, RawLabels, choose

Response = tuple[str, Any, Any, Any]  # question, value, user, status
_FLAT = ".responses"


def recognise(content: Content, options: Options) -> bool:
    """Whether records have responses, nested or flat."""
    return any(_has_responses(part) for part in _parts(content))


def read(content: Content, options: Options) -> RawLabels:
    """Read the responses of every record."""
    path = content.path
    records = [r for part in _parts(content) if _has_responses(part) and part.rows for r in part.rows()]
    responses_of = [list(_responses(record, number, path)) for number, record in enumerate(records, 1)]
    names = list(dict.fromkeys(question for responses in responses_of for question, *_ in responses))
    question = choose(names, options.columns.get("label"), "question", path)
    raw = RawLabels()
    count = Counter[Any]()
    for number, (record, responses) in enumerate(zip(records, responses_of, strict=True), 1):
        item = _item(record, options, number, path)
        raw.rows.append((item, None, None))
        text = _entry(record, options.columns.get("text", "text"), number, path)
        if isinstance(text, str):
            raw.text[item] = text
        for asked, value, user, status in responses:
            if asked != question:
                continue
            count[status] += 1
            if status in (None, "submitted"):
                who = as_scalar(user, "user_id", number, path)
                raw.rows.append((item, who, single(value, number, path)))
        _add_suggestion(raw, record, item, question, options, number)
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


def _responses(record: Record, number: int, path: Path) -> Iterator[Response]:
    """Yield all responses of a record: nested by question, nested by user (as on the server), or flat."""
    nested = record.get("responses")
    if isinstance(nested, dict):
        for question, entries in nested.items():
            for entry in as_list(entries, f"responses to {question!r}", number, path):
                response = as_object(entry, "a response", number, path)
                yield question, response.get("value"), response.get("user_id"), _status(response)
        return
    for entry in as_list(nested, "responses", number, path):
        response = as_object(entry, "a response", number, path)
        for question, value in as_object(response.get("values"), "values", number, path).items():
            answer = as_object(value, "a value", number, path)
            yield question, answer.get("value"), response.get("user_id"), _status(response)
    yield from _flat_responses(record, number, path)


def _flat_responses(record: Record, number: int, path: Path) -> Iterator[Response]:
    """Yield responses in columns, one list each for values, users and status."""
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


def _status(response: Record) -> str | None:
    """Return the status of a response, None if the export does not have it."""
    status = response.get("status")
    return status if isinstance(status, str) else None


def _item(record: Record, options: Options, number: int, path: Path) -> Hashable:
    """Return the id of a record: the user's own, else the server's."""
    if "item" in options.columns:
        value = _entry(record, options.columns["item"], number, path)
    else:
        value = record.get("id") if record.get("id") is not None else record.get("_server_id")
    return as_scalar(value, "id", number, path)


def _entry(record: Record, name: str, number: int, path: Path) -> Any:
    """Return an entry of a record, of its fields or of its metadata."""
    for place in ("fields", "metadata"):
        inside = record.get(place)
        if isinstance(inside, dict) and name in inside:
            return inside[name]
    return record.get(name)


def _add_suggestion(
    raw: RawLabels, record: Record, item: Hashable, question: str, options: Options, number: int
) -> None:
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
