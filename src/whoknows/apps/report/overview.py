"""The data and the model: counts, coverage, warnings, settings."""

from __future__ import annotations

from collections.abc import Iterator

from whoknows.apps.charts import Html, bar, bullets, el, fold, lead, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.report.scales import scale_of
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts, Table

SHOWN = 12  # classes listed
WORDS = {"map", "expertise", "accuracy", ""}  # columns of the table of models that are not numbers


def overview(summary: Summary) -> Iterator[Html]:
    """Counts, coverage, warnings, settings chosen and why."""
    facts = summary.given
    yield _counts(facts, scale_of(summary).words["data"])
    if facts["warnings"]:
        yield el("aside", el("h3", "Warnings"), bullets(facts["warnings"]), cls="warn")
    yield el("div", coverage(facts), about_model(facts), cls="columns")
    if facts["members"] is not None:
        yield fold("Models that were averaged", fmt.template("members.html", members=_members(facts["members"])))
    yield fold("Settings", table(("setting", "value"), list(facts["settings"].items())))
    if facts["notes"]:
        yield fold("How the files were read", bullets(facts["notes"]))


def _counts(facts: Facts, data: str) -> Html:
    rest = facts["n_items"] - facts["n_labelled"]
    classes = [fmt.name(each) for each in facts["classes"]]
    more = f" and {len(classes) - SHOWN} more" if len(classes) > SHOWN else ""
    features = f"described by {fmt.counted(facts['n_features'], 'feature')}."
    return lead(
        f"{fmt.counted(facts['n_annotators'], 'annotator')} gave {fmt.counted(facts['n_labels'], 'label')}",
        f" on {fmt.whole(facts['n_labelled'])} of {fmt.counted(facts['n_items'], 'item')}. {data}",
        f"{', '.join(classes[:SHOWN])}{more}." if classes else "",
        f" The other {fmt.counted(rest, 'item')} have no label." if rest else " Every item has a label.",
        f" Gold labels were given for {fmt.counted(facts['n_gold'], 'item')}." if facts["n_gold"] else "",
        f" Each item is {features}" if facts["n_features"] else " There are no features.",
    )


def coverage(facts: Facts) -> Html:
    """Number of labels per item and per annotator."""
    labels, items = facts["coverage"]["labels"], facts["coverage"]["items"]
    rows = [
        (label, bar(n / max(items)), fmt.whole(n), fmt.percent(n / facts["n_items"]))
        for label, n in zip(labels, items, strict=True)
        if n
    ]
    least, median, most = facts["labels_per_annotator"]
    per_annotator = f"Each annotator gave {fmt.counted(most, 'label')}."
    if least < most:
        per_annotator = f"Labels per annotator: {fmt.whole(least)} to {fmt.whole(most)}, median {fmt.number(median)}."
    return el(
        "div",
        el("h3", "Labels per item"),
        table(("labels", "", "items", "share"), rows, (2, 3), cls="bars"),
        note(per_annotator),
    )


def about_model(facts: Facts) -> Html:
    """Class of the model, and what was selected and why."""
    settings = facts["settings"]
    shares_map = settings.get("annotator_map", "None") == "None"
    known = {"truth": settings.get("truth"), "map": settings.get("map") if shares_map else None}
    about = [fmt.wording(kind).get(choice) for kind, choice in known.items()]
    sentences = facts["chosen"] or [sentence for sentence in about if sentence]
    graphs = [f"Similarity graph of the items: {words}." for words in facts.get("graph", [])]
    iterations = fmt.counted(facts["iterations"], "iteration")
    fitted = f"One model was fitted, in {iterations}."
    if facts["members"] is not None:
        fitted = f"Several models were fitted and averaged. The slowest took {iterations}."
    about_fit = el("p", fitted, " ", el("small", facts["model"]))
    return el("div", el("h3", "Model"), about_fit, bullets([*sentences, *graphs]))


def _members(members: Table) -> Html:
    differ = len(set(members["coins"])) > 1
    columns = {
        "map": members["map"],
        "prior variance": map(fmt.number, members["variance"]),
        "expertise": members["expertise"],
        **({"accuracy": members["coins"]} if differ else {}),
        "": map(bar, members["weight"]),
        "weight": [fmt.percent(weight, 1) for weight in members["weight"]],
        "unlabelled": [fmt.percent(weight, 1) for weight in members["on_truth"]],
        "labelled": [fmt.percent(weight, 1) for weight in members["on_labelled"]],
        "held-out score": map(fmt.number, members["held_out"]),
    }
    numeric = [j for j, heading in enumerate(columns) if heading not in WORDS]
    rows = list(zip(*columns.values(), strict=True))
    return table(tuple(columns), rows, numeric, cls="bars members")
