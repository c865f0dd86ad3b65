"""What all estimators share: validated questions, scores, suggestions and saving."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements
from whoknows.estimators.ask.batch import suggest
from whoknows.estimators.ask.suggestions import Suggestions
from whoknows.estimators.inputs.validation import CheckedFeatures, check_annotations, check_features, row_ids


class CrowdEstimator(BaseEstimator):
    """An estimator that is fitted to features and annotations, and can be saved."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that `whoknows.load` reads.

        The file is complete or absent; an existing file is replaced. See `whoknows.load`.

        Parameters
        ----------
        path : str or path
            By convention with the suffix ``.whoknows``.
        """
        from whoknows.estimators.persistence.model_file import save  # it imports the estimators

        save(self, path)

    def _score_annotations(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Mean over labels of their log-likelihood, log p(labels | x)."""
        if sample_weight is not None:
            raise InputError("sample_weight goes with a truth vector; annotations are scored label by label.")
        annotations = self._annotations_of(X, y)
        if not annotations.counts.any():
            raise InputError("score on annotations needs at least one label; y has none.")
        return float(self.log_predictive(X, annotations).sum() / annotations.counts.sum())

    def _checked(self, X: Any) -> Array:
        """Return validated features; what `checked` has validated is not validated again."""
        check_is_fitted(self)
        return X.X if isinstance(X, CheckedFeatures) else check_features(self, X, reset=False)

    def _annotations_of(self, X: Any, y: Any) -> Annotations:
        """Return validated annotations of these items; the columns of a bare matrix are the annotators."""
        check_is_fitted(self)
        return check_annotations(y, len(X), self.annotators_, row_ids(X))


def is_truth_vector(y: Any) -> bool:
    """Whether y holds one truth per item, rather than annotations."""
    return not isinstance(y, Annotations) and np.ndim(y) == 1


class CrowdClassifierMixin(ClassifierMixin, CrowdEstimator):
    """Answers that follow from ``predict_proba`` and ``log_predictive``."""

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each item: (n_items,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return accuracy on a truth vector, or the held-out log-likelihood of annotations.

        Parameters
        ----------
        X : (n_items, n_features)
        y : (n_items,) or annotations
            A vector is the truth: returns accuracy. Annotations (or a matrix): returns the mean over labels
            of log p(labels | x), truth integrated out. It needs no truth, so it can select settings.
        """
        if is_truth_vector(y):
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        return self._score_annotations(X, y, sample_weight)

    def suggest(
        self,
        X: Any,
        y: Any,
        n: int,
        costs: Any = None,
        annotators: Any = None,
        *,
        min_gain: float = 0.0,
        spread: bool = True,
    ) -> Suggestions:
        """Choose the n labels, not asked yet, with the most expected information about the truth per cost.

        Parameters
        ----------
        X : (n_items, n_features)
            Items one could ask about.
        y : as in `fit`
            Their labels so far.
        n : int
            Largest number of labels to ask for.
        costs : mapping or (n_annotators,), optional
            Cost of a label by annotator; default 1 each.
        annotators : sequence of ids, optional
            Who may be asked.
        min_gain : float
            Stop when no label is worth this many bits per cost.
        spread : bool
            Spread the batch over the items and the annotators.
        """
        return suggest(self, X, y, n, costs=costs, annotators=annotators, min_gain=min_gain, spread=spread)

    def _known_annotations(self, X: Any, y: Any, unknown: str) -> Annotations:
        """Return validated annotations in the codes of the fit; see `posterior` for ``unknown``."""
        return self._annotations_of(X, y).recode(self.annotators_, self.classes_, unknown=unknown)

    def _new_annotations(self, y: Any, n_items: int, index: Any) -> Annotations:
        """Return validated annotations for `update`; unnamed columns are the annotators of the fit."""
        numbered = elements(self.annotators_) == list(range(len(self.annotators_)))
        return check_annotations(y, n_items, None if numbered else self.annotators_, index)
