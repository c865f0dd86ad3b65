"""Where an annotator is strong and where weak, said in features and, of texts, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.tree import DecisionTreeRegressor

from whoknows._array import Array, Rows
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.places import Places
from whoknows.insight.summary.plain import Facts, digits, is_of_texts
from whoknows.insight.summary.words import Words

ITEMS = 1_500  # that regions are found from
FEWEST = 20  # below which there are no regions
CANDIDATES = 12  # features a region may be told by: those that go with the skill
SMALLEST = 0.1  # share of the items in a region
DIFFERENT = 0.1  # difference in the probability of being right that is worth telling
TIMES = 1.3  # the same for typical errors, as a ratio
EXAMPLES = 3
CHECKED = 2_000  # labels of an annotator that are looked at in a region
TYPICAL_WORDS, STANDS_OUT = 5, 3.0  # words told of a region, and the standard score they need


@dataclass(frozen=True, eq=False)
class Regions:
    """Finds the strong and the weak region of annotators, on one sample of items."""

    fit: Fit
    places: Places
    words: Words
    features: Sequence[str]

    def of(self, place: int) -> Facts:
        """Strong and weak region of an annotator, or that skill does not vary: by position in ``people``."""
        skill = self.places.skill[self._rows, place]
        spread = [float(value) for value in np.quantile(skill, [0.05, 0.95])]
        uneven = self._differ(*spread)
        regions = self._regions(place, skill) if len(skill) >= FEWEST and uneven else {}
        nowhere = {"uneven": uneven, "range": spread, "strong": None, "weak": None}
        return {"varies": bool(regions), **nowhere} | regions

    def _regions(self, place: int, skill: Array) -> Facts:
        """Best and worst leaf of a shallow tree; nothing if they hardly differ."""
        candidates = self._candidates[place]
        X, names = self.places.X[self._rows][:, candidates], [str(self.features[j]) for j in candidates]
        fewest = max(int(SMALLEST * len(X)), 2)
        tree = DecisionTreeRegressor(max_depth=2, min_samples_leaf=fewest, random_state=0).fit(X, skill)
        leaf = tree.apply(X)
        leaves = np.unique(leaf)
        mean = np.array([skill[leaf == each].mean() for each in leaves])
        if not self._differ(mean.min(), mean.max()):
            return {}
        best, worst = (
            (mean.argmax(), mean.argmin()) if self.fit.higher_is_better else (mean.argmin(), mean.argmax())
        )
        mine = self._labels_of(int(self.places.people[place]))
        theirs = tree.apply(self.fit.numbers(self.fit.said.item[mine].astype(np.intp))[:, candidates])
        return {
            side: self._describe(leaf == each, skill, side == "strong")
            | {"where": conditions(tree.tree_, int(each), names)}
            | self._checked(mine[theirs == each])
            for side, each in (("strong", leaves[best]), ("weak", leaves[worst]))
        }

    def _differ(self, low: float, high: float) -> bool:
        return bool(high > TIMES * low if self.fit.kind == "numbers" else high - low > DIFFERENT)

    def _describe(self, inside: Any, skill: Array, strong: bool) -> Facts:
        """How good, how large, which words, and the items where it shows most."""
        best_first = skill if strong != self.fit.higher_is_better else -skill
        order = np.flatnonzero(inside)[np.argsort(best_first[inside], kind="stable")]
        return {
            "skill": skill[inside].mean(),
            "share": inside.mean(),
            "words": self._typical(inside),
            "examples": [
                self.words.of_item(int(self.places.rows[self._rows[i]])) | {"skill": skill[i]}
                for i in order[:EXAMPLES]
            ],
        }

    def _checked(self, labels: Rows) -> Facts:
        """How many labels an annotator gave in a region, and how often the consensus agrees."""
        said = self.fit.said
        if self.fit.kind == "numbers":
            return {"n_labels": len(labels), "agreement": None}
        right = said.label[labels] == self.fit.consensus[said.item[labels]]
        return {"n_labels": len(labels), "agreement": right.mean() if len(labels) else None}

    def _labels_of(self, t: int) -> Rows:
        return self.fit.sample(CHECKED, among=np.flatnonzero(self.fit.said.annotator == t))

    @cached_property
    def _rows(self) -> Rows:
        """Which of the items on the map are used: (n_used,)."""
        return self.fit.sample(ITEMS, among=np.arange(len(self.places.rows)))

    @cached_property
    def _candidates(self) -> Any:
        """For each annotator the features that go with the skill most, up and down or in and out."""
        X, S = self.places.X[self._rows], self.places.skill[self._rows]
        Z, S = _standard(X), _standard(S)
        together = np.maximum(np.abs(Z.T @ S), np.abs(_standard(np.abs(Z)).T @ S))
        return np.argsort(-together, axis=0, kind="stable")[:CANDIDATES].T

    @cached_property
    def _bag(self) -> tuple[Any, list[str]]:
        """Which words occur in which of the items: (n_used, n_words), and the words."""
        texts = [self.words.line(int(self.places.rows[i]), 10_000) for i in self._rows]
        counter = CountVectorizer(
            binary=True, min_df=3, max_df=0.5, max_features=3_000, token_pattern=r"(?u)\b[^\W\d_]{3,}\b"
        )
        bag = counter.fit_transform(texts)
        return bag, counter.get_feature_names_out().tolist()

    def _typical(self, inside: Any) -> list[str]:
        """Words that occur more often in a region than elsewhere; none without texts."""
        if self.words.text is None or inside.all():
            return []
        try:
            bag, words = self._bag
        except ValueError:  # scikit-learn's way to say that no word occurs three times
            return []
        n = np.array([inside.sum(), (~inside).sum()])
        here, there = (np.asarray(bag[part].sum(axis=0)).ravel() for part in (inside, ~inside))
        share = (here + there) / n.sum()
        score = (here / n[0] - there / n[1]) / np.sqrt(share * (1 - share) * (1 / n).sum())
        return [words[j] for j in np.argsort(-score, kind="stable")[:TYPICAL_WORDS] if score[j] > STANDS_OUT]


def conditions(tree: Any, leaf: int, names: Sequence[str]) -> list[str]:
    """What leads to a leaf of a tree: "radius > 15.2", "3 < age ≤ 7"; nothing if texts' features do."""
    limits: dict[int, list[float]] = {}
    node = leaf
    while node != 0:
        left = np.flatnonzero(tree.children_left == node)
        parent = int(left[0]) if len(left) else int(np.flatnonzero(tree.children_right == node)[0])
        low_high = limits.setdefault(int(tree.feature[parent]), [-np.inf, np.inf])
        threshold = float(tree.threshold[parent])
        if len(left):
            low_high[1] = min(low_high[1], threshold)
        else:
            low_high[0] = max(low_high[0], threshold)
        node = parent
    if any(is_of_texts(names[j]) for j in limits):  # words and examples say it then
        return []
    return [_condition(names[j], *between) for j, between in reversed(limits.items())]


def _condition(name: str, low: float, high: float) -> str:
    if np.isinf(low):
        return f"{name} ≤ {digits(high)}"
    return f"{name} > {digits(low)}" if np.isinf(high) else f"{digits(low)} < {name} ≤ {digits(high)}"


def _standard(values: Array) -> Array:
    """Columns with mean 0 and norm 1, or 0 where nothing varies."""
    centred = values - values.mean(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / np.where(norm > 1e-12 * np.sqrt(len(values)), norm, np.inf))
