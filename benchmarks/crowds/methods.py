"""The methods that are compared, with their default settings: (X, annotations, X_new) → Answer.

X has one row per training item, labelled or not. A method without a classifier is followed by the classifier
of our baselines: columns of X standardised over all items, then ``LogisticRegression(max_iter=1000)`` trained
on the method's consensus. With many features its default C = 1 is too weak a penalty. So the vote,
Dawid-Skene and CROWDLAB, which uses a classifier for its consensus, are also run with C chosen by
cross-validation ("tuned LR").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.crowds.cases import Answer
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.baselines import DawidSkene, MajorityVoteClassifier
from whoknows.estimators.baselines.two_step import majority, votes

FOLDS = 5  # of the cross-validation for CROWDLAB, as in cleanlab's tutorial
WEIGHTED_VOTES = ("Wawa", "ZeroBasedSkill")  # aggregators of crowd-kit
SMALLEST = 1e-10  # lower bound of probabilities before taking logarithms
TUNED = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [1.0, 0.1, 0.01, 0.001, 0.0001]}, cv=3)


def fitted(kind: type, X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Answer:
    """Fit an estimator of this library."""
    model = kind().fit(X, Y)
    belief = model.posterior_[Y.labelled]
    return Answer(belief.argmax(axis=1), belief, model.predict_proba(X_new))


def majority_vote(X: np.ndarray, Y: Annotations, X_new: np.ndarray, estimator: Any = None) -> Answer:
    """Fit a classifier to the majority vote; ties go to the class with more labels overall."""
    model = MajorityVoteClassifier(estimator).fit(X, Y)
    consensus = majority(votes(Y))[Y.labelled]
    return Answer(consensus, model.posterior_[Y.labelled], model.predict_proba(X_new))


def dawid_skene(X: np.ndarray, Y: Annotations, X_new: np.ndarray, estimator: Any) -> Answer:
    """Fit a classifier to the consensus of Dawid and Skene."""
    belief = DawidSkene().fit(X, Y).posterior_[Y.labelled]
    consensus = belief.argmax(axis=1)
    model = trained(X, Y, np.flatnonzero(Y.labelled), consensus, estimator)
    return Answer(consensus, belief, model.predict_proba(X_new))


def trained(
    X: np.ndarray, Y: Annotations, rows: np.ndarray, classes: np.ndarray, estimator: Any = None
) -> MajorityVoteClassifier:
    """Return the classifier of our baselines, trained on the classes of some rows."""
    column = np.full(len(X), np.nan)
    column[rows] = classes
    alone = Annotations.from_matrix(column, labels=range(Y.n_classes))
    return MajorityVoteClassifier(estimator).fit(X, alone)


def crowd_kit(kind: str, X: np.ndarray, Y: Annotations, X_new: np.ndarray, estimator: Any = None) -> Answer:
    """Run an aggregator of crowd-kit on a table of task, worker and label, without features.

    Aggregators that give no probabilities are taken as certain of their consensus.
    """
    import pandas as pd

    aggregator = aggregated(kind, pd.DataFrame({"task": Y.item, "worker": Y.annotator, "label": Y.label}))
    rows = np.flatnonzero(Y.labelled)
    consensus = aggregator.labels_.loc[rows].to_numpy()
    prob = trained(X, Y, rows, consensus, estimator).predict_proba(X_new)
    if not hasattr(aggregator, "probas_"):
        return Answer(consensus, np.eye(Y.n_classes)[consensus], prob)
    belief = aggregator.probas_.reindex(index=rows, columns=range(Y.n_classes)).fillna(0.0).to_numpy()
    return Answer(consensus, belief, prob)


def aggregated(kind: str, table: Any) -> Any:
    """Return a fitted aggregator of crowd-kit.

    Those that weight the vote by skills refuse to predict with current versions of scikit-learn, so their
    last step, the weighted vote, is taken here.
    """
    from crowdkit import aggregation

    aggregator = getattr(aggregation, kind)()
    if kind in WEIGHTED_VOTES:
        return aggregation.MajorityVote().fit(table, skills=aggregator.fit(table).skills_)
    aggregator.fit_predict(table)
    return aggregator


def crowdlab(X: np.ndarray, Y: Annotations, X_new: np.ndarray, estimator: Any = None) -> Answer:
    """Run cleanlab as in its tutorial: vote, cross-validated classifier, consensus of CROWDLAB."""
    rows, quality = np.flatnonzero(Y.labelled), label_quality(X, Y, estimator)["label_quality"]
    consensus = quality["consensus_label"].to_numpy().astype(int)
    sure = quality["consensus_quality_score"].to_numpy()
    belief = np.repeat((1 - sure)[:, None] / (Y.n_classes - 1), Y.n_classes, axis=1)
    belief[np.arange(len(rows)), consensus] = sure
    return Answer(consensus, belief, trained(X, Y, rows, consensus, estimator).predict_proba(X_new))


def label_quality(X: np.ndarray, Y: Annotations, estimator: Any = None) -> dict[str, Any]:
    """Tables of CROWDLAB on the labelled items: consensus, every label, every annotator."""
    from cleanlab.multiannotator import get_label_quality_multiannotator, get_majority_vote_label

    rows = np.flatnonzero(Y.labelled)
    y = Y[rows].to_matrix()
    vote = get_majority_vote_label(y, verbose=False)
    prob = cross_validated(X, Y, rows, vote, estimator)
    return get_label_quality_multiannotator(y, prob, verbose=False)


def cross_validated(
    X: np.ndarray, Y: Annotations, rows: np.ndarray, classes: np.ndarray, estimator: Any = None
) -> np.ndarray:
    """Cross-validated class probabilities, (n_rows, n_classes).

    The number of folds is at most the number of items of the largest class.
    """
    prob = np.zeros((len(rows), Y.n_classes))
    folds = StratifiedKFold(min(FOLDS, int(np.unique(classes, return_counts=True)[1].max())))
    for train, left_out in folds.split(rows, classes):
        model = trained(X, Y, rows[train], classes[train], estimator)
        prob[left_out] = model.predict_proba(X[rows[left_out]])
    return prob


def annotator_lr(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Answer:
    """Run scikit-activeml's model after Raykar et al. (2010): a classifier and confusion matrices."""
    model, belief, scaler = fitted_annotator_lr(X, Y)
    return Answer(belief.argmax(axis=1), belief, model.predict_proba(scaler.transform(X_new)))


