"""Label Studio: JSON, a list of tasks with the annotations of several people; JSON-MIN; and CSV.

The item is the task's id, or the entry of its ``data`` that ``columns={"item": ...}`` names. If there are
several questions (``from_name``), ``columns={"label": ...}`` names one. A question has one answer: a choice,
a rating, a number, or a path in a taxonomy.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from whoknows.io.containers import Content, Record, must_have
from whoknows.io.errors import FileError, SeveralLabels
from whoknows.io.labels.format import OF_MODELS, Format, Options, RawLabels, choose
from whoknows.io.labels.tabular import add_true_label

KINDS = ("choices", "rating", "number", "taxonomy")
_ALWAYS = {"annotator", "annotation_id", "lead_time"}  # columns of every JSON-MIN or CSV export
_KNOWN = _ALWAYS | {"id", "created_at", "updated_at", "agreement", "history"}
BY_ID = " left out: the file has only their ids; export a snapshot of the project to have their answers"
_ANNOTATIONS = ("annotations", "completions")  # the second until 2020


def recognise(content: Content, options: Options) -> bool:
    """Whether records are tasks, with data and annotations or, to be imported, predictions."""
    names = set(content.names)
    holds_labels = bool(names & {*_ANNOTATIONS, "predictions"})
    return content.container.startswith("JSON") and "data" in names and holds_labels


def read(content: Content, options: Options) -> RawLabels:
    """Read the annotations of every task, in order of time."""
    tasks, question = tasks_of(content, options.columns)
    raw = RawLabels(duplicates="last")
    labels: list[tuple[str, Hashable, Hashable, Hashable]] = []
    count = Counter[str]()
    for task in tasks:
        item = item_of(task, options.columns)
        raw.add_item(item, task.inner("data").get(options.columns.get("text", "text")))
        for entry in _annotations(task):
            cancelled = entry.get("was_cancelled") or entry.get("skipped")
            label = None if cancelled else raw.answer(item, partial(_answer, entry, question))
            count["cancelled" if cancelled else "unanswered" if label is None else "label"] += 1
            if entry.get("ground_truth") is True and label is not None:
                add_true_label(raw.gold, item, label, content.path)
            elif not cancelled:
                labels.append((_when(entry), item, _annotator(entry), label))
        guesses = _predictions(task)
        count["prediction"] += len(guesses)
        count["by id"] += len(task.entries("predictions")) - len(guesses)
        for guess in guesses if options.predictions else ():
            label = raw.answer(item, partial(_answer, guess, question))
            if label is not None:
                labels.append(("", item, guess.scalar("model_version") or "model", label))
    mixed = len({type(who) for _, _, who, _ in labels if who is not None}) > 1
    raw.add_in_order(
        (when, item, str(who) if mixed and who is not None else who, label)  # ids among e-mail addresses
        for when, item, who, label in labels
    )
    raw.note(count["cancelled"], "cancelled annotation left out", "cancelled annotations left out")
    n_unclear = len(raw.unclear)
    raw.note(count["unanswered"] - n_unclear, "annotation has no answer", "annotations have no answer")
    raw.note(len(raw.gold), "ground truth used as gold", "ground truths used as gold")
    raw.note(count["by id"], "prediction", "predictions", BY_ID)
    if not options.predictions:
        raw.note(count["prediction"], "prediction", "predictions", *OF_MODELS)
    return raw


def tasks_of(content: Content, columns: Mapping[str, str]) -> tuple[list[Record], str]:
    """Return the tasks of an export, and the question to read."""
    tasks = content.records("a list of tasks")
    asked = (answer["from_name"] for task in tasks for answer in answers_of(task))
    return tasks, choose(list(dict.fromkeys(asked)), columns.get("label"), "question", content.path)


def answers_of(task: Record) -> Iterator[Record]:
    """Yield all answers of a task, by annotators and models, to any question."""
    for entry in [*_annotations(task), *_predictions(task)]:
        yield from _results(entry)


def item_of(task: Record, columns: Mapping[str, str]) -> Hashable:
    """Return the id of a task, or the entry of its data that is used as id."""
    if "item" not in columns:
        return task.scalar("id") if "id" in task else task.number
    data = task.inner("data")
    what = f"entry in the data of task {task.number} called"
    return data.scalar(must_have(list(data), columns["item"], what, task.path))


def _annotations(task: Record) -> list[Record]:
    """Return the annotations of a task."""
    return task.objects(next((name for name in _ANNOTATIONS if name in task), ""))


def _predictions(task: Record) -> list[Record]:
    """Return the predictions of a task, without those that an export gives by their id only."""
    entries = task.entries("predictions")
    return [task.as_object(entry, "a prediction") for entry in entries if not isinstance(entry, int)]


def _results(entry: Record) -> Iterator[Record]:
    """Yield the answers of one annotation that could be a label."""
    for answer in entry.objects("result"):
        if answer.get("type") in KINDS and isinstance(answer.get("from_name"), str):
            yield answer


def _answer(entry: Record, question: str) -> Hashable:
    """Return the label that answers a question in an annotation, None if there is none."""
    answers = [answer for answer in _results(entry) if answer["from_name"] == question]
    labels = [_value(answer.inner("value"), answer["type"]) for answer in answers]
    if len(labels) > 1:
        raise SeveralLabels(labels)
    return labels[0] if labels else None


def _value(answer: Record, kind: str) -> Hashable:
    """Return the label of an answer to a question of some kind; a path in a taxonomy as text."""
    value = answer.get(kind)
    if kind == "taxonomy":
        paths = answer.entries(kind)
        if len(paths) == 1 and isinstance(paths[0], list):
            return " / ".join(map(str, paths[0]))
    return answer.answer(value)


def _when(entry: Record) -> str:
    """Return the time of an annotation as text, "" if unknown."""
    return str(entry.get("updated_at") or entry.get("created_at") or "")


def _annotator(entry: Record) -> Hashable:
    """Return the id of the annotator, or the e-mail address if the export has it."""
    who = entry.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    return entry.as_scalar(who, "'completed_by'")


# --- JSON-MIN and CSV: one record per annotation ----------------------------------------------------


def recognise_min(content: Content, options: Options) -> bool:
    """Whether the columns exist that Label Studio always writes."""
    return set(content.names) >= _ALWAYS


def read_min(content: Content, options: Options) -> RawLabels:
    """Read the records in order of time."""
    records = content.records("one record per annotation", ids=("id", "annotator"))
    question = choose(_questions(content, records), options.columns.get("label"), "question", content.path)
    item_key = must_have(content.names, options.columns.get("item", "id"), "entry for the item", content.path)
    raw = RawLabels(duplicates="last")
    labels: list[tuple[str, Hashable, Hashable, Hashable]] = []
    for record in records:
        item = record.scalar(item_key)
        raw.add_item(item, record.get(options.columns.get("text", "text")))
        value = record.get(question) if content.rows else _structure(record.get(question))
        who = record.scalar("annotator")
        if who is not None and who != "":
            label = raw.answer(item, partial(_label_of_answer, record, value))
            labels.append((_when(record), item, who, label))
    raw.add_in_order(labels)
    missing = sum(label is None for _, _, _, label in labels) - len(raw.unclear)
    raw.note(missing, "annotation has no answer", "annotations have no answer")
    return raw


def _structure(cell: Any) -> Any:
    """Return a cell of a CSV export, parsed if it holds an object or a list as JSON."""
    if isinstance(cell, str) and cell[:1] in "[{":
        with suppress(ValueError, RecursionError):
            return json.loads(cell)
    return cell


def _questions(content: Content, records: list[Record]) -> list[str]:
    """Return the entries that can be a question: in JSON those between the task's id and the annotator.

    Label Studio writes the task's data first, then the id, the answers and the annotator. The columns of CSV
    are sorted by name: answers differ between the records of a task, or repeat from task to task.
    """
    if not content.container.startswith("JSON"):
        names_of_csv = [name for name in content.names if name not in _KNOWN]
        differ = [name for name in names_of_csv if _differs_within_tasks(records, name)]
        n_tasks = len({repr(record.get("id")) for record in records})
        repeat = [n for n in names_of_csv if len({repr(record.get(n)) for record in records}) < n_tasks]
        return differ or repeat or names_of_csv
    names: dict[str, None] = {}
    for record in records:
        keys = list(record)
        if "id" in keys and "annotator" in keys:
            names |= dict.fromkeys(keys[keys.index("id") + 1 : keys.index("annotator")])
    return [name for name in names if name not in _KNOWN]


def _differs_within_tasks(records: list[Record], name: str) -> bool:
    """Whether an entry has several values in the records of one task."""
    first: dict[Any, Any] = {}
    pairs = ((repr(record.get("id")), record.get(name)) for record in records)
    return any(first.setdefault(task, value) != value for task, value in pairs)


def _label_of_answer(record: Record, value: Any) -> Hashable:
    """Return the label of an answer: itself, or the entry of an object named after the type of question."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict):
        return record.answer(value)
    kind = next((kind for kind in KINDS if kind in value), None)
    if kind is None:
        raise FileError(
            record.path, f"answers with {sorted(value)} in record {record.number}; expected one of {list(KINDS)}."
        )
    return _value(record.as_object(value, "the answer"), kind)


JSON = Format("label-studio", "Label Studio's export JSON: a list of tasks with data and annotations", recognise, read)

MIN = Format(
    "label-studio-min",
    "Label Studio's export JSON-MIN or CSV: one record per annotation, with annotator and annotation_id",
    recognise_min,
    read_min,
)
