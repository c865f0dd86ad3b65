"""Comparison of a model with simpler methods on the same data, by their accuracy on held-out labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.estimators.baselines import (
    DawidSkene,
    MajorityVoteClassifier,
    SingleAnnotatorClassifier,
    ml_original,
)
from whoknows.estimators.baselines.two_step import majority, votes
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.fit.monitor import DidNotConverge
from whoknows.insight.model_selection import AnnotationFolds, ItemFolds
from whoknows.model.annotators import ConfusionAnnotators

Codes = NDArray[Any]
Progress = Callable[[float, float], Any]

OURS = "whoknows"
VOTE = "majority vote + LR"
SKENE = "Dawid-Skene + LR"
CONSTANT = "one accuracy each (Raykar)"
SINGLE = "best single annotator + LR"
FREQUENT = "most frequent label"


class HeldOutHits(NamedTuple):
    """Predictions of the labels held out from one fit.

    hits: whether each method predicted each label, (n_methods, n_labels); item: row of X of each label;
    counts: weight of each label.
    """

    hits: Array
    item: Codes
    counts: Array


@dataclass(frozen=True, eq=False)
class HeldOutAccuracy:
    """Accuracy of each method on held-out labels.

    Attributes
    ----------
    share : (n_methods,)
        Share of the held-out labels that are predicted, weighted by their confidence.
    behind, error : (n_methods,)
        Difference from the first method, and its standard error over items.
    n_labels : int
        Number of held-out labels.
    """

    share: Array
    behind: Array
    error: Array
    n_labels: int

    @classmethod
    def of(cls, folds: list[HeldOutHits], n_items: int) -> HeldOutAccuracy:
        """Combine the labels of all folds."""
        hits = np.hstack([fold.hits for fold in folds])
        item, counts = (
            np.concatenate([getattr(fold, name) for fold in folds]) for name in ("item", "counts")
        )
        weight = counts / counts.sum()
        lead = (hits[0] - hits) * weight
        behind = lead.sum(axis=1)
        # Labels of one item are correlated: the standard error is that of a sum over items.
        per_item = segment_sum(lead.T, item, n_items)
        expected = segment_sum(weight, item, n_items)[:, None] * behind
        error = np.sqrt(((per_item - expected) ** 2).sum(axis=0))
        return cls(hits @ weight, behind, error, len(item))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Accuracy of a model and of simpler methods on held-out labels; print it.

    Attributes
    ----------
    methods : list of str
        The model first.
    new : HeldOutAccuracy
        Items without any label in training: predictions from x.
    known : HeldOutAccuracy or None
        Items with other labels in training: the consensus. None if no item has two labels.
    """

    methods: list[str]
    new: HeldOutAccuracy
    known: HeldOutAccuracy | None

    def __str__(self) -> str:
        """Return the table, and how to read it."""
        return "\n".join([*self._table(), "", *self._sentences()])

    def _table(self) -> Iterator[str]:
        width = max(map(len, self.methods))
        measured = [each for each in (self.new, self.known) if each is not None]
        heads = ["new items", "labelled items"][: len(measured)]
        yield f"{'':<{width}}  " + "  ".join(f"{head:<20}" for head in heads).rstrip()
        for m, method in enumerate(self.methods):
            cells = [f"{each.share[m]:.1%}{_difference(each, m)}" for each in measured]
            yield f"{method:<{width}}  " + "  ".join(f"{cell:<20}" for cell in cells).rstrip()

    def _sentences(self) -> Iterator[str]:
        yield "Share of held-out labels that each method predicts correctly."
        yield "In brackets: difference from whoknows in percentage points, ± its standard error."
        yield f"New items: all labels of the item were held out ({self.new.n_labels} labels)."
        if self.known is not None:
            yield f"Labelled items: other labels of the item were in training ({self.known.n_labels} labels)."
        yield "LR is logistic regression. Annotators make mistakes, so not even the truth would reach 100 %."


def _difference(accuracy: HeldOutAccuracy, method: int) -> str:
    if method == 0:
        return ""
    return f" ({-100 * accuracy.behind[method]:+5.1f} ± {100 * accuracy.error[method]:3.1f})"


