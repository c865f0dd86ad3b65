"""Agreement between annotators, overall and in pairs, and who may have copied."""

from __future__ import annotations

from typing import Any

from whoknows.apps.charts import Html, el, heat, join
from whoknows.apps.report.formatting import (
    bold_name,
    counted,
    lead,
    name,
    note,
    number,
    percent,
    table,
    whole,
)
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts

# Krippendorff's recommendation: rely on 0.8, draw tentative conclusions from 0.667.
READING = (
    (0.8, "high enough to rely on the labels as they are"),
    (0.667, "high enough for tentative conclusions"),
    (0.2, "lower than usually required: it matters who gave a label"),
    (-1.0, "hardly better than chance: the labels say little unless you know whom to trust"),
)
WIDE_TABLE = 12  # annotators from which a table of pairs is set small


def agreement(summary: Summary) -> Html:
    """Overall agreement in words, pairs, suspected copying."""
    facts = summary.agreement
    if not facts["possible"]:
        return lead(
            "No item has labels by two annotators, so there is nothing to compare. Let several annotators "
            "label the same items."
        )
    return join([_overall(facts), _pairs(facts["pairs"]), _copying(facts.get("copying"))])


def _overall(facts: Facts) -> Html:
    alpha = facts["alpha"]
    words: list[Any] = [f"{counted(facts['n_compared'], 'item')} have at least two labels. "]
    if "percent" in facts:
        words.append(
            f"Two labels of the same item agree {percent(facts['percent'])} of the time; "
            f"{percent(facts['by_chance'])} would be expected by chance. "
        )
    if alpha is None:
        words.append("Only one label was ever used, so agreement beyond chance is not defined.")
    else:
        reading = next(text for least, text in READING if alpha >= least or least < 0)
        words.append(f"Krippendorff's alpha ({facts['level']} scale) is {alpha:.2f}, {reading}.")
    if facts.get("fleiss") is not None:
        words.append(f" Fleiss' kappa is {facts['fleiss']:.2f}.")
    words.append(" 1 is perfect agreement, 0 is the agreement expected by chance.")
    return lead(words)


def _pairs(facts: Facts) -> Html | None:
    """Square table of all pairs."""
    names, value, common = facts["annotators"], facts["value"], facts["n_items"]
    n = len(names)
    if n < 2:
        return None

    def cell(i: int, j: int) -> Html:
        if i == j:
            return el("td", cls="heat self")
        in_common = f"{counted(common[i][j], 'item')} in common"
        return heat(value[i][j], _short(value[i][j]), f"{name(names[i])}, {name(names[j])}: {in_common}")

    head = [el("th"), *(el("th", el("span", name(each)), scope="col", cls="up") for each in names)]
    rows = [[el("th", name(names[i]), scope="row"), *(cell(i, j) for j in range(n))] for i in range(n)]
    few = f" Shown: the {n} annotators with most labels of {whole(facts['of'])}." if n < facts["of"] else ""
    measure = f"Values: {facts['measure']}; blank with fewer than five items in common.{few}"
    size = "square wide" if n > WIDE_TABLE else "square"
    return join([el("h3", "Pairs of annotators"), table(head, rows, cls=size), note(measure)])


def _short(value: float | None) -> str:
    """Two decimals without the zero before the point: .42."""
    if value is None:
        return ""
    text = f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.0f}"
    return text.replace("-", "−")


def _copying(facts: Facts | None) -> Html | None:
    if facts is None or not facts["n_pairs"]:
        return None
    heading = el("h3", "Possible copying")
    tested = f"{counted(facts['n_pairs'], 'pair')}, compared on {counted(facts['n_items'], 'item')}"
    if not facts["n_suspects"]:
        return join([heading, el("p", f"None of {tested}, agrees more than their expertise explains.")])
    rows = [
        (
            join([bold_name(first), " and ", bold_name(second)]),
            f"{whole(observed)} of {whole(n)}",
            number(expected),
            number(wrong),
            f"{p:.1g}",
        )
        for first, second, n, observed, expected, wrong, p in zip(*facts["suspects"].values(), strict=True)
    ]
    n = facts["n_suspects"]
    words = (
        f"{whole(n)} of {tested}, {'agrees' if n == 1 else 'agree'} more than their expertise explains. One "
        "annotator may have copied from the other, or some items mislead both: look before you accuse anyone."
    )
    head = ("pair", "same label", "expected", "shared mistakes", "adjusted p")
    p_note = "Adjusted p: expected share of false alarms among the pairs down to this row."
    return join([heading, el("p", words), table(head, rows, (1, 2, 3, 4)), note(p_note)])
