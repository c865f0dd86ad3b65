"""Preprocessing of the members of an ensemble, shared by those with the same features."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from whoknows._array import Array
from whoknows.estimators.auto.members import MAPS, Member
from whoknows.estimators.inputs.preprocessing import (
    Preprocessing,
    Scale,
    fit_preprocessing,
    fit_scale,
    with_annotator_map,
)
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.prepared_model import directions_of, labelled_per_output
from whoknows.model.distances import enough_of
from whoknows.model.graph.base import BuiltGraph, Graph
from whoknows.model.maps import MapFeatures


@dataclass(eq=False)
class _Known(Graph):
    """A graph that is built already."""

    built: BuiltGraph

    def build(self, X: Array, seed: int = 0, sample: Array | None = None) -> BuiltGraph:
        """Return it."""
        return self.built


@dataclass
class Views:
    """Preprocessing by `Member.view`, fitted when it is first needed, once for all members and folds.

    It uses all labels: the number of directions of expertise does not depend on the fold.

    Attributes
    ----------
    settings : AutoCrowdClassifier
    X, data
        Validated input.
    checkpoint : Checkpoint, optional
    """

    settings: Any
    X: Any
    data: TrainingData
    checkpoint: Any = None
    _fitted: dict[str, Preprocessing] = field(default_factory=dict)
    _scales: dict[tuple[Any, bool], Scale] = field(default_factory=dict)
    _clusters: dict[tuple[bool, int], MapFeatures | None] = field(default_factory=dict)  # by scale and number

    def of(self, member: Member) -> Preprocessing:
        """Return the preprocessing of a member."""
        if member.view not in self._fitted:
            fit = partial(self._with_clusters if member.clusters else self._of_map, member)
            step = None if self.checkpoint is None else self.checkpoint.step(f"view-{member.view}")
            self._fitted[member.view] = fit() if step is None else step.remember(fit)
        return self._fitted[member.view]

    def _of_map(self, member: Member) -> Preprocessing:
        annotations = self.data.annotations
        model = member.build(self.settings, annotations.n_classes)
        if member.map == "finest":  # has other eigenvectors of the same graph
            known: Any = self.of(replace(member, map="spectral")).features
            model.map = replace(MAPS[member.map], graph=_Known(known.graph))
        kind = model.standardize, model.map.measures_distances
        if kind not in self._scales:
            self._scales[kind] = fit_scale(self._sample, *kind)
        directions, n_labelled = directions_of(model.annotators, annotations), labelled_per_output(annotations)
        return fit_preprocessing(model, self.X, directions, self._sample, n_labelled, self._scales[kind])

    def _with_clusters(self, member: Member) -> Preprocessing:
        """Return that of the map with clusters for expertise; maps with the same columns have the same clusters."""
        smooth = self.of(replace(member, clusters=0))
        key = smooth.scale.axes is None, member.clusters
        if key not in self._clusters:
            choice = member.build(self.settings, self.data.annotations.n_classes).annotator_map
            self._clusters[key] = with_annotator_map(smooth, choice, self.X, self._sample).of_annotators
        return replace(smooth, of_annotators=self._clusters[key])

    @cached_property
    def _sample(self) -> Array:
        return enough_of(self.X, 0)
