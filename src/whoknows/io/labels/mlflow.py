"""MLflow: evaluation tables of ``mlflow.evaluate`` and ``mlflow.genai.evaluate``.

``eval_results_table.json`` holds columns and data; the same table may be CSV or Parquet. Columns such as
``correctness/v1/score`` or ``correctness/value`` are the annotators. The item is the trace, else the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whoknows.io.containers import Content, Record, must_have
from whoknows.io.errors import FileError
from whoknows.io.labels.evaluation import Votes
from whoknows.io.labels.format import Format, Options, RawLabels
from whoknows.io.labels.tabular import recognise_long

_ENDS = ("/score", "/value")
_IDS = ("trace_id", "request_id")
_TEXTS = ("inputs", "request", "predictions", "outputs", "response")
_SPLIT = {"columns", "data"}


def recognise(content: Content, options: Options) -> bool:
    """Whether there are columns of scores, and not those of a long table."""
    return bool(_judges(_columns(content))) and not recognise_long(content, options)


def read(content: Content, options: Options) -> RawLabels:
    """Read the scores of every row."""
    names, rows = _columns(content), _rows(content)
    sources = _sources(rows)
    judges = [name for name in _judges(names) if "expectation" not in sources.get(_judge(name), ())]
    if not judges:
        raise FileError(content.path, f"is {content}; expected columns of scores such as 'correctness/v1/score'.")
    key = options.columns.get("item") or next((name for name in _IDS if name in names), None)
    if key is not None:
        must_have(names, key, "column for the item", content.path)
    votes = Votes(content, options)
    for number, row in enumerate(rows):
        item = (number if key is None else row.scalar(key),)
        about = {name: row.get(name) for name in names if name not in judges}
        votes.add_item(item, about, *(row.get(name) for name in _TEXTS))
        for name in judges:
            model = sources.get(_judge(name), {}).get("model")
            votes.add(item, _judge(name), row.scalar(name), about | {"judge_model": model})
            if row.get(name) is None:
                votes.skip("score is missing", "scores are missing")
    return votes.finish()


def _judges(names: Sequence[str]) -> list[str]:
    return [name for name in names if name.endswith(_ENDS)]


def _judge(name: str) -> str:
    return name.rpartition("/")[0]


def _columns(content: Content) -> Sequence[str]:
    """Return the names of the columns."""
    if content.rows is None or not set(content.names) >= _SPLIT:
        return content.names
    names = content.rows()[0].get("columns")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else ()


def _rows(content: Content) -> list[Record]:
    """Return the rows by name of the column."""
    if content.rows is None or not set(content.names) >= _SPLIT:
        return content.records("a table of scores", ids=_IDS)
    table = content.rows()[0]
    names, rows = table.entries("columns"), []
    for number, row in enumerate(table.entries("data"), 1):
        if not isinstance(row, list) or len(row) != len(names):
            raise FileError(content.path, f"expected {len(names)} values in row {number} of 'data', as in 'columns'.")
        named = zip(names, row, strict=True)
        rows.append(Record({name: value for name, value in named if isinstance(name, str)}, number, content.path))
    return rows


def _sources(rows: Sequence[Record]) -> dict[Any, dict[str, Any]]:
    """Return what the assessments of traces say about scores: the model of the judge, or an expectation."""
    found: dict[Any, dict[str, Any]] = {}
    for row in rows:
        for entry in row.objects("assessments") if isinstance(row.get("assessments"), list) else ():
            about = found.setdefault(entry.scalar("assessment_name"), {})
            source = entry.inner("source")
            if source.get("source_type") == "LLM_JUDGE":
                about["model"] = source.get("source_id")
            if "expectation" in entry:
                about["expectation"] = True
    return found


FORMAT = Format("mlflow", "MLflow's evaluation table: columns such as correctness/v1/score", recognise, read)
