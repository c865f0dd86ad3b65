"""Any scikit-learn classifier as a source of truth features: its log-probabilities."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from whoknows._array import Array, Rows, with_constant
from whoknows.estimators.inputs.encoding import Encoding, fit_encoding
from whoknows.estimators.inputs.preprocessing import Preprocessing, fit_preprocessing
from whoknows.estimators.inputs.raw_rows import Keys, RawRows, row_keys
from whoknows.estimators.inputs.requirements import weight_keyword
from whoknows.estimators.inputs.rows import TransformedRows
from whoknows.fit.items import Items
from whoknows.model.distances import ENOUGH

LEAST_WEIGHT = 1e-3  # probability of a class from which an item is a training example of it
LEAST_PROB = 1e-4  # of a class: log-probabilities stay finite, and one item cannot decide alone


def with_seed(classifier: Any, seed: int) -> Any:
    """Return an unfitted copy; every ``random_state`` that is None is set, for results that repeat."""
    copy = clone(classifier)
    unset = [key for key, value in copy.get_params().items() if _is_unset_seed(key, value)]
    return copy.set_params(**dict.fromkeys(unset, seed))


def _is_unset_seed(key: str, value: Any) -> bool:
    return value is None and (key == "random_state" or key.endswith("__random_state"))


# --- fitting to a posterior, and predicting ---------------------------------------------------------


def fit_to_posterior(classifier: Any, X: RawRows, prob: Array, weight: Array | None) -> Any:
    """Fit a copy of a classifier to every class of each item, weighted by its probability."""
    item, label = np.nonzero(prob > LEAST_WEIGHT)
    if len(np.unique(label)) == 1:  # most classifiers need two classes
        return DummyClassifier(strategy="prior").fit(np.zeros((len(label), 1)), label)
    weights = prob[item, label] * (1.0 if weight is None else weight[item])
    copy = clone(classifier)
    return copy.fit(X[item].raw, label, **weight_keyword(copy, weights))


def cross_fit(classifier: Any, X: RawRows, prob: Array, weight: Array | None, folds: Rows) -> tuple[Array, list[Any]]:
    """Log-odds of each item by a classifier fitted without its fold, and these classifiers, one per fold."""
    parts = [folds == fold for fold in range(folds.max() + 1)]
    fitted = [
        fit_to_posterior(classifier, X[~part], prob[~part], None if weight is None else weight[~part]) for part in parts
    ]
    held_out = np.empty((len(X), n_outputs(prob.shape[1])))
    for part, without in zip(parts, fitted, strict=True):
        held_out[part] = log_odds(without, X[part], prob.shape[1])
    return held_out, fitted


def n_outputs(n_classes: int) -> int:
    """Log-odds per item: one for two classes, otherwise one per class."""
    return 1 if n_classes == 2 else n_classes


def log_odds(classifier: Any, X: RawRows, n_classes: int) -> Array:
    """Log-odds of the second of two classes, (n_items, 1), or centred log p(z | x), (n_items, n_classes)."""
    prob = np.zeros((len(X), n_classes))
    prob[:, np.asarray(classifier.classes_, dtype=int)] = classifier.predict_proba(X.raw)
    log_p = np.log(prob.clip(LEAST_PROB, 1 - LEAST_PROB))
    if n_classes == 2:
        return log_p[:, 1:] - log_p[:, :1]
    return log_p - log_p.mean(axis=1, keepdims=True)


@dataclass(frozen=True)
class ClassifierFeatures:
    """Log-probabilities of a fitted classifier as features of the truth; before the fit they are 0.

    Attributes
    ----------
    n_classes : int
    classifier : fitted classifier or None
        Fitted to all items with labels; its classes are positions in ``classes_``.
    without_fold : list of fitted classifiers
        Each without one fold of these items.
    keys : (n_known,)
        Of the items with labels, see `row_keys`, sorted.
    held_out : (n_known, n_outputs)
        Log-odds of each, by the classifier that was fitted without it.
    """

    n_classes: int
    classifier: Any = None
    without_fold: list[Any] = field(default_factory=list)
    keys: Keys = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    held_out: Array = field(default_factory=lambda: np.zeros((0, 1)))

    def transform(self, X: RawRows) -> Array:
        """Log-odds of each x: (n_items, n_outputs)."""
        if self.classifier is None:
            return np.zeros((len(X), n_outputs(self.n_classes)))
        return log_odds(self.classifier, X, self.n_classes)

    def transform_labelled(self, X: RawRows) -> Array:
        """Return the same for items with labels: those of the fit have their held-out log-odds.

        A classifier that was taught by the labels of an item must not be asked about it next to these labels:
        they would count twice.
        """
        features = self.transform(X)
        place, found = self._find(row_keys(X))
        features[found] = self.held_out[place[found]]
        return features

    def variance(self, X: RawRows) -> Array:
        """Jackknife variance of the log-odds over the folds: (n_items, n_outputs).

        With so few folds it is itself uncertain: its factor is the variance of Student's t.
        """
        f = np.array([log_odds(classifier, X, self.n_classes) for classifier in self.without_fold])
        freedom = max(len(f) - 1, 3)
        return freedom / (freedom - 2) * (len(f) - 1) * f.var(axis=0)

    def _find(self, keys: Keys) -> tuple[Rows, Any]:
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.intp), np.zeros(len(keys), dtype=bool)
        place = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return place, self.keys[place] == keys


@dataclass(frozen=True)
class ClassifierPreprocessing(Preprocessing):
    """From X as the user gave it: a classifier's log-odds for the truth, and a map for expertise.

    Attributes
    ----------
    learned : ClassifierFeatures
        The classifier.
    encoding : Encoding, optional
        Numbers for the map; None if X is an array of numbers, none of them missing.
    """

    _: KW_ONLY
    learned: ClassifierFeatures
    encoding: Encoding | None = None

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return super().n_features if self.encoding is None else self.encoding.n_columns

    @property
    def is_linear(self) -> bool:
        """Whether features are linear in x: not those of a classifier."""
        return False

    def raw_rows(self, X: Any) -> RawRows:
        """X as the classifier takes it."""
        return X if isinstance(X, RawRows) else RawRows(X)

    def encoded(self, X: Any) -> Array:
        """X as numbers, before they are scaled."""
        X = self.raw_rows(X)
        return np.asarray(X.raw, dtype=float) if self.encoding is None else self.encoding.transform(X)

    def encoded_names(self, columns: list[str]) -> list[str]:
        """Names of these numbers, from those of the columns of X."""
        return columns if self.encoding is None else self.encoding.names(columns)

    def scaled(self, X: Any) -> Array:
        """Encoded X with scaled columns."""
        return super().scaled(self.encoded(X))

    def truth_features(self, X: Any, labelled: bool = False) -> Array:
        """Log-odds of the classifier, the constant last; see `ClassifierFeatures.transform_labelled`."""
        transform = self.learned.transform_labelled if labelled else self.learned.transform
        return with_constant(transform(self.raw_rows(X)))

    def annotator_features(self, X: Any, X_truth: Array) -> Array:
        """Features of expertise, the constant last: those of the map, which sees no label."""
        if self.of_annotators is None:
            return with_constant(self.features.transform(self.scaled(X))[:, : self.directions])
        return super().annotator_features(X, X_truth)

    def truth_variance(self, items: Items) -> Array:
        """Jackknife variance of the log-odds of the classifier."""
        return self.learned.variance(items.raw)


def fit_classifier_preprocessing(settings: Any, X: RawRows, directions: int, n_classes: int) -> ClassifierPreprocessing:
    """Fit everything that sees no label: the encoding, its scale and the map of expertise."""
    encoding = fit_encoding(X[:: -(-len(X) // ENOUGH)])
    known = fit_preprocessing(settings, TransformedRows(X, encoding.transform), directions)
    return ClassifierPreprocessing(**vars(known), encoding=encoding, learned=ClassifierFeatures(n_classes))
