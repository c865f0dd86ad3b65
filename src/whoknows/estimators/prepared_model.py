"""What a fit knows before its first label: how items are seen, and the model prepared for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from whoknows._array import Array, Rows, doubles, namespace, rows_like, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.estimators.inputs.preprocessing import Preprocessing, TransformedRows, silence
from whoknows.estimators.inputs.resolve import resolve_annotators, resolve_truth
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.fit import engines
from whoknows.fit.engines import Chunks, Engine
from whoknows.fit.items import Items
from whoknows.fit.objective import Model, check_pair
from whoknows.fit.solve import SOLVERS, Solution, split_into_chunks
from whoknows.fit.variational import has_bound
from whoknows.model.distances import blocks_of
from whoknows.model.protocols import ClassAnnotators, ClassTruth, require

DIRECTIONS = (2, 5, 10, 20)  # few choices, so that some more labels do not change the model
LABELS_A_DIRECTION = 3  # what an annotator has to give before a further slope is more than the crowd's


@dataclass(frozen=True)
class PreparedModel:
    """What does not depend on labels: how items are seen, and the model prepared for them."""

    seen: Preprocessing
    model: Model

    @classmethod
    def of_items(
        cls, settings: Any, X: Array, said: Annotations, seen: Preprocessing | None = None
    ) -> PreparedModel:
        """Learn from checked X; ``seen`` is what another model with the same map and scale made of it."""
        K = said.n_classes
        truth = resolve_truth(settings.truth).for_classes(K)
        annotators = resolve_annotators(settings.annotators, truth, said).for_classes(K)
        require(truth, ClassTruth, "CrowdClassifier")
        require(annotators, ClassAnnotators, "CrowdClassifier")
        check_pair(annotators, truth)  # before the graph, which takes longer: do the pieces fit each other?
        seen = seen or Preprocessing.of_items(settings, X, directions_of(annotators, said))
        features = TransformedRows(X, seen.view) if seen.features.places_new else seen.view(X[:])
        truth = truth.prepare(TransformedRows(X, seen.scaled), features, seen.seed)
        return cls(seen, Model(annotators, truth))

    def serves(self, choice: Any, said: Annotations) -> bool:
        """Whether a new fit would see items, and take annotators, alike; ``choice`` is what was asked for."""
        annotators = self.model.annotators
        kind = resolve_annotators(choice, self.model.truth, said)
        sees_enough = self.seen.of_annotators is not None
        same_view = sees_enough or directions_of(annotators, said) == self.seen.directions
        return same_view and type(kind) is type(annotators)

    def items(self, X: Array, given: TrainingData | None = None, alike: Items | None = None) -> Items:
        """Return what truth and annotators see of checked X, with what is known of it or nothing.

        ``alike`` are the same items as a model with the same map, if not the same annotators, sees them.
        """
        X_truth = self.seen.view(X) if alike is None else alike.X_truth
        X_annotators = self.seen.view_of_annotators(X, X_truth)
        if self.model.truth.couples_items:
            X_truth = self.seen.scaled(X)
        if given is None:
            items = Items(X_truth, X_annotators, silence(len(X)))
        else:
            items = Items(doubles(X_truth), doubles(X_annotators), given.said, given.gold, given.weight)
        return items if has_bound(self.model) else items.on_host  # other solvers know arrays alone

    @property
    def _truth(self) -> ClassTruth:
        return cast(ClassTruth, self.model.truth)

    @property
    def _annotators(self) -> ClassAnnotators:
        return cast(ClassAnnotators, self.model.annotators)

    @property
    def needs_all(self) -> bool:
        """Whether items can only be seen all together: they hang together, or the graph knows no others."""
        return self.model.truth.needs_all or not self.seen.places_new

    @property
    def graph(self) -> str:
        """The graphs of truth and map, in words."""
        return graph_in_words(self.model.truth, self.seen)

    def some(self, X: Array, rows: Any, given: TrainingData | None = None) -> Items:
        """Return what truth and annotators see of some rows of checked X."""
        if self.needs_all:
            return self.items(X, given)[rows]
        return self.items(X[rows], None if given is None else given[rows])

    def kept(self, X: Array, rows: Rows, given: TrainingData, engine: Engine) -> Items | Chunks:
        """Return the same in memory, or of many items in chunks that an engine keeps."""
        n_chunks = -(-len(rows) // engines.ITEMS_A_CHUNK)
        if self.model.truth.couples_items:
            return Chunks([self.some(X, rows, given)], engine)
        if n_chunks <= 1 or self.needs_all:
            items = self.some(X, rows, given)
            return items if n_chunks <= 1 else split_into_chunks(items, n_chunks, engine)
        parts = [_part(X, mine, given) for mine in np.array_split(rows, n_chunks)]
        return Chunks(engine.keep(_read, parts, self), engine)

    def blocks(self, X: Array, given: TrainingData | None = None) -> Iterator[Items]:
        """Items a block after the other, so that memory does not grow with them."""
        if self.needs_all:
            yield self.items(X, given)
            return
        for rows in blocks_of(X):
            yield self.items(X[rows], None if given is None else given[rows])

    def log_predict(self, fitted: Solution, items: Items) -> Array:
        """log p(z | x): (n_items, n_classes)."""
        return to_numpy(self._truth.log_predict(fitted.truth, items.X_truth))

    def prob(self, fitted: Solution, items: Items) -> Array:
        """p(z | x), where the items are: (n_items, n_classes)."""
        log_p = self._truth.log_predict(fitted.truth, items.X_truth)
        return namespace(log_p).exp(log_p)

    def posterior(self, fitted: Solution, items: Items) -> Array:
        """p(z | x, labels): (n_items, n_classes)."""
        items = items if SOLVERS[fitted.solver].works_on_tensors else items.on_host
        evidence = self.model.annotators.evidence_at(fitted.annotators, items.X_annotators, items.Y)
        return to_numpy(self._truth.posterior_at(fitted.truth, items.X_truth, items.complete(evidence)))

    def log_predictive(self, fitted: Solution, items: Items) -> Array:
        """log p(labels | x) of each item, truth and annotators integrated out: (n_items,)."""
        log_joint = self.log_predict(fitted, items) + self.log_labels(fitted, items)
        return np.asarray(np.logaddexp.reduce(log_joint, axis=1))

    def log_labels(self, fitted: Solution, items: Items) -> Array:
        """log p(labels | x, z) of each item, annotators integrated out: (n_items, n_classes)."""
        return to_numpy(self._annotators.predictive(fitted.annotators, items.X_annotators, items.Y).table)

    def log_each_label(self, fitted: Solution, items: Items) -> Array:
        """log p(label | x, z) of each label by itself: (n_labels, n_classes)."""
        X_annotators = items.X_annotators[rows_like(items.Y.item.astype(np.intp), items.X_annotators)]
        each = self._annotators.predictive(fitted.annotators, X_annotators, items.Y.one_by_one())
        return to_numpy(each.table)


def _part(X: Any, rows: Rows, given: TrainingData) -> tuple[Any, Any, TrainingData]:
    """Return what a chunk is made of; features in files stay there until whoever keeps it reads them."""
    if hasattr(X, "part"):
        return X.part(int(rows[0]), int(rows[-1]) + 1), rows - rows[0], given[rows]
    return X[rows], slice(None), given[rows]


def _read(part: tuple[Any, Any, TrainingData], learnt: PreparedModel) -> Items:
    X, rows, given = part
    return learnt.items(X[rows], given)


def graph_in_words(truth: Any, seen: Preprocessing) -> str:
    """Say which graphs the truth and the map are made with; nothing where there are none."""
    of_map, of_annotators = (
        getattr(getattr(features, "graph", None), "description", "")
        for features in (seen.features, seen.of_annotators)
    )
    told = (("truth", truth.description), ("map", of_map), ("expertise", of_annotators))
    return "; ".join(f"{whose} on {words}" for whose, words in told if words)


def directions_of(annotators: Any, said: Annotations) -> int:
    """How many leading features expertise depends on: as set, or as many as labels can tell of."""
    if annotators.directions is not None:
        return int(annotators.directions)
    given = said.labels_per_annotator
    typical = float(given[given > 0].mean()) if given.any() else 0.0
    fitting = [r for r in DIRECTIONS if r * LABELS_A_DIRECTION <= typical]
    return max(fitting, default=DIRECTIONS[0])
