"""Annotators from the best to the worst, with how sure that is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whoknows.apps.charts import Html, el, interval, join, ticks
from whoknows.apps.report.words import fold, name, number, percent, signed, skill, table, whole
from whoknows.insight.summary import Summary
from whoknows.insight.summary.plain import Table

WHOLE = 60  # annotators up to which nobody is folded away
ENDS = 25  # of more, so many at the top and at the bottom
FOLDED = 2_000  # rows that are folded away at most; the rest is in annotators.csv
NOTE = (
    "Right: probability of being right, averaged over items, labelled or not; the line is its 90% interval. "
    "Agrees: share of one's labels that are the consensus. All are in annotators.csv."
)
NOTE_OF_NUMBERS = (
    "Typical error: standard deviation around the truth, once the bias is taken off. Bias: how much more "
    "than the truth one says. Agrees: correlation with the consensus. All are in annotators.csv."
)
MORE: dict[str, tuple[str, Any]] = {  # columns that only some fits have: title, and how to write it
    "severity": ("severity", "{:+.2f}".format),
    "n_gold": ("gold items", whole),
    "right_on_gold": ("right on gold", percent),
    "error_on_gold": ("error on gold", number),
}


def ranking(summary: Summary, numbers: bool) -> Html:
    """Everybody; of a large crowd both ends, the others to open."""
    columns = summary.annotators
    n, note = len(columns["annotator"]), el("p", NOTE_OF_NUMBERS if numbers else NOTE, cls="note")
    if n <= WHOLE:
        return join([_table(columns, numbers, range(n)), note])
    middle = range(ENDS, n - ENDS)[:FOLDED]
    ends = [*range(ENDS), None, *range(n - ENDS, n)]
    said = el("p", f"The {ENDS} at the top and the {ENDS} at the bottom of {whole(n)}.", cls="note")
    rest = fold(f"The {whole(len(middle))} after the first {ENDS}", _table(columns, numbers, middle))
    return join([said, _table(columns, numbers, ends), rest, note])


def _table(columns: Table, numbers: bool, rows: Iterable[int | None]) -> Html:
    axis, labels = _axis(columns, numbers)
    more = [key for key in MORE if key in columns]
    head = [
        "",
        "annotator",
        el("th", ticks(labels), cls="axis", scope="col"),
        "typical error" if numbers else "right",
        "bias" if numbers else el("th", "90% interval", scope="col", cls="num roomy"),
        "labels",
        "agrees",
        *(MORE[key][0] for key in more),
    ]
    gap = [el("td", "⋮", colspan=len(head), cls="gap")]
    body = [gap if i is None else _row(columns, numbers, i, axis, more) for i in rows]
    return table(head, body, (0, *range(3, len(head))), cls="ranking")


def _row(columns: Table, numbers: bool, i: int, axis: tuple[float, float], more: list[str]) -> list[Any]:
    value = columns["typical_error" if numbers else "expertise"][i]
    low, high, agrees = (columns[key][i] for key in ("low", "high", "agreement_with_consensus"))
    between = el("td", f"{percent(low)} to {percent(high)}", cls="num roomy")
    return [
        whole(i + 1),
        el("th", name(columns["annotator"][i]), scope="row"),
        interval(low, value, high, axis),
        skill(value, numbers),
        signed(columns["bias"][i]) if numbers else between,
        whole(columns["n_labels"][i]),
        number(agrees) if numbers else percent(agrees),
        *(MORE[key][1](columns[key][i]) for key in more),
    ]


def _axis(columns: Table, numbers: bool) -> tuple[tuple[float, float], list[str]]:
    """Ends of the axis, and what stands along it."""
    if numbers:
        most = max(columns["typical_error"]) * 1.05 or 1.0
        return (0.0, most), ["0", number(most / 2), number(most)]
    start = min(int(min(columns["low"]) * 10) / 10, 0.8)
    return (start, 1.0), [percent(start), percent((start + 1) / 2), "100%"]
