"""Summary: what apps may show of a fit, to JSON and back, and in a few lines of text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from whoknows.data.errors import InputError
from whoknows.insight.pairwise import LOOK_FIRST
from whoknows.insight.summary.text import (
    Facts,
    Table,
    annotator_name,
    copying_finding,
    count,
    item_name,
    percent,
    region_name,
    thousands,
    three_digits,
)
from whoknows.insight.summary.variation import upgraded

FORMAT = 1
NAMED = 3  # classes named, and annotators at either end of the ranking


@dataclass(frozen=True)
class Summary:
    """Numbers and sentences of a fit: Python numbers, text, lists and dicts, never NaN.

    Attributes
    ----------
    given : dict
        The data and the model: counts, coverage, warnings, settings chosen and why; ``variation``: whether
        expertise depends on the item, and the evidence.
    answer : dict
        Certainty of the consensus, class balance, which votes are overruled and why; ``calibration``: whether
        left-out labels agree with the consensus as often as the model expects.
    consensus : dict of lists
        One row per item: item, consensus, confidence, n_labels, vote, overruled, and p_… for each class or,
        for numbers, std. ``vote`` is None if the labels have no majority. ``gold`` marks items whose truth is
        known, if there are any.
    annotators : dict of lists
        One row per annotator, best first: annotator, n_labels, expertise, low, high,
        agreement_with_consensus, and more where known.
    profiles : list of dict
        Strong and weak regions and confusions of each annotator; of many annotators, a selection.
    map : dict
        Positions of (a sample of) the items and the expertise of annotators there.
    agreement : dict
        Agreement overall and of pairs, and pairs that may have copied.
    adjudicate : dict
        Items to review: the least certain and the most disputed.
    ask : dict
        Labels to collect next.
    method : dict
        Version of whoknows, date, and names of the features.
    items : dict
        Texts and labels of the items, for a list of them; empty in summaries of earlier versions.
    kinds : dict
        How often each annotator is right on each kind of item, a table per column that was named; empty if none
        was.
    """

    given: Facts
    answer: Facts
    consensus: Table
    annotators: Table
    profiles: list[Facts]
    map: Facts
    agreement: Facts
    adjudicate: Facts
    ask: Facts
    method: Facts
    items: Facts = field(default_factory=dict)
    kinds: Facts = field(default_factory=dict)

    def to_json(self) -> str:
        """Return text that `from_json` reads."""
        return json.dumps({"whoknows_summary": FORMAT, **vars(self)}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Summary:
        """Read the text of `to_json`."""
        try:
            record: Any = json.loads(text)
        except ValueError as error:
            raise InputError(f"Expected the summary of a fit as JSON; this is not JSON ({error}).") from None
        if not isinstance(record, dict) or "whoknows_summary" not in record:
            raise InputError("Expected the summary of a fit; this JSON is something else.")
        version = record["whoknows_summary"]
        if version != FORMAT:
            raise InputError(
                f"This summary has format {version!r}; this version of whoknows reads format {FORMAT}. "
                "Install the version that wrote it, or fit again."
            )
        record = {"items": {}, "kinds": {}, **record}  # the first summaries did not list items
        missing = [each.name for each in fields(cls) if each.name not in record]
        if missing:
            raise InputError(f"This summary is incomplete: {', '.join(missing)} is missing. Fit again.")
        _complete(record)
        return cls(**{each.name: record[each.name] for each in fields(cls)})

    def lines(self) -> list[str]:
        """Return the main results in 5 to 15 lines."""
        return [
            *_data_lines(self.given),
            *_consensus_lines(self),
            *_annotator_lines(self),
            *_variation_lines(self),
            *_agreement_lines(self.agreement),
            *_question_lines(self.ask["questions"]),
        ]


def _complete(record: Facts) -> None:
    """Add what summaries of version 0.1 lack."""
    record["given"].setdefault("variation", upgraded(record["given"]))
    copying = record["agreement"].get("copying")
    if copying and "finding" not in copying:
        copying |= {"finding": copying_finding(copying), "caveat": LOOK_FIRST}


# --- lines ------------------------------------------------------------------------------------------


def _data_lines(given: Facts) -> Iterator[str]:
    features = count(given["n_features"], "feature") if given["n_features"] else "no features"
    yield (
        f"{count(given['n_labels'], 'label')} by {count(given['n_annotators'], 'annotator')} on "
        f"{thousands(given['n_labelled'])} of {count(given['n_items'], 'item')}, {features}."
    )
    yield from given["warnings"][:3]


def _consensus_lines(summary: Summary) -> Iterator[str]:
    """Distribution and certainty of the consensus, and how often the vote is overruled."""
    answer, vote = summary.answer, "majority"
    if summary.given["kind"] == "numbers":
        vote = "mean"
        low, median, high = (three_digits(quartile) for quartile in answer["quartiles"][1:4])
        yield f"Consensus: half of the items lie between {low} and {high}; the median is {median}."
        yield f"The typical uncertainty of a labelled item is ± {three_digits(answer['std_labelled'])}."
    else:
        balance = zip(answer["balance"]["share"], answer["balance"]["class"], strict=True)
        shares = sorted(balance, key=lambda pair: -pair[0])
        classes = ", ".join(f"{name} ({percent(share)})" for share, name in shares[:NAMED])
        more = ", …" if len(shares) > NAMED else ""
        certain = f"{percent(answer['n_sure'] / summary.given['n_items'])} of the items"
        probability = f"a probability of at least {percent(answer['sure_above'])}"
        yield f"Consensus: {classes}{more}; for {certain} it has {probability}."
    overruled, voted = thousands(answer["n_overruled"]), count(answer["n_voted"], "item")
    yield f"It differs from the {vote} of the labels on {overruled} of {voted}."


def _skill(summary: Summary, value: float) -> str:
    """Typical error, or probability of being right."""
    return f"± {three_digits(value)}" if summary.given["kind"] == "numbers" else percent(value)


def _rank(summary: Summary, i: int) -> str:
    """One annotator of the ranking, with their skill and its interval."""
    row = {key: column[i] for key, column in summary.annotators.items()}
    name = annotator_name(row["annotator"])
    if summary.given["kind"] == "numbers":
        return f"{name} {_skill(summary, row['typical_error'])}"
    return f"{name} {percent(row['expertise'])} ({percent(row['low'])} to {percent(row['high'])})"


def _annotator_lines(summary: Summary) -> Iterator[str]:
    measure = "Typical error" if summary.given["kind"] == "numbers" else "Probability of being right"
    n = len(summary.annotators["annotator"])
    if n <= 2 * NAMED:
        yield f"{measure}: {', '.join(_rank(summary, i) for i in range(n))}."
    else:
        yield f"{measure}, best: {', '.join(_rank(summary, i) for i in range(NAMED))}."
        yield f"Worst of {thousands(n)}: {', '.join(_rank(summary, i) for i in range(n - NAMED, n))}."


def _variation_lines(summary: Summary) -> Iterator[str]:
    """Whether skill depends on the item, and the annotators for whom it does so most."""
    yield summary.given["variation"]["sentence"]
    varying = [profile for profile in summary.profiles if profile["varies"]]
    for profile in sorted(varying, key=_gap)[:NAMED]:
        strong, weak = (_region(side, profile[side], summary) for side in ("strong", "weak"))
        yield f"{annotator_name(profile['annotator'])} is {strong}, {weak}."


def _gap(profile: Facts) -> float:
    return -abs(float(profile["strong"]["skill"] - profile["weak"]["skill"]))


def _region(side: str, region: Facts, summary: Summary) -> str:
    return f"{side} {region_name(region)} ({_skill(summary, region['skill'])})"


def _agreement_lines(agreement: Facts) -> Iterator[str]:
    if agreement["possible"] and agreement["alpha"] is not None:
        yield (
            f"Agreement (Krippendorff's alpha) is {agreement['alpha']:.2f}, where 1 is perfect and 0 is "
            f"chance, on {count(agreement['n_compared'], 'item')} with several labels."
        )
    together = agreement.get("together")
    if together:
        yield f"Annotators err together: {together['finding']} {together.get('by_annotator', '')}".rstrip()
    copying = agreement.get("copying")
    if copying and copying["n_suspects"]:
        yield f"{copying['finding']} {copying['caveat']}"


def _question_lines(questions: list[Facts]) -> Iterator[str]:
    if questions:
        first = f"{annotator_name(questions[0]['annotator'])} about {item_name(questions[0]['item'])}"
        yield f"Ask next: {first}, and {len(questions) - 1} more."
