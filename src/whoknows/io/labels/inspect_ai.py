"""Inspect: logs of ``inspect eval``, as JSON or ``.eval`` (a zip archive), one or a folder of them.

The item is a sample, and its epoch and model if there are several. Scorers are the annotators, values of
their scores the labels. Of an ``.eval`` file only header and summaries are read, not the transcripts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from whoknows.io.containers import Content, Record, must_have
from whoknows.io.errors import FileError
from whoknows.io.labels.evaluation import Votes, members_of
from whoknows.io.labels.format import Format, Options, RawLabels, choose

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # as Inspect's metrics count them
Score = tuple[Record, str, Any]  # sample, scorer and value


def recognise(content: Content, options: Options) -> bool:
    """Whether this is a log with its header, or a folder of logs."""
    return bool(_files(content))


def read(content: Content, options: Options) -> RawLabels:
    """Read the scores of every sample."""
    votes = Votes(content, options)
    for header, samples in _logs(content):
        spec = header.inner("eval")
        judges = _judge_models(spec)
        question = _question([value for sample in samples for _, value in _scores(sample)], options, content)
        scores = list(_answers(votes, samples, question))
        mixed = len({isinstance(value, str) for *_, value in scores}) > 1
        for sample in samples:
            about = {**sample.inner("metadata"), "model": spec.get("model"), "task": spec.get("task")}
            votes.add_item(_item(sample, spec, options), about, sample.get("input"))
        for sample, scorer, value in scores:
            label = _LETTERS.get(value, value) if mixed and isinstance(value, str) else value
            about = {**sample.inner("metadata"), "model": spec.get("model"), "task": spec.get("task")}
            votes.add(_item(sample, spec, options), scorer, label, about | {"judge_model": judges.get(scorer)})
    return votes.finish()


def _files(content: Content) -> list[Content]:
    """Return the logs of a file or folder; none if it holds something else."""
    return [content] if _is_log(content) else members_of(content, _is_log)


def _is_log(content: Content) -> bool:
    """Whether a file is a log."""
    as_json = content.rows is not None and {"version", "status", "eval"} <= set(content.names)
    return as_json or _is_archive(content)


def _is_archive(content: Content) -> bool:
    """Whether an archive has the files of an ``.eval`` log, finished or interrupted."""
    names = content.members or {}
    return "header.json" in names or "_journal/start.json" in names


def _logs(content: Content) -> Iterator[tuple[Record, list[Record]]]:
    """Yield the header and the samples of every log."""
    logs = _files(content)
    if not logs:
        raise FileError(content.path, f"is {content}; expected a log of Inspect, with the keys 'eval' and 'samples'.")
    for log in logs:
        if _is_archive(log):
            yield _of_archive(log)
            continue
        for record in log.records("a log of Inspect"):
            if record.get("samples") is None:
                raise FileError(log.path, "has no samples. Run the evaluation without --no-log-samples.")
            yield record, record.objects("samples")


def _of_archive(content: Content) -> tuple[Record, list[Record]]:
    """Return the header and the summaries of samples of an ``.eval`` log; of an interrupted one, its journal."""
    members = content.members or {}
    header = members["header.json" if "header.json" in members else "_journal/start.json"]
    parts = [name for name in members if name.startswith("_journal/summaries/")]
    summaries = ["summaries.json"] if "summaries.json" in members else parts
    samples = [record for name in summaries for record in members[name].records("summaries of samples")]
    if not samples:
        raise FileError(content.path, "has no summaries of samples: the evaluation ended before the first one.")
    return header.records("the header of a log")[0], samples


def _item(sample: Record, spec: Record, options: Options) -> tuple[Any, ...]:
    """Return the parts of the name of an item."""
    key = options.columns.get("item")
    metadata = sample.inner("metadata")
    name = sample.scalar("id") if key is None else metadata.scalar(must_have(list(metadata), key, "entry", sample.path))
    return name, sample.scalar("epoch"), spec.scalar("model"), spec.scalar("task")


def _scores(sample: Record) -> Iterator[tuple[str, Any]]:
    """Yield scorer and value of the scores of a sample."""
    scores = sample.inner("scores")
    for scorer in scores:
        yield scorer, scores.inner(scorer).get("value")


def _question(values: list[Any], options: Options, content: Content) -> str | None:
    """Return which of several values of a score is the label; None for scores that are one value."""
    keys = list(dict.fromkeys(key for value in values if isinstance(value, dict) for key in value))
    given = options.columns.get("label")
    if given is None and (not keys or any(not isinstance(value, dict) for value in values)):
        return None
    return choose(keys, given, "score value", content.path)


def _answers(votes: Votes, samples: list[Record], question: str | None) -> Iterator[Score]:
    """Yield the scores that have a label; what has none is counted."""
    for sample in samples:
        if sample.get("error") is not None:
            votes.skip("sample with an error has no label", "samples with an error have no label")
            continue
        given = [(scorer, _value(value, question)) for scorer, value in _scores(sample)]
        if not given:
            votes.skip("sample was not scored", "samples were not scored")
        for scorer, value in given:
            if isinstance(value, (dict, list)):
                votes.skip("score of several values left out", "scores of several values left out")
            elif value is None or (isinstance(value, float) and math.isnan(value)):
                votes.skip("score has no value", "scores have no value")
            else:
                yield sample, scorer, value


def _value(value: Any, question: str | None) -> Any:
    """Return the label of a score."""
    if question is not None:
        return value.get(question) if isinstance(value, dict) else None
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _judge_models(spec: Record) -> dict[str, Any]:
    """Return the model of each scorer that has one: its option, else the one that has the role of a grader."""
    role = spec.inner("model_roles").get("grader")
    grader = role.get("model") if isinstance(role, dict) else None
    models: dict[str, Any] = {}
    for scorer in spec.objects("scorers"):
        name = str(scorer.get("name")).rpartition("/")[2]
        n_before = sum(known.rstrip("0123456789") == name for known in models)  # Inspect numbers equal names
        model = scorer.inner("options").get("model")
        model = model.get("model") if isinstance(model, dict) else model
        default = grader if name.startswith("model_graded") else None
        models[f"{name}{n_before}" if n_before else name] = model if isinstance(model, str) else default
    return models


FORMAT = Format("inspect", "Inspect's logs (JSON or .eval): samples with the scores of every scorer", recognise, read)
