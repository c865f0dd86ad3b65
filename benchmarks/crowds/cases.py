"""Input of a method and the scores of its answer, for a data set, a labelled share and a draw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks.common import sets
from whoknows import Annotations

KEY = ("set", "share", "repeat", "method")  # identifies a row of the results
SETS = ("labelme", "sentiment_polarity", "product_matching", "colposcopy_green")
SHARES = (0.1, 0.3, 1.0)  # of the labelled items used
DRAWS = 10  # of each share
TIMES = {"colposcopy_green": 2}  # twice as many draws, since it has only 29 test items
HELD_OUT = 0.3  # of the items, for data sets without test items of their own
BRING_TEST = ("labelme",)  # data sets with test items: with all labels there is one draw
SCORES = tuple(f"{what}_{figure}" for what in ("consensus", "classifier") for figure in ("accuracy", "f1", "auc"))


@dataclass(frozen=True)
class Answer:
    """Output of a method.

    Attributes
    ----------
    consensus : (n_labelled,)
        Class of each item with labels.
    belief : (n_labelled, n_classes)
        Probability of each class.
    prob : (n_test, n_classes)
        Probabilities that its classifier assigns to items without labels.
    """

    consensus: np.ndarray
    belief: np.ndarray
    prob: np.ndarray


@dataclass(frozen=True)
class Case:
    """Features, annotations, test items, and the truth for scoring, which no method sees.

    Attributes
    ----------
    X : (n_items, n_features)
        Features of all training items, labelled or not.
    Y : Annotations
        Labels of the items used, without annotators who gave none of them.
    X_new : (n_test, n_features)
        Features of the items that the classifier is scored on; none has labels.
    truth : (n_labelled,)
        Position in ``Y.labels`` of the true class of each item with labels.
    truth_new : (n_test,)
        The same for the items that the classifier is scored on.
    """

    X: np.ndarray
    Y: Annotations
    X_new: np.ndarray
    truth: np.ndarray
    truth_new: np.ndarray

    def write(self, path: Path) -> None:
        """Write everything but the truth."""
        Y = self.Y
        sizes = [Y.n_items, Y.n_annotators, Y.n_classes]
        np.savez(path, X=self.X, Y=[Y.item, Y.annotator, Y.label], sizes=sizes, X_new=self.X_new)


def read_given(path: Path) -> tuple[np.ndarray, Annotations, np.ndarray]:
    """Return X, annotations and X_new from a file written by `Case.write`."""
    with np.load(path) as file:
        item, annotator, label = file["Y"].astype(np.int32)
        vocabularies = [np.arange(size) for size in file["sizes"]]
        return file["X"], Annotations(item, annotator, label, *vocabularies), file["X_new"]


def n_draws(name: str, share: float, repeats: int) -> int:
    """Number of draws of a share; ``repeats`` for a data set of usual size."""
    return 1 if share == 1 and name in BRING_TEST else repeats * TIMES.get(name, 1)


def make_case(data: sets.DataSet, share: float, repeat: int) -> Case:
    """Return one draw of a data set.

    Smaller shares are subsets of larger ones, and all shares of a repeat have the same test items. If the
    data set comes with a test split, its items are not in X. Otherwise the held-out items are among the
    unlabelled rows of X.
    """
    if data.X is None or data.z is None or data.annotations is None:
        raise ValueError(f"{data.name}: expected features, annotations and a truth, but one of them is missing.")
    seen, used, test = split_items(data, share, repeat)
    return case_of(data, seen, used, test)


def split_items(data: sets.DataSet, share: float, repeat: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a mask of the training items, the items whose labels are used, and the test items."""
    order = np.random.default_rng(repeat).permutation(np.flatnonzero(data.annotations.labelled))
    seen = np.ones(len(data.X), dtype=bool)
    if "split" in data.columns:
        test = np.flatnonzero(data.columns["split"] == "test")
        seen[test] = False
    else:
        n_test = round(HELD_OUT * len(order))
        test, order = order[:n_test], order[n_test:]
    return seen, np.sort(order[: max(2, round(share * len(order)))]), test


def case_of(data: sets.DataSet, seen: np.ndarray, used: np.ndarray, test: np.ndarray) -> Case:
    """Return the case with these training items, labelled items and test items."""
    z = np.searchsorted(data.annotations.labels, data.z)
    return Case(data.X[seen], _labels_of(data, used, seen), data.X[test], z[used], z[test])


def _labels_of(data: sets.DataSet, used: np.ndarray, seen: np.ndarray) -> Annotations:
    """Return the annotations of the items ``used``, about the items ``seen``, by those who gave them."""
    Y = data.annotations
    kept = np.isin(Y.item, used)
    item = (np.cumsum(seen) - 1)[Y.item[kept]]
    who, annotator = np.unique(Y.annotator[kept], return_inverse=True)
    codes = item.astype(np.int32), annotator.astype(np.int32), Y.label[kept]
    return Annotations(*codes, np.flatnonzero(seen), who, np.arange(Y.n_classes))


def score(case: Case, answer: Answer) -> dict[str, float]:
    """Accuracy of consensus and classifier; for two classes also F1 and AUC of the second class."""
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
