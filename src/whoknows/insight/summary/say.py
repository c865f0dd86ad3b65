"""The most important of a fit in a few lines of plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whoknows.insight.summary.plain import Facts, called, count, digits, item_called, thousands

if TYPE_CHECKING:
    from whoknows.insight.summary.record import Summary

NAMED = 3  # annotators named at either end


def in_lines(summary: Summary) -> list[str]:
    """Return 8 to 15 lines."""
    return [*_given(summary.given), *_answer(summary), *_people(summary), *_rest(summary)]


def _given(given: Facts) -> Iterator[str]:
    features = count(given["n_features"], "feature") if given["n_features"] else "nothing known about them"
    yield (
        f"{count(given['n_labels'], 'label')} of {count(given['n_annotators'], 'annotator')} on "
        f"{thousands(given['n_labelled'])} of {count(given['n_items'], 'item')}, {features}."
    )
    yield from given["warnings"][:3]


def _answer(summary: Summary) -> Iterator[str]:
    answer, n = summary.answer, summary.given["n_items"]
    if summary.given["kind"] == "numbers":
        low, middle, high = (digits(answer["quartiles"][i]) for i in (1, 2, 3))
        yield f"Consensus: half of the items lie between {low} and {high}, the middle one at {middle}."
        yield f"A labelled item is known to within ± {digits(answer['std_labelled'])}, typically."
    else:
        yield (
            f"Consensus: {_balance(answer['balance'])}; {answer['n_sure'] / n:.0%} of the items are sure to "
            f"{answer['sure_above']:.0%} or more."
        )
    overruled, voted = thousands(answer["n_overruled"]), thousands(answer["n_voted"])
    what = "mean" if summary.given["kind"] == "numbers" else "majority"
    yield f"It differs from the {what} of an item's labels on {overruled} of {voted}."


def _balance(balance: Facts) -> str:
    shares = sorted(zip(balance["share"], balance["class"], strict=True), key=lambda pair: -pair[0])
    listed = ", ".join(f"{name} ({share:.0%})" for share, name in shares[:NAMED])
    return f"{listed}, …" if len(shares) > NAMED else listed


def _people(summary: Summary) -> Iterator[str]:
    table = summary.annotators
    n = len(table["annotator"])
    rows = range(n) if n <= 2 * NAMED else [*range(NAMED), *range(n - NAMED, n)]
    said = [f"{called(table['annotator'][i])} at {_how_good(table, i)}" for i in rows]
    if n <= 2 * NAMED:
        yield f"{_measure(summary)}: {', '.join(said)}."
    else:
        yield f"{_measure(summary)}, best: {', '.join(said[:NAMED])}."
        yield f"Worst of {thousands(n)}: {', '.join(said[NAMED:])}."
    varies = [profile for profile in summary.profiles if profile["varies"]]
    if summary.given["varies"] is None and summary.given["members"] is not None:
        yield "The labels cannot tell yet whether anyone is better on some items than on others."
        return
    if summary.given["varies"] is False or not (summary.given["varies"] or varies):
        yield "No sign that anyone is better on some items than on others."
        return
    if summary.given["varies"]:  # labels held out say so, not only the fit
        yield "Annotators are better on some items than on others."
    numbers = summary.given["kind"] == "numbers"
    for profile in sorted(varies, key=_gap)[:NAMED]:
        yield f"{called(profile['annotator'])} {_regions(profile, numbers)}."


def _measure(summary: Summary) -> str:
    return "Typical error" if summary.given["kind"] == "numbers" else "Probability of being right"


def _how_good(table: Any, i: int) -> str:
    if "typical_error" in table:
        return digits(table["typical_error"][i])
    return f"{table['expertise'][i]:.0%} ({table['low'][i]:.0%} to {table['high'][i]:.0%})"


def _gap(profile: Facts) -> float:
    return -abs(float(profile["strong"]["skill"] - profile["weak"]["skill"]))


def _regions(profile: Facts, numbers: bool) -> str:
    def side(name: str) -> str:
        region = profile[name]
        value = f"± {digits(region['skill'])}" if numbers else f"{region['skill']:.0%}"
        if region["words"]:
            where = f"where it mentions {', '.join(region['words'])}"
        elif region["where"]:
            where = f"where {' and '.join(region['where'])}"
        else:
            where = f"on texts such as {', '.join(str(case['item']) for case in region['examples'])}"
        return f"{name} {where} ({value})"

    return f"is {side('strong')}, {side('weak')}"


def _rest(summary: Summary) -> Iterator[str]:
    agreement = summary.agreement
    if agreement["possible"] and agreement["alpha"] is not None:
        yield (
            f"Krippendorff's alpha is {agreement['alpha']:.2f} (1 is full agreement, 0 chance), on "
            f"{count(agreement['n_compared'], 'item')} with several labels."
        )
    copying = agreement.get("copying")
    if copying and copying["n_suspects"]:
        first, second = (called(copying["suspects"][side][0]) for side in ("first", "second"))
        yield (
            f"{count(copying['n_suspects'], 'pair')} agreeing more than their expertise explains, first "
            f"of all {first} and {second}: one may have copied."
        )
    questions = summary.ask["questions"]
    if questions:
        first = f"{called(questions[0]['annotator'])} about {item_called(questions[0]['item'])}"
        yield f"Ask next: {first}, and {len(questions) - 1} more."
