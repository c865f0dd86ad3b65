"""JSON and JSONL as a list of records, and checked access to their values."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from whoknows.data.vocabulary import show
from whoknows.io.encoding import refuse_large_json, refuse_long_lines
from whoknows.io.errors import FileError, Path

Record = dict[str, Any]


def looks_like_json(text: str) -> bool:
    """Whether a text starts as JSON or JSONL does."""
    return text.lstrip()[:1] in ("[", "{")


def read_records(text: str, path: Path) -> tuple[str, list[Record]]:
    """Return the name of the container, JSON or JSONL, and the objects in it.

    A file that starts with an object is JSONL if its first line is a complete object.
    """
    refuse_large_json(text, path)
    first = text.lstrip().partition("\n")[0]
    if first.startswith("{") and _is_json(first):
        return "JSONL", _read_lines(text, path)
    content = _parse(text, path)
    records = content if isinstance(content, list) else [content]
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise FileError(path, f"expected a list of objects, got {kind_of(record)} at position {number}.")
    if not records:
        raise FileError(path, "holds an empty list.")
    return "JSON", records


def as_object(value: Any, what: str, number: int, path: Path) -> Record:
    """Return the value if it is an object, {} if it is null; else raise an error that names the record."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FileError(path, f"expected {what} of record {number} to be an object, got {kind_of(value)}.")
    return value


def as_list(value: Any, what: str, number: int, path: Path) -> list[Any]:
    """Return the value if it is a list, [] if it is null; else raise an error that names the record."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise FileError(path, f"expected {what} of record {number} to be a list, got {kind_of(value)}.")
    return value


def as_scalar(value: Any, what: str, number: int, path: Path) -> Hashable:
    """Return the value if it is text, a number or null; else raise an error that names the record."""
    if isinstance(value, (dict, list)):
        raise FileError(
            path, f"expected {what} of record {number} to be text or a number, got {kind_of(value)}."
        )
    return value


def single(value: Any, number: int, path: Path) -> Hashable:
    """Return the only answer in a value: text, a number, or the only entry of a list."""
    if isinstance(value, list) and len(value) > 1:
        raise FileError(
            path,
            f"has several labels in one answer ({show(value)} in record {number}). Expected questions with "
            "one answer: turn each label into a question with the answers yes and no.",
        )
    if isinstance(value, list):
        value = value[0] if value else None
    return as_scalar(value, "the answer", number, path)


def kind_of(value: Any) -> str:
    """Return the JSON type of a value, for a message."""
    if value is None:
        return "null"
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return kinds.get(type(value), "a number")


def _read_lines(text: str, path: Path) -> list[Record]:
    """Parse the lines of a JSONL file. Only a line feed ends a line: text may hold other line ends."""
    refuse_long_lines(text, path)
    records: list[Record] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        record = _parse(line, path, number)
        if not isinstance(record, dict):
            raise FileError(path, f"expected an object in line {number}, got {kind_of(record)}.")
        records.append(record)
    return records


def _parse(text: str, path: Path, line: int | None = None) -> Any:
    """Parse one JSON text; ``line`` is its line number in a JSONL file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        raise FileError(
            path,
            f"is not valid JSON at line {line or error.lineno}, character {error.colno} ({error.msg})."
            + (" It seems to be cut off: export or download it again." if cut else ""),
        ) from None
    except RecursionError:
        raise FileError(path, "is nested too deeply to be an export of labels.") from None
    except ValueError as error:  # a number with more digits than Python accepts
        raise FileError(path, f"holds a number that cannot be read ({error}).") from None


def _is_json(text: str) -> bool:
    """Whether a text is valid JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
