"""Settings chosen without truth: ways to hold labels out, and scores that ask for them.

A splitter goes to ``cv=``, a scorer to ``scoring=`` of GridSearchCV, cross_val_score and the like.
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
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state

from whoknows._array import Mask
from whoknows.data.annotations import Annotations
from whoknows.data.errors import Advice, InputError

Rows = NDArray[np.intp]


# --- Splitters -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ItemFolds:
    """Hold out items: each labelled item is in one test part, items without a label always in training.

    Asks how well a model does on items it has never seen. `sklearn.model_selection.KFold` would ask about
    unlabelled items too, which have nothing to answer, and would not learn from those it asks about.

    Parameters
    ----------
    n_splits : int
        Parts the labelled items are cut into.
    shuffle : bool
        Cut at random. If not, in the order of the items.
    random_state : int, RandomState or None
        The same number, the same parts.

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

    n_splits: int = 3
    shuffle: bool = True
    random_state: Any = 0

    def __post_init__(self) -> None:
        _check_n_splits(self.n_splits)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return how many parts there are."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Give the rows of the training and of the test part, part by part.

        Parameters
        ----------
        X : (n_items, n_features) or None
        y : Annotations
        groups : (n_items,), optional
            Labelled items of one group are held out together.
        """
        said = _check_said(y)
        check_consistent_length(X, said, groups)
        labelled = np.flatnonzero(said.labelled)
        group = None if groups is None else np.asarray(groups)[labelled]
        if group is None:
            self._check_enough(len(labelled), "labelled items", said)
        else:
            self._check_enough(len(np.unique(group)), "groups of labelled items", said)
        seed = self.random_state if self.shuffle else None
        kind = KFold if group is None else GroupKFold
        folds = kind(self.n_splits, shuffle=self.shuffle, random_state=seed)
        for _, part in folds.split(labelled, groups=group):
            test = labelled[part]
            yield np.setdiff1d(np.arange(said.n_items), test), test

    def _check_enough(self, found: int, what: str, said: Annotations) -> None:
        if found < self.n_splits:
            raise InputError(
                Advice("n_splits", f"ItemFolds(n_splits={self.n_splits})", value=self.n_splits),
                f" needs as many {what}; there are {found} ({said.n_annotations} labels of {said.n_items} "
                "items). Use fewer folds, or more labels.",
            )


@dataclass(frozen=True)
class AnnotationFolds:
    """Hold out labels: each label is in one test part, the item's other labels stay in training.

    Every item is in every training part, with the labels that are left; a test part has the items whose
    labels are asked for, and only these labels. Every annotator's labels are spread evenly over the parts.

    The rows it gives mean certain labels, and tell the `Annotations` they index so. Pass them on as they
    are: put together with others, or cast to another type of integer, they are mere rows, with all labels.

    Parameters
    ----------
    n_splits : int
        Parts the labels are cut into, at random.
    random_state : int, RandomState or None
        The same number, the same parts.

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

    n_splits: int = 3
    random_state: Any = 0

    def __post_init__(self) -> None:
        _check_n_splits(self.n_splits)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return how many parts there are."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: None = None) -> Iterator[tuple[Rows, Rows]]:
        """Give the rows, and with them the labels, of the training and of the test part, part by part.

        Parameters
        ----------
        X : (n_items, n_features) or None
        y : Annotations
        groups : None
            Labels of one item are on both sides, so groups of items cannot be held out; see `ItemFolds`.
        """
        said = _check_said(y)
        check_consistent_length(X, said)
        if groups is not None:
            raise InputError(
                "AnnotationFolds has labels of one item on both sides, so it cannot keep groups of items "
                "apart. Use ItemFolds."
            )
        if said.n_annotations < self.n_splits:
            raise InputError(
                Advice("n_splits", f"AnnotationFolds(n_splits={self.n_splits})", value=self.n_splits),
                f" needs as many labels; there are {said.n_annotations}. Use fewer folds, or more labels.",
            )
        _check_meaning_arrives()
        part = self._part_of_each_label(said)
        for k in range(self.n_splits):
            asked = part == k
            yield _meaning(~asked, np.arange(said.n_items)), _meaning(asked, np.unique(said.item[asked]))

    def _part_of_each_label(self, said: Annotations) -> Rows:
        """Deal the labels out like cards, annotator after annotator, each in random order."""
        order = check_random_state(self.random_state).permutation(said.n_annotations)
        order = order[np.argsort(said.annotator[order], kind="stable")]
        part = np.empty(len(order), dtype=np.intp)
        part[order] = np.arange(len(order)) % self.n_splits
        return part


