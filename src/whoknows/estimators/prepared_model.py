"""A model prepared for items: preprocessing and both pieces, before the first label is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whoknows._array import Array, Rows, doubles
from whoknows._threads import one_thread
from whoknows.data.annotations import Annotations
from whoknows.estimators.inputs.any_classifier import fit_classifier_preprocessing
from whoknows.estimators.inputs.preprocessing import Preprocessing, fit_preprocessing
from whoknows.estimators.inputs.raw_rows import RawRows
from whoknows.estimators.inputs.resolve import resolve_annotators, resolve_regression, resolve_truth
from whoknows.estimators.inputs.rows import TransformedRows
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.inputs.validation import group_of_each
from whoknows.fit import engines
from whoknows.fit.engines import Chunks, Engine
from whoknows.fit.items import Items
from whoknows.fit.objective import Model, check_pair
from whoknows.fit.solve import keeps_features, split_into_chunks
from whoknows.fit.variational import has_bound
from whoknows.model.distances import blocks_of
from whoknows.model.posterior import GaussianPosterior
from whoknows.model.protocols import ClassAnnotators, ClassTruth, ItemEffectAnnotators, ItemTruth, require, supports

DIRECTIONS = (2, 5, 10, 20)  # few choices, so that a few more labels do not change the model
LABELS_PER_DIRECTION = 3  # labels per annotator that one more slope of its own needs


@dataclass(frozen=True)
class LabelUnits:
    """Mean and standard deviation of real-valued labels; models work on standardized ones."""

    mean: float
    scale: float

    def standardize(self, data: TrainingData) -> TrainingData:
        """Return labels and gold with mean 0 and variance 1."""
        labels = (data.annotations.labels.astype(float) - self.mean) / self.scale
        gold = None if data.gold is None else (data.gold - self.mean) / self.scale
        return replace(data, annotations=replace(data.annotations, labels=labels), gold=gold)

    def restore(self, posterior: GaussianPosterior) -> GaussianPosterior:
        """Return the truth in the units of the labels."""
        return GaussianPosterior(self.mean + self.scale * posterior.mean, self.scale**2 * posterior.variance)


@dataclass(frozen=True)
class PreparedModel:
    """How items are preprocessed, and the pair of pieces prepared for them.

    Attributes
    ----------
    preprocessing : Preprocessing
    model : Model
    units : LabelUnits, optional
        For real-valued labels.
    """

    preprocessing: Preprocessing
    model: Model
    units: LabelUnits | None = None

    @property
    def needs_all(self) -> bool:
        """Whether items have features only all together: they are coupled, or the graph places no others."""
        return self.model.truth.needs_all or not self.preprocessing.places_new

    @one_thread()
    def items(self, X: Array, data: TrainingData | None = None, like: Items | None = None) -> Items:
        """Return the features of validated X, with what else is known of the items.

        ``like`` are the same items under a model with the same map; their truth features are reused.
        """
        X_truth = self.preprocessing.truth_features(X, data is not None) if like is None else like.X_truth
        X_annotators = self.preprocessing.annotator_features(X, X_truth)
        if supports(self.model.truth, ItemTruth):
            X_truth = self.preprocessing.scaled(X)
        if data is None:
            items = Items(X_truth, X_annotators, no_annotations(len(X)), raw=self.preprocessing.raw_rows(X))
        else:
            data = data if self.units is None else self.units.standardize(data)
            items = Items(doubles(X_truth), doubles(X_annotators), data.annotations, data.gold, data.weight)
        if has_bound(self.model):
            return items
        return items.labels_on_host if data is not None and keeps_features(self.model) else items.on_host

    def some(self, X: Array, rows: Any, data: TrainingData | None = None) -> Items:
        """Return the same for some rows of X."""
        if self.needs_all:
            return self.items(X, data)[rows]
        return self.items(X[rows], None if data is None else data[rows])

    def blocks(self, X: Array, data: TrainingData | None = None) -> Iterator[Items]:
        """Yield the same block by block, so that memory does not grow with the number of items."""
        if self.needs_all:
            yield self.items(X, data)
            return
        for rows in blocks_of(X):
            yield self.items(X[rows], None if data is None else data[rows])

    def chunks(self, X: Array, rows: Rows, data: TrainingData, engine: Engine) -> Items | Chunks:
        """Return some rows as a solver takes them: in memory, or if they are many in an engine's chunks."""
        n_chunks = -(-len(rows) // engines.ITEMS_A_CHUNK)
        if self.model.truth.couples_items:
            return Chunks([self.some(X, rows, data)], engine)
        if n_chunks <= 1 or self.needs_all:
            items = self.some(X, rows, data)
            return items if n_chunks <= 1 else split_into_chunks(items, n_chunks, engine)
        parts = [_part(X, mine, data) for mine in np.array_split(rows, n_chunks)]
        return Chunks(engine.keep(_read, parts, self), engine)


def prepare_classifier(
    settings: Any, X: Array, annotations: Annotations, preprocessing: Preprocessing | None = None
) -> PreparedModel:
    """Prepare a classifier's model for validated X.

    ``preprocessing`` is that of another model with the same map and scale; None fits it.
    """
    n_classes = annotations.n_classes
    truth = resolve_truth(settings.truth).for_classes(n_classes)
    annotators = resolve_annotators(settings.annotators, truth, annotations).for_classes(n_classes)
    require(truth, ClassTruth, "CrowdClassifier")
    require(annotators, ClassAnnotators, "CrowdClassifier")
    check_pair(annotators, truth)  # before the graph is built, which takes longer
    prepared = _prepare(settings, X, annotations, Model(annotators, truth), preprocessing)
    return in_groups(prepared, settings, annotations)


def in_groups(prepared: PreparedModel, settings: Any, annotations: Annotations) -> PreparedModel:
    """Return the model with annotators in the groups of the settings, who err independently until a fit is done."""
    annotators: Any = prepared.model.annotators
    if settings.groups is not None:
        require(annotators, ItemEffectAnnotators, "groups=", "Use annotators='bernoulli' or 'confusion'.")
        annotators = annotators.with_groups(group_of_each(settings.groups, annotations.annotators))
    if supports(annotators, ItemEffectAnnotators) and annotators.item_effect:
        annotators = annotators.with_item_effect(0.0)
    if annotators is prepared.model.annotators:
        return prepared
    return replace(prepared, model=replace(prepared.model, annotators=annotators))


def prepare_regressor(settings: Any, X: Array, data: TrainingData) -> PreparedModel:
    """Prepare a regressor's model for validated X; labels are standardized."""
    truth, annotators = resolve_regression(settings.truth, settings.annotators)
    prepared = _prepare(settings, X, data.annotations, Model(annotators, truth), None)
    return replace(prepared, units=label_units(data))


@one_thread()
def _prepare(
    settings: Any, X: Array, annotations: Annotations, model: Model, preprocessing: Preprocessing | None
) -> PreparedModel:
    """Fit the preprocessing, and prepare the truth for all items, labelled or not."""
    if preprocessing is None:
        directions = directions_of(model.annotators, annotations)
        if isinstance(X, RawRows):
            preprocessing = fit_classifier_preprocessing(settings, X, directions, annotations.n_classes)
        else:
            n_labelled = labelled_per_output(annotations)
            preprocessing = fit_preprocessing(settings, X, directions, n_labelled=n_labelled)
    lazy = preprocessing.features.places_new
    features = TransformedRows(X, preprocessing.truth_features) if lazy else preprocessing.truth_features(X[:])
    truth = model.truth.prepare(TransformedRows(X, preprocessing.scaled), features, preprocessing.seed)
    return PreparedModel(preprocessing, replace(model, truth=truth))


def is_still_valid(prepared: PreparedModel, settings: Any, annotations: Annotations) -> bool:
    """Whether a new fit to these annotations would prepare the same features and kind of annotators."""
    known = prepared.model.annotators
    kind = resolve_annotators(settings.annotators, prepared.model.truth, annotations)
    own_map = prepared.preprocessing.of_annotators is not None
    same_features = own_map or directions_of(known, annotations) == prepared.preprocessing.directions
    return same_features and type(kind) is type(known)


def directions_of(annotators: Any, annotations: Annotations) -> int:
    """Return the number of leading features that expertise depends on: as set, or what labels can carry."""
    if annotators.directions is not None:
        return int(annotators.directions)
    n_labels = annotations.labels_per_annotator
    typical = float(n_labels[n_labels > 0].mean()) if n_labels.any() else 0.0
    return max((r for r in DIRECTIONS if r * LABELS_PER_DIRECTION <= typical), default=DIRECTIONS[0])


def labelled_per_output(annotations: Annotations) -> int:
    """Return the number of labelled items per output of a truth over classes, which limits its features."""
    return int(annotations.labelled.sum()) // max(annotations.n_classes - 1, 1)


def label_units(data: TrainingData) -> LabelUnits:
    """Return weighted mean and standard deviation of the labels; a scale of 1 where all are equal."""
    annotations = data.annotations
    values = annotations.labels[annotations.label].astype(float)
    counts = annotations.counts
    counts = counts if data.weight is None else counts * data.weight[annotations.item]
    mean = float(np.average(values, weights=counts))
    scale = float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
    return LabelUnits(mean, scale if scale > 1e-12 * np.abs(values).max() else 1.0)


def no_annotations(n_items: int) -> Annotations:
    """Return annotations without any label."""
    none = np.zeros(0, dtype=np.int32)
    return Annotations(none, none, none, np.arange(n_items), np.arange(0), np.arange(0.0))


def describe_graphs(prepared: PreparedModel) -> str:
    """Describe the graphs of truth and maps; empty if there are none."""
    preprocessing = prepared.preprocessing
    of_map, of_annotators = (
        getattr(getattr(features, "graph", None), "description", "")  # most maps have no graph
        for features in (preprocessing.features, preprocessing.of_annotators)
    )
    graphs = {"truth": prepared.model.truth.description, "map": of_map, "expertise": of_annotators}
    return "; ".join(f"{whose} on {graph}" for whose, graph in graphs.items() if graph)


def _part(X: Any, rows: Rows, data: TrainingData) -> tuple[Any, Any, TrainingData]:
    """Return what a chunk is made of; out-of-core features are read by the worker that holds it."""
    if hasattr(X, "part"):
        return X.part(int(rows[0]), int(rows[-1]) + 1), rows - rows[0], data[rows]
    return X[rows], slice(None), data[rows]


def _read(part: tuple[Any, Any, TrainingData], prepared: PreparedModel) -> Items:
    X, rows, data = part
    return prepared.items(X[rows], data)
