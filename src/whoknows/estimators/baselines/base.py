"""What the baselines share: the same input as `CrowdClassifier`, one class an item, and a score."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

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
from whoknows.model.settings import YES_OR_NO


def votes(said: Annotations) -> NDArray[Any]:
    """How many labels of each class an item has, each as many as its confidence: (n_items, n_classes)."""
    cell = said.item.astype(np.intp) * said.n_classes + said.label
    cells = np.bincount(cell, said.confidence, minlength=said.n_items * said.n_classes)
    return cells.reshape(-1, said.n_classes)


def majority(counts: NDArray[Any]) -> NDArray[np.intp]:
    """Class of most votes in each row of (n_items, n_classes).

    A tie goes to the class with more labels over all items; if these tie too, to the first of them.
    """
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    return order[counts[:, order].argmax(axis=1)]


class Baseline(ClassifierMixin, BaseEstimator):
    """A classifier that is taught by who said what; ``_learn`` and ``_predict`` say how."""

    standardize: bool

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from features and who said what; X and y as in `CrowdClassifier.fit`."""
        check_setting(self, "standardize", YES_OR_NO)
        index = row_ids(X)
        X = check_features(self, X, reset=True)
        said = check_annotations(y, len(X), index=index)
        check_classes(said)
        said, _ = only_what_counts(said, None, None)
        scaler = StandardScaler(with_mean=self.standardize, with_std=self.standardize).fit(X)
        self._learn(scaler.transform(X), said)
        self._scaler, self.classes_, self.annotators_ = scaler, said.labels, said.annotators
        return self

    def predict(self, X: Any) -> Any:
        """Return the class of each item: (n_items,)."""
        X = self._scaled(X)
        return self.classes_[self._predict(X)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on a truth vector; on annotations, agreement with their majority vote.

        Parameters
        ----------
        X : (n_items, n_features)
        y : (n_items,) or annotations
            One dimension is the truth. Annotations (or a matrix): the share of labelled items whose majority
            vote is predicted. It needs no truth, so it can choose settings, as the paper chose those of its
            support vector machine.
        """
        if not isinstance(y, Annotations) and np.ndim(y) == 1:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        if sample_weight is not None:
            raise InputError("sample_weight goes with a truth vector; labelled items count alike.")
        predicted = self.predict(X)
        said = check_annotations(y, len(predicted), self.annotators_, row_ids(X))
        said = said.only(said.counts > 0)
        if said.n_annotations == 0:
            raise InputError("score on annotations needs at least one label that counts; y has none.")
        agreed = said.labels[majority(votes(said))] == predicted
        return float(agreed[said.labelled].mean())

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit has come to its end."""
        return "_scaler" in vars(self)

    def _scaled(self, X: Any) -> Array:
        """Check X and bring it to the scale of the items of the fit."""
        check_is_fitted(self)
        return np.asarray(self._scaler.transform(check_features(self, X, reset=False)))

    @abstractmethod
    def _learn(self, X: Array, said: Annotations) -> None:
        """Fit to checked and scaled X; set nothing before the end: a fit that fails leaves no trace."""

    @abstractmethod
    def _predict(self, X: Array) -> NDArray[Any]:
        """Positions in ``classes_`` of the predicted classes of scaled X: (n_items,)."""


class TwoStep(Baseline):
    """Labels become classes of items, then any scikit-learn classifier learns those from x."""

    estimator: Any

    @available_if(lambda self: self.estimator is None or hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """p(z | x) of each item: (n_items, n_classes), columns as in ``classes_``."""
        X = self._scaled(X)
        prob = np.zeros((len(X), len(self.classes_)))
        prob[:, self.estimator_.classes_] = self.estimator_.predict_proba(X)
        return prob

    def _predict(self, X: Array) -> NDArray[Any]:
        return np.asarray(self.estimator_.predict(X))

    def _taught(self, X: Array, classes: NDArray[Any], weight: Array | None = None) -> Any:
        """Return the classifier fitted to rows and the positions of their classes, weighted or not."""
        if len(np.unique(classes)) == 1:  # most classifiers refuse; the answer is known
            return DummyClassifier(strategy="prior").fit(X, classes)
        estimator = LogisticRegression(max_iter=1000) if self.estimator is None else clone(self.estimator)
        return estimator.fit(X, classes, **({} if weight is None else _as_keyword(estimator, weight)))


def _as_keyword(estimator: Any, weight: Array) -> dict[str, Array]:
    """Weights under the name that the classifier, or the last step of a pipeline, takes them by."""
    way, last = "", estimator
    while isinstance(last, Pipeline):
        step, last = last.steps[-1]
        way += f"{step}__"
    if not has_fit_parameter(last, "sample_weight"):
        raise InputError(
            f"The classifier learns from weighted classes, and {type(last).__name__}.fit takes no "
            "sample_weight. Use one that does, such as LogisticRegression()."
        )
    return {f"{way}sample_weight": weight}
