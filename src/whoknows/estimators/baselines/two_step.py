"""Two-step baselines: combine the labels of each item into one class, then fit a classifier."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import show
from whoknows.estimators.base import is_truth_vector
from whoknows.estimators.inputs.requirements import weight_keyword
from whoknows.estimators.inputs.training_data import check_training_input
from whoknows.estimators.inputs.validation import all_or_nothing, check_annotations, check_features, row_ids
from whoknows.fit.monitor import Monitor
from whoknows.model.settings import NOT_NEGATIVE, YES_OR_NO, Rules, check_values

SMALLEST = 1e-10  # lower limit of expected counts, so that the logarithm of a probability exists
LEAST_WEIGHT = 1e-6  # classes of lower probability are not used to fit the classifier


def votes(annotations: Annotations, weighted: bool = True) -> NDArray[Any]:
    """Return the number of labels per item and class, by default weighted by confidence: (n_items, n_classes)."""
    n_items, n_classes = annotations.n_items, annotations.n_classes
    cell = annotations.item.astype(np.intp) * n_classes + annotations.label
    weight = annotations.confidence if weighted else None
    return np.bincount(cell, weight, minlength=n_items * n_classes).reshape(-1, n_classes)


def majority(counts: NDArray[Any]) -> NDArray[np.intp]:
    """Return the class with most votes in each row of (n_items, n_classes).

    Ties go to the class with more labels over all items, then to the first class.
    """
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    return order[counts[:, order].argmax(axis=1)]


class Baseline(ClassifierMixin, BaseEstimator):
    """Combine the labels of each item, then fit a classifier; subclasses implement ``_learn``."""

    estimator: Any
    standardize: bool
    rules: ClassVar[Rules] = {}  # valid values of parameters

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to features and annotations; X and y as in `CrowdClassifier.fit`."""
        check_values(self, {"standardize": YES_OR_NO, **self.rules})
        X, data = check_training_input(self, X, y)
        annotations = data.without_zero_weights().annotations
        scaler = StandardScaler(with_mean=self.standardize, with_std=self.standardize).fit(X)
        self._learn(scaler.transform(X), annotations)
        self._scaler, self.classes_, self.annotators_ = scaler, annotations.labels, annotations.annotators
        return self

    def predict(self, X: Any) -> Any:
        """Return the predicted class of each item: (n_items,)."""
        X = self._scaled(X)
        return self.classes_[self.estimator_.predict(X)]

    @available_if(lambda self: self.estimator is None or hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Return p(z | x) of each item: (n_items, n_classes), columns as in ``classes_``."""
        X = self._scaled(X)
        prob = np.zeros((len(X), len(self.classes_)))
        prob[:, self.estimator_.classes_] = self.estimator_.predict_proba(X)
        return prob

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on true labels or, on annotations, the agreement with the majority vote.

        Parameters
        ----------
        X : (n_items, n_features)
        y : (n_items,) or annotations
            A vector holds true labels. For annotations (or a matrix), the score is the share of labelled
            items whose majority vote is predicted. It needs no true labels, so it can be used for model
            selection, as in the paper for its support vector machine.
        sample_weight : (n_items,), optional
            Weights of the items; with true labels only.
        """
        if is_truth_vector(y):
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        if sample_weight is not None:
            raise InputError("sample_weight requires true labels; with annotations all items count equally.")
        predicted = self.predict(X)
        annotations = check_annotations(y, len(predicted), self.annotators_, row_ids(X))
        annotations = annotations.only(annotations.counts > 0)
        if annotations.n_annotations == 0:
            raise InputError("score on annotations needs at least one label with positive weight; y has none.")
        agreed = annotations.labels[majority(votes(annotations))] == predicted
        return float(agreed[annotations.labelled].mean())

    def _scaled(self, X: Any) -> Array:
        """Validate X and scale it as in the fit."""
        check_is_fitted(self)
        return np.asarray(self._scaler.transform(check_features(self, X, reset=False)))

    @abstractmethod
    def _learn(self, X: Array, annotations: Annotations) -> None:
        """Fit to validated and scaled X."""

    def _fit_estimator(self, X: Array, classes: NDArray[Any], weight: Array | None = None) -> Any:
        """Return the classifier, fitted to positions in ``classes_``."""
        if len(np.unique(classes)) == 1:  # most classifiers need two classes
            return DummyClassifier(strategy="prior").fit(X, classes)
        estimator = LogisticRegression(max_iter=1000) if self.estimator is None else clone(self.estimator)
        return estimator.fit(X, classes, **({} if weight is None else weight_keyword(estimator, weight)))


class MajorityVoteClassifier(Baseline):
    """A classifier fitted to the majority vote: *majority vote* of Yan, Rosales, Fung and Dy (UAI 2010).

    Each labelled item gets the class with most of its labels. Ties go to the class with more labels over all
    items, then to the first in ``classes_``. Unlabelled items are used only to scale the features.

    Parameters
    ----------
    estimator : classifier, optional
        Fitted to the classes of the items; None is ``LogisticRegression(max_iter=1000)``, as in the paper.
    standardize : bool
        Scale each feature to mean 0 and variance 1 over all items, labelled or not.

    Attributes
    ----------
    classes_ : (n_classes,)
        The labels.
    annotators_ : (n_annotators,)
        Ids of the annotators.
    posterior_ : (n_items, n_classes)
        Share of each class among the labels of an item, weighted by confidence; for an unlabelled item, among
        all labels.
    estimator_ : classifier
        The fitted classifier; its classes are positions in ``classes_``.

    Examples
    --------
    >>> from whoknows.estimators.baselines import MajorityVoteClassifier
    >>> nan = float("nan")
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = [[0, 0, 1], [0, nan, 0], [nan, nan, nan], [nan, nan, nan], [1, 1, 0], [1, 1, nan]]
    >>> model = MajorityVoteClassifier().fit(X, y)
    >>> model.predict(X)
    array([0, 0, 0, 1, 1, 1])
    >>> model.posterior_[4].round(2)
    array([0.33, 0.67])
    """

    def __init__(self, estimator: Any = None, *, standardize: bool = True) -> None:
        self.estimator = estimator
        self.standardize = standardize

    def _learn(self, X: Array, annotations: Annotations) -> None:
        counts, labelled = votes(annotations), annotations.labelled
        self.estimator_ = self._fit_estimator(X[labelled], majority(counts)[labelled])
        shares = np.where(labelled[:, None], counts, counts.sum(axis=0))
        self.posterior_ = shares / shares.sum(axis=1, keepdims=True)


class SingleAnnotatorClassifier(MajorityVoteClassifier):
    """A classifier fitted to one annotator's labels: *annotator t* of Yan, Rosales, Fung and Dy (UAI 2010).

    Labels of other annotators are ignored. If all labels are of one class, that class is predicted.

    Parameters
    ----------
    annotator : id, optional
        One of the annotators of y; may be None if there is only one.
    estimator, standardize
        As in `MajorityVoteClassifier`, and so are the attributes.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.estimators.baselines import SingleAnnotatorClassifier
    >>> y = Annotations.from_matrix([[0, 1], [0, 1], [1, 0], [1, 0]], annotators=["anna", "bob"])
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> SingleAnnotatorClassifier("bob").fit(X, y).predict(X)
    array([1, 1, 0, 0])
    """

    def __init__(self, annotator: Any = None, estimator: Any = None, *, standardize: bool = True) -> None:
        super().__init__(estimator, standardize=standardize)
        self.annotator = annotator

    def _learn(self, X: Array, annotations: Annotations) -> None:
        known = annotations.annotators.tolist()
        active = annotations.annotators[annotations.labels_per_annotator > 0].tolist()
        annotator = known[0] if self.annotator is None and len(known) == 1 else self.annotator
        if annotator not in active:
            raise InputError(
                f"annotator must be one of those with labels in y; got {annotator!r}. Known: {show(active)}."
            )
        super()._learn(X, annotations.only(annotations.annotator == known.index(annotator)))


@dataclass(eq=False, repr=False)
class DawidSkene(Baseline):
    """The model of Dawid and Skene, and a classifier fitted to its posterior.

    A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm,
    Applied Statistics 28 (1979): classes have a prior p(z = k), and annotator t labels an item of class k as
    l with probability π_t[k, l], independently of x. EM starts at the vote shares; labels are weighted by
    confidence. The classifier is fitted to every class of each labelled item, weighted by its probability.

    Parameters
    ----------
    estimator : classifier, optional
        Fitted to the classes of the items; its ``fit`` must take ``sample_weight``. None is
        ``LogisticRegression(max_iter=1000)``.
    smoothing : float
        Pseudo-count added to every cell of every π_t. 0 is maximum likelihood, as in the original paper; it
        is overconfident about annotators with few labels; with few classes, 1 is then better.
    max_iter : int
        Maximum number of iterations; `DidNotConverge` warns when it is reached.
    tol : float
        Stop when the relative increase of the log-likelihood is less than ``tol``.
    standardize : bool
        As in `MajorityVoteClassifier`.

    Attributes
    ----------
    classes_, annotators_, estimator_
        As in `MajorityVoteClassifier`.
    posterior_ : (n_items, n_classes)
        p(z | labels), without x; ``prior_`` for an unlabelled item.
    prior_ : (n_classes,)
        p(z).
    confusion_ : (n_annotators, n_classes, n_classes)
        π_t: rows are true classes, columns labels. Uniform for an annotator without labels.
    bound_history_ : list of float
        Log-likelihood of the labels, plus the log prior that ``smoothing`` implies; one value per iteration.
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.estimators.baselines import DawidSkene
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> z = (X[:, 0] > 0).astype(int)
    >>> y = np.where(rng.random((300, 4)) < [0.95, 0.8, 0.7, 0.1], z[:, None], 1 - z[:, None])
    >>> model = DawidSkene().fit(X, y)
    >>> model.confusion_[:, 1, 1].round(1)  # the last annotator is mostly wrong
    array([1. , 0.8, 0.7, 0.1])
    >>> bool(np.mean(model.posterior_.argmax(axis=1) == z) > 0.95)
    True
    """

    rules: ClassVar[Rules] = {"smoothing": NOT_NEGATIVE}

    estimator: Any = None
    _: KW_ONLY
    smoothing: float = 0.0
    max_iter: int = 200
    tol: float = 1e-6
    standardize: bool = True

    def _learn(self, X: Array, annotations: Annotations) -> None:
        monitor, labelled = Monitor(self.max_iter, self.tol), annotations.labelled
        posterior, prior, confusion = dawid_skene(annotations[labelled], monitor, self.smoothing)
        item, label = np.nonzero(posterior > LEAST_WEIGHT)
        self.estimator_ = self._fit_estimator(X[labelled][item], label, posterior[item, label])
        self.prior_, self.confusion_ = prior, confusion
        self.posterior_ = np.tile(prior, (len(labelled), 1))
        self.posterior_[labelled] = posterior
        self.bound_history_, self.n_iter_ = monitor.history, monitor.n_iter


def dawid_skene(annotations: Annotations, monitor: Monitor, smoothing: float = 0.0) -> tuple[Array, Array, Array]:
    """Return p(z | labels), p(z) and π by EM from the vote shares; all items must have labels."""
    counts = votes(annotations)
    prior, confusion = _m_step(annotations, counts / counts.sum(axis=1, keepdims=True), smoothing)
    while True:
        with np.errstate(divide="ignore"):  # classes and labels that never occur
            log_confusion, log_prior = np.log(confusion), np.log(prior)
        each = annotations.counts[:, None] * log_confusion[annotations.annotator, :, annotations.label]
        joint = log_prior + segment_sum(each, annotations.item, annotations.n_items)
        log_lik = logsumexp(joint, axis=1, keepdims=True)
        posterior = np.exp(joint - log_lik)
        prior, confusion = _m_step(annotations, posterior, smoothing)
        log_smoothing = smoothing * log_confusion.sum() if smoothing else 0.0
        if monitor.add(log_lik.sum() + log_smoothing, confusion):
            break
    monitor.finish()
    return posterior, prior, confusion


def _m_step(annotations: Annotations, posterior: Array, smoothing: float) -> tuple[Array, Array]:
    """Return p(z) and π, the normalised expected counts: (n_classes,), (n_annotators, truth, label).

    If an annotator has no expected count of a class, π is uniform over the labels that this annotator used.
    """
    T, K = annotations.n_annotators, annotations.n_classes
    cell = annotations.annotator.astype(np.intp) * K + annotations.label
    each = annotations.counts[:, None] * posterior[annotations.item]
    counts = segment_sum(each, cell, T * K).reshape(T, K, K).transpose(0, 2, 1)
    used = np.bincount(cell, minlength=T * K).reshape(T, 1, K) > 0
    used |= ~used.any(axis=2, keepdims=True)
    counts = np.maximum(counts + smoothing, np.where(used, SMALLEST, 0.0))
    return posterior.mean(axis=0), counts / counts.sum(axis=2, keepdims=True)
