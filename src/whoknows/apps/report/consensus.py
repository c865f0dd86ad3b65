"""The consensus: its distribution and certainty, and where it contradicts the vote."""

from __future__ import annotations

from typing import Any

from whoknows.apps.charts import Html, el, histogram, join
from whoknows.apps.report.formatting import (
    counted,
    first_few,
    fold,
    item,
    name,
    note,
    percent,
    table,
    whole,
)
from whoknows.apps.report.scales import CategoricalScale, scale_of
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts, annotator_name

ROWS = 200  # of the consensus on the page
OPEN = 6  # cases that are not folded
LABELLED_EDGES = 5  # every fifth edge of the histogram has a label


def consensus(summary: Summary) -> Html:
    """The consensus, how certain it is, and why it is not the vote."""
    scale = scale_of(summary)
    return join(
        [
            scale.consensus_lead(summary),
            el("div", scale.distribution(summary.answer), _histogram(summary, scale), cls="columns"),
            _overruled(summary.answer, scale),
            _table(summary, scale),
        ]
    )


def _histogram(summary: Summary, scale: CategoricalScale) -> Html:
    facts = summary.answer["histogram"]
    labels = [scale.edge(edge) if i % LABELLED_EDGES == 0 else "" for i, edge in enumerate(facts["edges"])]
    series = ("labelled items", "unlabelled items")
    chart = histogram((facts["labelled"], facts["unlabelled"]), labels, series)
    return el("div", el("h3", scale.histogram_heading), chart)


def _overruled(facts: Facts, scale: CategoricalScale) -> Html:
    heading = el("h3", f"Where the model overrules the {scale.vote} of the labels")
    if not facts["n_overruled"]:
        return join([heading, el("p", f"On none of {counted(facts['n_voted'], 'item')}.")])
    rows = [
        (
            item(case),
            verdict(case, scale),
            scale.label(case["vote"]),
            labels_of(case, scale),
            case["why"],
        )
        for case in facts["overruled"]
    ]
    single, tied = scale.overruled_details(facts)
    words = [
        f"On {whole(facts['n_overruled'])} of {counted(facts['n_voted'], 'item')} the consensus differs from "
        f"the {scale.vote} of the labels.{single} The model weights each label by the skill of its annotator "
        f"on similar items, and takes the features into account.{tied}",
        f" The {len(rows)} clearest cases:" if len(rows) < facts["n_overruled"] else "",
    ]
    head = ("item", "consensus", scale.vote, "labels", "reason")
    shown = first_few(rows, OPEN, lambda some: table(head, some, cls="cases"))
    return join([heading, el("p", words), shown, note(scale.skill_note)])


def verdict(case: Facts, scale: CategoricalScale) -> Html:
    """Consensus of an item and how certain it is."""
    return join([el("b", scale.label(case["consensus"])), " ", el("small", scale.certainty(case))])


def labels_of(case: Facts, scale: CategoricalScale) -> Html:
    """Annotators by the label they gave, with the skill of each on this item."""
    by_label: dict[str, list[Html]] = {}
    for voice in case["voices"]:
        skill = el("small", scale.skill(voice["trust"]))
        who = join([annotator_name(voice["annotator"]), " ", skill])
        by_label.setdefault(scale.label(voice["label"]), []).append(who)
    shown = [el("li", el("b", label), ": ", join(names, ", ")) for label, names in by_label.items()]
    if case["more_voices"]:
        shown.append(el("li", f"and {whole(case['more_voices'])} more"))
    return el("ul", shown, cls="voices")


def _table(summary: Summary, scale: CategoricalScale) -> Html:
    """Consensus of the first items; all are in a file beside the report."""
    columns = summary.consensus
    n = len(columns["item"])
    extra = scale.probability_columns(columns)
    head = ["item", "consensus", scale.certainty_heading, "labels", scale.vote, "overruled", *extra]
    cases = [{key: column[i] for key, column in columns.items()} for i in range(min(n, ROWS))]
    rows: list[tuple[Any, ...]] = [
        (
            name(case["item"]),
            scale.label(case["consensus"]),
            scale.certainty(case),
            whole(case["n_labels"]),
            scale.label(case["vote"]),
            "yes" if case["overruled"] else "",
            *(percent(case[key]) for key in extra),
        )
        for case in cases
    ]
    which = f"all {counted(n, 'item')}" if len(rows) == n else f"the first {counted(len(rows), 'item')}"
    files = note("The consensus of every item is in consensus.csv or consensus.parquet beside this report.")
    numeric = (2, 3, *range(6, len(head)))
    return fold(f"Consensus of {which}", table(head, rows, numeric), files)
