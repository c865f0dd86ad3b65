"""Labels written as tables, and predictions for Label Studio."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, show
from whoknows.io.containers import Record, open_content
from whoknows.io.delimited import escape, parse_ids, parse_labels, unescaped
from whoknows.io.errors import FileError, Path, naming
from whoknows.io.labels.label_studio import answers_of, item_of, tasks_of
from whoknows.io.labels.read import FORMATS
from whoknows.io.writing import DELIMITERS, check_suffix, to_list, write_lines, write_table


def write_labels(annotations: Annotations, path: Path, format: str = "long") -> tuple[str, ...]:
    """Write annotations as a table, whole or not at all.

    In CSV, text that a spreadsheet would run as a formula gets an apostrophe before it, which `read_labels`
    removes.

    Parameters
    ----------
    annotations : Annotations
    path : str or path
        Ends in .csv, .tsv, .parquet or .jsonl. An existing file is replaced.
    format : str
        A format of `FORMATS` that can be written: "long", "wide" or "crowdkit".

    Returns
    -------
    notes : tuple of str
        What the file does not preserve: unlabelled items in a long table, numbers as text in CSV.
    """
    writable = [name for name, tool in FORMATS.items() if tool.columns]
    tool = FORMATS.get(format)
    if tool is None or tool.columns is None:
        raise InputError(f"format= must be one of {show(writable)} to be written; got {format!r}.")
    unknown = int((annotations.annotator < 0).sum())
    if unknown:
        raise InputError(f"{unknown} labels are by annotators outside the vocabulary, who have no id to write.")
    suffix = check_suffix(path)
    with naming(path):
        columns = tool.columns(annotations)
    write_table(columns, path)
    notes = []
    n_unlabelled = int((~annotations.labelled).sum())
    if n_unlabelled and format != "wide":
        notes.append(f"{n_unlabelled} items without a label are not in a long table; a wide table holds them")
    return (*notes, *_changed(annotations)) if suffix in DELIMITERS else tuple(notes)


def write_predictions(
    export: Path,
    path: Path,
    items: Sequence[Hashable] | Ids,
    labels: Sequence[Hashable] | Ids,
    scores: Sequence[float] | Ids,
    *,
    columns: Mapping[str, str] | None = None,
    model_version: str = "whoknows",
) -> int:
    """Write predictions that Label Studio imports into a project.

    Parameters
    ----------
    export : str or path
        The JSON that Label Studio exported, with the tasks, their data and the question.
    path : str or path
        JSON to write; an existing file is replaced.
    items, labels, scores : (n_items,)
        Id of each item as returned by `read_labels`, its predicted label and the confidence.
    columns : mapping, optional
        As passed to `read_labels`.
    model_version : str
        The name under which Label Studio shows them.

    Returns
    -------
    n_tasks : int
        Number of tasks with a prediction.
    """
    guesses = {
        item: (label, float(score))
        for item, label, score in zip(to_list(items), to_list(labels), to_list(scores), strict=True)
    }
    tasks, question = tasks_of(open_content(export), columns or {})
    answers = (answer for task in tasks for answer in answers_of(task))
    template = next(answer for answer in answers if answer["from_name"] == question)
    written = []
    for task in tasks:
        item = item_of(task, columns or {})
        if item in guesses:
            label, score = guesses[item]
            guess = {"model_version": model_version, "score": score, "result": [_result(template, label)]}
            written.append({"id": task.get("id"), "data": task.get("data"), "predictions": [guess]})
    if not written:
        raise FileError(export, f"has no task for any of the {len(guesses)} items.")
    write_lines([json.dumps(written, ensure_ascii=False, indent=1)], path)
    return len(written)


def _result(template: Record, label: Any) -> dict[str, Any]:
    """Return an answer to a question as Label Studio stores it."""
    kind = template["type"]
    value = {"choices": [label], "taxonomy": [str(label).split(" / ")]}.get(kind, label)
    return {
        "from_name": template["from_name"],
        "to_name": template.get("to_name"),
        "type": kind,
        "value": {kind: value},
    }


def _changed(Y: Annotations) -> list[str]:
    """Return notes on ids and labels that CSV does not preserve, such as text that looks like numbers."""
    notes = []
    for ids, what, parse in (
        (Y.items, "items", parse_ids),
        (Y.annotators, "annotators", parse_ids),
        (Y.labels, "labels", parse_labels),
    ):
        cells = [escape(value) if isinstance(value, str) else str(value) for value in ids.tolist()]
        pairs = zip(ids.tolist(), unescaped(parse(cells)), strict=True)
        odd = next(((value, again) for value, again in pairs if repr(value) != repr(again)), None)
        if odd is not None:
            notes.append(f"{what} such as {odd[0]!r} are read back as {odd[1]!r}; Parquet and JSONL preserve them")
    return notes
