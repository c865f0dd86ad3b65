"""Annotations as y in scikit-learn: splits, searches and pipelines, and what is refused."""

import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, resample, shuffle
from sklearn.utils.multiclass import type_of_target

from whoknows.data import Annotations


class MostFrequentLabel(ClassifierMixin, BaseEstimator):
    """Predicts the label given most often; the score is the share of labels it agrees with."""

    def __init__(self, shift=0):
        self.shift = shift

    def fit(self, X, y):
        assert isinstance(y, Annotations)
        assert len(X) == len(y)
        self.classes_ = y.labels
        self.most_ = np.bincount(y.label, minlength=y.n_classes).argmax()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.most_])

    def score(self, X, y):
        return float(np.mean(y.label == self.most_)) - abs(self.shift)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    matrix = np.where(rng.random((60, 4)) < 0.4, rng.integers(0, 2, (60, 4)), np.nan)
    return rng.normal(size=(60, 3)), Annotations.from_matrix(matrix, labels=[0, 1, 2])


def test_train_test_split_keeps_rows_together_and_all_classes(data):
    X, y = data
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert (len(X_train), len(X_test)) == (len(y_train), len(y_test)) == (45, 15)
    assert y_train.labels is y.labels
    np.testing.assert_array_equal(X[y_test.items], X_test)


@pytest.mark.parametrize("cv", [KFold(3), ShuffleSplit(2, random_state=0)])
def test_cross_validation_works_with_a_splitter(data, cv):
    assert np.all(np.isfinite(cross_val_score(MostFrequentLabel(), *data, cv=cv)))
    assert "test_score" in cross_validate(make_pipeline(StandardScaler(), MostFrequentLabel()), *data, cv=cv)


def test_grid_search_over_a_pipeline_works_with_a_splitter(data):
    pipeline = make_pipeline(StandardScaler(), MostFrequentLabel())
    search = GridSearchCV(pipeline, {"mostfrequentlabel__shift": [0, 1]}, cv=KFold(3)).fit(*data)
    assert search.best_params_ == {"mostfrequentlabel__shift": 0}
    assert len(search.predict(data[0])) == 60
    clone(search)


def test_learning_curves_bootstrap_and_shuffling_work(data):
    X, y = data
    sizes, *_ = learning_curve(MostFrequentLabel(), X, y, cv=KFold(3), train_sizes=[0.5, 1.0])
    assert sizes.tolist() == [20, 40]
    X_again, y_again = resample(X, y, random_state=0)
    np.testing.assert_array_equal(X[y_again.items], X_again)
    X_mixed, y_mixed = shuffle(X, y, random_state=0)
    np.testing.assert_array_equal(X[y_mixed.items], X_mixed)


@pytest.mark.parametrize(("cv", "n_folds"), [(3, 3), (None, 5)])
def test_an_integer_cv_is_a_number_of_folds_of_items(data, cv, n_folds):
    scores = cross_val_score(MostFrequentLabel(), *data, cv=cv)
    by_items = cross_val_score(MostFrequentLabel(), *data, cv=KFold(n_folds))
    np.testing.assert_array_equal(scores, by_items)
    search = GridSearchCV(MostFrequentLabel(), {"shift": [0]}, cv=cv).fit(*data)
    assert search.n_splits_ == n_folds


def test_scikit_learn_sees_no_classes_in_annotations(data):
    assert type_of_target(data[1]) == "unknown"


def test_objects_are_the_labels_of_each_item():
    y = Annotations.from_arrays(["a", "a", "c"], ["anna", "bob", "bob"], [1, 0, 0], items=["a", "b", "c"])
    assert np.asarray(y, dtype=object).tolist() == [{"anna": 1, "bob": 0}, {}, {"bob": 0}]


@pytest.mark.parametrize("convert", [np.asarray, np.array, lambda y: np.asarray(y, dtype=float), np.mean])
def test_annotations_never_become_an_array_by_themselves(data, convert):
    with pytest.raises(TypeError, match=r"Use to_matrix\(\) for an array"):
        convert(data[1])


def test_lengths_that_differ_are_found_by_scikit_learn(data):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        train_test_split(data[0][:50], data[1])


def rows_meaning(labels, rows):
    """Rows as `whoknows.insight.AnnotationFolds` gives them."""
    return np.array(rows, dtype=np.dtype(np.intp, metadata={"labels": labels}))


@pytest.mark.parametrize("index", [lambda y, rows: y[rows], lambda y, rows: y[rows, ...], _safe_indexing])
def test_rows_can_mean_some_of_their_labels(data, index):
    X, y = data
    meant = np.arange(y.n_annotations) % 3 > 0
    rows = rows_meaning(meant, [5, 0, 5, 59])
    assert index(y, rows) == y.only(meant)[[5, 0, 5, 59]]
    assert index(y, rows).n_annotations < y[[5, 0, 5, 59]].n_annotations
    np.testing.assert_array_equal(_safe_indexing(X, rows), X[[5, 0, 5, 59]])


def test_rows_that_mean_labels_of_other_annotations_are_refused(data):
    _, y = data
    rows = rows_meaning(np.ones(y.n_annotations, dtype=bool), [0, 1])
    part = y[:50]
    message = (
        f"These rows come from a split of annotations with {y.n_annotations} labels; these have "
        f"{part.n_annotations}. Index the annotations that were split."
    )
    with pytest.raises(IndexError, match=re.escape(message)):
        part[rows]
