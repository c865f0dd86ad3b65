"""LangSmith: results of an experiment as a table, one row per run, with columns such as ``feedback.correct``.

These are the columns of ``evaluate(...).to_pandas()``. Keys of feedback are the annotators. The item is the
example; if it was run several times, every run is an item.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from whoknows.io.containers import Content, find_name, must_have
from whoknows.io.errors import FileError
from whoknows.io.labels.evaluation import Votes
from whoknows.io.labels.format import Format, Options, RawLabels

_FEEDBACK = "feedback."
_TEXTS = ("inputs.", "input.", "outputs.", "output.")
_IDS = ("example_id", "id", "run_id")


def recognise(content: Content, options: Options) -> bool:
    """Whether there are columns of feedback beside inputs or outputs."""
    names = content.names if "annotator" not in options.columns else ()
    return any(name.startswith(_FEEDBACK) for name in names) and any(name.startswith(_TEXTS) for name in names)


def read(content: Content, options: Options) -> RawLabels:
    """Read the feedback of every run."""
    names = content.names
    judges = [name for name in names if name.startswith(_FEEDBACK)]
    if not judges:
        raise FileError(content.path, f"is {content}; expected columns of feedback such as 'feedback.correct'.")
    key = options.columns.get("item") or find_name(names, *_IDS) or "example_id"
    must_have(names, key, "column for the item", content.path)
    votes = Votes(content, options)
    runs = Counter[Any]()
    for row in content.records("a table of feedback", ids=(*_IDS, key)):
        example = row.scalar(key)
        runs[example] += 1
        item = example, runs[example]
        about = {name: row.get(name) for name in names if name not in judges}
        votes.add_item(item, about, *(row.get(name) for name in names if name.startswith(_TEXTS)))
        if row.get("error"):
            votes.skip("run with an error has no label", "runs with an error have no label")
            continue
        for name in judges:
            label = row.scalar(name)
            votes.add(item, name.removeprefix(_FEEDBACK), label, about)
            if label is None:
                votes.skip("feedback is missing", "feedbacks are missing")
    return votes.finish()


FORMAT = Format("langsmith", "LangSmith's results of an experiment: columns such as feedback.correct", recognise, read)
