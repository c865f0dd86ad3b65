"""Stronger rivals: (X, annotations, X_new) → Answer, with the preprocessing of `AutoCrowdClassifier` for all.

Labels are combined by the vote, by Dawid-Skene or by an aggregator of crowd-kit, and followed by a classifier
that is tuned by cross-validation. CROWDLAB and the multi-annotator models of scikit-activeml, ML original and
the transductive SVM are given the same features. One row has standardised columns without square roots, which
shows what they are worth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common.preprocessing import with_roots
from benchmarks.crowds import methods as crowds
from benchmarks.crowds.cases import Answer
from benchmarks.crowds.methods import Method
from benchmarks.paper.protocol import scores
from benchmarks.paper.tsvm import TransductiveSVM
from benchmarks.rivals import annot_mix, classifiers
from benchmarks.rivals.classifiers import TUNED_LR, TUNED_SVM
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.baselines import ml_original
from whoknows.estimators.baselines.two_step import majority, votes

OURS = "AutoCrowdClassifier"
PLAIN, WITH_ROOTS = "vote + LR without roots", "vote + LR"
AGGREGATORS = (
    "MajorityVote",
    "Wawa",
    "ZeroBasedSkill",
    "DawidSkene",
    "OneCoinDawidSkene",
    "GLAD",
    "MACE",
    "MMSR",
    "KOS",
)  # all of crowd-kit for categorical labels that need no known truth
TWO_CLASSES = ("crowd-kit KOS + tuned LR", "transductive SVM", "ML original")  # not run with more classes


def equal(answer: Callable[..., Answer], **settings: Any) -> Callable[..., Answer]:
    """Return the method with equal preprocessing."""

    def prepared(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Answer:
        X, X_new = with_roots(X, X_new)
        return answer(X, Y, X_new, **settings)

    return prepared


def transductive(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Answer:
    """Fit the transductive SVM to the vote; its decision values stand for probabilities."""
    counts = votes(Y)[Y.labelled]
    positive = scores(TransductiveSVM().fit(X, Y), X_new)
    prob = 1 / (1 + np.exp(-positive))
    return Answer(majority(counts), counts / counts.sum(axis=1, keepdims=True), np.column_stack([1 - prob, prob]))


def _crowd_kit(kind: str) -> Method:
    answer = equal(partial(crowds.crowd_kit, kind), estimator=TUNED_LR)
    return Method(answer, "crowd-kit", "crowdkit.aggregation")


def _activeml(answer: Callable[..., Answer], module: str) -> Method:
    return Method(equal(answer), "scikit-activeml", module)


METHODS = {
    OURS: Method(partial(crowds.fitted, AutoCrowdClassifier), ours=True),
    "CrowdClassifier": Method(partial(crowds.fitted, partial(CrowdClassifier, standardize="roots")), ours=True),
    PLAIN: Method(crowds.majority_vote),
    WITH_ROOTS: Method(equal(crowds.majority_vote)),
    "vote + tuned LR": Method(equal(crowds.majority_vote, estimator=TUNED_LR)),
    "vote + tuned SVM": Method(equal(crowds.majority_vote, estimator=TUNED_SVM)),
    "vote shares + random forest": Method(equal(classifiers.forest_on_shares)),
    "transductive SVM": Method(equal(transductive)),
    "ML original": Method(equal(partial(crowds.fitted, partial(ml_original, "gaussian")))),
    "Dawid-Skene + boosting": Method(equal(classifiers.boosting_on_soft_labels)),
    **{f"crowd-kit {kind} + tuned LR": _crowd_kit(kind) for kind in AGGREGATORS},
    "CROWDLAB + tuned LR": Method(equal(crowds.crowdlab, estimator=TUNED_LR), "cleanlab", "cleanlab.multiannotator"),
    "AnnotatorLogisticRegression": _activeml(crowds.annotator_lr, "skactiveml.classifier.multiannotator"),
    "AnnotMixClassifier": _activeml(annot_mix.answer, "skorch"),
}
VOTE_CLASSIFIERS = (WITH_ROOTS, "vote + tuned LR", "vote + tuned SVM", "vote shares + random forest")


def methods_for(n_classes: int) -> list[str]:
    """Return the methods that take this number of classes."""
    return [name for name in METHODS if n_classes == 2 or name not in TWO_CLASSES]
