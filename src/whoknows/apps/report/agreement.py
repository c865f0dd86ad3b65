"""How far annotators agree, every two of them, and who may have copied."""

from __future__ import annotations

from typing import Any

from whoknows.apps.charts import Html, el, heat, join
from whoknows.apps.report.words import many, name, number, percent, person, table, whole
from whoknows.insight.summary import Summary
from whoknows.insight.summary.plain import Facts

# Krippendorff's own reading: rely on 0.8, draw tentative conclusions from 0.667.
READING = (
    (0.8, "they agree well enough to rely on the labels as they are"),
    (0.667, "they agree well enough for tentative conclusions"),
    (0.2, "they agree far less than is usually asked for: who says it matters"),
    (-1.0, "they agree hardly more than chance: without knowing whom to trust, the labels say little"),
)


def agreement(summary: Summary) -> Html:
    """Overall numbers in words, pairs, suspects."""
    facts = summary.agreement
    if not facts["possible"]:
        words = "No item has labels of two annotators, so there is nothing to compare."
        return el("p", words, " Let annotators label some items together.", cls="lead")
    return join([_in_words(facts), _pairs(facts["pairs"]), _copying(facts.get("copying"))])


def _in_words(facts: Facts) -> Html:
    alpha = facts["alpha"]
    words: list[Any] = [f"On {many(facts['n_compared'], 'item')} with two labels or more, "]
    if "percent" in facts:
        words.append(
            f"two labels of an item agree {percent(facts['percent'])} of the time; drawn blindly they would "
            f"{percent(facts['by_chance'])} of the time. "
        )
    if alpha is None:
        words.append("Only one label was ever used, so agreement beyond chance is not defined.")
    else:
        reading = next(text for least, text in READING if alpha >= least or least < 0)
        words.append(f"Krippendorff's alpha ({facts['level']}) is {alpha:.2f}: {reading}.")
    if facts.get("fleiss") is not None:
        words.append(f" Fleiss' kappa is {facts['fleiss']:.2f}.")
    words.append(" Alpha and kappa are 1 for full agreement and 0 for chance.")
    return el("p", words, cls="lead")


def _pairs(facts: Facts) -> Html | None:
    """Square table of every two annotators."""
    who, value, common = facts["annotators"], facts["value"], facts["n_items"]
    if len(who) < 2:
        return None
    head = [el("th"), *(el("th", el("span", name(each)), scope="col", cls="up") for each in who)]
    rows = []
    for i, one in enumerate(who):
        cells = [
            el("td", cls="heat self")
            if i == j
            else heat(
                value[i][j],
                _short(value[i][j]),
                f"{name(one)}, {name(other)}: {many(common[i][j], 'item')} in common",
            )
            for j, other in enumerate(who)
        ]
        rows.append([el("th", name(one), scope="row"), *cells])
    few = f" The {len(who)} with most labels of {whole(facts['of'])}." if len(who) < facts["of"] else ""
    note = f"{facts['measure']} of every two, blank where they have fewer than five items in common.{few}"
    size = "square wide" if len(who) > 12 else "square"
    return join([el("h3", "Every two annotators"), table(head, rows, cls=size), el("p", note, cls="note")])


def _short(value: float | None) -> str:
    """Two decimals without the zero before the point: .42."""
    if value is None:
        return ""
    return (
        f"{value:.2f}".replace("0.", ".", 1).replace("-", "−")
        if abs(value) < 1
        else f"{value:.0f}".replace("-", "−")
    )


def _copying(facts: Facts | None) -> Html | None:
    if facts is None or not facts["n_pairs"]:
        return None
    heading = el("h3", "Who may have copied")
    tested = f"{many(facts['n_pairs'], 'pair')}, compared on {many(facts['n_items'], 'item')}"
    if not facts["n_suspects"]:
        return join([heading, el("p", f"Of {tested}, none agrees more than their expertise explains.")])
    found = facts["suspects"]
    rows = [
        (
            join([person(first), " and ", person(second)]),
            f"{whole(observed)} of {whole(n)}",
            number(expected),
            number(wrong),
            f"{p:.1g}",
        )
        for first, second, n, observed, expected, wrong, p in zip(*found.values(), strict=True)
    ]
    words = (
        f"{whole(facts['n_suspects'])} of {tested}, agree more than their expertise explains. One may "
        "have copied from the other, or items mislead both in the same way: look before you accuse anyone."
    )
    head = ("pair", "labels alike", "expected", "of them wrong", "adjusted p")
    return join([heading, el("p", words), table(head, rows, (1, 2, 3, 4))])