def _meaning(labels: Mask, rows: Rows) -> Rows:
    """Row numbers that also say which labels are meant: `Annotations` heed it, all others see integers.

    scikit-learn hands y nothing but the rows, and makes plain arrays of them first. What goes through every
    view, copy and pickle of a plain array is its dtype, which has room for metadata.
    """
    return rows.astype(np.dtype(np.intp, metadata={"labels": labels}))


@cache
def _check_meaning_arrives() -> None:
    """Refuse to split if what the rows mean would be lost on the way to y: all labels would be learnt from.

    Tried out on scikit-learn itself, once, since no later step could tell.
    """
    rows = pickle.loads(pickle.dumps(_meaning(np.ones(1, dtype=bool), np.arange(3))))
    y = _Listener()
    cross_val_score(DummyRegressor(), np.zeros((3, 1)), y, cv=[(rows, rows)], error_score="raise")
    if not (y.understood and all(y.understood)):
        raise RuntimeError(
            f"AnnotationFolds does not work with scikit-learn {sklearn.__version__} and numpy "
            f"{np.__version__}: held-out labels would be learnt from. Use ItemFolds."
        )


class _Listener:
    """A y of three items that notes whether it was told which labels are meant."""

    shape = (3,)

    def __init__(self) -> None:
        self.understood: list[bool] = []

    def __getitem__(self, key: Any) -> NDArray[Any]:
        rows = key[0] if isinstance(key, tuple) else key
        self.understood.append("labels" in (rows.dtype.metadata or {}))
        return np.zeros(len(rows))


# --- Scorers ---------------------------------------------------------------------------------------------


def label_log_lik(estimator: Any, X: Any, y: Any) -> float:
    """Mean over labels of log p(labels of an item | x): what `score` is on annotations.

    Labels of one item are foretold together, from x alone. Greater is better; log(1 / n_classes) is what
    guessing gets.

    Parameters
    ----------
    estimator : fitted, with ``log_predictive(X, y)``, or a Pipeline that ends in one
        Such as `CrowdClassifier`.
    X : (n_items, n_features)
    y : Annotations
        Labels the estimator was not fitted on.
    """
    said = _check_said(y)
    model, X = _open(estimator, X)
    _check_some_labels(said)
    return float(model.log_predictive(X, said).sum() / said.counts.sum())


def label_log_lik_given_others(estimator: Any, X: Any, y: Any) -> float:
    """Mean over labels of log p(y_it | x_i, the other labels of item i in y).

    The others tell the truth better than x does, so this asks first of all who is right when, and less of
    the classifier. Each term is log p(all labels) − log p(all but this one). Where no item of y has two
    labels it is `label_log_lik`.

    Parameters
    ----------
    estimator, X, y
        As in `label_log_lik`.
    """
    said = _check_said(y)
    model, X = _open(estimator, X)
    _check_some_labels(said)
    n = said.labels_per_item
    place = np.arange(said.n_annotations) - np.repeat(np.cumsum(n) - n, n)  # of each label in its item
    total = float(n @ model.log_predictive(X, said))
    for left_out in range(n.max(where=n > 1, initial=0)):  # a label alone has no others: log p(nothing) = 0
        rows = np.flatnonzero(n > max(left_out, 1))
        others = said.only(place != left_out)[rows]
        total -= float(model.log_predictive(_safe_indexing(X, rows), others).sum())
    return float(total / said.counts.sum())


def _open(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return what foretells labels, and X as it sees it: of a pipeline, the last step."""
    if isinstance(estimator, Pipeline):
        estimator, X = estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X
    if not hasattr(estimator, "log_predictive"):
        raise TypeError(
            "Expected an estimator with log_predictive(X, y), such as CrowdClassifier, or a Pipeline that "
            f"ends in one; got {type(estimator).__name__}. Without scoring=, its own score is used."
        )
    return estimator, X


# --- Checks ----------------------------------------------------------------------------------------------


def _check_n_splits(n_splits: Any) -> None:
    if not isinstance(n_splits, Integral) or n_splits < 2:
        raise InputError(f"n_splits must be a whole number, 2 or more; got {n_splits!r}.")


def _check_said(y: Any) -> Annotations:
    if not isinstance(y, Annotations):
        raise TypeError(
            f"Expected y to be Annotations, got {'None' if y is None else type(y).__name__}. Only they can "
            "be cut label by label, and a part of them still knows every class and annotator. Pass "
            "Annotations.from_matrix(y)."
        )
    return y


def _check_some_labels(said: Annotations) -> None:
    if not said.counts.any():
        raise InputError(f"None of the {said.n_items} items in y has a label: there is nothing to score.")
