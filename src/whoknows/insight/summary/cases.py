"""Single items worth a look: who said what, how far each is trusted there, what the features say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.insight.summary.answer import Vote
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.plain import Facts, called, digits, names, thousands
from whoknows.insight.summary.words import Words

VOICES = 8  # labels of an item that are listed
CLEARLY = 0.02  # difference of trust worth a sentence


@dataclass(frozen=True, eq=False)
class Cases:
    """Looks up single items, all that are wanted at once."""

    fit: Fit
    vote: Vote
    words: Words

    def of(self, rows: Rows) -> list[Facts]:
        """Everything about each of these items, and why the vote was overruled where it was."""
        if not len(rows):
            return []
        fit, skill = self.fit, self.fit.skill(rows)
        alone = fit.model.predict_proba(fit.rows(rows)) if fit.knows_features_alone else None
        about = fit.model.predict(fit.rows(rows)) if fit.kind == "numbers" else None
        said, listed = fit.said[rows], []
        for place, row in enumerate(rows.tolist()):
            labels = np.flatnonzero(said.item == place)
            people, given = said.annotator[labels], said.label[labels]
            case = (
                self.words.of_item(row)
                | self._verdict(row)
                | self._voices(skill[place, people], people, given)
            )
            if about is not None:
                case["from_features"] = about[place]
            if alone is not None:
                case |= self._features(row, alone[place])
            if self.vote.overruled[row]:
                case["why"] = " ".join(self._why(row, case, skill[place, people], people, given))
            listed.append(case)
        return listed

    def _verdict(self, row: int) -> Facts:
        fit, vote = self.fit, self.vote.value[row]
        if fit.kind == "numbers":
            return {"consensus": fit.consensus[row], "std": fit.doubt[row], "vote": vote}
        classes = [*names(fit.said.labels), None]
        return {
            "consensus": classes[fit.consensus[row]],
            "confidence": 1 - fit.doubt[row],
            "vote": classes[vote],
        }

    def _voices(self, trust: Array, people: Any, given: Any) -> Facts:
        """Who said what and how far each is trusted there, the most trusted first."""
        order = np.argsort(-trust if self.fit.higher_is_better else trust, kind="stable")[:VOICES]
        who, what = names(self.fit.said.annotators[people[order]]), names(self.fit.said.labels[given[order]])
        voices = [
            {"annotator": name, "label": label, "trust": value}
            for name, label, value in zip(who, what, trust[order].tolist(), strict=True)
        ]
        return {"voices": voices, "more_voices": len(people) - len(voices)}

    def _features(self, row: int, prob: Array) -> Facts:
        """What the features say without the labels of this item."""
        likeliest, classes = int(prob.argmax()), names(self.fit.said.labels)
        return {
            "from_features": classes[likeliest],
            "p_from_features": prob[likeliest],
            "p_consensus_from_features": prob[self.fit.consensus[row]],
        }

    def _why(self, row: int, case: Facts, trust: Array, people: Any, given: Any) -> Iterator[str]:
        """Say in words what tipped the balance."""
        if self.fit.kind == "numbers":
            yield f"The labels' mean is {digits(case['vote'])}; corrected for each annotator's bias and"
            sure = f"{digits(case['consensus'])} ± {digits(case['std'])}"
            yield f"weighed by their typical error they say {sure}."
            return
        vote, consensus = self.vote.value[row], self.fit.consensus[row]
        wanted = f"“{case['consensus']}”"
        yield f"{thousands((given == vote).sum())} of {thousands(len(given))} said “{case['vote']}”."
        against, backing = trust[given == vote], trust[given == consensus]
        if len(backing) and backing.max() > against.max() + CLEARLY:
            best = people[given == consensus][backing.argmax()]  # not always among the voices listed
            who = called(names(self.fit.said.annotators[[best]])[0])
            yield (
                f"But {who}, who is right on {backing.max():.0%} of items like this, said {wanted}; "
                f"those who said “{case['vote']}” are right on at most {against.max():.0%}."
            )
        elif against.max() < 1 / self.fit.said.n_classes:
            yield "But they are usually wrong on items like this, so it speaks for something else."
        elif len(against) and against.mean() < 0.7:
            yield f"But on items like this they are right only {against.mean():.0%} of the time."
        if case.get("p_consensus_from_features", 0) > 0.5:
            yield f"The features alone say {wanted} with {case['p_consensus_from_features']:.0%}."
