"""What to do next: items to review, and labels to collect."""

from __future__ import annotations

from whoknows.apps.charts import Html, bar, el, join
from whoknows.apps.report.consensus import OPEN, labels_of, verdict
from whoknows.apps.report.formatting import (
    bold_name,
    counted,
    first_few,
    item,
    lead,
    listed,
    note,
    number,
    table,
    whole,
)
from whoknows.apps.report.scales import CategoricalScale, scale_of
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts

NAMED = 5  # annotators named in a sentence


def review(summary: Summary) -> Html:
    """Items with the least certain consensus, and those with the most disputed labels."""
    scale, disputed = scale_of(summary), summary.adjudicate["disputed"]
    return join(
        [
            lead(
                "If an expert can review some items, choose these: they have labels, but the consensus is "
                "uncertain. Pass the expert's decisions to the next fit as gold labels."
            ),
            el("h3", "Least certain"),
            _cases(summary.adjudicate["least_sure"], scale),
            el("h3", "Most disputed") if disputed else el("p", "No item has labels that differ."),
            _cases(disputed, scale) if disputed else None,
            note(scale.skill_note),
        ]
    )


def _cases(cases: list[Facts], scale: CategoricalScale) -> Html:
    """The first few cases, the others folded."""
    head = ("item", "consensus", "labels", "features alone")
    rows = [
        (item(case), verdict(case, scale), labels_of(case, scale), scale.prediction(case)) for case in cases
    ]
    return first_few(rows, OPEN, lambda some: table(head, some, cls="cases"))


def questions(summary: Summary) -> Html:
    """Labels with the highest expected information."""
    facts = summary.ask
    questions = facts["questions"]
    if not questions:
        return lead(f"There are no more labels to ask for: {facts['why_no_more']}.")
    most = max(question["information"] for question in questions) or 1.0
    rows = [
        (
            str(place),
            bold_name(question["annotator"]),
            item(question),
            bar(question["information"] / most),
            f"{question['information']:.2f}",
            *([number(question["cost"])] if facts["costs_given"] else []),
        )
        for place, question in enumerate(questions, 1)
    ]
    head = ["", "ask", "about", "", "bits", *(["cost"] if facts["costs_given"] else [])]
    bits = (
        "Bits: expected information about the truth of the item; one bit settles a yes-no question that was "
        "completely open. Collect these labels, add them to the others and fit again."
    )
    return join([_questions_lead(facts), table(head, rows, (0, 4, 5), cls="bars ask"), note(bits)])


def _questions_lead(facts: Facts) -> Html:
    by_annotator = list(facts["by_annotator"].items())
    named = [join([bold_name(who), f" ({whole(n)})"]) for who, n in by_annotator[:NAMED]]
    rest = [f"{len(by_annotator) - NAMED} more"] if len(by_annotator) > NAMED else []
    candidates, total = facts["n_candidates"], counted(facts["n_items"], "item")
    least_certain = f" They were chosen among the {whole(candidates)} least certain of {total}."
    return lead(
        f"These {len(facts['questions'])} labels are expected to be the most informative",
        " for their cost" if facts["costs_given"] else "",
        ". Annotators to ask: ",
        listed([*named, *rest]),
        f".{least_certain if candidates < facts['n_items'] else ''}",
    )
