"""The consensus and where it contradicts the vote, items to review, and labels to collect."""

from __future__ import annotations

from typing import Any

from whoknows.apps.charts import Html, bar, el, fold, histogram, join, lead, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.report.scales import CategoricalScale, scale_of
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts, annotator_name

ROWS = 200  # of the consensus on the page
OPEN = 6  # cases that are not folded
LABELLED_EDGES = 5  # every fifth edge of the histogram has a label
NAMED = 5  # annotators named in a sentence


# --- consensus ---


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
        return join([heading, el("p", f"On none of {fmt.counted(facts['n_voted'], 'item')}.")])
    rows = [
        (
            fmt.item(case),
            verdict(case, scale),
            scale.label(case["vote"]),
            labels_of(case, scale),
            case["why"],
        )
        for case in facts["overruled"]
    ]
    single, tied = scale.overruled_details(facts)
    words = [
        f"On {fmt.whole(facts['n_overruled'])} of {fmt.counted(facts['n_voted'], 'item')} the consensus differs from "
        f"the {scale.vote} of the labels.{single} The model weights each label by the skill of its annotator "
        f"on similar items, and takes the features into account.{tied}",
        f" The {len(rows)} clearest cases:" if len(rows) < facts["n_overruled"] else "",
    ]
    head = ("item", "consensus", scale.vote, "labels", "reason")
    shown = fmt.first_few(rows, OPEN, lambda some: table(head, some, cls="cases"))
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
        shown.append(el("li", f"and {fmt.whole(case['more_voices'])} more"))
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
            fmt.name(case["item"]),
            scale.label(case["consensus"]),
            scale.certainty(case),
            fmt.whole(case["n_labels"]),
            scale.label(case["vote"]),
            "yes" if case["overruled"] else "",
            *(fmt.percent(case[key]) for key in extra),
        )
        for case in cases
    ]
    which = (
        f"all {fmt.counted(n, 'item')}" if len(rows) == n else f"the first {fmt.counted(len(rows), 'item')}"
    )
    files = note("The consensus of every item is in consensus.csv or consensus.parquet beside this report.")
    numeric = (2, 3, *range(6, len(head)))
    return fold(f"Consensus of {which}", table(head, rows, numeric), files)


# --- what to do next ---


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
        (fmt.item(case), verdict(case, scale), labels_of(case, scale), scale.prediction(case))
        for case in cases
    ]
    return fmt.first_few(rows, OPEN, lambda some: table(head, some, cls="cases"))


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
            fmt.bold_name(question["annotator"]),
            fmt.item(question),
            bar(question["information"] / most),
            f"{question['information']:.2f}",
            *([fmt.number(question["cost"])] if facts["costs_given"] else []),
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
    named = [join([fmt.bold_name(who), f" ({fmt.whole(n)})"]) for who, n in by_annotator[:NAMED]]
    rest = [f"{len(by_annotator) - NAMED} more"] if len(by_annotator) > NAMED else []
    candidates, total = facts["n_candidates"], fmt.counted(facts["n_items"], "item")
    least_certain = f" They were chosen among the {fmt.whole(candidates)} least certain of {total}."
    return lead(
        f"These {len(facts['questions'])} labels are expected to be the most informative",
        " for their cost" if facts["costs_given"] else "",
        ". Annotators to ask: ",
        fmt.listed([*named, *rest]),
        f".{least_certain if candidates < facts['n_items'] else ''}",
    )
