"""Prodigy JSONL: one answer per line.

The item is ``_input_hash``. The label is the accepted option or, for a yes-no question, the ``label`` of the
question (accept) or "not" that label (reject). The annotator is ``_annotator_id``, else ``_session_id``,
without the name of the dataset before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from itertools import takewhile

from whoknows.data.errors import Advice
from whoknows.io.containers import Content, Record, as_list, as_scalar, must_have, single
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import Format, Options, RawLabels, choose

_WHO = ("_annotator_id", "_session_id")
_TIME = re.compile(r"(^|-)\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d$", re.ASCII)


def recognise(content: Content, options: Options) -> bool:
    """Whether records have Prodigy's hashes and answers."""
    return content.rows is not None and {"_input_hash", "answer"} <= set(content.names)


def read(content: Content, options: Options) -> RawLabels:
    """Read the answers in order of time."""
    if content.rows is None:
        raise FileError(content.path, f"is {content}; expected one answer per line.")
    path = content.path
    records = list(enumerate(content.rows(), 1))
    question = _question(records, options, path)
    item_key = must_have(content.names, options.columns.get("item", "_input_hash"), "entry", path)
    text_key = options.columns.get("text", "text")
    who_key = options.columns.get("annotator")
    raw = RawLabels(duplicates="last")
    said: list[tuple[float, Hashable, Hashable, Hashable]] = []
    count = Counter[str]()
    for number, record in records:
        item = as_scalar(record.get(item_key), item_key, number, path)
        raw.rows.append((item, None, None))
        if isinstance(record.get(text_key), str):
            raw.text[item] = record[text_key]
        label, why_not = _label(record, question, number, path)
        count[why_not] += 1
        if not why_not:
            said.append((_when(record), item, _annotator(record, who_key, number, path), label))
    people = _without_prefix([who for _, _, who, _ in said], raw)
    order = sorted(range(len(said)), key=lambda place: said[place][0])
    raw.rows += [(said[place][1], people[place], said[place][3]) for place in order]
    raw.note(count["ignored"], "ignored answer left out", "ignored answers left out")
    raw.note(count["rejected"], "rejected task left out", "rejected tasks left out")
    raw.note(count["other"], "answer has no label", "answers have no label")
    return raw


def _question(records: list[tuple[int, Record]], options: Options, path: Path) -> str | None:
    """Return the label of a yes-no question; None if annotators choose among options."""
    if any("accept" in record for _, record in records):
        return None
    labels = dict.fromkeys(record["label"] for _, record in records if isinstance(record.get("label"), str))
    if not labels:
        raise FileError(path, "has neither accepted options nor a label.")
    return choose(list(labels), options.columns.get("label"), "label", path)


def _label(record: Record, question: str | None, number: int, path: Path) -> tuple[Hashable, str]:
    """Return the label of an answer, or the reason why it has none."""
    answer = record.get("answer")
    if answer == "ignore":
        return None, "ignored"
    if question is None:
        if answer == "reject":
            return None, "rejected"
        label = single(as_list(record.get("accept"), "accept", number, path), number, path)
        return label, "other" if label is None else ""
    if record.get("label") != question or answer not in ("accept", "reject"):
        return None, "other"
    return question if answer == "accept" else f"not {question}", ""


def _annotator(record: Record, key: str | None, number: int, path: Path) -> Hashable:
    """Return the annotator of an answer."""
    for name in (key,) if key else _WHO:
        who = as_scalar(record.get(name), name, number, path)
        if who is not None:
            return who
    raise FileError(
        path,
        f"has no annotator in answer {number}: no {' or '.join((key,) if key else _WHO)}. "
        "Name the entry with the annotator: ",
        Advice("columns", "columns={'annotator': ...}", role="annotator", name="..."),
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


FORMAT = Format(
    "prodigy", "Prodigy's JSONL: one answer per line, with _input_hash and answer", recognise, read
)
