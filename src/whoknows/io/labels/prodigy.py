"""Prodigy JSONL: one answer per line.

The item is ``_input_hash``. The label is the accepted option or, for a yes-no question, the ``label`` of the
question (accept) or "not" that label (reject). The annotator is ``_annotator_id``, else ``_session_id``,
without the name of the dataset before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from functools import partial
from itertools import takewhile

from whoknows.data.errors import Advice
from whoknows.io.containers import Content, Record, must_have
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import Format, Options, RawLabels, choose

_WHO = ("_annotator_id", "_session_id")
_TIME = re.compile(r"(^|-)\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d$", re.ASCII)


def recognise(content: Content, options: Options) -> bool:
    """Whether records have Prodigy's hashes and answers."""
    return content.rows is not None and {"_input_hash", "answer"} <= set(content.names)


def read(content: Content, options: Options) -> RawLabels:
    """Read the answers in order of time."""
    records = content.records("one answer per line")
    question = _question(records, options, content.path)
    item_key = must_have(content.names, options.columns.get("item", "_input_hash"), "entry", content.path)
    who_keys = (options.columns["annotator"],) if "annotator" in options.columns else _WHO
    raw = RawLabels(duplicates="last")
    answers: list[tuple[float, Hashable, Hashable, Hashable]] = []
    count = Counter[str]()
    for record in records:
        item = record.scalar(item_key)
        raw.add_item(item, record.get(options.columns.get("text", "text")))
        label, why_not = _label(record, question, raw, item)
        count[why_not] += 1
        if not why_not:
            answers.append((_when(record), item, _annotator(record, who_keys), label))
    people = _without_prefix([who for _, _, who, _ in answers], raw)
    raw.add_in_order((when, item, who, label) for (when, item, _, label), who in zip(answers, people, strict=True))
    raw.note(count["ignored"], "ignored answer left out", "ignored answers left out")
    raw.note(count["rejected"], "rejected task left out", "rejected tasks left out")
    raw.note(count["other"], "answer has no label", "answers have no label")
    return raw


def _question(records: list[Record], options: Options, path: Path) -> str | None:
    """Return the label of a yes-no question; None if annotators choose among options."""
    if any("accept" in record for record in records):
        return None
    labels = dict.fromkeys(record["label"] for record in records if isinstance(record.get("label"), str))
    if not labels:
        raise FileError(path, "has neither accepted options nor a label.")
    return choose(list(labels), options.columns.get("label"), "label", path)


def _label(record: Record, question: str | None, raw: RawLabels, item: Hashable) -> tuple[Hashable, str]:
    """Return the label of an answer, or the reason why it has none."""
    answer = record.get("answer")
    if answer == "ignore":
        return None, "ignored"
    if question is None:
        if answer == "reject":
            return None, "rejected"
        accepted = record.entries("accept")
        label = raw.answer(item, partial(record.answer, accepted))
        return label, "" if label is not None else "unclear" if accepted else "other"
    if record.get("label") != question or answer not in ("accept", "reject"):
        return None, "other"
    return question if answer == "accept" else f"not {question}", ""


def _annotator(record: Record, keys: tuple[str, ...]) -> Hashable:
    """Return the annotator of an answer."""
    for key in keys:
        who = record.scalar(key)
        if who is not None:
            return who
    raise FileError(
        record.path,
        f"has no annotator in answer {record.number}: no {' or '.join(keys)}. Name the entry with the annotator: ",
        Advice("columns", "columns={'annotator': ...}", role="annotator", name="NAME"),
        ".",
    )


def _without_prefix(people: list[Hashable], raw: RawLabels) -> list[Hashable]:
    """Return names of annotators without their common prefix; a note names a session that is a time."""
    names = {who for who in people if isinstance(who, str)}
    times = [who for who in names if _TIME.search(who)]
    if times:
        raw.notes.append(
            f"the session {min(times)!r} is a time and not a person; every session without a name is treated "
            "as an annotator"
        )
    named = {who: who.split("-") for who in names if not _TIME.search(who)}
    shared = list(takewhile(lambda words: len(set(words)) == 1, zip(*named.values(), strict=False)))
    if len(named) < 2 or len(shared) == min(map(len, named.values())):
        return people
    return ["-".join(named[who][len(shared) :]) if who in named else who for who in people]


def _when(record: Record) -> float:
    """Return the time of an answer, 0 if unknown."""
    when = record.get("_timestamp")
    return float(when) if isinstance(when, (int, float)) and abs(when) < 1e15 else 0.0


FORMAT = Format("prodigy", "Prodigy's JSONL: one answer per line, with _input_hash and answer", recognise, read)
