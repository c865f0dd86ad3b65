"""A classifier from everybody's vote, and from one annotator's labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import show
from whoknows.estimators.baselines.base import TwoStep, majority, votes


class MajorityVoteClassifier(TwoStep):
    """A classifier taught by the majority vote: *majority vote* of Yan, Rosales, Fung and Dy (UAI 2010).

    Each labelled item gets the class of most of its labels; a tie goes to the class with more labels over
    all items, and if these tie too, to the first in ``classes_``. Items nobody labelled teach only the scale.

    Parameters
    ----------
    estimator : classifier, optional
        What learns the classes from x; None is ``LogisticRegression(max_iter=1000)``, as in the paper.
    standardize : bool
        Bring every column of X to mean 0 and variance 1 over all items, labelled or not.

    Attributes
    ----------
    classes_ : (n_classes,)
        The labels.
    annotators_ : (n_annotators,)
        Their ids.
    posterior_ : (n_items, n_classes)
        Share of each class among an item's labels, each counted by its confidence; of an item without labels,
        among all labels.
    estimator_ : classifier
        The fitted one; its classes are positions in ``classes_``.

    Examples
    --------
    >>> from whoknows.estimators.baselines import MajorityVoteClassifier
    >>> nan = float("nan")
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = [[0, 0, 1], [0, nan, 0], [nan, nan, nan], [nan, nan, nan], [1, 1, 0], [1, 1, nan]]
    >>> model = MajorityVoteClassifier().fit(X, y)
    >>> model.predict(X)
    array([0, 0, 0, 1, 1, 1])
    >>> model.posterior_[4].round(2)
    array([0.33, 0.67])
    """

    def __init__(self, estimator: Any = None, *, standardize: bool = True) -> None:
        self.estimator = estimator
        self.standardize = standardize

    def _learn(self, X: Array, said: Annotations) -> None:
        counts = votes(said)
        self.estimator_ = self._taught(X[said.labelled], majority(counts)[said.labelled])
        shares = np.where(said.labelled[:, None], counts, counts.sum(axis=0))
        self.posterior_ = shares / shares.sum(axis=1, keepdims=True)


class SingleAnnotatorClassifier(MajorityVoteClassifier):
    """A classifier taught by one annotator alone: *annotator t* of Yan, Rosales, Fung and Dy (UAI 2010).

    Labels of the others are ignored. If all labels of this one are of one class, that class is predicted.

    Parameters
    ----------
    annotator : id, optional
        One of the annotators of y; None is the only one there is.
    estimator, standardize
        As in `MajorityVoteClassifier`.

    Attributes
    ----------
    classes_, annotators_
        As in `MajorityVoteClassifier`: those of everybody.
    posterior_ : (n_items, n_classes)
        1 for the class the annotator gave; of other items, the share of each class among the labels given.
    estimator_ : classifier
        The fitted one; its classes are positions in ``classes_``.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.estimators.baselines import SingleAnnotatorClassifier
    >>> said = Annotations.from_matrix([[0, 1], [0, 1], [1, 0], [1, 0]], annotators=["anna", "bob"])
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> SingleAnnotatorClassifier("bob").fit(X, said).predict(X)
    array([1, 1, 0, 0])
    """

    def __init__(self, annotator: Any = None, estimator: Any = None, *, standardize: bool = True) -> None:
        super().__init__(estimator, standardize=standardize)
        self.annotator = annotator

    def _learn(self, X: Array, said: Annotations) -> None:
        own = said.annotator == self._position(said)
        super()._learn(X, said.only(own))

    def _position(self, said: Annotations) -> int:
        """Where the annotator stands in the vocabulary; an error names those who have labels."""
        known = said.annotators.tolist()
        active = [who for who, count in zip(known, said.labels_per_annotator, strict=True) if count]
        if self.annotator is None and len(known) == 1:
            return 0
        if self.annotator not in known:
            raise InputError(
                f"annotator must be one of those in y; got {self.annotator!r}. Known: {show(active)}."
            )
        if self.annotator not in active:
            raise InputError(
                f"{self.annotator!r} gave no label, so nothing can be learnt. Known: {show(active)}."
            )
        return known.index(self.annotator)
