"""Summary: what apps may show of a fit, and its way to JSON and back."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from whoknows.insight.summary.plain import Facts, Table
from whoknows.insight.summary.say import in_lines

FORMAT = 1


@dataclass(frozen=True)
class Summary:
    """The plain numbers and words of a fit: Python numbers, text, lists and dicts, never NaN.

    Attributes
    ----------
    given : dict
        Counts, coverage, warnings, settings chosen and why.
    answer : dict
        How sure the consensus is, how classes are balanced, which votes are overruled and why.
    consensus : dict of lists
        One row an item: item, consensus, confidence, n_labels, vote, overruled, and p_… of each class or,
        of numbers, std. ``vote`` is None where labels have no majority.
    annotators : dict of lists
        One row an annotator, best first: annotator, n_labels, expertise, low, high,
        agreement_with_consensus, and more where it is known.
    profiles : list of dict
        A closer look at annotators: strong and weak regions, confusions. Of many, those that stand out.
    map : dict
        Places of (a sample of) the items and the expertise of annotators there.
    agreement, adjudicate, ask : dict
    method : dict
        Version and citation.
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

    def to_json(self) -> str:
        """Text that `from_json` reads."""
        record = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps({"whoknows_summary": FORMAT, **record}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Summary:
        """Read what `to_json` wrote."""
        try:
            record: Any = json.loads(text)
        except ValueError as error:
            raise ValueError(f"Expected the summary of a fit as JSON; this is none ({error}).") from None
        if not isinstance(record, dict) or "whoknows_summary" not in record:
            raise ValueError("Expected the summary of a fit; this JSON is something else.")
        version = record["whoknows_summary"]
        if version != FORMAT:
            raise ValueError(
                f"This summary has format {version!r}; this version of whoknows reads format {FORMAT}. "
                "Install the version that wrote it, or fit again."
            )
        missing = [field.name for field in fields(cls) if field.name not in record]
        if missing:
            raise ValueError(f"This summary is not whole: {', '.join(missing)} is missing. Fit again.")
        return cls(**{field.name: record[field.name] for field in fields(cls)})

    def lines(self) -> list[str]:
        """Say the most important in a few lines of plain words."""
        return in_lines(self)
