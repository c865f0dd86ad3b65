"""Annotators: their ranking, the map of expertise, a card for each, their agreement, who may have copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whoknows.apps import charts
from whoknows.apps.charts import Html, bullets, el, fold, join, lead, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.report.scales import CategoricalScale, scale_of
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts, annotator_name, region_name

RANKING_PAGE = 25  # rows of the ranking that the script shows at a time
MAX_RANKED = 2_000  # annotators in the ranking; the rest is in annotators.csv
MAX_KINDS = 12  # kinds of items with a column each; the rest is in kinds.csv
OPEN_CARDS = 12  # cards that are not folded
FEW_CLASSES = 3  # up to which the probability of being right is given for each
# Krippendorff's recommendation: rely on 0.8, draw tentative conclusions from 0.667.
READING = (
    (0.8, "high enough to rely on the labels as they are"),
    (0.667, "high enough for tentative conclusions"),
    (0.2, "lower than usually required: it matters who gave a label"),
    (-1.0, "hardly better than chance: the labels say little unless you know whom to trust"),
)
WIDE_TABLE = 12  # annotators from which a table of pairs is set small


def annotators(summary: Summary) -> Iterator[Html]:
    """Ranking, map and cards."""
    scale = scale_of(summary)
    yield best_and_worst(summary)
    yield el("h3", "Ranking")
    yield from ranking(summary)
    if has_map(summary):
        yield el("h3", "Map of expertise")
        yield item_map(summary)
    for name, kinds in summary.kinds.items():
        yield el("h3", f"By {name}")
        yield from kinds_of_items(kinds)
    yield el("h3", "Profiles")
    yield _cards(summary, scale)


def best_and_worst(summary: Summary) -> Html:
    """The best and the worst annotator, and whether expertise depends on the item."""
    scale = scale_of(summary)
    names, skills = summary.annotators["annotator"], summary.annotators[scale.skill_column]
    first, last = ([fmt.bold_name(names[i]), f" ({scale.skill(skills[i])})"] for i in (0, -1))
    if len(names) == 1:
        words: list[Any] = ["There is one annotator, ", *first, "."]
    else:
        words = [
            "On average over all items, ",
            *first,
            f" {scale.words['best']} and ",
            *last,
            f" {scale.words['worst']}.",
        ]
    return lead(words, f" {summary.given['variation']['sentence']}")


# --- ranking ---------------------------------------------------------------------------------------


def ranking(summary: Summary, links: fmt.Links = fmt.IN_REPORT) -> Iterator[Html]:
    """All annotators, best first; the script shows them page by page, and those on the map colour it."""
    columns, on_map, scale = summary.annotators, _on_map(summary), scale_of(summary)
    axis, labels = scale.rank_axis(columns)
    columns = columns | {"interval": list(zip(columns["low"], columns["high"], strict=True))}
    shown = {key: column for key, column in scale.ranking.items() if key in columns}
    chart = el("th", charts.ticks(labels), cls="axis", scope="col")
    head = ["", "annotator", chart, *(heading for heading, _ in shown.values())]

    def row(i: int) -> list[Any]:
        name, skill = columns["annotator"][i], columns[scale.skill_column][i]
        return [
            fmt.whole(i + 1),
            el("th", links.annotator(name, on_map.get(name)), scope="row"),
            charts.interval(columns["low"][i], skill, columns["high"][i], axis),
            *(show(columns[key][i]) for key, (_, show) in shown.items()),
        ]

    n = len(columns["annotator"])
    rows = map(row, range(min(n, MAX_RANKED)))
    yield table(head, rows, (0, *range(3, len(head))), cls="ranking", page=RANKING_PAGE)
    first = f" Shown: the first {fmt.whole(MAX_RANKED)} of {fmt.whole(n)}." if n > MAX_RANKED else ""
    yield note(scale.words["ranking_note"], first, " All annotators are in annotators.csv.")


# --- kinds of items --------------------------------------------------------------------------------


def kinds_of_items(kinds: Facts) -> Iterator[Html]:
    """How often each annotator is right on each kind of item: a column per kind."""
    keys = ("annotator", "kind", "right", "low", "high", "n_labels")
    cells = {(a, k): (right, low, high, n) for a, k, right, low, high, n in zip(*map(kinds.get, keys), strict=True)}
    names, shown = (list(dict.fromkeys(kinds[key])) for key in ("annotator", "kind"))
    shown = sorted(shown, key=str)[:MAX_KINDS]

    def row(name: Any) -> list[Any]:
        return [el("th", el("bdi", fmt.name(name)), scope="row"), *(_share(cells.get((name, k))) for k in shown)]

    head = ["annotator", *map(fmt.name, shown)]
    yield table(head, map(row, names[:MAX_RANKED]), range(1, len(head)), page=RANKING_PAGE)
    more = f" Shown: the first {MAX_KINDS} kinds." if len(shown) < len(set(kinds["kind"])) else ""
    yield note(f"Share of labels that are right by the consensus, with a 90% interval, and their number.{more}")


def _share(cell: tuple[Any, ...] | None) -> str:
    """Share of labels that are right, its interval, and the number of labels."""
    if cell is None:
        return fmt.NOTHING
    right, low, high, n = cell
    return f"{fmt.percent(right)} ({fmt.percent(low)} to {fmt.percent(high)}), {fmt.whole(n)}"


# --- map -------------------------------------------------------------------------------------------


def item_map(summary: Summary) -> Html:
    """How to read the map, the map, and lists for a region of it; without script, where to look instead."""
    facts, gaps = summary.map, [_gap(profile) for profile in summary.profiles]
    first = gaps.index(max(gaps))  # the annotator whose regions differ most
    names = map(annotator_name, facts["annotators"])
    shown, total = len(facts["item"]), fmt.counted(facts["n_items"], "item")
    return fmt.template(
        "map.html",
        sample=total if shown == facts["n_items"] else f"{fmt.whole(shown)} of {total}, drawn at random",
        axes=_axes(facts["axes"]),
        options=[el("option", each, value=k, selected=k == first) for k, each in enumerate(names)],
        legend=skill_legend(summary),
    )


def _on_map(summary: Summary) -> dict[Any, int]:
    """Position of each annotator that the map can be coloured by."""
    return {name: k for k, name in enumerate(summary.map["annotators"])} if has_map(summary) else {}


def has_map(summary: Summary) -> bool:
    """Whether items have features, by which they can be close to each other."""
    return bool(summary.given["n_features"])


def _gap(profile: Facts) -> float:
    """Difference in skill between the regions of an annotator."""
    return abs(profile["strong"]["skill"] - profile["weak"]["skill"]) if profile["varies"] else 0.0


def _axes(axes: list[Facts]) -> str:
    """What the axes of the map stand for."""
    shares = [f"({fmt.percent(axis['share'])} of the variance)" for axis in axes]
    if axes[0]["share"] and not axes[0]["features"]:
        first = f"Left to right: the main difference between the items {shares[0]}"
        return f"{first}; bottom to top: the second {shares[1]}."
    parts = [
        f"{where} mostly {' and '.join(axis['features'][:2])} {share}"
        for where, axis, share in zip(("left to right", "bottom to top"), axes, shares, strict=True)
        if axis["features"] and axis["share"]
    ]
    return f"Axes: {'; '.join(parts)}." if parts else ""


# --- cards -----------------------------------------------------------------------------------------


def _cards(summary: Summary, scale: CategoricalScale) -> Html:
    """A card for each annotator with a profile."""
    cards = [_card(summary, profile, scale) for profile in summary.profiles]
    n, more = fmt.counted(len(summary.annotators["annotator"]), "annotator"), cards[OPEN_CARDS:]
    selection = f"{len(cards)} of {n}: the best, the worst and those with most labels."
    return fmt.template(
        "cards.html",
        selection=note(selection) if len(cards) < len(summary.annotators["annotator"]) else None,
        regions=fmt.template("regions.html") if any(each["varies"] for each in summary.profiles) else None,
        legend=skill_legend(summary, "small maps: ") if has_map(summary) else None,
        cards=cards[:OPEN_CARDS],
        more=fold(f"{len(more)} more", el("div", more, cls="cards")) if more else None,
    )


def skill_legend(summary: Summary, caption: str = "") -> Html:
    """Colours of the maps."""
    scale = scale_of(summary)
    ends = [scale.skill(end) for end in scale.domain(summary.map["domain"])]
    return charts.color_legend(ends, f"{caption}{scale.words['measure']}")


def _card(summary: Summary, profile: Facts, scale: CategoricalScale) -> Html:
    total, limits = fmt.whole(len(summary.annotators["annotator"])), None
    if profile["low"] is not None:
        limits = f" ({fmt.percent(profile['low'])} to {fmt.percent(profile['high'])})"
    place = f", rank {fmt.whole(profile['place'])} of {total}, {fmt.counted(profile['n_labels'], 'label')}"
    skill = el("b", scale.skill(profile[scale.skill_column]))
    who = profile["annotator"]
    name = el("bdi", annotator_name(who), data_who=_on_map(summary).get(who))
    head = el("div", el("h4", name), el("p", skill, limits, place))
    return el(
        "article",
        el("div", small_map(summary, profile), head, cls="who") if has_map(summary) else head,
        regions(profile, scale),
        tendency(profile),
        _folded_confusion(profile, summary.given["classes"]),
        cls="card",
    )


def small_map(summary: Summary, profile: Facts) -> Html:
    """Skill of an annotator on the map of the items."""
    facts, scale = summary.map, scale_of(summary)
    grid = facts["grid"]["columns"], facts["grid"]["lines"]
    return charts.small_map(facts["grid"]["cell"], profile["map"], grid, scale.domain(facts["domain"]))


def tendency(profile: Facts) -> Html | None:
    """Severity of ordered levels, bias of numbers; classes have no direction."""
    if "severity" in profile:
        severity, spread = profile["severity"], fmt.number(profile["spread"])
        shift = f"{fmt.number(abs(severity))} levels {'higher' if severity > 0 else 'lower'} than the crowd"
        return el("p", f"Scores {shift}, with a standard deviation of {spread}.")
    if "bias" in profile:
        size, direction = fmt.number(abs(profile["bias"])), "above" if profile["bias"] > 0 else "below"
        return el("p", "Labels are on average ", el("b", size), f" {direction} the truth.")
    return None


def regions(profile: Facts, scale: CategoricalScale, links: fmt.Links = fmt.IN_REPORT) -> list[Html]:
    """Where an annotator is strong and where weak."""
    if profile["varies"]:
        return [_region(side, profile[side], scale, links) for side in ("strong", "weak")]
    if profile["range"] is None:
        return []
    low, high = (scale.skill(end) for end in profile["range"])
    span = f"{low} on nearly all items" if low == high else f"{low} to {high} on 90% of the items"
    finding = "No region stands out" if profile["uneven"] else "About equally good everywhere"
    return [el("p", f"{finding}: {span}.")]


def _region(side: str, region: Facts, scale: CategoricalScale, links: fmt.Links) -> Html:
    """Conditions, skill, size and examples of a region."""
    where: Any = f" {region_name(region)}"
    words = None
    if region["where"]:
        where = [" where ", fmt.listed([el("span", condition, cls="where") for condition in region["where"]])]
        words = el("p", "Typical words: ", el("i", ", ".join(region["words"]))) if region["words"] else None
    own = f"{fmt.counted(region['n_labels'], 'own label')} there"
    if region["agreement"] is not None:
        own += f", {fmt.percent(region['agreement'])} of them equal to the consensus"
    return el(
        "div",
        el("p", el("b", side.capitalize()), where, ": ", el("b", scale.skill(region["skill"]))),
        words,
        note(f"{fmt.percent(region['share'])} of the items; {own}."),
        _examples(region["examples"], links),
        cls=f"where-{side}",
    )


def _examples(cases: list[Facts], links: fmt.Links) -> Html:
    """Items with the most extreme skill, folded if there are texts or images."""
    if not any("text" in case or "image" in case for case in cases):
        return note("For example ", join([links.item(case["item"]) for case in cases], ", "), ".")
    return fold("Examples", bullets([fmt.item(case, links) for case in cases], cls="examples"))


def _folded_confusion(profile: Facts, classes: list[Any]) -> Html | None:
    found = confusion(profile, classes)
    return None if found is None else join([_right_by_class(profile, classes), fold(found[0], *found[1])])


def confusion(profile: Facts, classes: list[Any]) -> tuple[str, list[Html]] | None:
    """Confusion matrix, or the most frequent mistakes of many classes: title and content."""
    if "mistakes" not in profile:
        return None
    if profile["confusion"] is None:
        mistakes = [
            [fmt.quoted(one["says"]), " for ", fmt.quoted(one["truth"]), f": {fmt.percent(one['share'])}"]
            for one in profile["mistakes"]
        ]
        return "Most frequent mistakes", [bullets(mistakes)]
    head = [el("td"), *(el("th", fmt.name(each), scope="col") for each in classes)]
    rows = [
        [el("th", fmt.name(truth), scope="row"), *(charts.heat(value, fmt.percent(value).rstrip("%")) for value in row)]
        for truth, row in zip(classes, profile["confusion"], strict=True)
    ]
    how_to_read = note("Rows: true class. Columns: label given, in percent of the row.")
    return "Confusion matrix", [how_to_read, table(head, rows, cls="square")]


def _right_by_class(profile: Facts, classes: list[Any]) -> Html | None:
    """How often an annotator is right on items of each class, if there are few and they differ."""
    if profile["confusion"] is None or len(classes) > FEW_CLASSES:
        return None
    right = [fmt.percent(profile["confusion"][k][k]) for k in range(len(classes))]
    if len(set(right)) == 1:
        return None
    shares = [join([fmt.quoted(label), f" {share}"]) for label, share in zip(classes, right, strict=True)]
    return el("p", "Right by true class: ", join(shares, ", "), ".")


# --- agreement -------------------------------------------------------------------------------------


def agreement(summary: Summary) -> Iterator[Html]:
    """Overall agreement in words, pairs, suspected copying."""
    facts = summary.agreement
    if not facts["possible"]:
        yield lead("There is nothing to compare: no item has labels by two annotators.")
        return
    yield lead(*_overall(facts))
    if len(facts["pairs"]["annotators"]) > 1:
        yield el("h3", "Pairs of annotators")
        yield from _pairs(facts["pairs"])
    if facts.get("together"):
        yield el("h3", "Annotators who err together")
        yield from _together(facts["together"])
    if facts.get("copying") and facts["copying"]["n_pairs"]:
        yield el("h3", "Possible copying")
        yield from _copying(facts["copying"])


def _overall(facts: Facts) -> Iterator[str]:
    alpha = facts["alpha"]
    yield f"{fmt.counted(facts['n_compared'], 'item')} have at least two labels. "
    if "percent" in facts:
        yield f"Two labels of the same item agree {fmt.percent(facts['percent'])} of the time; "
        yield f"{fmt.percent(facts['by_chance'])} would be expected by chance. "
    if alpha is None:
        yield "Only one label was ever used, so agreement beyond chance is not defined."
    else:
        reading = next(text for least, text in READING if alpha >= least or least < 0)
        yield f"Krippendorff's alpha ({facts['level']} scale) is {alpha:.2f}, {reading}."
    if facts.get("fleiss") is not None:
        yield f" Fleiss' kappa is {facts['fleiss']:.2f}."
    yield " 1 is perfect agreement, 0 is the agreement expected by chance."


def _pairs(facts: Facts) -> Iterator[Html]:
    """Square table of all pairs."""
    names, value, common = facts["annotators"], facts["value"], facts["n_items"]
    n = len(names)

    def cell(i: int, j: int) -> Html:
        if i == j:
            return el("td", cls="heat self")
        pair = f"{fmt.name(names[i])}, {fmt.name(names[j])}"
        title = f"{pair}: {fmt.counted(common[i][j], 'item')} in common"
        return charts.heat(value[i][j], _short(value[i][j]), title)

    head = [el("td"), *(el("th", el("span", fmt.name(each)), scope="col", cls="up") for each in names)]
    rows = [
        [el("th", fmt.name(names[i]), scope="row", title=str(names[i])), *(cell(i, j) for j in range(n))]
        for i in range(n)
    ]
    yield table(head, rows, cls="square wide" if n > WIDE_TABLE else "square")
    total = fmt.whole(facts["of"])
    few = f" Shown: the {n} annotators with most labels of {total}." if n < facts["of"] else ""
    yield note(f"Values: {facts['measure']}; blank with fewer than five items in common.{few}")


def _short(value: float | None) -> str:
    """Two decimals without the zero before the point: .42."""
    if value is None:
        return ""
    text = f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.0f}"
    return text.replace("-", "−")


def _together(facts: Facts) -> Iterator[Html]:
    source = "on the gold items" if facts["by_gold"] else "according to the model"
    correlation = f" The errors of two annotators correlate by {facts['mean']:.2f} on average, {source}."
    yield el("p", facts["finding"], correlation, f" {facts.get('by_annotator', '')}".rstrip())
    if not facts["by_gold"]:
        yield note("Errors that all annotators share do not show without gold, which may give a smaller number.")


def _copying(facts: Facts) -> Iterator[Html]:
    compared = f" They were compared on {fmt.counted(facts['n_items'], 'item')}."
    if not facts["n_suspects"]:
        yield el("p", facts["finding"], compared)
        return
    suspects = zip(*facts["suspects"].values(), strict=True)
    rows = [
        (
            join([fmt.bold_name(first), " and ", fmt.bold_name(second)]),
            f"{fmt.whole(observed)} of {fmt.whole(common)}",
            fmt.number(expected),
            fmt.number(wrong),
            f"{p:.1g}",
        )
        for first, second, common, observed, expected, wrong, p in suspects
    ]
    head = ("pair", "same label", "expected", "shared mistakes", "adjusted p")
    found = f"{facts['finding']}{compared} {facts['caveat']}"
    yield fmt.template("copying.html", found=found, pairs=table(head, rows, (1, 2, 3, 4)))
