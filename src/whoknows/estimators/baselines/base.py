"""What the baselines share: the input of `CrowdClassifier`, scaled features, and a score."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.estimators.inputs.validation import (
    all_or_nothing,
    check_annotations,
    check_classes,
    check_features,
    check_setting,
    only_what_counts,
    row_ids,
)
from whoknows.model.settings import YES_OR_NO, Rules


def votes(annotations: Annotations) -> NDArray[Any]:
    """Return the number of labels per item and class, weighted by confidence: (n_items, n_classes)."""
    n_items, n_classes = annotations.n_items, annotations.n_classes
    cell = annotations.item.astype(np.intp) * n_classes + annotations.label
    return np.bincount(cell, annotations.confidence, minlength=n_items * n_classes).reshape(-1, n_classes)


def majority(counts: NDArray[Any]) -> NDArray[np.intp]:
    """Return the class with most votes in each row of (n_items, n_classes).

    Ties go to the class with more labels over all items, then to the first class.
    """
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    return order[counts[:, order].argmax(axis=1)]


class Baseline(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted to annotations; subclasses implement ``_learn`` and ``_predict``."""

    standardize: bool
    rules: ClassVar[Rules] = {}  # valid values of parameters

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to features and annotations; X and y as in `CrowdClassifier.fit`."""
        for name, rule in {"standardize": YES_OR_NO, **self.rules}.items():
            check_setting(self, name, rule)
        index = row_ids(X)
        X = check_features(self, X, reset=True)
        annotations = check_annotations(y, len(X), index=index)
        check_classes(annotations)
        annotations, _ = only_what_counts(annotations, None, None)
        scaler = StandardScaler(with_mean=self.standardize, with_std=self.standardize).fit(X)
        self._learn(scaler.transform(X), annotations)
        self._scaler, self.classes_, self.annotators_ = scaler, annotations.labels, annotations.annotators
        return self

    def predict(self, X: Any) -> Any:
        """Return the predicted class of each item: (n_items,)."""
        X = self._scaled(X)
        return self.classes_[self._predict(X)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on true labels or, on annotations, the agreement with the majority vote.

        Parameters
        ----------
        X : (n_items, n_features)
        y : (n_items,) or annotations
            A vector holds true labels. For annotations (or a matrix), the score is the share of labelled
            items whose majority vote is predicted. It needs no true labels, so it can be used for model
            selection, as in the paper for its support vector machine.
        sample_weight : (n_items,), optional
            Weights of the items; with true labels only.
        """
        if not isinstance(y, Annotations) and np.ndim(y) == 1:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        if sample_weight is not None:
            raise InputError("sample_weight requires true labels; with annotations all items count equally.")
        predicted = self.predict(X)
        annotations = check_annotations(y, len(predicted), self.annotators_, row_ids(X))
        annotations = annotations.only(annotations.counts > 0)
        if annotations.n_annotations == 0:
            raise InputError(
                "score on annotations needs at least one label with positive weight; y has none."
            )
        agreed = annotations.labels[majority(votes(annotations))] == predicted
        return float(agreed[annotations.labelled].mean())

    def __sklearn_is_fitted__(self) -> bool:
        return "_scaler" in vars(self)

    def _scaled(self, X: Any) -> Array:
        """Validate X and scale it as in the fit."""
        check_is_fitted(self)
        return np.asarray(self._scaler.transform(check_features(self, X, reset=False)))

    @abstractmethod
    def _learn(self, X: Array, annotations: Annotations) -> None:
        """Fit to validated and scaled X."""

    @abstractmethod
    def _predict(self, X: Array) -> NDArray[Any]:
        """Return the predicted classes of scaled X as positions in ``classes_``: (n_items,)."""
