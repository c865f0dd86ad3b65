"""Annotators: the ranking, and a page for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whoknows.apps import charts
from whoknows.apps.charts import Html, el, lead, note, table, tiles
from whoknows.apps.report import annotators as report
from whoknows.apps.report import formatting as fmt
from whoknows.apps.report.scales import CategoricalScale, scale_of
from whoknows.apps.web.pages.shell import PageLinks, section
from whoknows.apps.web.pages.times import moment
from whoknows.apps.web.results import profile_of, row_of
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts


def ranking(summary: Summary, links: PageLinks) -> Iterator[Html]:
    """Content of the page of all annotators."""
    yield report.best_and_worst(summary)
    yield section("Ranking", *report.ranking(summary, links))
    for name, kinds in summary.kinds.items():
        yield section(f"By {name}", *report.kinds_of_items(kinds))


def one_annotator(summary: Summary, annotator: str, history: Sequence[Facts], links: PageLinks) -> Iterator[Html]:
    """Content of the page of one annotator.

    ``history`` has the row of each earlier fit, the oldest first, with ``when``.
    """
    row, profile, scale = row_of(summary.annotators, annotator), profile_of(summary, annotator), scale_of(summary)
    if row is None:
        yield lead("The last fit does not know this annotator yet. Fit again to see how good their labels are.")
        return
    yield tiles(list(_numbers(row, len(summary.annotators["annotator"]), scale)))
    if profile is None:
        yield note("Regions are computed for the best and the worst annotators and those with most labels only.")
    else:
        yield section("Where strong, where weak", _regions(summary, profile, scale, links))
        yield from _habits(profile, summary.given["classes"])
    yield section("History", *_history(history, scale))


def _numbers(row: Facts, n: int, scale: CategoricalScale) -> Iterator[tuple[str, str]]:
    measure = scale.words["measure"]
    if row.get("low") is not None:
        measure += f", 90% interval {scale.skill(row['low'])} to {scale.skill(row['high'])}"
    yield scale.skill(row[scale.skill_column]), measure
    yield f"{fmt.whole(row['place'])} of {fmt.whole(n)}", "place in the ranking"
    yield fmt.whole(row["n_labels"]), "labels"
    _, agreement = scale.ranking["agreement_with_consensus"]
    yield agreement(row["agreement_with_consensus"]), "agreement with the consensus"


def _regions(summary: Summary, profile: Facts, scale: CategoricalScale, links: PageLinks) -> Html:
    found = report.regions(profile, scale, links) or [el("p", summary.given["variation"]["sentence"])]
    words = el("div", found)
    if not report.has_map(summary):
        return words
    drawn = el("div", report.small_map(summary, profile), report.skill_legend(summary), cls="profile-map")
    return el("div", drawn, words, cls="profile")


def _habits(profile: Facts, classes: list[Any]) -> Iterator[Html]:
    """Severity or bias, and which classes are taken for which."""
    direction, confused = report.tendency(profile), report.confusion(profile, classes)
    if direction is not None:
        yield section("Severity" if "severity" in profile else "Bias", direction)
    if confused is not None:
        yield section(confused[0], *confused[1])


def _history(history: Sequence[Facts], scale: CategoricalScale) -> Iterator[Html]:
    """Skill in each fit, the newest first."""
    columns = {key: [each.get(key) for each in history] for key in (scale.skill_column, "low", "high")}
    axis, labels = scale.rank_axis(columns)
    head: list[Any] = [
        "fit",
        el("th", charts.ticks(labels), cls="axis", scope="col"),
        scale.ranking[scale.skill_column][0],
        "labels",
    ]
    rows = [
        (
            moment(each["when"]),
            charts.interval(each.get("low"), each[scale.skill_column], each.get("high"), axis),
            scale.skill(each[scale.skill_column]),
            fmt.whole(each["n_labels"]),
        )
        for each in reversed(history)
    ]
    yield table(head, rows, (2, 3), cls="ranking")
    if len(history) == 1:
        yield note("There is one fit so far.")
