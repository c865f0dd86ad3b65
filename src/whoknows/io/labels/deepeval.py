"""DeepEval: the JSON of a test run (``test_run_….json`` in the results folder).

The item is a test case. Metrics are the annotators. The label is whether the case passed, or the score with
``columns={"label": "score"}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from whoknows.io.containers import Content, Record, must_have
from whoknows.io.errors import FileError
from whoknows.io.labels.evaluation import Votes
from whoknows.io.labels.format import Format, Options, RawLabels
from whoknows.io.labels.votes import SEPARATOR

_LABELS = ("success", "score")
_CASES = ("testCases", "conversationalTestCases")


def recognise(content: Content, options: Options) -> bool:
    """Whether there are test cases."""
    return content.rows is not None and "testCases" in content.names


def read(content: Content, options: Options) -> RawLabels:
    """Read the metrics of every test case."""
    if not recognise(content, options):
        raise FileError(content.path, f"is {content}; expected a test run with 'testCases'.")
    votes = Votes(content, options)
    label = must_have(_LABELS, options.columns.get("label", "success"), "label", content.path)
    for run in content.records("a test run"):
        model = run.inner("hyperparameters").get("model")
        cases = [case for key in _CASES for case in run.objects(key)]
        distinct = len({case.scalar("name") for case in cases}) == len(cases)
        for number, case in enumerate(cases):
            about = {**case.inner("metadata"), **case.inner("additionalMetadata"), "model": model}
            item = (_item(case, number, distinct, options),)
            votes.add_item(item, about, case.get("input"), case.get("actualOutput"))
            for judge, metric in _metrics(case, votes):
                votes.add(item, judge, metric.scalar(label), about | {"judge_model": metric.scalar("evaluationModel")})
    return votes.finish()


def _item(case: Record, number: int, distinct: bool, options: Options) -> object:
    """Return the name of a test case, or its number if names are not distinct."""
    if "item" in options.columns:
        return case.scalar(must_have(list(case), options.columns["item"], "entry of a test case", case.path))
    return case.scalar("name") if distinct else number


def _metrics(case: Record, votes: Votes) -> Iterator[tuple[str, Record]]:
    """Yield the metrics of a test case by name, with the model of the judge if the name occurs twice."""
    metrics = case.objects("metricsData") or case.objects("metricsMetadata")
    count = Counter(str(metric.get("name", metric.get("metric"))) for metric in metrics)
    if not metrics:
        votes.skip("test case has no metric", "test cases have no metric")
    for metric in metrics:
        name = str(metric.get("name", metric.get("metric")))
        if metric.get("error") is not None:
            votes.skip("metric with an error left out", "metrics with an error left out")
        else:
            yield name if count[name] == 1 else f"{name}{SEPARATOR}{metric.get('evaluationModel')}", metric


FORMAT = Format("deepeval", "DeepEval's test run as JSON: testCases with their metricsData", recognise, read)
