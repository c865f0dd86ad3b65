"""Model selection without ground truth: splitters that hold labels out, and scorers on held-out labels.

Pass a splitter as ``cv=`` and a scorer as ``scoring=`` to GridSearchCV, cross_val_score and similar.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state

from whoknows._array import Mask
from whoknows.data.annotations import Annotations
from whoknows.data.errors import Advice, InputError

Rows = NDArray[np.intp]


# --- Splitters -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Folds:
    n_splits: int = 3

    def __post_init__(self) -> None:
        n_splits: Any = self.n_splits
        if not isinstance(n_splits, Integral) or n_splits < 2:
            raise InputError(f"n_splits must be an integer of at least 2; got {n_splits!r}.")

    def _check_enough(self, n: int, what: str, detail: str = "") -> None:
        """Raise if there are fewer parts than folds."""
        if n < self.n_splits:
            setting = f"{type(self).__name__}(n_splits={self.n_splits})"
            raise InputError(
                Advice("n_splits", setting, value=self.n_splits),
                f" needs as many {what}; there are {n}{detail}. Use fewer folds, or more labels.",
            )

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits


@dataclass(frozen=True)
class ItemFolds(_Folds):
    """K-fold over labelled items: each is in one test set; items without a label are always in training.

    Measures how well a model does on new items. `sklearn.model_selection.KFold` would hold out unlabelled
    items too: they add nothing to the score, and the model could not learn from them.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    shuffle : bool
        Assign items to folds at random; otherwise in their order.
    random_state : int, RandomState or None
        Pass an int for reproducible folds.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import ItemFolds
    >>> Y = Annotations.from_matrix([[0, 1], [1, None], [None, None], [1, 1]])
    >>> for train, test in ItemFolds(3, shuffle=False).split(None, Y):
    ...     print(train, test)
    [1 2 3] [0]
    [0 2 3] [1]
    [0 1 2] [3]
    """

    shuffle: bool = True
    random_state: Any = 0

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows of the training and of the test set of each fold.

        Parameters
        ----------
        X : (n_items, n_features) or None
        y : Annotations
        groups : (n_items,), optional
            Labelled items of one group are held out together.
        """
        annotations = _check_annotations(y)
        check_consistent_length(X, annotations, groups)
        labelled = np.flatnonzero(annotations.labelled)
        group = None if groups is None else np.asarray(groups)[labelled]
        what = "labelled items" if group is None else "groups of labelled items"
        detail = f" ({annotations.n_annotations} labels of {annotations.n_items} items)"
        self._check_enough(len(np.unique(labelled if group is None else group)), what, detail)
        seed = self.random_state if self.shuffle else None
        kind = KFold if group is None else GroupKFold
        folds = kind(self.n_splits, shuffle=self.shuffle, random_state=seed)
        for _, part in folds.split(labelled, groups=group):
            test = labelled[part]
            yield np.setdiff1d(np.arange(annotations.n_items), test), test


