"""A classifier that gold alone teaches: what x says about the truth, whatever the labels say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from whoknows._array import Array, Rows, log_softmax

FEWEST = 10  # gold items; with fewer, none can be held out
CLEAR = 2.0  # standard errors of the gain on held-out items
VARIANCES = (1.0, 10.0, 100.0)  # of the weights, for features of mean squared length one
ABSENT = -10.0  # log-odds of a class without gold


@dataclass(frozen=True)
class GoldClassifier:
    """log p(z | x) = log softmax_z(xᵀ weights).

    Attributes
    ----------
    weights : (n_features, n_classes)
        The last column of x is constant.
    """

    weights: Array

    def log_prob(self, X: Array) -> Array:
        """log p(z | x): (n_items, n_classes)."""
        return log_softmax(X @ self.weights)

    @classmethod
    def fit(cls, X: Array, gold: Rows, counts: Array, n_classes: int, variance: float) -> Self:
        """Fit softmax regression with a ridge to gold items of weights ``counts``."""
        weights = np.zeros((X.shape[1], n_classes))
        weights[-1] = ABSENT
        classes = np.unique(gold)
        if len(classes) == 1:
            weights[-1, classes] = 0.0
            return cls(weights)
        fitted = LogisticRegression(C=variance, max_iter=1000, tol=1e-3).fit(X[:, :-1], gold, counts)
        coef, intercept = fitted.coef_, fitted.intercept_
        if len(classes) == 2:
            coef, intercept = np.vstack([-coef, coef]) / 2, np.r_[-intercept, intercept] / 2
        weights[:, classes] = np.vstack([coef.T, intercept])
        return cls(weights)


def teach(X: Array, gold: Rows, counts: Array, n_classes: int) -> tuple[GoldClassifier, Array] | None:
    """Fit a classifier to gold items, and return it with log p(z | x) of each of them by a fit without it.

    None if x says nothing about gold: held-out items are not predicted clearly better than by the shares of classes.

    Parameters
    ----------
    X : (n_items, n_features)
        The last column is constant.
    gold : (n_items,)
        Class codes.
    counts : (n_items,)
        Weight of each item.
    n_classes : int
    """
    if len(gold) < FEWEST or X.shape[1] < 2 or len(np.unique(gold)) < 2:
        return None
    no_x = X * (np.arange(X.shape[1]) == X.shape[1] - 1)
    by_shares = _held_out(no_x, gold, counts, n_classes, 1.0)
    tried = {variance: _held_out(X, gold, counts, n_classes, variance) for variance in VARIANCES}
    gain = {variance: _at(log_p - by_shares, gold) for variance, log_p in tried.items()}
    best = max(VARIANCES, key=lambda variance: counts @ gain[variance])
    error = np.sqrt(counts**2 @ (gain[best] - gain[best].mean()) ** 2)
    if counts @ gain[best] <= CLEAR * error:
        return None
    return GoldClassifier.fit(X, gold, counts, n_classes, best), tried[best]


def _held_out(X: Array, gold: Rows, counts: Array, n_classes: int, variance: float) -> Array:
    """log p(z | x) of each item by a fit to the other folds: (n_items, n_classes)."""
    log_p = np.zeros((len(gold), n_classes))
    for seen, unseen in KFold(5, shuffle=True, random_state=0).split(X):
        fitted = GoldClassifier.fit(X[seen], gold[seen], counts[seen], n_classes, variance)
        log_p[unseen] = fitted.log_prob(X[unseen])
    return log_p


def _at(log_p: Array, gold: Rows) -> Array:
    """Return the column of each item's class: (n_items,)."""
    return np.asarray(log_p[np.arange(len(gold)), gold])
