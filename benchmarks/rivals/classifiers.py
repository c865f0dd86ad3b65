"""Classifiers for labels that were combined into one class or one distribution per item.

Each is tuned by 3-fold cross-validation on what it is fitted to, and returns probabilities of new items.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC

from benchmarks.crowds.cases import Answer
from whoknows import Annotations
from whoknows.estimators.baselines import DawidSkene
from whoknows.estimators.baselines.two_step import majority, votes


class ScoredSVC(SVC):
    """A support vector machine whose probabilities are the softmax of its decision values.

    They rank items and classes as the decision values do, which is all that accuracy and AUC need.
    """

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        values = self.decision_function(X)
        return softmax(np.column_stack([-values, values]) if values.ndim == 1 else values, axis=1)


FOLDS = 3
TUNED_LR = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0]}, cv=FOLDS)
TUNED_SVM = GridSearchCV(ScoredSVC(), {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", "auto", 0.01, 0.001]}, cv=FOLDS)
FOREST = GridSearchCV(
    RandomForestRegressor(200, max_features="sqrt", random_state=0),
    {"min_samples_leaf": [1, 3, 10]},
    cv=KFold(FOLDS, shuffle=True, random_state=0),
)
BOOSTING = GridSearchCV(
    HistGradientBoostingClassifier(early_stopping=False, random_state=0), {"min_samples_leaf": [3, 10, 20]}, cv=FOLDS
)


def forest_on_shares(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Answer:
    """Fit a random forest to the share of each class among the labels of an item."""
    counts = votes(Y)[Y.labelled]
    shares = counts / counts.sum(axis=1, keepdims=True)
    prob = clone(FOREST).fit(X[Y.labelled], shares).predict(X_new)
    return Answer(majority(counts), shares, prob)


def boosting_on_soft_labels(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Answer:
    """Fit boosted trees to every class of an item, weighted by its probability under Dawid-Skene.

    The size of the leaves is chosen on the most probable classes.
    """
    belief = DawidSkene().fit(X, Y).posterior_[Y.labelled]
    consensus = belief.argmax(axis=1)
    chosen = clone(BOOSTING).fit(X[Y.labelled], consensus).best_estimator_
    model = DawidSkene(clone(chosen)).fit(X, Y)
    return Answer(consensus, belief, model.predict_proba(X_new))
