"""OpenAI evals: the JSONL of ``oaieval``, a run or a folder of runs.

The item is a sample, with the model under test if runs have several. A run is an annotator, called after its
eval. The label is whether the answer was correct (``match`` events), or a metric (``metrics`` events):
``choice`` in model-graded evals, else the one that ``columns={"label": ...}`` names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whoknows.io.containers import Content, Record
from whoknows.io.errors import FileError
from whoknows.io.labels.evaluation import Votes, members_of
from whoknows.io.labels.format import Format, Options, RawLabels, choose

_EVENT = {"run_id", "sample_id", "type", "data"}


def recognise(content: Content, options: Options) -> bool:
    """Whether records are events of runs."""
    return bool(members_of(content, _is_run))


def read(content: Content, options: Options) -> RawLabels:
    """Read the verdicts of every run."""
    runs = members_of(content, _is_run)
    if not runs:
        raise FileError(content.path, f"is {content}; expected events with the keys {sorted(_EVENT)}.")
    votes = Votes(content, options)
    for run in runs:
        _add_run(votes, run.records("one event per line"), options)
    return votes.finish()


def _is_run(content: Content) -> bool:
    """Whether a file holds events of a run."""
    return content.rows is not None and set(content.names) >= _EVENT


def _add_run(votes: Votes, records: list[Record], options: Options) -> None:
    """Add the votes of one file; events of several runs may be in it."""
    specs = {spec.scalar("run_id"): spec for spec in (record.inner("spec") for record in records) if spec}
    events = [record for record in records if isinstance(record.get("type"), str)]
    metric = _metric([event for event in events if event["type"] == "metrics"], votes, options)
    judged = set()
    for event in events:
        spec = specs.get(event.scalar("run_id"), event.inner("spec"))
        models = [name for name in spec.entries("completion_fns") if isinstance(name, str)]
        about = {"model": models[0] if models else None}
        item = (event.scalar("sample_id"), about["model"])
        for label in _labels(event, metric):
            graded = event["type"] == "metrics" and len(models) > 1
            judge = {"judge_model": models[-1] if graded else None}
            votes.add(item, spec.scalar("eval_name") or event.scalar("run_id"), label, about | judge)
            judged.add(item)
        if event["type"] == "sampling" and item not in judged:
            data = event.inner("data")
            votes.add_item(item, about, data.get("prompt"), data.get("sampled"))
        if event["type"] == "error":
            votes.skip("sample with an error has no label", "samples with an error have no label")


def _metric(events: list[Record], votes: Votes, options: Options) -> str:
    """Return the metric that is the label."""
    names = list(dict.fromkeys(name for event in events for name in event.inner("data")))
    given = options.columns.get("label")
    if not names or (given is None and "choice" in names):
        return "choice"
    return choose(names, given, "metric", votes.content.path)


def _labels(event: Record, metric: str) -> Iterator[Any]:
    """Yield the label of an event that is a verdict."""
    if event["type"] == "match":
        yield event.inner("data").scalar("correct")
    elif event["type"] == "metrics" and metric in event.inner("data"):
        yield event.inner("data").scalar(metric)


FORMAT = Format("openai-evals", "OpenAI evals' JSONL: events with run_id, sample_id, type and data", recognise, read)
