"""What was given and what was done with it."""

from __future__ import annotations

from whoknows.apps.charts import Html, bar, el, join
from whoknows.apps.report.words import fold, many, name, number, percent, table, whole
from whoknows.insight.summary import Summary
from whoknows.insight.summary.plain import Facts

WHAT = {
    "classes": "each of which is one of these: ",
    "levels": "on a scale, from the lowest: ",
    "numbers": "which are numbers.",
}
SHOWN = 12  # classes listed
TRUTH = {
    "lgp": "The truth is a smooth function of the features; items nobody labelled help to shape it.",
    "id": "The truth is a smooth function of the features.",
    "gp": "The truth is alike for items that are alike.",
    "ordered": "The truth is one of the levels, a smooth function of the features.",
}
MAP = {
    "rbf": "Any smooth function is allowed, of truth and expertise both.",
    "linear": "Truth and expertise are linear in the features.",
    "spectral": "What counts of the features is which items they make alike.",
    "clusters": "What counts of the features is which cluster an item lies in.",
}


def given(summary: Summary) -> Html:
    """Counts, coverage, warnings, settings chosen and why."""
    facts = summary.given
    return join(
        [
            _in_words(facts),
            _warnings(facts),
            el("div", _coverage(facts), _done(facts), cls="columns"),
            None if facts["members"] is None else fold("Models that were averaged", _members(facts)),
            fold("Settings", table(("setting", "value"), list(facts["settings"].items()))),
            _notes(facts),
        ]
    )


def _in_words(facts: Facts) -> Html:
    rest = facts["n_items"] - facts["n_labelled"]
    classes = [name(each) for each in facts["classes"]]
    listed = ", ".join(classes[:SHOWN]) + (
        f" and {len(classes) - SHOWN} more" if len(classes) > SHOWN else ""
    )
    unlabelled = f" The other {many(rest, 'item')} nobody labelled." if rest else " Every item has a label."
    gold = f" The truth of {many(facts['n_gold'], 'item')} was given." if facts["n_gold"] else ""
    return el(
        "p",
        f"{many(facts['n_annotators'], 'annotator')} gave {many(facts['n_labels'], 'label')} on "
        f"{whole(facts['n_labelled'])} of {many(facts['n_items'], 'item')}, ",
        WHAT[facts["kind"]],
        f"{listed}." if classes else "",
        unlabelled,
        gold,
        f" Every item is described by {many(facts['n_features'], 'feature')}."
        if facts["n_features"]
        else " Nothing else is known about the items.",
        cls="lead",
    )


def _warnings(facts: Facts) -> Html | None:
    if not facts["warnings"]:
        return None
    said = [el("li", text) for text in facts["warnings"]]
    return el("aside", el("h3", "Take care"), el("ul", said), cls="warn")


def _notes(facts: Facts) -> Html | None:
    if not facts["notes"]:
        return None
    return fold("How the files were read", el("ul", [el("li", text) for text in facts["notes"]]))


def _coverage(facts: Facts) -> Html:
    """How many labels items have."""
    labels, items = facts["coverage"]["labels"], facts["coverage"]["items"]
    rows = [
        (label, bar(n / max(items)), whole(n), percent(n / facts["n_items"]))
        for label, n in zip(labels, items, strict=True)
        if n
    ]
    least, middle, most = facts["labels_per_annotator"]
    return el(
        "div",
        el("h3", "Labels per item"),
        table(("labels", "", "items", "share"), rows, (2, 3), cls="bars"),
        el(
            "p",
            f"Annotators gave {whole(least)} to {whole(most)} labels each, {number(middle)} in the middle."
            if least < most
            else f"Every annotator gave {many(most, 'label')}.",
            cls="note",
        ),
    )


def _done(facts: Facts) -> Html:
    """Which model, and why."""
    settings = facts["settings"]
    own = settings.get("annotator_map", "None")
    known = ((TRUTH, settings.get("truth")), (MAP, settings.get("map") if own == "None" else None))
    sentences = facts["chosen"] or [words[choice] for words, choice in known if choice in words]
    graphs = [f"Graph of the items: {words}." for words in facts.get("graph", [])]
    chosen = [el("li", sentence) for sentence in [*sentences, *graphs]]
    several = facts["members"] is not None
    how = "Several models were fitted and averaged." if several else "One model was fitted"
    iterations = many(facts["iterations"], "iteration")
    how += f" The slowest took {iterations}." if several else f", in {iterations}."
    return el(
        "div",
        el("h3", "What was done with it"),
        el("p", how, " ", el("small", facts["model"])),
        el("ul", chosen) if chosen else None,
    )


def _members(facts: Facts) -> Html:
    members = facts["members"]
    columns = {
        "map": members["map"],
        "prior variance": map(number, members["variance"]),
        "expertise": members["expertise"],
        **({"coins": members["coins"]} if len(set(members["coins"])) > 1 else {}),
        "": map(bar, members["weight"]),
        "weight": [percent(weight, 1) for weight in members["weight"]],
        "on truth": [percent(weight, 1) for weight in members["on_truth"]],
        "on labelled": [percent(weight, 1) for weight in members["on_labelled"]],
        "held out": map(number, members["held_out"]),
    }
    words = {"map", "expertise", "coins", ""}
    numbers = tuple(place for place, name in enumerate(columns) if name not in words)
    return table(tuple(columns), list(zip(*columns.values(), strict=True)), numbers, cls="bars members")