def compare(
    model: Any,
    X: Any,
    y: Annotations,
    *,
    folds: int = 3,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare a model with simpler methods by cross-validation on the labels; no truth is needed.

    Parameters
    ----------
    model : classifier
        Such as `AutoCrowdClassifier`; a clone is fitted.
    X : (n_items, n_features)
    y : Annotations
        At least ``folds`` items with labels.
    folds : int
        Number of folds, of items and of labels.
    random_state : int
    progress : callable(done, of), optional
        Called after each fold.

    Returns
    -------
    Comparison
    """
    methods = _methods(model, y)
    by_item = list(ItemFolds(folds, random_state=random_state).split(X, y))
    by_label = []
    if (y.labels_per_item > 1).any():
        by_label = list(AnnotationFolds(folds, random_state=random_state).split(X, y))
    tick = _counter(progress, len(by_item) + len(by_label))
    new = [tick(_on_new_items(methods, X, y, *rows)) for rows in by_item]
    known = [tick(_on_labelled_items(methods, X, y, *rows)) for rows in by_label]
    known = [part for part in known if len(part.item)]
    on_known = HeldOutAccuracy.of(known, y.n_items) if known else None
    return Comparison(list(methods), HeldOutAccuracy.of(new, y.n_items), on_known)


def _counter(progress: Progress | None, total: int) -> Callable[[HeldOutHits], HeldOutHits]:
    """Return a function that passes results on and reports how many there were."""
    done = 0

    def tick(part: HeldOutHits) -> HeldOutHits:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)
        return part

    return tick


def _methods(model: Any, annotations: Annotations) -> dict[str, Any]:
    """Methods by name, not fitted."""
    constant = ml_original()
    if annotations.n_classes > 2:
        constant = CrowdClassifier("id", ConfusionAnnotators(varies_with_x=False), "linear")
    return {
        OURS: model,
        VOTE: MajorityVoteClassifier(),
        SKENE: DawidSkene(smoothing=1.0),
        CONSTANT: constant,
        SINGLE: SingleAnnotatorClassifier(),
        FREQUENT: _MostFrequentLabel(),
    }


class _MostFrequentLabel(BaseEstimator):  # type: ignore[misc]
    """Predicts the most frequent label, whatever x."""

    def fit(self, X: Array, y: Annotations) -> Self:
        code = int(np.bincount(y.label, minlength=y.n_classes).argmax())
        self.label_ = y.labels[code]
        self.posterior_ = np.tile(np.eye(y.n_classes)[code], (len(X), 1))
        return self

    def predict(self, X: Array) -> Array:
        return np.full(len(X), self.label_)


def _fit(method: Any, X: Array, annotations: Annotations) -> Any:
    """Fit a clone; the single annotator is the one who agrees most with the others."""
    method = clone(method)
    if isinstance(method, SingleAnnotatorClassifier):
        method.annotator = best_annotator(annotations)
    with warnings.catch_warnings():  # a method that does not converge is compared as it is
        warnings.simplefilter("ignore", DidNotConverge)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return method.fit(X, annotations)


def best_annotator(annotations: Annotations) -> Any:
    """Annotator who agrees most with the majority, by a lower confidence limit of the share."""
    n = annotations.labels_per_annotator
    agrees = (majority(votes(annotations))[annotations.item] == annotations.label).astype(float)
    share = (segment_sum(agrees, annotations.annotator, annotations.n_annotators) + 1) / (n + 2)
    sure = share - 2 * np.sqrt(share * (1 - share) / (n + 3))
    return annotations.annotators.tolist()[int(np.argmax(np.where(n > 0, sure, -np.inf)))]


def _on_new_items(
    methods: dict[str, Any], X: Array, annotations: Annotations, train: Codes, test: Codes
) -> HeldOutHits:
    """Predict the labels of items that were held out."""
    train_labels, held = annotations[train], annotations[test]
    fitted = [_fit(method, X[train], train_labels) for method in methods.values()]
    hits = [each.predict(X[test])[held.item] == held.labels[held.label] for each in fitted]
    return HeldOutHits(np.array(hits, dtype=float), test[held.item], held.counts)


def _on_labelled_items(
    methods: dict[str, Any], X: Array, annotations: Annotations, train: Codes, test: Codes
) -> HeldOutHits:
    """Compare the consensus of each method with labels of the same items that were held out."""
    train_labels, held = annotations[train], annotations[test]
    held = held.only(train_labels.labelled[test][held.item])
    item = test[held.item]
    fitted = {name: _fit(method, X, train_labels) for name, method in methods.items()}
    hits = [_consensus(*each, X, train_labels)[item] == held.label for each in fitted.items()]
    return HeldOutHits(np.array(hits, dtype=float), item, held.counts)


def _consensus(name: str, fitted: Any, X: Array, train_labels: Annotations) -> Codes:
    """Consensus of a method from x and labels: positions in ``train_labels.labels``."""
    if name == VOTE:
        return majority(votes(train_labels))
    if name != SINGLE:
        return np.asarray(fitted.posterior_.argmax(axis=1))
    place = {label: code for code, label in enumerate(train_labels.labels.tolist())}
    code = np.array([place[label] for label in fitted.predict(X).tolist()])
    own = train_labels.annotator == train_labels.annotators.tolist().index(fitted.annotator)
    code[train_labels.item[own]] = train_labels.label[own]
    return code
