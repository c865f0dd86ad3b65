"""One fitted model: what it says of items once they are seen as it sees them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from whoknows._array import Array, Rows, to_numpy
from whoknows.data.vocabulary import Ids, as_column, elements
from whoknows.estimators.ask.batch import Voice
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.intervals import average_interval, class_interval, expertise_interval
from whoknows.estimators.prepared_model import PreparedModel
from whoknows.fit.items import Items
from whoknows.fit.laplace import Covariances
from whoknows.fit.solve import Solution, parameters_of

TYPICAL_ITEMS = 1000  # what a confusion matrix is averaged over


class OneModel:
    """Answers about `Items`: for `CrowdClassifier`, and for `AutoCrowdClassifier`, which asks several."""

    _learnt: PreparedModel
    _fitted: Solution
    _spread: Covariances
    _typical: Items

    def _prob(self, items: Items) -> Array:
        return self._learnt.prob(self._fitted, items)

    def _class_interval(self, items: Items, level: float) -> Any:
        xi = parameters_of(self._learnt.model, self._fitted).xi
        prob = to_numpy(self._prob(items))
        return class_interval(self._learnt.model.truth, xi, self._spread, items.on_host.X_truth, prob, level)

    def _posterior(self, items: Items) -> Array:
        return self._learnt.posterior(self._fitted, items)

    def _log_predictive(self, items: Items) -> Array:
        return self._learnt.log_predictive(self._fitted, items)

    def _voices(self, X: Any, said: Any) -> list[Voice]:
        given = TrainingData.labels(self._known_labels(X, said, "population"))
        return [Voice(1.0, self, self._learnt.items(self._checked(X), given).on_host)]

    def _rows_of(self, annotators: Any) -> Rows:
        """Rows of θ for these ids; −1, the crowd, for one the fit did not see."""
        if annotators is None:
            return np.arange(len(self.annotators_))
        return rows_of(as_column(annotators, "annotators="), self.annotators_)

    def _expertise(self, items: Items, rows: Rows) -> Array:
        model: Any = self._learnt.model.annotators
        return to_numpy(
            model.expertise(self._fitted.annotators, items.X_annotators, self._prob(items))[:, rows]
        )

    def _expertise_interval(self, items: Items, level: float, rows: Rows) -> Any:
        model: Any = self._learnt.model.annotators
        theta = self._fitted.annotators.mean
        prob = to_numpy(self._prob(items))
        value = self._expertise(items, rows)
        return expertise_interval(
            model, theta, self._spread, rows, items.on_host.X_annotators, prob, value, level
        )

    def _some_items(self, X: Array | None) -> Items:
        return self._typical if X is None else self._learnt.items(X).on_host

    def _average_expertise(self, items: Items, level: float) -> Any:
        model: Any = self._learnt.model.annotators
        prob = self._prob(items)
        value = model.expertise(self._fitted.annotators, items.X_annotators, prob).mean(axis=0)[:-1]
        return average_interval(
            model, self._fitted.annotators.mean, self._spread, items.X_annotators, prob, value, level
        )


def typical_rows(n_items: int) -> Rows:
    """Every so-manieth item, a thousand or a few more."""
    return np.arange(0, n_items, max(n_items // TYPICAL_ITEMS, 1))


def rows_of(annotators: Ids, known: Ids) -> Rows:
    """Where each annotator is among those known, −1 for one who is not."""
    place = {name: row for row, name in enumerate(elements(known))}
    return np.array([place.get(name, -1) for name in elements(annotators)], dtype=np.intp)


def stacked(blocks: Iterable[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Join what is said of blocks of items, part by part."""
    return tuple(np.concatenate(part) for part in zip(*blocks, strict=True))
