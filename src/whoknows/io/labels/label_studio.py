"""Label Studio: JSON, a list of tasks with the annotations of several people; JSON-MIN; and CSV.

The item is the task's id, or the entry of its ``data`` that ``columns={"item": ...}`` names. If there are
several questions (``from_name``), ``columns={"label": ...}`` names one. A question has one answer: a choice,
a rating, a number, or a path in a taxonomy.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from whoknows.io.containers import Content, Record, as_list, as_object, as_scalar, must_have, single
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import OF_MODELS, Format, Options, RawLabels, choose
from whoknows.io.labels.long import add_true_label

KINDS = ("choices", "rating", "number", "taxonomy")
_ALWAYS = {"annotator", "annotation_id", "lead_time"}  # columns of every JSON-MIN or CSV export
_KNOWN = _ALWAYS | {"id", "created_at", "updated_at", "agreement", "history"}
_ANNOTATIONS = ("annotations", "completions")  # the second until 2020


def recognise(content: Content, options: Options) -> bool:
    """Whether records are tasks, with data and annotations."""
    names = set(content.names)
    return content.container.startswith("JSON") and "data" in names and bool(names & set(_ANNOTATIONS))


def read(content: Content, options: Options) -> RawLabels:
    """Read the annotations of every task, in order of time."""
    path = content.path
    tasks, question = tasks_of(content, options.columns)
    raw = RawLabels(duplicates="last")
    said: list[tuple[str, Hashable, Hashable, Hashable]] = []
    count = Counter[str]()
    for number, task in tasks:
        item = item_of(task, options.columns, number, path)
        raw.rows.append((item, None, None))
        _store_text(raw, task, item, options, number, path)
        for kind, when, who, label in _labels_of(task, question, number, path):
            count[kind if label is not None or kind == "cancelled" else "unanswered"] += 1
            if kind == "gold" and label is not None:
                add_true_label(raw.gold, item, label, path)
            elif kind == "label" or (kind == "prediction" and options.predictions and label is not None):
                said.append((when, item, who, label))
    said.sort(key=lambda entry: entry[0])
    people = _one_kind([who for _, _, who, _ in said])
    raw.rows += [(item, who, label) for (_, item, _, label), who in zip(said, people, strict=True)]
    raw.note(count["cancelled"], "cancelled annotation left out", "cancelled annotations left out")
    raw.note(count["unanswered"], "annotation has no answer", "annotations have no answer")
    raw.note(len(raw.gold), "ground truth used as gold", "ground truths used as gold")
    if not options.predictions:
        raw.note(count["prediction"], "prediction", "predictions", *OF_MODELS)
    return raw


def tasks_of(content: Content, columns: Mapping[str, str]) -> tuple[list[tuple[int, Record]], str]:
    """Return the numbered tasks of an export, and the question to read."""
    if content.rows is None:
        raise FileError(content.path, f"is {content}; expected a list of tasks.")
    tasks = list(enumerate(content.rows(), 1))
    asked = (a["from_name"] for number, task in tasks for a in answers_of(task, number, content.path))
    return tasks, choose(list(dict.fromkeys(asked)), columns.get("label"), "question", content.path)


def answers_of(task: Record, number: int, path: Path) -> Iterator[Record]:
    """Yield all answers of a task, by annotators and models, to any question."""
    guesses = as_list(task.get("predictions"), "predictions", number, path)
    for entry in [*_entries(task, number, path), *guesses]:
        yield from _results(as_object(entry, "an annotation", number, path), number, path)


def item_of(task: Record, columns: Mapping[str, str], number: int, path: Path) -> Hashable:
    """Return the id of a task, or the entry of its data that is used as id."""
    if "item" not in columns:
        return as_scalar(task.get("id", number), "id", number, path)
    data = as_object(task.get("data"), "data", number, path)
    name = must_have(list(data), columns["item"], f"entry in the data of task {number} called", path)
    return as_scalar(data[name], name, number, path)


def _results(entry: Record, number: int, path: Path) -> Iterator[Record]:
    """Yield the answers of one annotation that could be a label."""
    for result in as_list(entry.get("result"), "result", number, path):
        answer = as_object(result, "a result", number, path)
        if answer.get("type") in KINDS and isinstance(answer.get("from_name"), str):
            yield answer


def taxonomy_path(value: Any, number: int, path: Path) -> Hashable:
    """Return a path in a taxonomy as text."""
    paths = as_list(value, "taxonomy", number, path)
    if len(paths) == 1 and isinstance(paths[0], list):
        return " / ".join(map(str, paths[0]))
    return single(paths, number, path)


def _entries(task: Record, number: int, path: Path) -> list[Record]:
    """Return the annotations of a task."""
    said = next((task[name] for name in _ANNOTATIONS if name in task), None)
    entries = as_list(said, "annotations", number, path)
    return [as_object(entry, "an annotation", number, path) for entry in entries]


def _answer(entry: Record, question: str, number: int, path: Path) -> Hashable:
    """Return the label that answers a question in an annotation, None if there is none."""
    answers = [r for r in _results(entry, number, path) if r["from_name"] == question]
    if len(answers) > 1:
        raise FileError(
            path,
            f"answers the question {question!r} {len(answers)} times in one annotation of task {number}.",
        )
    if not answers:
        return None
    kind = answers[0]["type"]
    value = as_object(answers[0].get("value"), "value", number, path).get(kind)
    return taxonomy_path(value, number, path) if kind == "taxonomy" else single(value, number, path)


def _labels_of(
    task: Record, question: str, number: int, path: Path
) -> Iterator[tuple[str, str, Hashable, Hashable]]:
    """Yield kind (label, gold, cancelled, prediction), time, annotator and label of all entries of a task."""
    for entry in _entries(task, number, path):
        when = str(entry.get("updated_at") or entry.get("created_at") or "")
        cancelled = entry.get("was_cancelled") or entry.get("skipped")
        label = None if cancelled else _answer(entry, question, number, path)
        kind = "cancelled" if cancelled else "gold" if entry.get("ground_truth") is True else "label"
        yield kind, when, _annotator(entry, number, path), label
    for guess in as_list(task.get("predictions"), "predictions", number, path):
        entry = as_object(guess, "a prediction", number, path)
        model = as_scalar(entry.get("model_version"), "model_version", number, path) or "model"
        yield "prediction", "", model, _answer(entry, question, number, path)


def _annotator(entry: Record, number: int, path: Path) -> Hashable:
    """Return the id of the annotator, or the e-mail address if the export has it."""
    who = entry.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    return as_scalar(who, "completed_by", number, path)


def _one_kind(people: list[Hashable]) -> list[Hashable]:
    """Return ids of one type: numbers among e-mail addresses become text."""
    if len({type(who) for who in people if who is not None}) < 2:
        return people
    return [None if who is None else str(who) for who in people]


def _store_text(
    raw: RawLabels, task: Record, item: Hashable, options: Options, number: int, path: Path
) -> None:
    """Store the text of a task, if its data has one."""
    text = as_object(task.get("data"), "data", number, path).get(options.columns.get("text", "text"))
    if isinstance(text, str):
        raw.text[item] = text


# --- JSON-MIN and CSV: one record per annotation ----------------------------------------------------


def recognise_min(content: Content, options: Options) -> bool:
    """Whether the columns exist that Label Studio always writes."""
    return set(content.names) >= _ALWAYS


def read_min(content: Content, options: Options) -> RawLabels:
    """Read the records in order of time."""
    table, path = content.table, content.path
    if table is None:
        raise FileError(path, f"is {content}; expected one record per annotation.")
    records = content.rows() if content.rows else _csv_records(content)
    question = choose(_questions(content, records), options.columns.get("label"), "question", path)
    item = must_have(table.names, options.columns.get("item", "id"), "entry for the item", path)
    text = options.columns.get("text", "text")
    raw = RawLabels(duplicates="last")
    said: list[tuple[str, Hashable, Hashable, Hashable]] = []
    for number, record in enumerate(records, 1):
        name = as_scalar(record.get(item), item, number, path)
        raw.rows.append((name, None, None))
        if isinstance(record.get(text), str):
            raw.text[name] = record[text]
        who = as_scalar(record.get("annotator"), "annotator", number, path)
        label = _label_of_answer(record.get(question), number, path)
        when = str(record.get("updated_at") or record.get("created_at") or "")
        if who is not None and who != "":
            said.append((when, name, who, label))
    raw.rows += [(name, who, label) for _, name, who, label in sorted(said, key=lambda entry: entry[0])]
    missing = sum(label is None for _, _, _, label in said)
    raw.note(missing, "annotation has no answer", "annotations have no answer")
    return raw


def _csv_records(content: Content) -> list[Record]:
    """Return the rows of a CSV export; structured answers are parsed as JSON."""
    assert content.table is not None
    rows = content.table.records(ids=("id", "annotator"))
    return [{name: _structure(cell) for name, cell in row.items()} for row in rows]


def _structure(cell: Any) -> Any:
    """Return a cell of a CSV export, parsed if it holds an object or a list as JSON."""
    if isinstance(cell, str) and cell[:1] in "[{":
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def _questions(content: Content, records: list[Record]) -> list[str]:
    """Return the entries that can be a question: in JSON those between the task's id and the annotator.

    Label Studio writes the task's data first, then the id, the answers and the annotator. The columns of CSV
    are sorted by name, so that any of them can be a question.
    """
    if not content.container.startswith("JSON"):
        return [name for name in content.names if name not in _KNOWN]
    names: dict[str, None] = {}
    for record in records:
        keys = list(record)
        if "id" in keys and "annotator" in keys:
            names |= dict.fromkeys(keys[keys.index("id") + 1 : keys.index("annotator")])
    return [name for name in names if name not in _KNOWN]


def _label_of_answer(value: Any, number: int, path: Path) -> Hashable:
    """Return the label of an answer: itself, or the entry of an object named after the type of question."""
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


JSON = Format(
    "label-studio",
    "Label Studio's export JSON: a list of tasks with data and annotations",
    recognise,
    read,
)

MIN = Format(
    "label-studio-min",
    "Label Studio's export JSON-MIN or CSV: one record per annotation, with annotator and annotation_id",
    recognise_min,
    read_min,
)