def fitted_annotator_lr(X: np.ndarray, Y: Annotations) -> tuple[Any, np.ndarray, StandardScaler]:
    """Return the model, its belief about each labelled item and the scaler of its features.

    It drops unlabelled items and has no consensus, so the belief is computed by Bayes' rule from its
    parameters.
    """
    from skactiveml.classifier.multiannotator import AnnotatorLogisticRegression

    rows, scaler = np.flatnonzero(Y.labelled), StandardScaler().fit(X)
    X = scaler.transform(X)
    model = AnnotatorLogisticRegression(classes=list(range(Y.n_classes)), random_state=0)
    model.fit(X[rows], Y[rows].to_matrix())
    log_belief = np.log(np.maximum(model.predict_proba(X), SMALLEST))
    log_confusion = np.log(np.maximum(model.Alpha_, SMALLEST))
    np.add.at(log_belief, Y.item, log_confusion[Y.annotator, :, Y.label])
    belief = np.exp(log_belief - log_belief.max(axis=1, keepdims=True))[rows]
    return model, belief / belief.sum(axis=1, keepdims=True), scaler


@dataclass(frozen=True)
class Method:
    """A method and its package.

    Attributes
    ----------
    answer : callable(X, Y, X_new) → Answer
    package, module : str
        Name for pip, and module that is imported before the clock starts.
    ours : bool
        Whether it is one of this library's models; its baselines are not.
    """

    answer: Callable[..., Answer]
    package: str = "whoknows"
    module: str = "whoknows"
    ours: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether its package can be imported."""
        return find_spec(self.module.partition(".")[0]) is not None

    @property
    def version(self) -> str:
        """Name and version, such as "crowd-kit 1.4.2"; empty if it is not installed."""
        return f"{self.package} {version(self.package)}" if self.is_installed else ""


def installed(names: Iterable[str], methods: Mapping[str, Method] | None = None) -> list[str]:
    """Return the methods whose packages are installed, and print which packages are missing."""
    methods = METHODS if methods is None else methods
    absent = [name for name in names if not methods[name].is_installed]
    for package in dict.fromkeys(methods[name].package for name in absent):
        print(f"{package} is not installed and is skipped. To install it: pip install 'whoknows[peers]'")
    return [name for name in names if name not in absent]


def _crowd_kit(kind: str) -> Method:
    return Method(partial(crowd_kit, kind), "crowd-kit", "crowdkit.aggregation")


def _crowdlab(estimator: Any = None) -> Method:
    return Method(partial(crowdlab, estimator=estimator), "cleanlab", "cleanlab.multiannotator")


def _estimator(kind: type[Any], ours: bool = True) -> Method:
    return Method(partial(fitted, kind), ours=ours)


METHODS = {
    "AutoCrowdClassifier": _estimator(AutoCrowdClassifier),
    "CrowdClassifier": _estimator(CrowdClassifier),
    "majority vote + LR": Method(majority_vote),
    "majority vote + tuned LR": Method(partial(majority_vote, estimator=TUNED)),
    "Dawid-Skene + LR": _estimator(DawidSkene, ours=False),
    "Dawid-Skene + tuned LR": Method(partial(dawid_skene, estimator=TUNED)),
    "crowd-kit DawidSkene": _crowd_kit("DawidSkene"),
    "crowd-kit OneCoin": _crowd_kit("OneCoinDawidSkene"),
    "crowd-kit GLAD": _crowd_kit("GLAD"),
    "crowd-kit MACE": _crowd_kit("MACE"),
    "CROWDLAB": _crowdlab(),
    "CROWDLAB + tuned LR": _crowdlab(TUNED),
    "AnnotatorLogisticRegression": Method(annotator_lr, "scikit-activeml", "skactiveml.classifier.multiannotator"),
}
