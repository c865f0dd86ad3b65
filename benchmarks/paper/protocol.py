"""Splits and scores of all experiments: the same folds and labels for every method.

The truth is used for stratification and scores only. Seeds start at 2010; seeds 0, 1, … were used to choose
the library's defaults.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.common.machine import STAMP
from benchmarks.paper import roc
from whoknows import Annotations, CrowdClassifier

SEED = 2010
FOLDS = 5
PROPORTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LONGEST = 60.0  # CPU seconds of one fit of CrowdClassifier
VALUES = ("accuracy", "auc", "seconds", "n_train", "n_labelled", "warnings", *STAMP, "error")


@dataclass(frozen=True, eq=False)
class Draw:
    """Training items with the labels that are not hidden, and test items with their truth."""

    X: np.ndarray
    Y: Annotations
    X_test: np.ndarray
    z_test: np.ndarray


class TookTooLong(Exception):
    """A fit exceeded its time limit."""


def split(X: Any, z: Any, labels: Any, repeat: int, fold: int, proportion: float) -> Draw:
    """Return one stratified fold in which a random share of the training items keeps its labels.

    ``labels`` (n_items, n_annotators) are complete. Smaller shares are subsets of larger ones.
    """
    train, test, seen = split_items(X, z, repeat, fold, proportion)
    y = np.full((len(train), labels.shape[1]), np.nan)
    y[seen] = labels[train][seen]
    Y = Annotations.from_matrix(y, labels=np.unique(z))
    return Draw(X[train], Y, X[test], z[test])


def split_items(X: Any, z: Any, repeat: int, fold: int, proportion: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return training items, test items, and positions of the training items that keep their labels."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED + repeat).split(X, z)
    train, test = list(folds)[fold]
    order = np.random.default_rng([SEED + repeat, fold]).permutation(len(train))
    return train, test, order[: max(2, round(proportion * len(train)))]


def evaluate(
    draw: Draw, builders: Mapping[str, Callable[[Annotations], Any]], with_order: bool = False
) -> list[dict[str, Any]]:
    """Return one row per method. If a method fails, its row holds the error; the others still run."""
    rows = []
    for method, build in builders.items():
        row = {"method": method, "n_train": len(draw.X), "n_labelled": int(draw.Y.labelled.sum())}
        started = time.process_time()
        try:
            row |= _results(build(draw.Y), draw, with_order)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"
        rows.append(row | {"seconds": round(time.process_time() - started, 3)})
    return rows


def _results(model: Any, draw: Draw, with_order: bool) -> dict[str, Any]:
    """Fit, predict and score, and record the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _fit(model, draw)
        accuracy = np.mean(model.predict(draw.X_test) == draw.z_test)
    row = {"accuracy": round(float(accuracy), 6)}
    row["warnings"] = " ".join(sorted({warning.category.__name__ for warning in caught}))
    if len(model.classes_) == 2:
        score, positive = scores(model, draw.X_test), draw.z_test == model.classes_[1]
        row["auc"] = round(float(roc_auc_score(positive, score)), 6)
        if with_order:
            row["order"] = roc.order(positive, score)
    return row


def _fit(model: Any, draw: Draw) -> None:
    """Fit; a single model that exceeds the time limit is stopped."""
    if not isinstance(model, CrowdClassifier):
        model.fit(draw.X, draw.Y)
        return
    until = time.process_time() + LONGEST

    def watch(iteration: int, bound: float, seconds: float) -> None:
        if time.process_time() > until:
            raise TookTooLong(f"skipped after {LONGEST:.0f} s of processor time, in iteration {iteration}.")

    model.fit(draw.X, draw.Y, callback=watch)


def scores(model: Any, X: np.ndarray) -> np.ndarray:
    """Scores of the second of two classes, as probabilities or decision values: (n_items,)."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, 1])
    return np.asarray(model.decision_function(X))
