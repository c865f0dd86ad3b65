"""The consensus and where it contradicts the vote, items to review, and labels to collect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from whoknows.apps.charts import Html, bar, el, histogram, join, lead, reliability, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.report.data import FEW_CLASSES, listed_rows
from whoknows.apps.report.scales import CategoricalScale, scale_of
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts, Table, class_columns

ROWS = 200  # items on a page without script
CASES_PAGE = 6  # cases that the script shows at a time
LABELLED_EDGES = 5  # every fifth edge of the histogram has a label
NAMED = 5  # annotators named in a sentence


# --- consensus -------------------------------------------------------------------------------------


def consensus(summary: Summary) -> Iterator[Html]:
    """The consensus, how certain it is, and why it is not the vote."""
    scale, facts = scale_of(summary), summary.answer
    yield scale.consensus_lead(summary)
    yield el("div", scale.distribution(facts), certainty_histogram(facts["histogram"], scale), cls="columns")
    yield calibration(facts.get("calibration", {})) or Html()
    yield _reliability(facts.get("reliability", {})) or Html()
    yield el("h3", f"Where the model overrules the {scale.words['vote']} of the labels")
    yield from _overruled(facts, scale)
    yield _all_items(summary, scale)


def calibration(facts: Facts) -> Html | None:
    """Agreement of labels that were left out, expected and observed; earlier versions did not compare it."""
    if not facts.get("possible"):
        return None
    bins = facts["bins"]
    return fmt.template(
        "calibration.html",
        finding=facts.get("finding", "No consensus is certain without one of its labels."),
        bins=None if bins is None else _bins(bins),
        explanation=facts["explanation"],
    )


def _reliability(facts: Facts) -> Html | None:
    """Share of gold items on which the consensus is right, against the probability that it states."""
    if not facts.get("possible"):
        return None
    bins = facts["bins"]
    head = ("stated", "mean", "right", "90% interval", "items")
    rows = [
        (
            f"from {fmt.percent(start)}" if start else "lower",
            *(fmt.percent(share) for share in (stated, right)),
            f"{fmt.percent(low)} to {fmt.percent(high)}",
            fmt.whole(n),
        )
        for start, stated, right, low, high, n in zip(*bins.values(), strict=True)
    ]
    return fmt.template(
        "reliability.html",
        finding=facts["finding"],
        diagram=reliability(bins),
        bins=table(head, rows, (1, 2, 3, 4)),
        explanation=facts["explanation"],
    )


def _bins(bins: Table) -> Html:
    """One row per range of stated probabilities; bars are observed, marks are expected."""
    head = ("stated probability", "", "labels that agree", "expected", "labels")
    columns = (bins["from"], bins["observed"], bins["expected"], bins["n_labels"])
    rows = [
        (
            f"from {fmt.percent(start)}" if start else "lower",
            bar(observed, expected),
            fmt.percent(observed),
            fmt.percent(expected),
            fmt.whole(n),
        )
        for start, observed, expected, n in zip(*columns, strict=True)
    ]
    return table(head, rows, (2, 3, 4), cls="bars")


def certainty_histogram(facts: Facts, scale: CategoricalScale) -> Html:
    """How certain the consensus of labelled and of unlabelled items is."""
    labels = [scale.edge(edge) for edge in facts["edges"][::LABELLED_EDGES]]
    series = ("labelled items", "unlabelled items")
    chart = histogram((facts["labelled"], facts["unlabelled"]), labels, series)
    return el("div", el("h3", scale.words["histogram"]), chart)


def _overruled(facts: Facts, scale: CategoricalScale) -> Iterator[Html]:
    n, voted = facts["n_overruled"], fmt.counted(facts["n_voted"], "item")
    if not n:
        yield el("p", f"On none of {voted}.")
        return
    single = facts["n_overruled_single"] if "balance" in facts else 0  # only mentioned for classes
    columns = {
        "item": fmt.item,
        "consensus": scale.verdict,
        scale.words["vote"]: lambda case: scale.label(case["vote"]),
        "labels": scale.labels,
        "reason": itemgetter("why"),
    }
    yield fmt.template(
        "overruled.html",
        n=fmt.whole(n),
        voted=voted,
        vote=scale.words["vote"],
        single=f" {fmt.whole(single)} of these have a single label." if single else "",
        tied=f" {fmt.counted(facts['n_tied'], 'item')} had a tie." if facts["n_tied"] else "",
        clearest=f" The {len(facts['overruled'])} clearest cases:" if len(facts["overruled"]) < n else "",
        cases=_cases(facts["overruled"], columns),
        skill_note=scale.words["skill_note"],
    )


def _cases(cases: list[Facts], columns: dict[str, Callable[[Facts], Any]]) -> Html:
    """Table of cases, which the script shows a few at a time."""
    rows = [[show(case) for show in columns.values()] for case in cases]
    return table(list(columns), rows, cls="cases", page=CASES_PAGE)


def _all_items(summary: Summary, scale: CategoricalScale) -> Html:
    """Consensus of the first items, which the script replaces by a list of all of them."""
    columns, rows = summary.consensus, listed_rows(summary)
    probabilities = class_columns(summary.given["classes"])
    extra = probabilities if len(probabilities) <= FEW_CLASSES else []
    head = ["item", "consensus", scale.words["certainty"], "labels", scale.words["vote"], "overruled", *extra]
    cases = [{key: column[row] for key, column in columns.items()} for row in rows[:ROWS]]
    body = [
        [
            join([fmt.name(case["item"]), el("small", " gold") if case.get("gold") else None]),
            scale.label(case["consensus"]),
            scale.certainty(case),
            fmt.whole(case["n_labels"]),
            scale.label(case["vote"]),
            "yes" if case["overruled"] else "",
            *(fmt.percent(case[key]) for key in extra),
        ]
        for case in cases
    ]
    n, listed = summary.given["n_items"], fmt.whole(len(rows))
    return fmt.template(
        "items.html",
        heading="All items" if len(rows) == n else f"{listed} of {fmt.counted(n, 'item')}",
        selection="" if len(rows) == n else "Listed are those on the map and the first others.",
        table=table(head, body, (2, 3, *range(6, len(head))), cls="items", id="items"),
        shown=fmt.whole(len(body)),
        n=listed,
    )


# --- what to do next -------------------------------------------------------------------------------


def review(summary: Summary) -> Iterator[Html]:
    """Items with the least certain consensus, and those with the most disputed labels."""
    scale, disputed = scale_of(summary), summary.adjudicate["disputed"]
    columns = {"item": fmt.item, "consensus": scale.verdict, "labels": scale.labels, "features alone": scale.prediction}
    yield fmt.template(
        "review.html",
        least_certain=_cases(summary.adjudicate["least_sure"], columns),
        disputed=_cases(disputed, columns) if disputed else el("p", "No item has labels that differ."),
        skill_note=scale.words["skill_note"],
    )


def questions(summary: Summary, links: fmt.Links = fmt.IN_REPORT) -> Iterator[Html]:
    """Labels with the highest expected information."""
    facts, questions = summary.ask, summary.ask["questions"]
    if not questions:
        yield lead(f"There are no more labels to ask for: {facts['why_no_more']}.")
        return
    most = max(question["information"] for question in questions) or 1.0
    rows = [
        [
            str(place),
            fmt.bold_name(question["annotator"]),
            fmt.item(question, links),
            bar(question["information"] / most),
            f"{question['information']:.2f}",
            *([fmt.number(question["cost"])] if facts["costs_given"] else []),
        ]
        for place, question in enumerate(questions, 1)
    ]
    head = ["", "ask", "about", "", "bits", *(["cost"] if facts["costs_given"] else [])]
    candidates, total = facts["n_candidates"], facts["n_items"]
    among = f" They were chosen among the {fmt.whole(candidates)} least certain of {fmt.counted(total, 'item')}."
    yield fmt.template(
        "ask.html",
        n=len(questions),
        for_cost=" for their cost" if facts["costs_given"] else "",
        annotators=_whom_to_ask(list(facts["by_annotator"].items())),
        among=among if candidates < total else "",
        questions=table(head, rows, (0, 4, 5), cls="bars ask"),
    )


def _whom_to_ask(counts: list[tuple[Any, int]]) -> Html:
    """Annotators and the number of labels to ask each of them for."""
    named = [join([fmt.bold_name(who), f" ({fmt.whole(n)})"]) for who, n in counts[:NAMED]]
    return fmt.listed([*named, *([f"{len(counts) - NAMED} more"] if len(counts) > NAMED else [])])
