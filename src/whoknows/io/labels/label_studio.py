"""Label Studio JSON: a list of tasks, each with the annotations of several people.

The item is the task's id, or the entry of its ``data`` that ``columns={"item": ...}`` names. Of several
questions (``from_name``), ``columns={"label": ...}`` names one. A question has one answer: a choice, a
rating, a number, or a path in a taxonomy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from whoknows.io.containers import Content
from whoknows.io.errors import FileError, Path
from whoknows.io.json_records import Record, as_list, as_object, as_scalar, single
from whoknows.io.labels.format import Format, Options, choose, must_have
from whoknows.io.labels.label_file import OF_MODELS, Found
from whoknows.io.labels.long import add_gold

KINDS = ("choices", "rating", "number", "taxonomy")
_SAID = ("annotations", "completions")  # the second until 2020


def recognise(content: Content, options: Options) -> bool:
    """Whether records are tasks, with data and annotations."""
    names = set(content.names)
    return content.container.startswith("JSON") and "data" in names and bool(names & set(_SAID))


def read(content: Content, options: Options) -> Found:
    """Read the annotations of every task, in the order of time."""
    path = content.path
    tasks, question = tasks_of(content, options.columns)
    found = Found(duplicates="last")
    said: list[tuple[str, Hashable, Hashable, Hashable]] = []
    count = Counter[str]()
    for number, task in tasks:
        item = item_of(task, options.columns, number, path)
        found.rows.append((item, None, None))
        _take_text(found, task, item, options, number, path)
        for kind, when, who, label in _sayings(task, question, number, path):
            count[kind if label is not None or kind == "cancelled" else "unanswered"] += 1
            if kind == "gold" and label is not None:
                add_gold(found.gold, item, label, path)
            elif kind == "label" or (kind == "prediction" and options.predictions and label is not None):
                said.append((when, item, who, label))
    said.sort(key=lambda entry: entry[0])
    people = _one_kind([who for _, _, who, _ in said])
    found.rows += [(item, who, label) for (_, item, _, label), who in zip(said, people, strict=True)]
    found.note(count["cancelled"], "cancelled annotation left out", "cancelled annotations left out")
    found.note(count["unanswered"], "annotation has no answer", "annotations have no answer")
    found.note(len(found.gold), "ground truth set apart as gold", "ground truths set apart as gold")
    if not options.predictions:
        found.note(count["prediction"], f"prediction {OF_MODELS}", f"predictions {OF_MODELS}")
    return found


def tasks_of(content: Content, columns: Mapping[str, str]) -> tuple[list[tuple[int, Record]], str]:
    """Numbered tasks of an export, and the question that is meant."""
    if content.rows is None:
        raise FileError(content.path, f"is {content}; expected a list of tasks.")
    tasks = list(enumerate(content.rows(), 1))
    asked = (a["from_name"] for number, task in tasks for a in answers_of(task, number, content.path))
    return tasks, choose(list(dict.fromkeys(asked)), columns.get("label"), "question", content.path)


def answers_of(task: Record, number: int, path: Path) -> Iterator[Record]:
    """Every answer, of people and models, that a task has to any question."""
    guesses = as_list(task.get("predictions"), "predictions", number, path)
    for entry in [*_entries(task, number, path), *guesses]:
        yield from _results(as_object(entry, "an annotation", number, path), number, path)


def item_of(task: Record, columns: Mapping[str, str], number: int, path: Path) -> Hashable:
    """Id of a task, or the entry of its data that stands for it."""
    if "item" not in columns:
        return as_scalar(task.get("id", number), "id", number, path)
    data = as_object(task.get("data"), "data", number, path)
    name = must_have(list(data), columns["item"], f"entry in the data of task {number} called", path)
    return as_scalar(data[name], name, number, path)


def _results(entry: Record, number: int, path: Path) -> Iterator[Record]:
    """Answers of one annotation that could be a label."""
    for result in as_list(entry.get("result"), "result", number, path):
        answer = as_object(result, "a result", number, path)
        if answer.get("type") in KINDS and isinstance(answer.get("from_name"), str):
            yield answer


def taxonomy_path(value: Any, number: int, path: Path) -> Hashable:
    """Path in a taxonomy, as text."""
    paths = as_list(value, "taxonomy", number, path)
    if len(paths) == 1 and isinstance(paths[0], list):
        return " / ".join(map(str, paths[0]))
    return single(paths, number, path)


def _entries(task: Record, number: int, path: Path) -> list[Record]:
    """Annotations of a task."""
    said = next((task[name] for name in _SAID if name in task), None)
    entries = as_list(said, "annotations", number, path)
    return [as_object(entry, "an annotation", number, path) for entry in entries]


def _answer(entry: Record, question: str, number: int, path: Path) -> Hashable:
    """Label that an annotation gives to a question, None if it gives none."""
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


def _sayings(
    task: Record, question: str, number: int, path: Path
) -> Iterator[tuple[str, str, Hashable, Hashable]]:
    """What was said of a task: whether a label, gold, cancelled or a prediction; when; by whom; the label."""
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
    """Id of who completed an annotation; the e-mail address where the export has the whole person."""
    who = entry.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    return as_scalar(who, "completed_by", number, path)


def _one_kind(people: list[Hashable]) -> list[Hashable]:
    """Ids of one kind: numbers among e-mail addresses become text."""
    if len({type(who) for who in people if who is not None}) < 2:
        return people
    return [None if who is None else str(who) for who in people]


def _take_text(found: Found, task: Record, item: Hashable, options: Options, number: int, path: Path) -> None:
    """Text of a task, where its data has one."""
    text = as_object(task.get("data"), "data", number, path).get(options.columns.get("text", "text"))
    if isinstance(text, str):
        found.text[item] = text


FORMAT = Format(
    "label-studio",
    "Label Studio's export JSON: a list of tasks with data and annotations",
    recognise,
    read,
)
