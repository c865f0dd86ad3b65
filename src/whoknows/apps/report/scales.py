"""What a report says about classes, about ordered levels and about numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from whoknows.apps.charts import Html, bar, bullets, el, join, lead, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts, Table, annotator_name

NAMED = 3  # classes in a sentence


def _interval(low_high: tuple[float, float]) -> Html:
    return el("td", f"{fmt.percent(low_high[0])} to {fmt.percent(low_high[1])}", cls="num roomy")


@dataclass(frozen=True)
class CategoricalScale:
    """Classes, ordered or not; the skill of an annotator is the probability of being right."""

    words: dict[str, str]  # what the report calls things, and longer explanations

    skill_column = "expertise"
    script = "probability"  # name of this scale in map.js
    ranking: ClassVar[dict[str, tuple[Any, Callable[[Any], Any]]]] = {  # columns: heading and format
        "expertise": ("right", fmt.percent),
        "interval": (el("th", "90% interval", scope="col", cls="num roomy"), _interval),
        "n_labels": ("labels", fmt.whole),
        "agreement_with_consensus": ("agrees", fmt.percent),
        "severity": ("severity", "{:+.2f}".format),
        "n_gold": ("gold items", fmt.whole),
        "right_on_gold": ("right on gold", fmt.percent),
    }

    label = staticmethod(fmt.name)  # format of a label or the consensus
    skill = staticmethod(fmt.percent)
    edge = staticmethod(fmt.percent)  # of the histogram

    def certainty(self, case: Facts) -> str:
        """Probability of the consensus."""
        return fmt.percent(case["confidence"])

    def verdict(self, case: Facts) -> Html:
        """Consensus of an item and how certain it is."""
        return join([el("b", self.label(case["consensus"])), " ", el("small", self.certainty(case))])

    def labels(self, case: Facts) -> Html:
        """Annotators by the label they gave, with the skill of each on this item."""
        by_label: dict[str, list[Html]] = {}
        for voice in case["voices"]:
            skill = el("small", self.skill(voice["trust"]))
            who = join([el("bdi", annotator_name(voice["annotator"])), " ", skill])
            by_label.setdefault(self.label(voice["label"]), []).append(who)
        shown: list[Any] = [[el("b", label), ": ", join(names, ", ")] for label, names in by_label.items()]
        if case["more_voices"]:
            shown.append(f"and {fmt.whole(case['more_voices'])} more")
        return bullets(shown, cls="voices")

    def prediction(self, case: Facts) -> Html:
        """Consensus predicted from the features alone; a class with its probability."""
        share = case.get("p_from_features")
        probability = None if share is None else [" ", el("small", fmt.percent(share))]
        return join([self.label(case.get("from_features")), probability])

    def domain(self, limits: Sequence[float]) -> list[float]:
        """Skill of the worst and of the best colour."""
        return list(limits)

    def consensus_lead(self, summary: Summary) -> Html:
        """Class balance and certainty in words."""
        facts, balance, n = summary.answer, summary.answer["balance"], summary.given["n_items"]
        shares = sorted(zip(balance["share"], balance["class"], strict=True), key=lambda pair: -pair[0])
        top = [join([fmt.quoted(label), f" ({fmt.percent(share)})"]) for share, label in shares[:NAMED]]
        rest = f" and {len(shares) - NAMED} more" if len(shares) > NAMED else ""
        certain = f"{fmt.whole(facts['n_sure'])} of {fmt.counted(n, 'item')}"
        least = fmt.percent(facts["sure_above"])
        return lead(
            f"{certain} ({fmt.percent(facts['n_sure'] / n)}) are certain: the consensus has a probability of "
            f"at least {least}. Classes: ",
            join(top, ", "),
            f"{rest}.",
        )

    def distribution(self, facts: Facts) -> Html:
        """Class balance."""
        balance = facts["balance"]
        shares, of_labels = balance["share"], balance["share_of_labels"]
        most = max(*shares, *of_labels) or 1
        bars = [bar(one / most, other / most) for one, other in zip(shares, of_labels, strict=True)]
        percents = map(fmt.percent, shares), (el("td", fmt.percent(each), cls="num roomy") for each in of_labels)
        names, counts = map(fmt.name, balance["class"]), map(fmt.whole, balance["items"])
        rows = zip(names, bars, counts, *percents, strict=True)
        head = ("class", "", "items", "share", el("th", "share of labels", scope="col", cls="num roomy"))
        return el(
            "div",
            el("h3", "Class balance"),
            table(head, rows, (2, 3, 4), cls="bars"),
            note("Bar: share of the class in the consensus. Mark: its share of the labels."),
        )

    def rank_axis(self, columns: Table) -> tuple[tuple[float, float], list[str]]:
        """Ends of the axis of the ranking, and its labels."""
        start = min(int(min(columns["low"]) * 10) / 10, 0.8)
        return (start, 1.0), [fmt.percent(start), fmt.percent((start + 1) / 2), "100%"]


class NumericScale(CategoricalScale):
    """Numbers; the skill of an annotator is a typical error."""

    skill_column = "typical_error"
    script = "error"
    ranking: ClassVar[dict[str, tuple[Any, Callable[[Any], Any]]]] = {
        "typical_error": ("typical error", fmt.plus_minus),
        "bias": ("bias", fmt.signed),
        "n_labels": ("labels", fmt.whole),
        "agreement_with_consensus": ("agrees", fmt.number),
        "n_gold": ("gold items", fmt.whole),
        "error_on_gold": ("error on gold", fmt.number),
    }

    label = staticmethod(fmt.number)
    skill = staticmethod(fmt.plus_minus)
    edge = staticmethod(fmt.number)

    def certainty(self, case: Facts) -> str:
        """Standard deviation of the consensus."""
        return self.skill(case["std"])

    def domain(self, limits: Sequence[float]) -> list[float]:
        """Error of the worst and of the best colour."""
        return list(limits)[::-1]

    def consensus_lead(self, summary: Summary) -> Html:
        """Quartiles and uncertainty in words."""
        facts = summary.answer
        low, median, high = (fmt.number(facts["quartiles"][k]) for k in (1, 2, 3))
        unlabelled = facts["std_unlabelled"]
        return lead(
            f"Half of the items lie between {low} and {high}; the median is {median}. The typical "
            f"uncertainty is ± {fmt.number(facts['std_labelled'])} for labelled items",
            f" and ± {fmt.number(unlabelled)} for unlabelled items." if unlabelled is not None else ".",
        )

    def distribution(self, facts: Facts) -> Html:
        """Quartiles of consensus and labels."""
        names = ("minimum", "lower quartile", "median", "upper quartile", "maximum")
        columns = zip(names, facts["quartiles"], facts["quartiles_of_labels"], strict=True)
        rows = [(what, fmt.number(consensus), fmt.number(labels)) for what, consensus, labels in columns]
        return el("div", el("h3", "Quartiles"), table(("", "consensus", "labels"), rows, (1, 2)))

    def rank_axis(self, columns: Table) -> tuple[tuple[float, float], list[str]]:
        """Ends of the axis of the ranking, and its labels."""
        most = max(columns["typical_error"]) * 1.05 or 1.0
        return (0.0, most), ["0", fmt.number(most / 2), fmt.number(most)]


def scale_of(summary: Summary) -> CategoricalScale:
    """Return the scale of the labels of a fit."""
    kind = summary.given["kind"]
    scale = NumericScale if kind == "numbers" else CategoricalScale
    return scale(fmt.wording("classes") | fmt.wording(kind))
