"""Langfuse: scores as CSV, JSON or JSONL, one record per score, exported from its pages or to blob storage.

The item is the observation, trace or session. The annotator is the name of the score, with its source
(API, EVAL, ANNOTATION) and its author if several scores have one name; ``columns={"label": ...}`` names one
score, whose sources and authors are the annotators.
"""

from __future__ import annotations

from typing import Any

from whoknows.io.containers import Content, Record, must_have
from whoknows.io.errors import FileError
from whoknows.io.labels.evaluation import Votes, joined
from whoknows.io.labels.format import Format, Options, RawLabels

_NEEDED = {"traceid", "name", "value", "source"}
_ITEMS = ("observationid", "traceid", "sessionid")
_FREE = ("TEXT", "CORRECTION")  # types of scores that are no labels
_AUTHORS = ("authorusername", "authoruserid", "evaluatorid")


def recognise(content: Content, options: Options) -> bool:
    """Whether the columns are those of scores."""
    return "annotator" not in options.columns and set(_plain(content)) >= _NEEDED


def read(content: Content, options: Options) -> RawLabels:
    """Read all scores, or those of one name."""
    names = _plain(content)
    if not set(names) >= _NEEDED:
        raise FileError(content.path, f"is {content}; expected scores with traceId, name, value and source.")
    ids = [names[name] for name in (*_ITEMS, *_AUTHORS, "name") if name in names]
    scores = content.records("one record per score", ids=ids)
    wanted = options.columns.get("label")
    if wanted is not None:
        titles = list(dict.fromkeys(str(score.get(names["name"])) for score in scores))
        must_have(titles, wanted, "score", content.path)
        scores = [score for score in scores if str(score.get(names["name"])) == wanted]
    judges = joined([_judge(score, names) for score in scores])
    votes = Votes(content, options)
    for score, judge in zip(scores, judges, strict=True):
        item = (_item(score, names, options),)
        if score.get(names.get("datatype", "")) in _FREE:
            votes.skip("score of free text left out", "scores of free text left out")
            continue
        label = _label(score, names)
        about = {name: score.get(name) for name in content.names}
        votes.add_item(item, {})
        votes.add(item, judge, label, about)
        if label is None:
            votes.skip("score has no value", "scores have no value")
    return votes.finish()


def _plain(content: Content) -> dict[str, str]:
    """Return the columns by their names without case, spaces and underscores: traceId and trace_id are one."""
    return {name.lower().replace("_", "").replace(" ", ""): name for name in content.names}


def _item(score: Record, names: dict[str, str], options: Options) -> Any:
    """Return what was scored, from the smallest to the largest unit."""
    if "item" in options.columns:
        return score.scalar(must_have(list(names.values()), options.columns["item"], "column", score.path))
    return next((value for name in _ITEMS if (value := score.scalar(names.get(name, "")))), None)


def _judge(score: Record, names: dict[str, str]) -> tuple[Any, ...]:
    """Return the parts of the name of a judge."""
    author = next((value for name in _AUTHORS if (value := score.scalar(names.get(name, "")))), "")
    return score.scalar(names["name"]), score.scalar(names["source"]), author


def _label(score: Record, names: dict[str, str]) -> Any:
    """Return the value of a score: the text of a category, else the number."""
    value, text = score.scalar(names["value"]), score.scalar(names.get("stringvalue", ""))
    is_category = score.get(names.get("datatype", "")) == "CATEGORICAL"
    return text if text and (is_category or value is None) else value


FORMAT = Format("langfuse", "Langfuse's scores: one record each, with traceId, name, value, source", recognise, read)
