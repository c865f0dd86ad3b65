"""Who knows what: the ranking, the map, and a card for each annotator."""

from __future__ import annotations

from typing import Any

from whoknows.apps.charts import Html, el, join
from whoknows.apps.report.cards import cards
from whoknows.apps.report.places import places
from whoknows.apps.report.ranking import ranking
from whoknows.apps.report.words import person, skill
from whoknows.insight.summary import Summary


def people(summary: Summary) -> Html:
    """Ranking, map and cards."""
    numbers = summary.given["kind"] == "numbers"
    return join(
        [
            _in_words(summary, numbers),
            el("h3", "Ranking"),
            ranking(summary, numbers),
            el("h3", "Map of expertise"),
            places(summary, numbers),
            el("h3", "One by one"),
            cards(summary, numbers),
        ]
    )


def _in_words(summary: Summary, numbers: bool) -> Html:
    who = summary.annotators["annotator"]
    key = "typical_error" if numbers else "expertise"
    best = [person(who[0]), f" ({skill(summary.annotators[key][0], numbers)})"]
    if len(who) == 1:
        words: list[Any] = ["There is one annotator, ", *best, "."]
    else:
        measure = "is off least" if numbers else "is right most often"
        last = f" ({skill(summary.annotators[key][-1], numbers)})"
        end = " most." if numbers else " least often."
        words = ["On average over all items ", *best, f" {measure}, ", person(who[-1]), last, end]
    varying, looked = sum(profile["varies"] for profile in summary.profiles), len(summary.profiles)
    words.append(
        f" How good they are depends on the item for {varying} of the {looked} looked at closely."
        if varying
        else " Nobody was found to be much better on some items than on others."
    )
    varies, several = summary.given["varies"], summary.given["members"] is not None
    if several and varying and not varies:
        doubt = "cannot tell yet" if varies is None else "are foretold no better for it"
        words.append(f" But labels held out as a check {doubt}: take what is said of regions with care.")
    return el("p", words, cls="lead")
