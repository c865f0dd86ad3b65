"""What every classifier here answers in the same words, whatever is inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements
from whoknows.estimators.ask.batch import suggest
from whoknows.estimators.ask.suggestions import Suggestions
from whoknows.estimators.inputs.validation import check_annotations, check_features, row_ids
from whoknows.estimators.persistence.saved import Saved


class Answers(Saved, ClassifierMixin):
    """Answers that follow from ``predict_proba``, ``log_predictive`` and what annotators would say."""

    def predict(self, X: Any) -> Any:
        """Return the likeliest class of each item: (n_items,)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on a truth vector; on annotations, how well they are foretold.

        Parameters
        ----------
        X : (n_items, n_features)
        y : (n_items,) or annotations
            One dimension is the truth: returns accuracy. Annotations (or a matrix): the mean over labels of
            log p(labels | x), truth integrated out. It needs no truth, so it can choose settings.
        """
        if not isinstance(y, Annotations) and np.ndim(y) == 1:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        if sample_weight is not None:
            raise InputError("sample_weight goes with a truth vector; annotations are scored label by label.")
        said = self._labels_of(X, y)
        if not said.counts.any():
            raise InputError("score on annotations needs at least one label; y has none.")
        return float(self.log_predictive(X, said).sum() / said.counts.sum())

    def suggest(
        self,
        X: Any,
        said: Any,
        n: int,
        costs: Any = None,
        annotators: Any = None,
        *,
        min_gain: float = 0.0,
        spread: bool = True,
    ) -> Suggestions:
        """Choose the n labels, not asked yet, that say most about the truth for what they cost.

        Parameters
        ----------
        X : (n_items, n_features)
            Items one could ask about.
        said : as in `fit`
            Their labels so far.
        n : int
            Labels to ask for, at most.
        costs : mapping or (n_annotators,), optional
            Cost of a label by annotator; default 1 each.
        annotators : sequence of ids, optional
            Who may be asked.
        min_gain : float
            Stop when no label is worth so many bits per cost.
        spread : bool
            Spread the batch over the data and the annotators.
        """
        return suggest(self, X, said, n, costs=costs, annotators=annotators, min_gain=min_gain, spread=spread)

    def _checked(self, X: Any) -> Array:
        """Return checked features of items the fit need not have seen."""
        check_is_fitted(self)
        return check_features(self, X, reset=False)

    def _known_labels(self, X: Any, y: Any, unknown: str) -> Annotations:
        """Return checked labels of these items in the codes of the fit; see `posterior` for ``unknown``."""
        return self._labels_of(X, y).recode(self.annotators_, self.classes_, unknown=unknown)

    def _labels_of(self, X: Any, y: Any) -> Annotations:
        """Return checked labels of these items; a bare matrix is about the annotators of the fit."""
        check_is_fitted(self)
        return check_annotations(y, len(X), self.annotators_, row_ids(X))

    def _new_labels(self, y: Any, n_items: int, index: Any) -> Annotations:
        """Return checked labels that came in later; columns without names are the fit's annotators."""
        numbered = elements(self.annotators_) == list(range(len(self.annotators_)))
        return check_annotations(y, n_items, None if numbered else self.annotators_, index)
