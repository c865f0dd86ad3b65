"""A map of the items in two dimensions, with the skill of annotators at each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

from whoknows._array import Array, Rows, segment_sum
from whoknows.estimators.inputs.preprocessing import share_one_unit
from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.items import ItemDescriptions
from whoknows.insight.summary.text import Facts, Table, is_text_feature, json_ids

MAX_ITEMS = 2_500  # on the map
SHORT_TEXT = 90  # characters of a text beside a dot
COLUMNS, LINES = 24, 16  # cells of a small map
OUTLIERS = 0.005  # share of items at either end that may lie on the border


@dataclass(frozen=True, eq=False)
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
        Share of the variance along each axis, and the features with the largest weights; none if they are
        derived from texts.
    annotators : (n_shown,)
        Annotators that are shown.
    skill : (n_drawn, n_shown)
    """

    rows: Rows
    X: Array
    xy: Array
    axes: list[Facts]
    annotators: Rows
    skill: Array

    @classmethod
    def create(cls, fit: FittedModel, annotators: Rows, features: Sequence[str]) -> ItemMap:
        """Sample items and project them."""
        rows = fit.sample(fit.affordable(MAX_ITEMS))
        X = fit.feature_array(rows)
        return cls(rows, X, *project(X, features), annotators, fit.skill(rows, annotators))

    @property
    def cell(self) -> Rows:
        """Cell of the small map that each item is in: (n_drawn,)."""
        column = np.minimum(self.xy[:, 0] * COLUMNS, COLUMNS - 1).astype(np.intp)
        line = np.minimum(self.xy[:, 1] * LINES, LINES - 1).astype(np.intp)
        return line * COLUMNS + column

    def small_maps(self) -> tuple[Rows, Array]:
        """Cells with items in them, and the mean skill of each annotator there: (n_shown, n_cells)."""
        cells, place = np.unique(self.cell, return_inverse=True)
        return cells, (segment_sum(self.skill, place, len(cells)) / np.bincount(place)[:, None]).T

    def facts(self, fit: FittedModel, descriptions: ItemDescriptions, consensus: Table) -> Facts:
        """Everything needed to draw the map and to list the items of a region."""
        annotations, texts = fit.annotations[self.rows], descriptions.text
        decimals, skill_decimals = fit.map_decimals
        return {
            "n_items": fit.n_items,
            "x": np.round(self.xy[:, 0], 3),
            "y": np.round(self.xy[:, 1], 3),
            "axes": self.axes,
            "item": [descriptions.ids[row] for row in self.rows],
            "text": None if texts is None else [descriptions.line(row, SHORT_TEXT) for row in self.rows],
            "consensus": [consensus["consensus"][row] for row in self.rows],
            "doubt": np.round(fit.uncertainty[self.rows], decimals),
            "n_labels": annotations.labels_per_item,
            "annotators": json_ids(fit.annotations.annotators[self.annotators]),
            "skill": [
                [float(f"{value:.3g}") for value in column]
                for column in np.round(self.skill, skill_decimals).T
            ],
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
    heaviest = np.abs(pca.components_).argmax(axis=1)
    turn = np.where(pca.components_[np.arange(size), heaviest] < 0, -1.0, 1.0)
    axes: list[Facts] = [
        {
            "share": share,
            "features": _readable([str(features[j]) for j in np.argsort(-np.abs(loads), kind="stable")[:3]]),
        }
        for share, loads in zip(pca.explained_variance_ratio_, pca.components_, strict=True)
    ]
    if size < 2:  # one component: the other axis only separates the dots
        xy = np.column_stack([xy, np.random.default_rng(0).normal(size=len(xy))])
        turn, axes = np.append(turn, 1.0), [*axes, {"share": 0.0, "features": []}]
    return _between_0_and_1(xy * turn), axes


def _readable(features: list[str]) -> list[str]:
    """Names that mean something to a reader: all, or none if some are derived from texts."""
    return [] if any(map(is_text_feature, features)) else features


def _between_0_and_1(xy: Array) -> Array:
    """Scale each axis; outliers lie on the border."""
    low, high = np.quantile(xy, [OUTLIERS, 1 - OUTLIERS], axis=0)
    room = 0.1 * (high - low)
    low, high = np.maximum(low - room, xy.min(axis=0)), np.minimum(high + room, xy.max(axis=0))
    width = np.where(high > low, high - low, 1.0)
    return np.asarray(np.clip((xy - low) / width, 0, 1))
