"""A model against simpler ways on the same data, with held-out labels as the judge; no truth is needed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.estimators.baselines import (
    DawidSkene,
    MajorityVoteClassifier,
    SingleAnnotatorClassifier,
    ml_original,
)
from whoknows.estimators.baselines.base import majority, votes
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


class Part(NamedTuple):
    """What became of the labels that one fit did not see.

    hits: whether each method foretold each label, (n_methods, n_labels); item: of each label, a row of X;
    counts: how much each label counts.
    """

    hits: Array
    item: Codes
    counts: Array


@dataclass(frozen=True, eq=False)
class Judged:
    """How often each method foretells a held-out label, one question.

    Attributes
    ----------
    share : (n_methods,)
        Of the held-out labels, each counted by its confidence.
    behind, error : (n_methods,)
        How much more the first method foretells, and the standard error of that over items.
    n_labels : int
        Labels that were held out and asked for.
    """

    share: Array
    behind: Array
    error: Array
    n_labels: int

    @classmethod
    def of(cls, parts: list[Part], n_items: int) -> Judged:
        """Sum up what became of each label."""
        hits = np.hstack([part.hits for part in parts])
        item, counts = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("item", "counts")
        )
        weight = counts / counts.sum()
        lead = (hits[0] - hits) * weight
        behind = lead.sum(axis=1)
        # Labels of one item rise and fall together: the error is that of a sum over items.
        per_item = segment_sum(lead.T, item, n_items)
        expected = segment_sum(weight, item, n_items)[:, None] * behind
        error = np.sqrt(((per_item - expected) ** 2).sum(axis=0))
        return cls(hits @ weight, behind, error, len(item))


@dataclass(frozen=True, eq=False)
class Comparison:
    """A model and simpler ways, judged by held-out labels; print it.

    Attributes
    ----------
    methods : list of str
        The model first.
    new : Judged
        Items of which no label was seen: what each method makes of x.
    known : Judged or None
        Items of which other labels were seen: the consensus. None where no item has two labels.
    """

    methods: list[str]
    new: Judged
    known: Judged | None

    def __str__(self) -> str:
        """Give the table, and how to read it."""
        return "\n".join([*self._table(), "", *self._sentences()])

    def _table(self) -> Iterator[str]:
        width = max(map(len, self.methods))
        judged = [each for each in (self.new, self.known) if each is not None]
        heads = ["new items", "labelled items"][: len(judged)]
        yield f"{'':<{width}}  " + "  ".join(f"{head:<20}" for head in heads).rstrip()
        for m, method in enumerate(self.methods):
            cells = [f"{each.share[m]:.1%}{_against(each, m)}" for each in judged]
            yield f"{method:<{width}}  " + "  ".join(f"{cell:<20}" for cell in cells).rstrip()

    def _sentences(self) -> Iterator[str]:
        yield "Share of held-out labels that each method says before it sees them."
        yield "In brackets: points more or less than whoknows, and their standard error."
        yield f"New items: no label of the item was seen ({self.new.n_labels} labels)."
        if self.known is not None:
            yield f"Labelled items: other labels of the item were seen ({self.known.n_labels} labels)."
        yield "LR is logistic regression. Annotators err, so even the truth itself would not reach 100 %."


def _against(judged: Judged, method: int) -> str:
    if method == 0:
        return ""
    return f" ({-100 * judged.behind[method]:+5.1f} ± {100 * judged.error[method]:3.1f})"


def compare(
    model: Any,
    X: Any,
    said: Annotations,
    *,
    folds: int = 3,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Hold labels out, fit a model and simpler ways to the rest, and see who foretells them.

    Parameters
    ----------
    model : classifier
        Such as `AutoCrowdClassifier`; a copy is fitted.
    X : (n_items, n_features)
    said : Annotations
        At least ``folds`` items with labels.
    folds : int
        Parts into which items, and labels, are cut.
    random_state : int
    progress : callable(done, of), optional
        Called after each part.

    Returns
    -------
    Comparison
    """
    methods = _methods(model, said)
    by_item = list(ItemFolds(folds, random_state=random_state).split(X, said))
    by_label = []
    if (said.labels_per_item > 1).any():
        by_label = list(AnnotationFolds(folds, random_state=random_state).split(X, said))
    tick = _counter(progress, len(by_item) + len(by_label))
    new = [tick(_on_new_items(methods, X, said, *rows)) for rows in by_item]
    known = [tick(_on_labelled_items(methods, X, said, *rows)) for rows in by_label]
    known = [part for part in known if len(part.item)]
    judged = Judged.of(known, said.n_items) if known else None
    return Comparison(list(methods), Judged.of(new, said.n_items), judged)


