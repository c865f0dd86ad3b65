"""Annotators: their ranking, the map of their skill, regions where each is strong or weak, and agreement."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.tree import DecisionTreeRegressor

from whoknows._array import Array, Rows, segment_sum
from whoknows.data.vocabulary import codes_of, elements
from whoknows.estimators.inputs.preprocessing import share_one_unit
from whoknows.insight.coefficients import krippendorff_alpha
from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.items import ItemDescriptions
from whoknows.insight.summary.text import Facts, Table, amounts, json_ids, opaque_names, three_digits

MAX_PROFILES = 40
ENDS = 15  # of a longer ranking: so many profiles from the top and the bottom, the rest by number of labels
MAX_PAIR_TABLE = 30  # annotators in the table of pairs: those with most labels
MIN_COMMON_ITEMS = 5  # of a pair, to show its agreement
MAX_ITEMS = 2_500  # on the map
SHORT_TEXT = 90  # characters of a text beside a dot
COLUMNS, LINES = 24, 16  # cells of a small map
OUTLIERS = 0.005  # share of items at either end that may lie on the border
MIN_REGION_ITEMS = 20  # to look for regions
CANDIDATES = 12  # features that may describe a region: those related to the skill
MIN_SHARE = 0.1  # of the items in a region
EXAMPLES = 3
MAX_LABELS = 2_000  # labels of an annotator that are assigned to regions
TYPICAL_WORDS, MIN_SCORE = 5, 3.0  # words listed per region, and the standard score they need


# --- ranking ----------------------------------------------------------------------------------------


def annotator_table(fit: FittedModel, gold: Array | None) -> tuple[Table, Rows]:
    """One row per annotator, best first, and their positions in ``annotators_``."""
    order, columns = fit.ranking()
    annotations = fit.annotations
    table: Table = {
        "annotator": json_ids(annotations.annotators[order]),
        "n_labels": annotations.labels_per_annotator[order].tolist(),
        **columns,
    }
    if gold is not None:
        on_gold = annotations.annotator[np.isfinite(gold[annotations.item])]
        n_gold = np.bincount(on_gold, minlength=fit.n_annotators)
        gold_columns = {"n_gold": n_gold, **fit.gold_columns(gold)}
        table |= {name: column[order].tolist() for name, column in gold_columns.items()}
    return table, order


def profiled_annotators(fit: FittedModel, order: Rows) -> Rows:
    """Annotators with a profile, best first: all, or both ends of the ranking and those with most labels."""
    n_labels = fit.annotations.labels_per_annotator
    active = order[n_labels[order] > 0]
    if len(active) <= MAX_PROFILES:
        return active
    ends = np.concatenate([active[:ENDS], active[-ENDS:]])
    rest = np.setdiff1d(active, ends)
    busiest = rest[np.argsort(-n_labels[rest], kind="stable")][: MAX_PROFILES - 2 * ENDS]
    return active[np.isin(active, np.concatenate([ends, busiest]))]


# --- map -------------------------------------------------------------------------------------------


class ItemMap:
    """Positions of (a sample of) the items.

    Attributes
    ----------
    rows : (n_drawn,)
        Items on the map.
    X : (n_drawn, n_features)
    xy : (n_drawn, 2)
        Between 0 and 1.
    axes : list of facts
        Share of the variance along each axis, and the features with the largest weights; none if their
        names mean nothing to a reader.
    annotators : (n_shown,)
        Annotators that are shown.
    skill : (n_drawn, n_shown)
    """

    def __init__(self, fit: FittedModel, annotators: Rows, features: Sequence[str]) -> None:
        self.rows = fit.sample(fit.affordable(MAX_ITEMS))
        self.X = fit.feature_array(self.rows)
        self.xy, self.axes = project(self.X, features)
        self.annotators, self.skill = annotators, fit.skill(self.rows, annotators)

    def small_maps(self) -> tuple[Rows, Array]:
        """Cells with items in them, and the mean skill of each annotator there: (n_shown, n_cells)."""
        size = np.array([COLUMNS, LINES])
        column, line = np.minimum(self.xy * size, size - 1).astype(np.intp).T
        cells, place = np.unique(line * COLUMNS + column, return_inverse=True)
        return cells, (segment_sum(self.skill, place, len(cells)) / np.bincount(place)[:, None]).T

    def facts(self, fit: FittedModel, descriptions: ItemDescriptions, consensus: Table) -> Facts:
        """Everything needed to draw the map and to list the items of a region."""
        annotations, texts = fit.annotations[self.rows], descriptions.text
        return {
            "n_items": fit.n_items,
            "row": self.rows,
            "x": np.round(self.xy[:, 0], 3),
            "y": np.round(self.xy[:, 1], 3),
            "axes": self.axes,
            "item": [descriptions.ids[row] for row in self.rows],
            "text": None if texts is None else [descriptions.line(row, SHORT_TEXT) for row in self.rows],
            "consensus": [consensus["consensus"][row] for row in self.rows],
            "doubt": amounts(fit.uncertainty[self.rows], 2),
            "n_labels": annotations.labels_per_item,
            "annotators": json_ids(fit.annotations.annotators[self.annotators]),
            "skill": [amounts(column, 2) for column in self.skill.T],
            "labelled": [np.unique(annotations.item[annotations.annotator == t]) for t in self.annotators],
            "domain": fit.color_domain(self.skill) if self.skill.size else [0.0, 1.0],
            "grid": {"columns": COLUMNS, "lines": LINES, "cell": self.small_maps()[0]},
        }


def project(X: Array, features: Sequence[str]) -> tuple[Array, list[Facts]]:
    """Principal components scaled to between 0 and 1, and what each axis stands for."""
    Z = X - X.mean(axis=0)
    if not share_one_unit(X):
        Z = Z / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1.0)
    size = min(2, *Z.shape)
    pca = PCA(size, svd_solver="randomized", random_state=0)
    with np.errstate(invalid="ignore"):  # all items equal: no variance
        xy = pca.fit_transform(Z)
    opaque = opaque_names(features)
    heaviest = np.argsort(-np.abs(pca.components_), kind="stable")[:, :3]
    axes: list[Facts] = [
        {"share": share, "features": _readable([features[j] for j in heavy], opaque)}
        for share, heavy in zip(pca.explained_variance_ratio_, heaviest, strict=True)
    ]
    if size < 2:  # one component: the other axis only separates the dots
        xy = np.column_stack([xy, np.random.default_rng(0).normal(size=len(xy))])
        axes = [*axes, {"share": 0.0, "features": []}]
    return _between_0_and_1(xy), axes


def _readable(features: list[str], opaque: AbstractSet[str]) -> list[str]:
    """Names that mean something to a reader: all, or none if some do not."""
    return features if opaque.isdisjoint(features) else []


def _between_0_and_1(xy: Array) -> Array:
    """Scale each axis; outliers lie on the border."""
    low, high = np.quantile(xy, [OUTLIERS, 1 - OUTLIERS], axis=0)
    room = 0.1 * (high - low)
    low, high = np.maximum(low - room, xy.min(axis=0)), np.minimum(high + room, xy.max(axis=0))
    width = np.where(high > low, high - low, 1.0)
    return np.asarray(np.clip((xy - low) / width, 0, 1))


# --- regions ---------------------------------------------------------------------------------------


class Regions:
    """Finds the strong and the weak region of annotators, from the items on a map; none unless ``shown``."""

    def __init__(
        self, fit: FittedModel, item_map: ItemMap, descriptions: ItemDescriptions, features: Sequence[str], shown: bool
    ) -> None:
        self.shown = shown
        self.fit, self.descriptions, self.features = fit, descriptions, features
        self.rows, self.X = item_map.rows, item_map.X
        self.annotators, self.skill = item_map.annotators, item_map.skill
        self.candidates, self.opaque = related_features(self.X, self.skill), opaque_names(features)

    def of(self, place: int) -> Facts:
        """Regions of the annotator at a position of ``annotators``, or that skill does not vary.

        The range is None where it is not known whether skill varies at all.
        """
        if not self.shown:
            return {"varies": False, "uneven": False, "range": None, "strong": None, "weak": None}
        skill = self.skill[:, place]
        spread = [float(value) for value in np.quantile(skill, [0.05, 0.95])]
        uneven = self.fit.skills_differ(*spread)
        regions = self._regions(place, skill) if len(skill) >= MIN_REGION_ITEMS and uneven else {}
        none = {"uneven": uneven, "range": spread, "strong": None, "weak": None}
        return {"varies": bool(regions), **none} | regions

    def _regions(self, place: int, skill: Array) -> Facts:
        """Best and worst leaf of a shallow tree; nothing if they hardly differ."""
        candidates = self.candidates[place]
        X, names = self.X[:, candidates], [self.features[j] for j in candidates]
        fewest = max(int(MIN_SHARE * len(X)), 2)
        tree = DecisionTreeRegressor(max_depth=2, min_samples_leaf=fewest, random_state=0).fit(X, skill)
        leaf = tree.apply(X)
        leaves, mean = np.unique(leaf), tree.tree_.value.ravel()
        if not self.fit.skills_differ(mean[leaves].min(), mean[leaves].max()):
            return {}
        weak, *_, strong = leaves[np.argsort(self.fit.sign * mean[leaves], kind="stable")]
        own = np.flatnonzero(self.fit.annotations.annotator == self.annotators[place])
        own = self.fit.sample(MAX_LABELS, among=own)
        items = self.fit.annotations.item[own].astype(np.intp)
        own_leaf = tree.apply(self.fit.feature_array(items)[:, candidates])
        n_own = np.bincount(own_leaf, minlength=len(mean))
        agreement = np.bincount(own_leaf, self.fit.agrees[own], len(mean)) / np.where(n_own, n_own, np.nan)
        return {
            side: self._describe(leaf == each, skill, order)
            | {"where": conditions(tree.tree_, int(each), names, self.opaque)}
            | {"n_labels": n_own[each], "agreement": agreement[each]}
            for side, each, order in (("strong", strong, -1), ("weak", weak, 1))
        }

    def _describe(self, inside: Any, skill: Array, order: int) -> Facts:
        """Mean skill, size, typical words and examples; ``order`` is −1 to list the best first."""
        rows = np.flatnonzero(inside)[np.argsort(order * self.fit.sign * skill[inside], kind="stable")]
        return {
            "skill": skill[inside].mean(),
            "share": inside.mean(),
            "words": self._typical_words(inside),
            "examples": [self.descriptions.describe(self.rows[i]) | {"skill": skill[i]} for i in rows[:EXAMPLES]],
        }

    @cached_property
    def _bag(self) -> tuple[Any, list[str]]:
        """Which words occur in which items: (n_used, n_words), and the words."""
        texts = [self.descriptions.line(row, 10_000) for row in self.rows]
        counter = CountVectorizer(
            binary=True, min_df=3, max_df=0.5, max_features=3_000, token_pattern=r"(?u)\b[^\W\d_]{3,}\b"
        )
        bag = counter.fit_transform(texts)
        return bag, counter.get_feature_names_out().tolist()

    def _typical_words(self, inside: Any) -> list[str]:
        """Words that occur more often in a region than elsewhere; none without texts."""
        if self.descriptions.text is None or inside.all():
            return []
        try:
            bag, words = self._bag
        except ValueError:  # raised by scikit-learn if no word occurs three times
            return []
        n = np.array([inside.sum(), (~inside).sum()])
        here, there = (np.asarray(bag[part].sum(axis=0)).ravel() for part in (inside, ~inside))
        share = (here + there) / n.sum()
        score = (here / n[0] - there / n[1]) / np.sqrt(share * (1 - share) * (1 / n).sum())
        return [words[j] for j in np.argsort(-score, kind="stable")[:TYPICAL_WORDS] if score[j] > MIN_SCORE]


def conditions(tree: Any, leaf: int, names: Sequence[str], opaque: AbstractSet[str]) -> list[str]:
    """Conditions of a leaf of a tree: "radius > 15.2", "3 < age ≤ 7", "city is Rome"; none with opaque names."""
    limits: dict[int, tuple[float, float]] = {}
    children = np.array([tree.children_left, tree.children_right])
    node = leaf
    while node != 0:
        is_right, node = np.argwhere(children == node)[0].tolist()  # from a node to its parent
        low, high = limits.get(tree.feature[node], (-np.inf, np.inf))
        threshold = float(tree.threshold[node])
        limits[tree.feature[node]] = (max(low, threshold), high) if is_right else (low, min(high, threshold))
    if not opaque.isdisjoint(names[j] for j in limits):  # words and examples describe the region then
        return []
    return [_condition(names[j], *between) for j, between in reversed(limits.items())]


def _condition(name: str, low: float, high: float) -> str:
    column, is_category, text = name.partition("=")
    if is_category and {low, high} < {-np.inf, 0.5, np.inf}:  # "city=Rome" is 1 or 0
        return f"{column} is {text}" if low == 0.5 else f"{column} is not {text}"
    if np.isinf(low):
        return f"{name} ≤ {three_digits(high)}"
    if np.isinf(high):
        return f"{name} > {three_digits(low)}"
    return f"{three_digits(low)} < {name} ≤ {three_digits(high)}"


def related_features(X: Array, skill: Array) -> Rows:
    """Features most correlated with the skill of each annotator, or their absolute values."""
    Z, S = _standardize(X), _standardize(skill)
    together = np.maximum(np.abs(Z.T @ S), np.abs(_standardize(np.abs(Z)).T @ S))
    return np.argsort(-together, axis=0, kind="stable")[:CANDIDATES].T


def _standardize(values: Array) -> Array:
    """Columns with mean 0 and norm 1, or 0 where constant."""
    centred = values - values.mean(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / np.where(norm > 1e-12 * np.sqrt(len(values)), norm, np.inf))


# --- profiles and agreement -------------------------------------------------------------------------


def profiles(fit: FittedModel, item_map: ItemMap, regions: Regions, table: Table, order: Rows) -> list[Facts]:
    """Profile of each annotator on the map: regions, a small map, confusions or severity."""
    _, maps = item_map.small_maps()
    row_of = {int(t): row for row, t in enumerate(order)}
    shown = item_map.annotators.tolist()
    return [
        {"place": row_of[t] + 1}
        | {name: column[row_of[t]] for name, column in table.items()}
        | regions.of(i)
        | {"map": maps[i]}
        | more
        for i, (t, more) in enumerate(zip(shown, fit.profiles(shown, item_map.rows), strict=True))
    ]


def agreement_facts(fit: FittedModel) -> Facts:
    """Agreement overall and of pairs, and pairs that may have copied."""
    n_compared = int((fit.annotations.labels_per_item > 1).sum())
    if not n_compared:
        return {"possible": False, "n_compared": 0}
    return {
        "possible": True,
        "n_compared": n_compared,
        "alpha": krippendorff_alpha(fit.annotations, fit.level),
        "level": fit.level,
        "pairs": _pair_table(fit),
        **fit.agreement_facts(),
    }


def _pair_table(fit: FittedModel) -> Facts:
    """Agreement of the annotators with most labels as square tables; None with few common items."""
    annotations, n_labels = fit.annotations, fit.annotations.labels_per_annotator
    busiest = np.argsort(-n_labels, kind="stable")[:MAX_PAIR_TABLE]
    shown = np.sort(busiest[n_labels[busiest] > 0])
    first, second, n, value = fit.pair_values(annotations.only(np.isin(annotations.annotator, shown)))
    i, j = (codes_of(elements(ids), annotations.annotators[shown]) for ids in (first, second))
    common = np.zeros((len(shown), len(shown)), np.intp)
    table = np.full(common.shape, np.nan)
    common[i, j] = common[j, i] = n
    table[i, j] = table[j, i] = np.where(n >= MIN_COMMON_ITEMS, value, np.nan)
    return {
        "measure": fit.pair_measure,
        "annotators": json_ids(annotations.annotators[shown]),
        "of": int((n_labels > 0).sum()),
        "value": table,
        "n_items": common,
    }
