"""What to do next: items a person should look at, and labels worth asking for."""

from __future__ import annotations

from typing import Any

from whoknows.apps.charts import Html, bar, el, join
from whoknows.apps.report.answer import OPEN, trust, verdict
from whoknows.apps.report.words import (
    first_few,
    item,
    listed,
    many,
    name,
    number,
    percent,
    person,
    table,
    voices,
    whole,
)
from whoknows.insight.summary import Summary
from whoknows.insight.summary.plain import Facts


def adjudicate(summary: Summary) -> Html:
    """Items the model is least sure of, and those annotators dispute most."""
    numbers = summary.given["kind"] == "numbers"
    unsure, disputed = summary.adjudicate["least_sure"], summary.adjudicate["disputed"]
    lead = (
        "If someone who knows can look at a few items, let it be these: labelled, and still open. "
        "What they decide can be given to the next fit as gold."
    )
    parts: list[Any] = [
        el("p", lead, cls="lead"),
        el("h3", "Least sure"),
        _table(unsure, numbers),
    ]
    if disputed:
        parts += [el("h3", "Most disputed"), _table(disputed, numbers)]
    else:
        parts.append(el("p", "No item has two labels that differ."))
    return join([*parts, el("p", trust(numbers), cls="note")])


def _table(cases: list[Facts], numbers: bool) -> Html:
    """The first few cases, the others to open."""
    head = ("item", "consensus", "who said what", "features alone")
    rows = [_row(case, numbers) for case in cases]
    return first_few(rows, OPEN, lambda some: table(head, some, cls="cases"))


def _row(case: Facts, numbers: bool) -> tuple[Any, ...]:
    alone: Any = "–"
    if numbers:
        alone = number(case["from_features"])
    elif "from_features" in case:
        alone = join([name(case["from_features"]), " ", el("small", percent(case["p_from_features"]))])
    return item(case), verdict(case, numbers), voices(case, numbers), alone


def ask(summary: Summary) -> Html:
    """The labels expected to say most."""
    facts = summary.ask
    questions = facts["questions"]
    if not questions:
        return el("p", f"There is no label left to ask for: {facts['why_no_more']}.", cls="lead")
    shares = [join([person(who), f" {whole(n)}"]) for who, n in list(facts["by_annotator"].items())[:5]]
    rest = len(facts["by_annotator"]) - len(shares)
    among = (
        f" Chosen among the {whole(facts['n_candidates'])} least sure of {many(facts['n_items'], 'item')}."
        if facts["n_candidates"] < facts["n_items"]
        else ""
    )
    lead = [
        f"These {len(questions)} labels are expected to say most about the truth",
        " for what they cost" if facts["costs_given"] else "",
        ": questions for ",
        listed(shares) if not rest else join([join(shares, ", "), f" and {whole(rest)} more"]),
        f".{among}",
    ]
    most = max(question["information"] for question in questions) or 1.0
    rows = [
        (
            str(place),
            person(question["annotator"]),
            item(question),
            bar(question["information"] / most),
            f"{question['information']:.2f}",
            *([number(question["cost"])] if facts["costs_given"] else []),
        )
        for place, question in enumerate(questions, 1)
    ]
    head = ["", "ask", "about", "", "bits", *(["cost"] if facts["costs_given"] else [])]
    note = (
        "Bits: what the label is expected to tell about its item; one bit settles a yes-no question that was "
        "wholly open. Ask, add the answers to the labels, fit again."
    )
    return join(
        [el("p", lead, cls="lead"), table(head, rows, (0, 4, 5), cls="bars ask"), el("p", note, cls="note")]
    )
