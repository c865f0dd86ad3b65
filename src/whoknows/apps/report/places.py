"""The map of expertise: what the script draws on, and the lists it fills."""

from __future__ import annotations

from whoknows.apps.charts import Html, el, join, scale
from whoknows.apps.report.words import many, percent, skill, whole
from whoknows.insight.summary import Summary
from whoknows.insight.summary.plain import Facts, called


def places(summary: Summary, numbers: bool) -> Html:
    """Words, the map and what lies in a region of it; without script, where to look instead."""
    facts = summary.map
    drawn, total = len(facts["item"]), facts["n_items"]
    sample = (
        f"{whole(drawn)} of {many(total, 'item')}, drawn at random" if drawn < total else many(total, "item")
    )
    words = (
        f"Each dot is an item ({sample}); items alike lie near each other. The bluer, the more the annotator "
        f"can be trusted there. {_axes(facts['axes'])}"
    )
    without = el("p", "The map needs JavaScript; the small maps below do not.", cls="note without-script")
    both = el("div", _map(summary, numbers), _region(), cls="map needs-script")
    return join([el("p", words), without, both])


def _map(summary: Summary, numbers: bool) -> Html:
    facts, first = summary.map, _most_varied(summary)
    options = [
        el("option", called(who), value=k, selected=k == first) for k, who in enumerate(facts["annotators"])
    ]
    options.append(el("option", "how sure the consensus is", value="sure"))
    ends = [skill(end, numbers) for end in facts["domain"]]
    tools = [
        el("label", "Coloured by ", el("select", options, id="map-who")),
        el("button", "Show all items", id="map-clear", type="button", disabled=True),
    ]
    return el(
        "div",
        el("p", tools, cls="tools"),
        el("canvas", id="map", tabindex="0", role="img", aria_label="Map of the items"),
        scale(ends[::-1] if numbers else ends, "typical error" if numbers else "probability of being right"),
        el("p", "Drag over the map to choose a region.", cls="note", id="map-hint"),
    )


def _region() -> Html:
    """Where the script lists annotators and items of a region."""
    return el(
        "div",
        el("h4", "All items", id="map-count", aria_live="polite"),
        el("div", id="map-ranking"),
        el("div", id="map-items"),
        cls="region",
    )


def _most_varied(summary: Summary) -> int:
    """Position of the annotator whose regions differ most: the map to see first."""
    gaps = [
        abs(profile["strong"]["skill"] - profile["weak"]["skill"]) if profile["varies"] else 0.0
        for profile in summary.profiles
    ]
    return gaps.index(max(gaps))


def _axes(axes: list[Facts]) -> str:
    """What makes items lie left or right, low or high."""
    if axes[0]["share"] and not axes[0]["features"]:
        shares = [f"{percent(axis['share'])} of the differences" for axis in axes]
        return (
            f"Left to right: what sets texts apart most ({shares[0]}); bottom to top: what sets them apart "
            f"next ({shares[1]})."
        )
    told = [
        f"{where} mostly {' and '.join(axis['features'][:2])} ({percent(axis['share'])} of the differences)"
        for where, axis in zip(("left to right", "bottom to top"), axes, strict=True)
        if axis["features"] and axis["share"]
    ]
    return f"What sets items apart: {'; '.join(told)}." if told else ""
