"""What a method is given, and how its answer is scored: a set, a share of its labelled items, a draw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from whoknows import Annotations
from whoknows.io import benchmark_sets as sets

KEY = ("set", "share", "repeat", "method")  # what names a row of the results
SETS = ("labelme", "sentiment_polarity", "product_matching", "colposcopy_green")
SHARES = (0.1, 0.3, 1.0)  # of the labelled items used
DRAWS = 10  # of each share
TIMES = {"colposcopy_green": 2}  # as many of a set with 29 test items, of which one draw says little
HELD_OUT = 0.3  # of the items, where a set brings no test items of its own
BRING_TEST = ("labelme",)  # sets that do: all their labels are one draw
SCORES = tuple(
    f"{what}_{figure}" for what in ("consensus", "classifier") for figure in ("accuracy", "f1", "auc")
)


@dataclass(frozen=True)
class Answer:
    """What a method says.

    Attributes
    ----------
    consensus : (n_labelled,)
        Class of each item with labels.
    belief : (n_labelled, n_classes)
        How sure it is of that.
    prob : (n_test, n_classes)
        What its classifier says of items without labels.
    """

    consensus: np.ndarray
    belief: np.ndarray
    prob: np.ndarray


@dataclass(frozen=True)
class Case:
    """Features of items, labels of some, new items, and the truth to score with, which no method sees.

    Attributes
    ----------
    X : (n_items, n_features)
        Items a method may look at, labelled or not.
    Y : Annotations
        Labels of the items used; who gave none of them is left out.
    X_new : (n_test, n_features)
        Items the classifier is scored on; none has labels.
    truth : (n_labelled,)
        Position in ``Y.labels`` of the true class of each item with labels.
    truth_new : (n_test,)
        The same of the items the classifier is scored on.
    """

    X: np.ndarray
    Y: Annotations
    X_new: np.ndarray
    truth: np.ndarray
    truth_new: np.ndarray

    def write(self, path: Path) -> None:
        """Write what a method is given: all but the truth."""
        Y = self.Y
        sizes = [Y.n_items, Y.n_annotators, Y.n_classes]
        np.savez(path, X=self.X, Y=[Y.item, Y.annotator, Y.label], sizes=sizes, X_new=self.X_new)


def read_given(path: Path) -> tuple[np.ndarray, Annotations, np.ndarray]:
    """X, annotations and X_new, from what `Case.write` wrote."""
    with np.load(path) as file:
        item, annotator, label = file["Y"].astype(np.int32)
        vocabularies = [np.arange(size) for size in file["sizes"]]
        return file["X"], Annotations(item, annotator, label, *vocabularies), file["X_new"]


def n_draws(name: str, share: float, repeats: int) -> int:
    """How many draws of a share there are to make, ``repeats`` of a set of usual size."""
    return 1 if share == 1 and name in BRING_TEST else repeats * TIMES.get(name, 1)


def make_case(data: sets.DataSet, share: float, repeat: int) -> Case:
    """One draw of a set. Smaller shares are part of larger ones; the same repeat, the same test items.

    The test items of a set's own split are not seen before they are classified; those held out here are among
    the items without labels, as they would be when somebody labels a part of what there is.
    """
    if data.X is None or data.z is None or data.annotations is None:
        raise ValueError(f"{data.name}: expected features, annotations and a truth; it lacks one of them.")
    order = np.random.default_rng(repeat).permutation(np.flatnonzero(data.annotations.labelled))
    seen = np.ones(len(data.X), dtype=bool)
    if "split" in data.columns:
        test = np.flatnonzero(data.columns["split"] == "test")
        seen[test] = False
    else:
        n_test = round(HELD_OUT * len(order))
        test, order = order[:n_test], order[n_test:]
    used = np.sort(order[: max(2, round(share * len(order)))])
    z = np.searchsorted(data.annotations.labels, data.z)
    return Case(data.X[seen], _labels_of(data, used, seen), data.X[test], z[used], z[test])


def _labels_of(data: sets.DataSet, used: np.ndarray, seen: np.ndarray) -> Annotations:
    """Annotations of the items seen, with labels of the items used alone and those who gave them."""
    Y = data.annotations
    kept = np.isin(Y.item, used)
    item = (np.cumsum(seen) - 1)[Y.item[kept]]
    who, annotator = np.unique(Y.annotator[kept], return_inverse=True)
    codes = item.astype(np.int32), annotator.astype(np.int32), Y.label[kept]
    return Annotations(*codes, np.flatnonzero(seen), who, np.arange(Y.n_classes))


def score(case: Case, answer: Answer) -> dict[str, float]:
    """Accuracy of consensus and classifier; of two classes F1 and AUC of the second too."""
    figures = {"n_labelled": len(case.truth), "n_test": len(case.truth_new)}
    for what, truth, predicted, prob in (
        ("consensus", case.truth, answer.consensus, answer.belief),
        ("classifier", case.truth_new, answer.prob.argmax(axis=1), answer.prob),
    ):
        figures[f"{what}_accuracy"] = float(np.mean(predicted == truth))
        if prob.shape[1] == 2 and len(np.unique(truth)) == 2:
            figures[f"{what}_f1"] = float(f1_score(truth, predicted, zero_division=0.0))
            figures[f"{what}_auc"] = float(roc_auc_score(truth, prob[:, 1]))
    return figures
