"""promptfoo: the JSON or JSONL that ``promptfoo eval --output`` writes.

The item is the answer to a test case, with provider (the model under test) and prompt if there are several.
Assertions are the annotators: those that a model or a person judges, such as ``llm-rubric``, else all. The
label is whether the assertion passed, or its score with ``columns={"label": "score"}``.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from typing import Any

from whoknows.data.errors import Advice, Message
from whoknows.data.vocabulary import show
from whoknows.io.containers import Content, Record, must_have
from whoknows.io.errors import FileError
from whoknows.io.labels.evaluation import Votes
from whoknows.io.labels.format import Format, Options, RawLabels
from whoknows.io.labels.votes import SEPARATOR

_LABELS = ("pass", "score")
_JUDGED = ("llm-rubric", "model-graded", "g-eval", "factuality", "answer-relevance", "context-", "search-rubric",
           "agent-rubric", "trajectory:goal-success", "conversation-relevance", "pi", "select-best",
           "human")  # fmt: skip


def recognise(content: Content, options: Options) -> bool:
    """Whether the results are those of promptfoo."""
    return bool(_results(content))


def read(content: Content, options: Options) -> RawLabels:
    """Read the results of the assertions of every answer."""
    results = _results(content)
    if not results:
        raise FileError(content.path, f"is {content}; expected promptfoo's results, with 'gradingResult' in each.")
    label = must_have(_LABELS, options.columns.get("label", "pass"), "label", content.path)
    votes = Votes(content, options)
    grades = [_grades(result) for result in results]
    judged = {name for given in grades for name, grade in given.items() if _is_judged(grade)}
    chosen = {name for given in grades for name in given} if options.annotators else judged
    others = [name for given in grades for name in given if chosen and name not in chosen]
    tests: dict[str, int] = {}
    for result, given in zip(results, grades, strict=True):
        item, about = _item(result, tests, options), _about(result)
        votes.add_item(item, about, result.inner("prompt").get("raw"), result.inner("response").get("output"))
        if not given:
            votes.skip("result without a grade has no label", "results without a grade have no label")
        for name, grade in given.items():
            if not chosen or name in chosen:
                judge = {"judge_model": _model(grade.inner("assertion").get("provider"))}
                votes.add(item, name, grade.scalar(label), about | judge)
    if others:
        names = list(dict.fromkeys(others))
        votes.notes.append(
            Message(
                f"assertions that no model or person judged left out: {show(names)}; use ",
                Advice("annotators", f"annotators={names[:1]}"),
                " to have them",
            )
        )
    return votes.finish()


def _results(content: Content) -> list[Record]:
    """Return the results: those in a JSON file, or one per line; none if the file holds something else."""
    records = content.rows() if content.rows is not None else []
    if {"gradingResult", "provider"} <= set(content.names):
        return records
    results = records[0].get("results") if records else None
    is_known = isinstance(results, dict) and isinstance(results.get("results"), list)
    return records[0].inner("results").objects("results") if is_known else []


def _grades(result: Record) -> dict[str, Record]:
    """Return the results of all assertions of an answer by a name that tells them apart."""
    named: dict[str, Record] = {}
    for grade in result.inner("gradingResult").objects("componentResults"):
        assertion = grade.inner("assertion")
        if assertion:
            parts = [assertion.get("metric") or assertion.get("type"), _model(assertion.get("provider"))]
            name = SEPARATOR.join(str(part) for part in parts if part is not None)
            n_before = sum(known == name or known.startswith(f"{name} #") for known in named)
            named[f"{name} #{n_before + 1}" if n_before else name] = grade
    return named


def _is_judged(grade: Record) -> bool:
    """Whether a model or a person judged an assertion; a type may be negated."""
    kind = str(grade.inner("assertion").get("type")).removeprefix("not-")
    return kind.startswith(_JUDGED)


def _model(provider: Any) -> Hashable:
    """Return the name of a provider: its label or id."""
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    return provider if isinstance(provider, str) else None


def _about(result: Record) -> dict[str, Any]:
    """Return what is known about an answer: variables and metadata of the test case, model and prompt."""
    test = result.inner("testCase")
    prompt = result.inner("prompt").get("label")
    model = _model(result.get("provider"))
    return {**result.inner("vars"), **test.inner("metadata"), "model": model, "prompt": prompt}


def _item(result: Record, tests: dict[str, int], options: Options) -> tuple[Any, ...]:
    """Return the parts of the name of an item: the number of the test case, or an entry that the user named."""
    about, key = _about(result), options.columns.get("item")
    if key is not None:
        test = result.as_scalar(about[must_have(list(about), key, "entry", result.path)], repr(key))
    elif isinstance(result.get("testIdx"), int):
        test = result["testIdx"]
    else:  # until 2024
        test = tests.setdefault(json.dumps(result.get("vars"), sort_keys=True), len(tests))
    return test, about["model"], str(about["prompt"])


FORMAT = Format(
    "promptfoo", "promptfoo's output as JSON or JSONL: results with the grades of assertions", recognise, read
)
