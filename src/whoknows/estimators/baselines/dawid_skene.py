"""Dawid and Skene's EM: the truth and every annotator's confusion matrix from labels alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.estimators.baselines.base import TwoStep, votes
from whoknows.estimators.inputs.validation import check_setting
from whoknows.fit.monitor import Monitor
from whoknows.model.settings import NOT_NEGATIVE

SMALLEST = 1e-10  # of a count or a probability, so that its logarithm exists
LEAST_WEIGHT = 1e-6  # less of a class than this moves no classifier


class DawidSkene(TwoStep):
    """Labels alone become the truth, which then teaches a classifier.

    The model of A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the
    EM algorithm, Applied Statistics 28 (1979): classes have a prior p(z = k), annotator t says l of an item
    of class k with probability π_t[k, l], whatever x is. EM starts at the vote shares; labels count by their
    confidence. Then each labelled item teaches the classifier every class, weighted by its probability.

    Parameters
    ----------
    estimator : classifier, optional
        What learns the classes from x; its ``fit`` must take ``sample_weight``. None is
        ``LogisticRegression(max_iter=1000)``.
    smoothing : float
        Labels added to every cell of every π_t. 0 is maximum likelihood, as in 1979. It trusts annotators
        with few labels too much; if classes are few, 1 is better then.
    max_iter : int
        Iterations at most; `DidNotConverge` warns when they were not enough.
    tol : float
        Stop when the log-likelihood rises by less than ``tol`` of its size.
    standardize : bool
        Bring every column of X to mean 0 and variance 1 over all items, labelled or not.

    Attributes
    ----------
    classes_ : (n_classes,)
        The labels.
    annotators_ : (n_annotators,)
        Their ids.
    posterior_ : (n_items, n_classes)
        p(z | labels), x aside; of an item without labels, ``prior_``.
    prior_ : (n_classes,)
        p(z).
    confusion_ : (n_annotators, n_classes, n_classes)
        π_t: rows are the truth, columns the label. Even for an annotator without labels.
    bound_history_ : list of float
        Log-likelihood of the labels, with the prior that smoothing amounts to; one value an iteration.
    n_iter_ : int
    estimator_ : classifier
        The fitted one; its classes are positions in ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.estimators.baselines import DawidSkene
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> z = (X[:, 0] > 0).astype(int)
    >>> y = np.where(rng.random((300, 4)) < [0.95, 0.8, 0.7, 0.1], z[:, None], 1 - z[:, None])
    >>> model = DawidSkene().fit(X, y)
    >>> model.confusion_[:, 1, 1].round(1)  # the last one mostly says the opposite
    array([1. , 0.8, 0.7, 0.1])
    >>> bool(np.mean(model.posterior_.argmax(axis=1) == z) > 0.95)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        smoothing: float = 0.0,
        max_iter: int = 200,
        tol: float = 1e-6,
        standardize: bool = True,
    ) -> None:
        self.estimator = estimator
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize

    def _learn(self, X: Array, said: Annotations) -> None:
        check_setting(self, "smoothing", NOT_NEGATIVE)
        monitor = Monitor(self.max_iter, self.tol)
        posterior, prior, confusion = dawid_skene(said[said.labelled], monitor, self.smoothing)
        item, label = np.nonzero(posterior > LEAST_WEIGHT)
        rows = np.flatnonzero(said.labelled)[item]
        self.estimator_ = self._taught(X[rows], label, posterior[item, label])
        self.prior_, self.confusion_ = prior, confusion
        self.posterior_ = np.tile(prior, (said.n_items, 1))
        self.posterior_[said.labelled] = posterior
        self.bound_history_, self.n_iter_ = monitor.history, monitor.n_iter


def dawid_skene(said: Annotations, monitor: Monitor, smoothing: float = 0.0) -> tuple[Array, Array, Array]:
    """Return p(z | labels), p(z) and π of items that all have labels, by EM from the vote shares."""
    counts = votes(said)
    shares = counts / counts.sum(axis=1, keepdims=True)
    prior, confusion = _m_step(said, shares, smoothing)
    while True:
        with np.errstate(divide="ignore"):  # what nobody ever gave: a label looked up by nobody, a class
            log_confusion, log_prior = np.log(confusion), np.log(prior)
        each = said.counts[:, None] * log_confusion[said.annotator, :, said.label]
        joint = log_prior + segment_sum(each, said.item, said.n_items)
        log_lik = logsumexp(joint, axis=1, keepdims=True)
        posterior = np.exp(joint - log_lik)
        prior, confusion = _m_step(said, posterior, smoothing)
        of_smoothing = smoothing * log_confusion.sum() if smoothing else 0.0
        if monitor.add(log_lik.sum() + of_smoothing, confusion):
            break
    monitor.finish()
    return posterior, prior, confusion


def _m_step(said: Annotations, posterior: Array, smoothing: float) -> tuple[Array, Array]:
    """p(z) and π, expected counts over their sums: (n_classes,), (n_annotators, truth, label).

    A class an annotator seems never to have met has even probabilities over the labels he ever gave.
    """
    T, K = said.n_annotators, said.n_classes
    cell = said.annotator.astype(np.intp) * K + said.label
    each = said.counts[:, None] * posterior[said.item]
    counts = segment_sum(each, cell, T * K).reshape(T, K, K).transpose(0, 2, 1)
    given = np.bincount(cell, minlength=T * K).reshape(T, 1, K) > 0
    given |= ~given.any(axis=2, keepdims=True)
    counts = np.maximum(counts + smoothing, np.where(given, SMALLEST, 0.0))
    return posterior.mean(axis=0), counts / counts.sum(axis=2, keepdims=True)