@dataclass(frozen=True)
class AnnotationFolds(_Folds):
    """K-fold over single labels: each is in one test set; the item's other labels stay in training.

    Every item is in every training set, with its remaining labels; a test set has the items with held-out
    labels, and only these labels. The labels of each annotator are spread evenly over the folds.

    The row numbers it yields carry, in their dtype, which labels are meant; `Annotations` indexed with them
    keep only these. Pass them on unchanged: concatenated with others, or cast to another integer type, they
    are plain rows, with all labels.

    Parameters
    ----------
    n_splits : int
        Number of folds; labels are assigned at random.
    random_state : int, RandomState or None
        Pass an int for reproducible folds.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import AnnotationFolds
    >>> Y = Annotations.from_matrix([[0, 1], [1, None], [None, None], [1, 1]])
    >>> train, test = next(AnnotationFolds(5).split(None, Y))
    >>> Y[train], Y[test]
    (Annotations(n_items=4, n_annotators=2, n_classes=2, n_annotations=4),
     Annotations(n_items=1, n_annotators=2, n_classes=2, n_annotations=1))
    """

    random_state: Any = 0

    def split(self, X: Any, y: Any = None, groups: None = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows, which carry their labels, of the training and of the test set of each fold.

        Parameters
        ----------
        X : (n_items, n_features) or None
        y : Annotations
        groups : None
            Groups of items cannot be held out, as every item is in training; see `ItemFolds`.
        """
        annotations = _check_annotations(y)
        check_consistent_length(X, annotations)
        if groups is not None:
            raise InputError(
                "AnnotationFolds has every item in training, so it cannot hold out groups of items. Use ItemFolds."
            )
        self._check_enough(annotations.n_annotations, "labels")
        _check_labels_survive()
        fold = self._fold_of_each_label(annotations)
        for k in range(self.n_splits):
            held_out = fold == k
            yield (
                _rows_of_labels(~held_out, np.arange(annotations.n_items)),
                _rows_of_labels(held_out, np.unique(annotations.item[held_out])),
            )

    def _fold_of_each_label(self, annotations: Annotations) -> Rows:
        """Assign labels to folds in turn, annotator by annotator, each in random order."""
        order = check_random_state(self.random_state).permutation(annotations.n_annotations)
        order = order[np.argsort(annotations.annotator[order], kind="stable")]
        fold = np.empty(len(order), dtype=np.intp)
        fold[order] = np.arange(len(order)) % self.n_splits
        return fold


def _rows_of_labels(labels: Mask, rows: Rows) -> Rows:
    """Row numbers whose dtype says which labels are meant: `Annotations` read it, all others see integers.

    scikit-learn indexes y with the rows alone, and makes plain arrays of them first. The dtype, which can
    hold metadata, survives every view, copy and pickle of a plain array.
    """
    return rows.astype(np.dtype(np.intp, metadata={"labels": labels}))


@cache
def _check_labels_survive() -> None:
    """Raise if the metadata of the rows would be lost on the way to y: held-out labels would be trained on.

    Tested on scikit-learn itself, once, since no later step could detect it.
    """
    first_label = _rows_of_labels(np.array([True, False]), np.arange(1))
    rows = pickle.loads(pickle.dumps(first_label))  # as on the way to another process
    y = Annotations.from_matrix([[0, 1]])
    n_labels = cross_val_score(FunctionTransformer(), np.zeros((1, 1)), y, cv=[(rows, rows)], scoring=_count_labels)
    if n_labels[0] != 1:
        raise RuntimeError(
            f"AnnotationFolds does not work with scikit-learn {sklearn.__version__} and numpy "
            f"{np.__version__}: held-out labels would be used in training. Use ItemFolds."
        )


def _count_labels(estimator: Any, X: Any, y: Annotations) -> int:
    return y.n_annotations


# --- Scorers ---------------------------------------------------------------------------------------------


def label_log_lik(estimator: Any, X: Any, y: Any) -> float:
    """Held-out log-likelihood per label, log p(labels of an item | x): `score` on annotations.

    The labels of one item are predicted jointly, from x alone. Greater is better; random guessing has
    log(1 / n_classes).

    Parameters
    ----------
    estimator : fitted, with ``log_predictive(X, y)``, or a Pipeline that ends in one
        Such as `CrowdClassifier`.
    X : (n_items, n_features)
    y : Annotations
        Labels the estimator was not fitted to.
    """
    model, X, annotations = _scorable(estimator, X, y)
    return float(model.log_predictive(X, annotations).sum() / annotations.counts.sum())


def label_log_lik_given_others(estimator: Any, X: Any, y: Any) -> float:
    """Held-out log-likelihood per label given the others: log p(y_it | x_i, the other labels of item i in y).

    The other labels say more about the truth than x does, so this depends more on the annotator model and
    less on the classifier. Each term is log p(all labels) − log p(all but this one). If no item of y has two
    labels, it equals `label_log_lik`.

    Parameters
    ----------
    estimator, X, y
        As in `label_log_lik`.
    """
    model, X, annotations = _scorable(estimator, X, y)
    n = annotations.labels_per_item
    first = np.repeat(np.cumsum(n) - n, n)
    place = np.arange(annotations.n_annotations) - first  # of each label within its item
    total = float(n @ model.log_predictive(X, annotations))
    for left_out in range(n.max(where=n > 1, initial=0)):  # a single label has no others: log p(nothing) = 0
        rows = np.flatnonzero(n > max(left_out, 1))
        others = annotations.only(place != left_out)[rows]
        total -= float(model.log_predictive(_safe_indexing(X, rows), others).sum())
    return float(total / annotations.counts.sum())


def _scorable(estimator: Any, X: Any, y: Any) -> tuple[Any, Any, Annotations]:
    """Check what a scorer got; of a pipeline, return the last step and the transformed X."""
    annotations = _check_annotations(y)
    if isinstance(estimator, Pipeline):
        estimator, X = estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X
    if not hasattr(estimator, "log_predictive"):
        raise TypeError(
            "Expected an estimator with log_predictive(X, y), such as CrowdClassifier, or a Pipeline that "
            f"ends in one; got {type(estimator).__name__}. Without scoring=, its own score is used."
        )
    if not annotations.counts.any():
        raise InputError(f"None of the {annotations.n_items} items in y has a label: nothing can be scored.")
    return estimator, X, annotations


def _check_annotations(y: Any) -> Annotations:
    if not isinstance(y, Annotations):
        raise TypeError(
            f"Expected y to be Annotations, got {'None' if y is None else type(y).__name__}. Only these can "
            "be split by label, and a subset still knows every class and annotator. Pass "
            "Annotations.from_matrix(y)."
        )
    return y
