"""The answer: consensus, confidence, class balance, and where the vote is overruled."""

from __future__ import annotations

from whoknows.apps.charts import Html, bar, el, histogram, join
from whoknows.apps.report.words import (
    first_few,
    fold,
    item,
    many,
    name,
    number,
    percent,
    quoted,
    table,
    voices,
    whole,
)
from whoknows.insight.summary import Summary
from whoknows.insight.summary.plain import Facts

ROWS = 200  # of the consensus that are on the page
OPEN = 6  # cases that are not folded away
FEW_CLASSES = 8  # whose probabilities all have a column


def answer(summary: Summary) -> Html:
    """What the items are, how sure that is, and why not what most annotators say."""
    numbers = summary.given["kind"] == "numbers"
    return join(
        [
            _numbers_in_words(summary) if numbers else _classes_in_words(summary),
            el("div", _values(summary) if numbers else _balance(summary), _sure(summary), cls="columns"),
            _overruled(summary, numbers),
            _consensus(summary, numbers),
        ]
    )


def _classes_in_words(summary: Summary) -> Html:
    facts, n = summary.answer, summary.given["n_items"]
    shares = sorted(
        zip(facts["balance"]["share"], facts["balance"]["class"], strict=True), key=lambda p: -p[0]
    )
    top = [join([quoted(label), f" ({percent(share)})"]) for share, label in shares[:3]]
    rest = f" and {len(shares) - 3} more classes" if len(shares) > 3 else ""
    return el(
        "p",
        f"Of {many(n, 'item')}, {whole(facts['n_sure'])} ({percent(facts['n_sure'] / n)}) are settled: the "
        f"model is at least {percent(facts['sure_above'])} sure of them. Most often the consensus is ",
        join(top, ", "),
        f"{rest}.",
        cls="lead",
    )


def _numbers_in_words(summary: Summary) -> Html:
    facts = summary.answer
    low, middle, high = (number(facts["quartiles"][k]) for k in (1, 2, 3))
    unlabelled = facts["std_unlabelled"]
    return el(
        "p",
        f"Half of the items lie between {low} and {high}, the middle one at {middle}. A labelled item is "
        f"known to within ± {number(facts['std_labelled'])}, typically",
        f"; one that nobody labelled to within ± {number(unlabelled)}." if unlabelled is not None else ".",
        cls="lead",
    )


def _balance(summary: Summary) -> Html:
    balance = summary.answer["balance"]
    most = max(max(balance["share"]), max(balance["share_of_labels"])) or 1
    rows = [
        (name(label), bar(share / most, given / most), whole(n), percent(share), percent(given))
        for label, n, share, given in zip(*balance.values(), strict=True)
    ]
    return el(
        "div",
        el("h3", "How often each class"),
        table(("class", "", "items", "share", "of labels"), rows, (2, 3, 4), cls="bars"),
        el("p", "The mark on a bar is the class's share among the labels that were given.", cls="note"),
    )


def _values(summary: Summary) -> Html:
    facts = summary.answer
    rows = [
        (what, number(mine), number(theirs))
        for what, mine, theirs in zip(
            ("lowest", "a quarter below", "middle", "three quarters below", "highest"),
            facts["quartiles"],
            facts["quartiles_of_labels"],
            strict=True,
        )
    ]
    return el("div", el("h3", "The numbers"), table(("", "consensus", "labels as given"), rows, (1, 2)))


def _sure(summary: Summary) -> Html:
    numbers, found = summary.given["kind"] == "numbers", summary.answer["histogram"]
    edges = found["edges"]
    shown = [number(edge) if numbers else percent(edge) for edge in edges]
    labels = [text if i % 5 == 0 else "" for i, text in enumerate(shown)]
    heading = "Where the consensus lies" if numbers else "How sure the consensus is"
    chart = histogram(
        (found["labelled"], found["unlabelled"]), labels, ("items with labels", "items nobody labelled")
    )
    return el("div", el("h3", heading), chart)


# --- the vote and the consensus --------------------------------------------------------------------


def _overruled(summary: Summary, numbers: bool) -> Html:
    facts = summary.answer
    vote = "the mean of their labels" if numbers else "the majority of their labels"
    if not facts["n_overruled"]:
        words = f"On none of {many(facts['n_voted'], 'item')} does the model contradict {vote}."
        return join([el("h3", "Where the model overrules the vote"), el("p", words)])
    rows = [_case(case, numbers) for case in facts["overruled"]]
    head = ("item", "consensus", "vote", "who said what", "why")
    single, tied = facts["n_overruled_single"], facts["n_tied"]
    words = [
        f"On {whole(facts['n_overruled'])} of {many(facts['n_voted'], 'item')} the consensus is not {vote}",
        f"; on {whole(single)} of them there was but one label" if single and not numbers else "",
        ". It weighs each label by how far its annotator can be trusted on items like this one, and adds "
        "what the features say.",
        f" {many(tied, 'item')} had a tie." if tied and not numbers else "",
        f" The {len(rows)} most striking:" if len(rows) < facts["n_overruled"] else "",
    ]
    heading = el("h3", "Where the model overrules the vote, and why")
    shown = first_few(rows, OPEN, lambda some: table(head, some, cls="cases"))
    return join([heading, el("p", words), shown, el("p", trust(numbers), cls="note")])


def trust(numbers: bool) -> str:
    """What stands beside each label."""
    if numbers:
        return "Beside each label: how far off its annotator typically is on items like this one."
    return "Beside each label: how often its annotator is right on items like this one, as the model has it."


def _case(case: Facts, numbers: bool) -> tuple[Html | str, ...]:
    vote = number(case["vote"]) if numbers else name(case["vote"])
    return item(case), verdict(case, numbers), vote, voices(case, numbers), case["why"]


def verdict(case: Facts, numbers: bool) -> Html:
    """Consensus of an item and how sure it is."""
    sure = f"±\u202f{number(case['std'])}" if numbers else percent(case["confidence"])
    value = number(case["consensus"]) if numbers else name(case["consensus"])
    return join([el("b", value), " ", el("small", sure)])


def _consensus(summary: Summary, numbers: bool) -> Html:
    """The first items of the consensus; all of them are in a file beside."""
    table_ = summary.consensus
    n = len(table_["item"])
    shown = min(n, ROWS)
    extra = [key for key in table_ if key.startswith("p_")]
    extra = extra if len(extra) <= FEW_CLASSES else []
    head = ["item", "consensus", "±" if numbers else "sure", "labels", "vote", "overruled", *extra]
    rows = [
        (
            name(table_["item"][i]),
            number(table_["consensus"][i]) if numbers else name(table_["consensus"][i]),
            number(table_["std"][i]) if numbers else percent(table_["confidence"][i]),
            whole(table_["n_labels"][i]),
            number(table_["vote"][i]) if numbers else name(table_["vote"][i]),
            "yes" if table_["overruled"][i] else "",
            *(percent(table_[key][i]) for key in extra),
        )
        for i in range(shown)
    ]
    title = (
        f"Consensus of all {many(n, 'item')}"
        if shown == n
        else f"Consensus of the first {many(shown, 'item')}"
    )
    note = el(
        "p",
        "The consensus of every item is in consensus.csv, or consensus.parquet, beside this report.",
        cls="note",
    )
    return fold(title, table(head, rows, (2, 3, *range(6, 6 + len(extra)))), note)
