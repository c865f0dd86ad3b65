"""The consensus and where it contradicts the vote, items to review, and labels to collect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from whoknows.apps.charts import Html, bar, el, fold, histogram, join, lead, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.report.scales import CategoricalScale, scale_of
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts, Table

ROWS = 200  # of the consensus on the page
OPEN = 6  # cases that are not folded
LABELLED_EDGES = 5  # every fifth edge of the histogram has a label
NAMED = 5  # annotators named in a sentence
FEW_CLASSES = 8  # whose probabilities all have a column


# --- consensus -------------------------------------------------------------------------------------


def consensus(summary: Summary) -> Iterator[Html]:
    """The consensus, how certain it is, and why it is not the vote."""
    scale, facts = scale_of(summary), summary.answer
    yield scale.consensus_lead(summary)
    yield el("div", scale.distribution(facts), _histogram(facts["histogram"], scale), cls="columns")
    yield el("h3", f"Where the model overrules the {scale.vote} of the labels")
    yield from _overruled(facts, scale)
    yield _table(summary.consensus, scale)


def _histogram(facts: Facts, scale: CategoricalScale) -> Html:
    labels = [scale.edge(edge) if i % LABELLED_EDGES == 0 else "" for i, edge in enumerate(facts["edges"])]
    series = ("labelled items", "unlabelled items")
    chart = histogram((facts["labelled"], facts["unlabelled"]), labels, series)
    return el("div", el("h3", scale.histogram_heading), chart)


def _overruled(facts: Facts, scale: CategoricalScale) -> Iterator[Html]:
    n, voted = facts["n_overruled"], fmt.counted(facts["n_voted"], "item")
    if not n:
        yield el("p", f"On none of {voted}.")
        return
    single = facts["n_overruled_single"] if "balance" in facts else 0  # only mentioned for classes
    yield el(
        "p",
        f"On {fmt.whole(n)} of {voted} the consensus differs from the {scale.vote} of the labels.",
        f" {fmt.whole(single)} of these have a single label." if single else "",
        " The model weights each label by the skill of its annotator on similar items, and takes the ",
        "features into account.",
        f" {fmt.counted(facts['n_tied'], 'item')} had a tie." if facts["n_tied"] else "",
        f" The {len(facts['overruled'])} clearest cases:" if len(facts["overruled"]) < n else "",
    )
    columns = {
        "item": fmt.item,
        "consensus": scale.verdict,
        scale.vote: lambda case: scale.label(case["vote"]),
        "labels": scale.labels,
        "reason": itemgetter("why"),
    }
    yield _cases(facts["overruled"], columns)
    yield note(scale.skill_note)


def _cases(cases: list[Facts], columns: dict[str, Callable[[Facts], Any]]) -> Html:
    """Table of the first few cases, the others folded."""
    rows = [[show(case) for show in columns.values()] for case in cases]
    return fmt.first_few(rows, OPEN, lambda some: table(list(columns), some, cls="cases"))


def _table(columns: Table, scale: CategoricalScale) -> Html:
    """Consensus of the first items; all are in a file beside the report."""
    n = len(columns["item"])
    probabilities = [key for key in columns if key.startswith("p_")]
    extra = probabilities if len(probabilities) <= FEW_CLASSES else []
    head = ["item", "consensus", scale.certainty_heading, "labels", scale.vote, "overruled", *extra]
    cases = [{key: column[i] for key, column in columns.items()} for i in range(min(n, ROWS))]
    rows = [
        [
            fmt.name(case["item"]),
            scale.label(case["consensus"]),
            scale.certainty(case),
            fmt.whole(case["n_labels"]),
            scale.label(case["vote"]),
            "yes" if case["overruled"] else "",
            *(fmt.percent(case[key]) for key in extra),
        ]
        for case in cases
    ]
    which = f"{'all' if len(rows) == n else 'the first'} {fmt.counted(len(rows), 'item')}"
    files = note("The consensus of every item is in consensus.csv or consensus.parquet beside this report.")
    return fold(f"Consensus of {which}", table(head, rows, (2, 3, *range(6, len(head)))), files)


# --- what to do next -------------------------------------------------------------------------------


def review(summary: Summary) -> Iterator[Html]:
    """Items with the least certain consensus, and those with the most disputed labels."""
    scale, disputed = scale_of(summary), summary.adjudicate["disputed"]
    columns = {
        "item": fmt.item,
        "consensus": scale.verdict,
        "labels": scale.labels,
        "features alone": scale.prediction,
    }
    yield lead(
        "If an expert can review some items, choose these: they have labels, but the consensus is uncertain. "
        "Pass the expert's decisions to the next fit as gold labels."
    )
    yield el("h3", "Least certain")
    yield _cases(summary.adjudicate["least_sure"], columns)
    if disputed:
        yield el("h3", "Most disputed")
        yield _cases(disputed, columns)
    else:
        yield el("p", "No item has labels that differ.")
    yield note(scale.skill_note)


def questions(summary: Summary) -> Iterator[Html]:
    """Labels with the highest expected information."""
    facts, questions = summary.ask, summary.ask["questions"]
    if not questions:
        yield lead(f"There are no more labels to ask for: {facts['why_no_more']}.")
        return
    yield _questions_lead(facts)
    most = max(question["information"] for question in questions) or 1.0
    rows = [
        [
            str(place),
            fmt.bold_name(question["annotator"]),
            fmt.item(question),
            bar(question["information"] / most),
            f"{question['information']:.2f}",
            *([fmt.number(question["cost"])] if facts["costs_given"] else []),
        ]
        for place, question in enumerate(questions, 1)
    ]
    head = ["", "ask", "about", "", "bits", *(["cost"] if facts["costs_given"] else [])]
    yield table(head, rows, (0, 4, 5), cls="bars ask")
    yield note(
        "Bits: expected information about the truth of the item; one bit settles a yes-no question that was "
        "completely open. Collect these labels, add them to the others and fit again."
    )


def _questions_lead(facts: Facts) -> Html:
    by_annotator = list(facts["by_annotator"].items())
    named = [join([fmt.bold_name(who), f" ({fmt.whole(n)})"]) for who, n in by_annotator[:NAMED]]
    rest = [f"{len(by_annotator) - NAMED} more"] if len(by_annotator) > NAMED else []
    candidates, total = facts["n_candidates"], facts["n_items"]
    among = f"the {fmt.whole(candidates)} least certain of {fmt.counted(total, 'item')}"
    return lead(
        f"These {len(facts['questions'])} labels are expected to be the most informative",
        " for their cost" if facts["costs_given"] else "",
        ". Annotators to ask: ",
        fmt.listed([*named, *rest]),
        f". They were chosen among {among}." if candidates < total else ".",
    )