def _counter(progress: Progress | None, total: int) -> Callable[[Part], Part]:
    """Return what hands parts on and tells how many there were."""
    done = 0

    def tick(part: Part) -> Part:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)
        return part

    return tick


def _methods(model: Any, said: Annotations) -> dict[str, Any]:
    """Methods by name, not fitted; None for those that are made to measure."""
    constant = ml_original()
    if said.n_classes > 2:
        constant = CrowdClassifier("id", ConfusionAnnotators(varies_with_x=False), "linear")
    return {
        OURS: model,
        VOTE: MajorityVoteClassifier(),
        SKENE: DawidSkene(smoothing=1.0),
        CONSTANT: constant,
        SINGLE: SingleAnnotatorClassifier(),
        FREQUENT: None,
    }


def _fit(method: Any, X: Array, said: Annotations) -> Any:
    """Fit a copy; the single annotator is the one who agrees most with the others."""
    if method is None:
        return None
    method = clone(method)
    if isinstance(method, SingleAnnotatorClassifier):
        method.annotator = best_annotator(said)
    with warnings.catch_warnings():  # one that runs out of iterations is judged as it is
        warnings.simplefilter("ignore", DidNotConverge)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return method.fit(X, said)


def best_annotator(said: Annotations) -> Any:
    """The annotator who agrees most with the majority, where luck with a few labels is discounted."""
    n = said.labels_per_annotator
    agrees = (majority(votes(said))[said.item] == said.label).astype(float)
    share = (segment_sum(agrees, said.annotator, said.n_annotators) + 1) / (n + 2)
    sure = share - 2 * np.sqrt(share * (1 - share) / (n + 3))
    return said.annotators.tolist()[int(np.argmax(np.where(n > 0, sure, -np.inf)))]


def _on_new_items(methods: dict[str, Any], X: Array, said: Annotations, train: Codes, test: Codes) -> Part:
    """Ask every method for the labels of items it has not seen."""
    seen, held = said[train], said[test]
    hits = []
    for method in methods.values():
        fitted = _fit(method, X[train], seen)
        told = fitted.predict(X[test]) if fitted else np.full(len(test), seen.labels[_most_frequent(seen)])
        hits.append(told[held.item] == held.labels[held.label])
    return Part(np.array(hits, dtype=float), test[held.item], held.counts)


def _on_labelled_items(
    methods: dict[str, Any], X: Array, said: Annotations, train: Codes, test: Codes
) -> Part:
    """Ask whether every method's consensus on items is a label of theirs that it has not seen."""
    seen, held = said[train], said[test]
    held = held.only(seen.labelled[test][held.item])
    item = test[held.item]
    hits = []
    for name, method in methods.items():
        fitted = _fit(method, X, seen)
        code = _consensus(name, fitted, X, seen) if fitted else np.full(len(X), _most_frequent(seen))
        hits.append(code[item] == held.label)
    return Part(np.array(hits, dtype=float), item, held.counts)


def _most_frequent(said: Annotations) -> int:
    return int(np.bincount(said.label, minlength=said.n_classes).argmax())


def _consensus(name: str, fitted: Any, X: Array, seen: Annotations) -> Codes:
    """Class of each item as a method makes it of x and labels: positions in ``seen.labels``."""
    if name == VOTE:
        return majority(votes(seen))
    if name != SINGLE:
        return np.asarray(fitted.posterior_.argmax(axis=1))
    place = {label: code for code, label in enumerate(seen.labels.tolist())}
    code = np.array([place[label] for label in fitted.predict(X).tolist()])
    own = seen.annotator == seen.annotators.tolist().index(fitted.annotator)
    code[seen.item[own]] = seen.label[own]
    return code
