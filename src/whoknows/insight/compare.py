"""Comparison of a model with simpler methods on the same data, by their accuracy on held-out labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.estimators.baselines import DawidSkene, MajorityVoteClassifier, SingleAnnotatorClassifier, ml_original
from whoknows.estimators.baselines.two_step import majority, votes
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.fit.monitor import DidNotConverge
from whoknows.insight.model_selection import AnnotationFolds, ItemFolds
from whoknows.model.annotators import ConfusionAnnotators

Codes = NDArray[Any]
Fold = tuple[Codes, Codes]  # rows of the training and of the test set
Progress = Callable[[float, float], Any]
# Of the labels held out from one fit: whether each method predicted each, (n_methods, n_labels); the row of X
# and the weight of each, (n_labels,).
HeldOutHits = tuple[Array, Codes, Array]

OURS = "whoknows"
VOTE = "majority vote + LR"
SINGLE = "best single annotator + LR"
FREQUENT = "most frequent label"


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
        hits, item, counts = (np.concatenate(parts, axis=-1) for parts in zip(*folds, strict=True))
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
    model: Any, X: Any, y: Annotations, *, folds: int = 3, random_state: int = 0, progress: Progress | None = None
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
    folds_of_items = ItemFolds(folds, random_state=random_state).split(X, y)
    splits = [(True, fold) for fold in folds_of_items]
    if (y.labels_per_item > 1).any():
        folds_of_labels = AnnotationFolds(folds, random_state=random_state).split(X, y)
        splits += [(False, fold) for fold in folds_of_labels]
    hits: dict[bool, list[HeldOutHits]] = {True: [], False: []}
    for done, (on_new, fold) in enumerate(splits, 1):
        hits[on_new].append(_hits(methods, X, y, fold, on_new))
        if progress is not None:
            progress(done, len(splits))
    any_known = any(len(item) for _, item, _ in hits[False])
    known = HeldOutAccuracy.of(hits[False], y.n_items) if any_known else None
    return Comparison([*methods, FREQUENT], HeldOutAccuracy.of(hits[True], y.n_items), known)


def _methods(model: Any, annotations: Annotations) -> dict[str, Any]:
    """Methods by name, not fitted."""
    constant = ml_original()
    if annotations.n_classes > 2:
        constant = CrowdClassifier("id", ConfusionAnnotators(varies_with_x=False), "linear")
    return {
        OURS: model,
        VOTE: MajorityVoteClassifier(),
        "Dawid-Skene + LR": DawidSkene(smoothing=1.0),
        "one accuracy each (Raykar)": constant,
        SINGLE: SingleAnnotatorClassifier(),
    }


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


def _hits(methods: dict[str, Any], X: Array, y: Annotations, fold: Fold, on_new: bool) -> HeldOutHits:
    """Fit all methods without some labels, and compare these with their predictions.

    On new items the predictions are from x; on labelled items they are the consensus.
    """
    train, test = fold
    train_labels, held = y[train], y[test]
    if not on_new:
        held = held.only(train_labels.labelled[test][held.item])
    item = test[held.item]
    fitted = {name: _fit(method, X[train], train_labels) for name, method in methods.items()}
    if on_new:
        hits = [each.predict(X[test])[held.item] == held.labels[held.label] for each in fitted.values()]
    else:
        hits = [_consensus(*each, X, train_labels)[item] == held.label for each in fitted.items()]
    most_frequent = held.label == np.bincount(train_labels.label).argmax()
    return np.array([*hits, most_frequent], dtype=float), item, held.counts


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
