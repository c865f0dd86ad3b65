"""A map of the items: two dimensions, and how far annotators are to be trusted at each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

from whoknows._array import Array, Rows, segment_sum
from whoknows.estimators.inputs.preprocessing import share_one_unit
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.plain import Facts, is_of_texts, names
from whoknows.insight.summary.words import Words

ITEMS = 2_500  # that are drawn at most
SHORT = 90  # characters of a text beside a dot
COLUMNS, LINES = 24, 16  # cells of a small map
OUTLIERS = 0.005  # share of items at either end that may lie on the border


@dataclass(frozen=True, eq=False)
class Places:
    """Where some of the items lie.

    Attributes
    ----------
    rows : (n_drawn,)
        Items that are drawn.
    X : (n_drawn, n_features)
    xy : (n_drawn, 2)
        Between 0 and 1.
    axes : list of facts
        What goes into each direction: its share of the variance and the features that weigh most; none of
        these where they are made of texts.
    people : (n_people,)
        Annotators that are shown.
    skill : (n_drawn, n_people)
    """

    rows: Rows
    X: Array
    xy: Array
    axes: list[Facts]
    people: Rows
    skill: Array

    @classmethod
    def of(cls, fit: Fit, people: Rows, features: Sequence[str]) -> Places:
        """Draw items and find their places."""
        rows = fit.sample(fit.affordable(ITEMS))
        X = fit.numbers(rows)
        xy, axes = project(X, features)
        return cls(rows, X, xy, axes, people, fit.skill(rows, people))

    @property
    def cell(self) -> Rows:
        """Cell of the small map that each item is in: (n_drawn,)."""
        column = np.minimum(self.xy[:, 0] * COLUMNS, COLUMNS - 1).astype(np.intp)
        line = np.minimum(self.xy[:, 1] * LINES, LINES - 1).astype(np.intp)
        return line * COLUMNS + column

    def small_maps(self) -> tuple[Rows, Array]:
        """Cells with items in them, and the mean skill of each annotator there: (n_people, n_cells)."""
        cells, place = np.unique(self.cell, return_inverse=True)
        return cells, (segment_sum(self.skill, place, len(cells)) / np.bincount(place)[:, None]).T

    def facts(self, fit: Fit, words: Words) -> Facts:
        """Everything a map needs to be drawn, and to say what lies where."""
        classes, consensus = names(fit.said.labels), fit.consensus[self.rows]
        said, numbers = fit.said[self.rows], fit.kind == "numbers"
        return {
            "n_items": fit.n_items,
            "x": np.round(self.xy[:, 0], 3),
            "y": np.round(self.xy[:, 1], 3),
            "axes": self.axes,
            "item": [words.ids[row] for row in self.rows],
            "text": None if words.text is None else [words.line(row, SHORT) for row in self.rows],
            "consensus": consensus if numbers else [classes[k] for k in consensus],
            "doubt": np.round(fit.doubt[self.rows], 4 if numbers else 2),
            "n_labels": said.labels_per_item,
            "annotators": names(fit.said.annotators[self.people]),
            "skill": [
                [float(f"{value:.3g}") for value in column]
                for column in np.round(self.skill, 3 if numbers else 2).T
            ],
            "labelled": [np.unique(said.item[said.annotator == t]) for t in self.people],
            "domain": domain(self.skill, numbers),
            "grid": {"columns": COLUMNS, "lines": LINES, "cell": self.small_maps()[0]},
        }


def project(X: Array, features: Sequence[str]) -> tuple[Array, list[Facts]]:
    """Places between 0 and 1 along the two directions of most variance, and what these are."""
    Z = X - X.mean(axis=0)
    if not share_one_unit(X):
        Z = Z / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1.0)
    size = min(2, *Z.shape)
    pca = PCA(size, svd_solver="randomized", random_state=0)
    with np.errstate(invalid="ignore"):  # items all alike: no variance to share out
        xy = pca.fit_transform(Z)
    heaviest = np.abs(pca.components_).argmax(axis=1)
    turn = np.where(pca.components_[np.arange(size), heaviest] < 0, -1.0, 1.0)
    axes: list[Facts] = [
        {
            "share": share,
            "features": _readable([str(features[j]) for j in np.argsort(-np.abs(loads), kind="stable")[:3]]),
        }
        for share, loads in zip(pca.explained_variance_ratio_, pca.components_, strict=True)
    ]
    if size < 2:  # one direction: the other only keeps dots apart
        xy = np.column_stack([xy, np.random.default_rng(0).normal(size=len(xy))])
        turn, axes = np.append(turn, 1.0), [*axes, {"share": 0.0, "features": []}]
    return _between_0_and_1(xy * turn), axes


def _readable(features: list[str]) -> list[str]:
    """Names that say something to a reader: all, or none if some are made of texts."""
    return [] if any(map(is_of_texts, features)) else features


def _between_0_and_1(xy: Array) -> Array:
    """Scale each direction; the few items far out come to lie on the border."""
    low, high = np.quantile(xy, [OUTLIERS, 1 - OUTLIERS], axis=0)
    room = 0.1 * (high - low)
    low, high = np.maximum(low - room, xy.min(axis=0)), np.minimum(high + room, xy.max(axis=0))
    width = np.where(high > low, high - low, 1.0)
    return np.asarray(np.clip((xy - low) / width, 0, 1))


def domain(skill: Array, numbers: bool) -> list[float]:
    """From which to which skill colours go: nearly all of them, in round numbers."""
    if not skill.size:
        return [0.0, 1.0]
    low, high = np.quantile(skill, [0.02, 0.98]).tolist()
    if numbers:
        return [low, high] if high > low else [low, low + max(abs(low), 1.0)]
    low, high = np.floor(low * 20) / 20, np.ceil(high * 20) / 20
    return [float(max(min(low, high - 0.1), 0.0)), float(min(max(high, low + 0.1), 1.0))]
