"""A card for each annotator: where strong, where weak, and the mistakes they make."""

from __future__ import annotations

from typing import Any

from whoknows.apps.charts import Html, el, heat, join, scale, small_map
from whoknows.apps.report.words import (
    first_few,
    fold,
    item,
    listed,
    many,
    name,
    number,
    ordinal,
    percent,
    quoted,
    skill,
    table,
    whole,
)
from whoknows.insight.summary import Summary
from whoknows.insight.summary.plain import Facts, called

CARE = (
    "Regions are where the model sees the largest differences. Believe them the more, the more labels of the "
    "annotator lie there, and if the consensus bears them out."
)
OPEN = 12  # cards that are not folded away
FEW_CLASSES = 3  # up to which it is said how often one is right on each


def cards(summary: Summary, numbers: bool) -> Html:
    """Every annotator that was looked at closely."""
    made = [_card(summary, profile, numbers) for profile in summary.profiles]
    if len(made) > OPEN:  # both ends first
        made = [*made[: OPEN // 2], *made[-OPEN // 2 :], *made[OPEN // 2 : -OPEN // 2]]
    total, note = len(summary.annotators["annotator"]), None
    if len(made) < total:
        which = "those at the top, those at the bottom and those with most labels"
        note = el("p", f"{len(made)} of {many(total, 'annotator')}: {which}.", cls="note")
    ends = [skill(end, numbers) for end in summary.map["domain"]]
    measure = "typical error" if numbers else "probability of being right"
    legend = scale(ends[::-1] if numbers else ends, f"small maps: {measure}")
    care = el("p", CARE, cls="note") if any(profile["varies"] for profile in summary.profiles) else None
    return join([note, care, legend, first_few(made, OPEN, lambda some: el("div", some, cls="cards"))])


def _card(summary: Summary, profile: Facts, numbers: bool) -> Html:
    facts, total = summary.map, whole(len(summary.annotators["annotator"]))
    grid = facts["grid"]["columns"], facts["grid"]["lines"]
    drawn = small_map(facts["grid"]["cell"], profile["map"], grid, facts["domain"], not numbers)
    value = profile["typical_error" if numbers else "expertise"]
    between = "" if profile["low"] is None else f" ({percent(profile['low'])} to {percent(profile['high'])})"
    place = f", {ordinal(profile['place'])} of {total}, {many(profile['n_labels'], 'label')}"
    head = el(
        "div", el("h4", called(profile["annotator"])), el("p", el("b", skill(value, numbers)), between, place)
    )
    return el(
        "article",
        el("div", drawn, head, cls="who"),
        _regions(profile, numbers),
        _lean(profile, summary.given["kind"]),
        _confusion(profile, summary.given["classes"]),
        cls="card",
    )


def _regions(profile: Facts, numbers: bool) -> list[Html]:
    if profile["varies"]:
        return [_region(side, profile[side], numbers) for side in ("strong", "weak")]
    low, high = (skill(end, numbers) for end in profile["range"])
    span = f"{low} on nearly all items" if low == high else f"between {low} and {high} on nine items of ten"
    where = "No region stands out" if profile["uneven"] else "About as good everywhere"
    return [el("p", f"{where}: {span}.")]


def _region(side: str, region: Facts, numbers: bool) -> Html:
    """Where, how good, and on which items it shows."""
    where = [" where ", listed([el("span", condition, cls="where") for condition in region["where"]])]
    words = el("p", "Typical words: ", el("i", ", ".join(region["words"]))) if region["words"] else None
    if not region["where"]:  # features made of texts have no names to tell it by
        where, words = [" on some texts"], words or el("p", "No words stand out.")
    checked = f"{many(region['n_labels'], 'own label')} there"
    if region["agreement"] is not None:
        checked += f", {percent(region['agreement'])} of them the consensus"
    return el(
        "div",
        el("p", el("b", side.capitalize()), where, ": ", el("b", skill(region["skill"], numbers))),
        words,
        el("p", f"{percent(region['share'])} of the items; {checked}.", cls="note"),
        _examples(region["examples"]),
        cls=f"where-{side}",
    )


def _examples(cases: list[Facts]) -> Html:
    """Items where it shows most: to open if there is more to see than their ids."""
    if not any("text" in case or "image" in case for case in cases):
        return el("p", f"Such as {', '.join(name(case['item']) for case in cases)}.", cls="note")
    return fold("Examples", el("ul", [el("li", item(case)) for case in cases], cls="examples"))


def _lean(profile: Facts, kind: str) -> Html | None:
    """Severity of levels, bias of numbers."""
    if kind == "numbers":
        bias = profile["bias"]
        way = "more" if bias > 0 else "less"
        return el("p", "Says ", el("b", number(abs(bias))), f" {way} than the truth on average.")
    if kind == "levels":
        severity = profile["severity"]
        way = "higher" if severity > 0 else "lower"
        by = f"Scores {number(abs(severity))} levels {way} than the crowd"
        return el("p", f"{by}, give or take {number(profile['spread'])}.")
    return None


def _confusion(profile: Facts, classes: list[Any]) -> Html | None:
    """What one says when the truth is something: a table, or the strongest mistakes of many classes."""
    if "mistakes" not in profile:
        return None
    if profile["confusion"] is None:
        told = [
            el(
                "li",
                "says ",
                quoted(one["says"]),
                " for ",
                quoted(one["truth"]),
                f": {percent(one['share'])}",
            )
            for one in profile["mistakes"]
        ]
        return fold("Most frequent mistakes", el("ul", told))
    head = [el("th"), *(el("th", name(each), scope="col") for each in classes)]
    rows = [
        [el("th", name(truth), scope="row"), *(heat(value, f"{100 * value:.0f}") for value in row)]
        for truth, row in zip(classes, profile["confusion"], strict=True)
    ]
    note = el("p", "A row for each truth: how often they say what, in percent.", cls="note")
    matrix = fold("Confusion table", note, table(head, rows, cls="square"))
    right = [percent(profile["confusion"][k][k]) for k in range(len(classes))]
    if len(classes) > FEW_CLASSES or len(set(right)) == 1:
        return matrix
    right = [join([quoted(label), f" {share}"]) for label, share in zip(classes, right, strict=True)]
    return join([el("p", "Right when it is ", join(right, ", "), "."), matrix])
