"""Methods that say who is right where: (X, annotations, X_new) → Rightness.

Two questions are asked. *Before asking*: is annotator t right on a new item, given its features? *After
asking*: is a label that was given right, given its item's features and all labels? A method without an
answer to the second leaves it out. All methods have the preprocessing of `AutoCrowdClassifier`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common.preprocessing import with_roots
from benchmarks.crowds.methods import Method, fitted_annotator_lr, label_quality
from benchmarks.rivals import annot_mix
from benchmarks.rivals.classifiers import TUNED_LR
from whoknows import Annotations, AutoCrowdClassifier, BernoulliAnnotators, CrowdClassifier
from whoknows.estimators.baselines import DawidSkene
from whoknows.estimators.baselines.two_step import majority, votes

OURS = "AutoCrowdClassifier"
REFERENCE = "true constant accuracies"


@dataclass(frozen=True)
class Rightness:
    """Answer of a method.

    Attributes
    ----------
    before : (n_new, n_annotators)
        Probability that each annotator is right on each new item, whose labels are unknown.
    after : (n_annotations,) or None
        Probability that each label of the training items is right.
    """

    before: np.ndarray
    after: np.ndarray | None = None


def constant(accuracy: np.ndarray, n_new: int) -> np.ndarray:
    """Repeat one accuracy per annotator for every item: (n_new, n_annotators)."""
    return np.tile(accuracy, (n_new, 1))


def smoothed_share(right: np.ndarray, Y: Annotations) -> np.ndarray:
    """Share of each annotator's labels that are right, with one pseudo-count for right and for wrong."""
    hits = np.bincount(Y.annotator, right, minlength=Y.n_annotators)
    return (hits + 1) / (Y.labels_per_annotator + 2)


def ours(build: Callable[[], Any], X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Rightness:
    """Expertise of new items, and the posterior of the class that was given as a label."""
    model = build().fit(X, Y)
    return Rightness(model.expertise(X_new), model.posterior_[Y.item, Y.label])


def agreement(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Rightness:
    """How often an annotator agrees with the vote, and the vote share of the label that was given."""
    counts = votes(Y)
    accuracy = smoothed_share(majority(counts)[Y.item] == Y.label, Y)
    share = counts[Y.item, Y.label] / counts[Y.item].sum(axis=1)
    return Rightness(constant(accuracy, len(X_new)), share)


def dawid_skene(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Rightness:
    """One confusion matrix per annotator, with one pseudo-count per cell."""
    model = DawidSkene(smoothing=1.0).fit(X, Y)
    accuracy = np.einsum("k,tkk->t", model.prior_, model.confusion_)
    return Rightness(constant(accuracy, len(X_new)), model.posterior_[Y.item, Y.label])


def crowdlab(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Rightness:
    """Quality of every annotator and of every label."""
    X, X_new = with_roots(X, X_new)
    tables = label_quality(X, Y, TUNED_LR)
    quality = tables["annotator_stats"]["annotator_quality"].sort_index().to_numpy()
    row = np.cumsum(Y.labelled) - 1
    each = tables["detailed_label_quality"].to_numpy()[row[Y.item], Y.annotator]
    return Rightness(constant(quality, len(X_new)), each)


def annotator_lr(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Rightness:
    """One confusion matrix per annotator, averaged over the predicted classes of an item."""
    X, X_new = with_roots(X, X_new)
    model, belief, scaler = fitted_annotator_lr(X, Y)
    right = np.einsum("nk,tkk->nt", model.predict_proba(scaler.transform(X_new)), model.Alpha_)
    row = np.cumsum(Y.labelled) - 1
    return Rightness(right, belief[row[Y.item], Y.label])


def annot_mix_performance(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Rightness:
    """Performance of every annotator on every item; it has no posterior given the labels."""
    X, X_new = with_roots(X, X_new)
    return Rightness(annot_mix.expertise(X, Y, X_new))


def _flat() -> CrowdClassifier:
    return CrowdClassifier(annotators=BernoulliAnnotators(varies_with_x=False), standardize="roots")


METHODS = {
    OURS: Method(partial(ours, AutoCrowdClassifier), ours=True),
    "CrowdClassifier": Method(partial(ours, partial(CrowdClassifier, standardize="roots")), ours=True),
    "CrowdClassifier, constant accuracies": Method(partial(ours, _flat), ours=True),
    "agreement with the vote": Method(agreement),
    "Dawid-Skene": Method(dawid_skene),
    "CROWDLAB": Method(crowdlab, "cleanlab", "cleanlab.multiannotator"),
    "AnnotatorLogisticRegression": Method(annotator_lr, "scikit-activeml", "skactiveml.classifier.multiannotator"),
    "AnnotMixClassifier": Method(annot_mix_performance, "scikit-activeml", "skorch"),
}
