"""What a fit says of the items, as files: a table of the consensus, predictions for Label Studio."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from whoknows.data.vocabulary import Ids
from whoknows.io.atomic import write_lines
from whoknows.io.containers import open_content
from whoknows.io.errors import FileError, Path
from whoknows.io.json_records import Record
from whoknows.io.labels.label_studio import answers_of, item_of, tasks_of
from whoknows.io.tables import write_table


def write_consensus(
    path: Path,
    items: Sequence[Hashable] | Ids,
    probability: Any,
    classes: Sequence[Hashable] | Ids,
    *,
    n_labels: Any = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write the consensus, one row an item: its label, the confidence in it, every class's probability.

    Parameters
    ----------
    path : str or path
        Ends in .csv, .tsv, .parquet or .jsonl.
    items : (n_items,)
    probability : (n_items, n_classes)
        p(z | x, labels).
    classes : (n_classes,)
        Labels, in the order of the columns of ``probability``.
    n_labels : (n_items,), optional
        How many labels each item has.
    more : mapping from name to (n_items,), optional
        Further columns.
    """
    p = np.asarray(probability, dtype=float)
    values = list(classes.tolist() if isinstance(classes, np.ndarray) else classes)
    if p.shape != (len(items), len(values)):
        raise ValueError(
            f"Expected probability of shape ({len(items)}, {len(values)}), one row an item and one column "
            f"a class; got {p.shape}."
        )
    columns: dict[str, Any] = {
        "item": items,
        "label": [values[place] for place in p.argmax(axis=1)],
        "confidence": p.max(axis=1),
        **{f"p_{value}": p[:, place] for place, value in enumerate(values)},
        **({} if n_labels is None else {"n_labels": np.asarray(n_labels)}),
        **(more or {}),
    }
    if len(columns) < 3 + len(values) + (n_labels is not None) + len(more or {}):
        raise ValueError(
            f"Expected columns of distinct names; got {list(columns)} and others of these names."
        )
    write_table(columns, path)


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
    """Write predictions for Label Studio, to be imported into a project.

    Parameters
    ----------
    export : str or path
        The JSON that Label Studio exported: tasks, their data and the question come from there.
    path : str or path
        JSON to write; a file of that name is replaced.
    items, labels, scores : (n_items,)
        Predicted label of each item, and how sure it is; the id of an item as `read_labels` gave it.
    columns : mapping, optional
        As given to `read_labels`.
    model_version : str
        Under which Label Studio shows them.

    Returns
    -------
    n_tasks : int
        How many tasks got a prediction.
    """
    guesses = {
        item: (label, float(score))
        for item, label, score in zip(_list(items), _list(labels), _list(scores), strict=True)
    }
    content = open_content(export)
    tasks, question = tasks_of(content, columns or {})
    template = next(
        answer
        for number, task in tasks
        for answer in answers_of(task, number, export)
        if answer["from_name"] == question
    )
    written = []
    for number, task in tasks:
        item = item_of(task, columns or {}, number, export)
        if item in guesses:
            label, score = guesses[item]
            guess = {"model_version": model_version, "score": score, "result": [_result(template, label)]}
            written.append({"id": task.get("id"), "data": task.get("data"), "predictions": [guess]})
    if not written:
        raise FileError(export, f"has no task for any of the {len(guesses)} items.")
    write_lines([json.dumps(written, ensure_ascii=False, indent=1)], path)
    return len(written)


def _result(template: Record, label: Any) -> Record:
    """Answer to a question in Label Studio's terms."""
    kind = template["type"]
    value = {"choices": [label], "taxonomy": [str(label).split(" / ")]}.get(kind, label)
    return {
        "from_name": template["from_name"],
        "to_name": template.get("to_name"),
        "type": kind,
        "value": {kind: value},
    }


def _list(values: Any) -> list[Any]:
    """Python values of an array or a sequence."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
