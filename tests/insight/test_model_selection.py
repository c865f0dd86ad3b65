"""Settings chosen by labels alone: nothing held out is learnt from, and what is chosen makes sense."""

import re
from collections import Counter

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate, learning_curve
from sklearn.pipeline import make_pipeline

from tests.estimators.worlds import line_world, said_in
from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier, LogisticTruth
from whoknows.data.simulate import cluster_experts
from whoknows.insight import model_selection as select
from whoknows.insight.model_selection import AnnotationFolds, ItemFolds, label_log_lik, label_log_lik_given_others

pytestmark = pytest.mark.filterwarnings("ignore::whoknows.fit.monitor.DidNotConverge")

WAYS = {
    "items": {"cv": ItemFolds(), "scoring": label_log_lik},
    "items, given others": {"cv": ItemFolds(), "scoring": label_log_lik_given_others},
    "labels": {"cv": AnnotationFolds(), "scoring": label_log_lik},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
both_splitters = pytest.mark.parametrize("cv", [ItemFolds(), AnnotationFolds()], ids=["items", "labels"])


def refused(kind, message):
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


def cells(said):
    """(item id, annotator id) of every label."""
    return set(zip(said.items[said.item].tolist(), said.annotators[said.annotator].tolist(), strict=True))


def sparse_world(n_items=60, n_annotators=5, share=0.3, seed=0):
    """Most labels missing, some items without any, one annotator with a single label."""
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((n_items, n_annotators)) < share, rng.integers(0, 2, (n_items, 5)), np.nan)
    matrix[::4] = np.nan
    matrix[:, -1] = np.nan
    matrix[1, -1] = 1
    return rng.normal(size=(n_items, 3)), said_in(matrix, items=[f"item {i}" for i in range(n_items)])


@pytest.fixture
def sparse():
    return sparse_world()


class Spy(BaseEstimator):
    """Counts the labels it was fitted on and then asked for; there should be none."""

    def __init__(self, shift=0):
        self.shift = shift

    def fit(self, X, y):
        assert len(X) == len(y)
        self.seen_ = cells(y)
        self.items_ = y.n_items
        return self

    def score(self, X, y):
        assert len(X) == len(y)
        assert y.n_annotations
        return len(cells(y) & self.seen_) + self.shift


# --- Splitters -------------------------------------------------------------------------------------------


class TestItemFolds:
    def test_labelled_items_are_held_out_once_and_the_others_never(self, sparse):
        X, said = sparse
        parts = list(ItemFolds(4).split(X, said))
        assert len(parts) == ItemFolds(4).get_n_splits(X, said) == 4
        held_out = np.concatenate([test for _, test in parts])
        np.testing.assert_array_equal(np.sort(held_out), np.flatnonzero(said.labelled))
        for train, test in parts:
            np.testing.assert_array_equal(np.sort([*train, *test]), np.arange(60))
            assert set(np.flatnonzero(~said.labelled)) <= set(train)
            assert not cells(said[train]) & cells(said[test])
        assert np.ptp([len(test) for _, test in parts]) <= 1

    def test_without_shuffling_parts_are_in_order(self, sparse):
        _, said = sparse
        held_out = [test for _, test in ItemFolds(shuffle=False).split(None, said)]
        np.testing.assert_array_equal(np.concatenate(held_out), np.flatnonzero(said.labelled))

    @pytest.mark.parametrize("shuffle", [True, False])
    def test_groups_stay_together(self, sparse, shuffle):
        X, said = sparse
        groups = np.array([f"patient {i // 3}" for i in range(60)])
        for train, test in ItemFolds(shuffle=shuffle).split(X, said, groups):
            learnt = train[said.labelled[train]]
            assert not set(groups[learnt]) & set(groups[test])

    def test_groups_pass_through_a_search(self, sparse):
        X, said = sparse
        search = GridSearchCV(Spy(), {"shift": [0, 1]}, cv=ItemFolds()).fit(X, said, groups=np.arange(60) // 2)
        np.testing.assert_array_equal(search.cv_results_["mean_test_score"], [0, 1])


class TestAnnotationFolds:
    @pytest.mark.parametrize("n_splits", [2, 3, 7])
    def test_every_label_is_held_out_once_and_then_not_learnt_from(self, sparse, n_splits):
        X, said = sparse
        asked = Counter()
        for train, test in AnnotationFolds(n_splits).split(X, said):
            learnt, held_out = said[train], said[test]
            assert len(train) == learnt.n_items == 60
            assert held_out.labelled.all()
            assert not cells(learnt) & cells(held_out)
            assert cells(learnt) | cells(held_out) == cells(said)
            asked.update(cells(held_out))
        assert asked == Counter(cells(said))

    def test_every_annotators_labels_are_spread_evenly(self, sparse):
        X, said = sparse
        counts = [said[test].labels_per_annotator for _, test in AnnotationFolds(4).split(X, said)]
        assert np.ptp(counts, axis=0).max() <= 1
        assert np.ptp(np.sum(counts, axis=1)) <= 1

    def test_labels_of_an_item_are_spread_too(self, sparse):
        """Not item by item: where everyone labels everything, dealing in order would do that."""
        X, _ = sparse
        said = said_in(np.ones((60, 4)))
        for train, _ in AnnotationFolds(3).split(X, said):
            assert said[train].labelled.mean() > 0.9

    def test_two_labels_are_enough_for_two_parts(self):
        said = said_in([[0, np.nan], [np.nan, 1]])
        parts = [
            (said[train].n_annotations, said[test].n_annotations)
            for train, test in AnnotationFolds(2).split(None, said)
        ]
        assert parts == [(1, 1), (1, 1)]

    def test_confidence_goes_with_its_label(self, sparse):
        _, said = sparse
        sure = np.linspace(0, 1, said.n_annotations)
        said = Annotations.from_frame(
            said.to_frame("pandas").assign(sure=sure), columns={"confidence": "sure"}, items=said.items
        )
        held_out = [said[test].confidence for _, test in AnnotationFolds().split(None, said)]
        np.testing.assert_allclose(np.sort(np.concatenate(held_out)), sure)


@pytest.mark.parametrize("splitter", [ItemFolds, AnnotationFolds])
def test_the_same_number_gives_the_same_parts(sparse, splitter):
    _, said = sparse
    first, again, other = (
        [cells(said[test]) for _, test in splitter(random_state=seed).split(None, said)] for seed in (1, 1, 2)
    )
    assert first == again != other


# --- On the way through scikit-learn ---------------------------------------------------------------------


class TestNothingHeldOutIsLearntFrom:
    @both_splitters
    @pytest.mark.parametrize("as_x", [np.asarray, pd.DataFrame, lambda X: pd.DataFrame(X).set_index(0)])
    def test_in_cross_validation(self, sparse, cv, as_x):
        X, said = sparse
        result = cross_validate(Spy(), as_x(X), said, cv=cv, return_estimator=True, error_score="raise")
        np.testing.assert_array_equal(result["test_score"], [0, 0, 0])
        least = 60 if isinstance(cv, AnnotationFolds) else 40
        assert min(spy.items_ for spy in result["estimator"]) >= least

    def test_in_a_search_and_all_labels_are_in_its_refit(self, sparse):
        X, said = sparse
        search = GridSearchCV(Spy(), {"shift": [0, 1]}, cv=AnnotationFolds()).fit(X, said)
        np.testing.assert_array_equal(search.cv_results_["mean_test_score"], [0, 1])
        assert search.best_estimator_.seen_ == cells(said)

    def test_if_rows_are_mapped_into_memory(self, sparse, tmp_path):
        """Which joblib does with large arrays on their way to other processes."""
        _, said = sparse
        for number, rows in enumerate(next(AnnotationFolds().split(*sparse))):
            joblib.dump(rows, tmp_path / str(number))
            mapped = joblib.load(tmp_path / str(number), mmap_mode="r")
            assert isinstance(mapped, np.memmap)
            assert said[mapped] == said[rows]

    def test_if_the_parts_are_listed_first_and_copied(self, sparse):
        parts = list(AnnotationFolds().split(*sparse))
        search = clone(GridSearchCV(Spy(), {"shift": [0]}, cv=parts)).fit(*sparse)
        assert search.best_score_ == 0

    @pytest.mark.parametrize("shuffle", [False, True])
    def test_in_a_learning_curve(self, sparse, shuffle):
        _, _, scores = learning_curve(
            Spy(), *sparse, cv=AnnotationFolds(), train_sizes=[0.5, 1.0], shuffle=shuffle, random_state=0
        )
        np.testing.assert_array_equal(scores, np.zeros((2, 3)))

    def test_in_a_search_within_cross_validation(self, sparse):
        search = GridSearchCV(Spy(), {"shift": [0]}, cv=AnnotationFolds(), error_score="raise")
        scores = cross_val_score(search, *sparse, cv=AnnotationFolds(4), error_score="raise")
        np.testing.assert_array_equal(scores, np.zeros(4))

    def test_or_else_splitting_is_refused(self, sparse, monkeypatch):
        """As it would be if scikit-learn cast rows to a type of its own."""

        def casting(estimator, X, y, cv, **_):
            return [y[rows.astype(np.intp)].n_annotations for rows in cv[0]]

        monkeypatch.setattr(select, "cross_val_score", casting)
        select._check_labels_survive.cache_clear()
        with pytest.raises(RuntimeError, match=r"held-out labels would be used in training\. Use ItemFolds\."):
            next(AnnotationFolds().split(*sparse))


# --- Scorers ---------------------------------------------------------------------------------------------


class Known(BaseEstimator):
    """Truth and annotators given: p(z) and p(y | z) of each annotator; notes how often it is asked."""

    prior = np.array([0.3, 0.7])
    right = np.array([0.9, 0.6, 0.75, 0.2])

    def fit(self, X, y):
        self.calls_ = 0
        return self

    def log_predictive(self, X, y):
        assert len(X) == len(y)
        self.calls_ += 1
        return np.log([self.prior @ self.likelihood(row) for row in y.to_matrix()])

    def likelihood(self, row):
        """p(labels of an item | z), (2,)."""
        given = ~np.isnan(row)
        says_z = row[given, None] == np.arange(2)
        return np.where(says_z, self.right[given, None], 1 - self.right[given, None]).prod(axis=0)


def mean_by_bayes(model, matrix):
    """Mean log Σ_z p(z | other labels) p(y | z), label by label."""
    terms = []
    for i, t in np.argwhere(~np.isnan(matrix)):
        alone, others = np.full(4, np.nan), matrix[i].copy()
        alone[t], others[t] = matrix[i, t], np.nan
        posterior = model.prior * model.likelihood(others)
        terms.append(np.log(posterior @ model.likelihood(alone) / posterior.sum()))
    return np.mean(terms)


class TestScorers:
    def test_labels_given_others_are_as_bayes_has_it(self):
        rng = np.random.default_rng(0)
        matrix = np.where(rng.random((30, 4)) < 0.5, rng.integers(0, 2, (30, 4)), np.nan)
        matrix[0] = [0, 1, 1, 0]
        model = Known().fit(None, None)
        score = label_log_lik_given_others(model, np.zeros((30, 1)), said_in(matrix))
        assert score == pytest.approx(mean_by_bayes(model, matrix))
        assert model.calls_ == 5  # once with all labels, and once for each place of a label in its item

    @pytest.mark.parametrize("annotators", ["bernoulli", "confusion", "gaussian"])
    def test_labels_given_others_are_what_leaving_each_out_gives(self, annotators):
        X, y, _ = line_world(n_items=40)
        model = CrowdClassifier(annotators=annotators, map="linear").fit(X, y)
        terms = []
        for i, t in np.argwhere(~np.isnan(y)):
            others = y[[i]]
            others[0, t] = np.nan
            both = (model.log_predictive(X[[i]], said_in(labels)) for labels in (y[[i]], others))
            terms.append(next(both) - next(both))
        assert label_log_lik_given_others(model, X, said_in(y)) == pytest.approx(np.mean(terms))

    def test_label_log_lik_is_the_score_on_annotations(self):
        X, y, _ = line_world(n_items=40)
        model = CrowdClassifier(map="linear").fit(X, y)
        assert label_log_lik(model, X, said_in(y)) == pytest.approx(model.score(X, said_in(y)))

    def test_where_labels_are_alone_both_are_one(self):
        X, y, _ = line_world(n_items=40)
        y[:, 1:] = np.nan
        model = CrowdClassifier(map="linear").fit(X, y)
        alone = said_in(y)
        assert label_log_lik_given_others(model, X, alone) == pytest.approx(label_log_lik(model, X, alone))

    @pytest.mark.parametrize("scorer", [label_log_lik, label_log_lik_given_others])
    def test_a_pipeline_is_asked_for_its_last_step(self, scorer):
        X, y, _ = line_world(n_items=40)
        X, said = pd.DataFrame(X, columns=["a", "b"]), said_in(y)
        pipeline = make_pipeline(PCA(2, whiten=True), CrowdClassifier(map="linear")).fit(X, said)
        alone = CrowdClassifier(map="linear").fit(pipeline[0].transform(X), said)
        assert scorer(pipeline, X, said) == pytest.approx(scorer(alone, pipeline[0].transform(X), said))
        assert scorer(make_pipeline(alone), pipeline[0].transform(X), said) == scorer(pipeline, X, said)

    def test_frames_are_cut_by_row(self):
        X, y, _ = line_world(n_items=40)
        model = CrowdClassifier(map="linear").fit(X, y)
        frame = pd.DataFrame(X, index=[f"item {i}" for i in range(40)])
        said = said_in(y, items=frame.index)
        plain = label_log_lik_given_others(model, X, said)
        assert label_log_lik_given_others(model, frame, said) == pytest.approx(plain)


# --- Choosing --------------------------------------------------------------------------------------------


def ring_world(n_items=300, n_labelled=100, accuracies=(0.9, 0.8, 0.7, 0.6), seed=0):
    """Truth inside a circle, constant expertise, labels on a third of the items."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_items, 2))
    z = ((X**2).sum(axis=1) < 0.6).astype(int)
    right = rng.random((n_items, len(accuracies))) < accuracies
    y = np.where(right, z[:, None], 1 - z[:, None]).astype(float)
    y[rng.random(y.shape) < 0.3] = np.nan
    y[rng.permutation(n_items)[n_labelled:]] = np.nan
    return X, said_in(y), z


def experts_world(n_items=300, seed=0):
    """Three clusters, an expert for each, who guesses elsewhere."""
    rng = np.random.default_rng(seed)
    X = np.array([[0, 0], [4, 0], [2, 4]])[rng.integers(3, size=n_items)] + rng.normal(size=(n_items, 2))
    z = (X[:, 0] + rng.normal(size=n_items) > 2).astype(int)
    y = cluster_experts(X, z, n_annotators=3, random_state=seed).astype(float)
    return X, said_in(np.where(rng.random(y.shape) < 0.5, y, np.nan)), z


class TestChoosing:
    @every_way
    def test_a_ring_asks_for_a_map_that_bends(self, way):
        X, said, z = ring_world()
        search = GridSearchCV(CrowdClassifier("id"), {"map": ["linear", "rbf"]}, **way).fit(X, said)
        assert search.best_params_ == {"map": "rbf"}
        assert np.mean(search.predict(X) == z) > 0.85

    @every_way
    @pytest.mark.parametrize(
        ("world", "map_", "varies"),
        [(experts_world(), "linear", True), (ring_world(n_labelled=200), "rbf", False)],
        ids=["experts", "ring"],
    )
    def test_expertise_varies_with_x_where_it_does(self, way, world, map_, varies):
        grid = {"annotators__varies_with_x": [True, False]}
        model = CrowdClassifier("id", BernoulliAnnotators(), map_)
        search = GridSearchCV(model, grid, **way).fit(*world[:2])
        assert search.best_params_ == {"annotators__varies_with_x": varies}

    @both_splitters
    def test_two_processes_choose_as_one_does_and_the_refit_is_a_fit(self, cv):
        X, said, _ = ring_world(n_items=150, n_labelled=60)
        model = CrowdClassifier(LogisticTruth())
        grid = {"truth__variance": [0.01, 10.0]}
        alone, together = (
            GridSearchCV(model, grid, cv=cv, n_jobs=n_jobs, error_score="raise").fit(X, said) for n_jobs in (1, 2)
        )
        scores = alone.cv_results_["mean_test_score"]
        np.testing.assert_allclose(together.cv_results_["mean_test_score"], scores)
        assert alone.best_params_ == together.best_params_ == {"truth__variance": 10.0}
        by_hand = CrowdClassifier(LogisticTruth(variance=10.0)).fit(X, said)
        np.testing.assert_allclose(alone.predict_proba(X), by_hand.predict_proba(X))

    def test_several_scores_at_once(self):
        X, y, _ = line_world()
        scoring = {"together": label_log_lik, "given others": label_log_lik_given_others}
        model, given = CrowdClassifier(map="linear"), {"X": X, "y": said_in(y), "cv": ItemFolds()}
        result = cross_validate(model, **given, scoring=scoring, error_score="raise")
        for name, scorer in scoring.items():
            np.testing.assert_allclose(
                result[f"test_{name}"], cross_val_score(model, **given, scoring=scorer, error_score="raise")
            )
        assert not np.allclose(result["test_together"], result["test_given others"])


# --- Errors ----------------------------------------------------------------------------------------------


class TestErrors:
    @both_splitters
    @pytest.mark.parametrize(("y", "got"), [(np.zeros((60, 3)), "ndarray"), ([[0, 1]] * 60, "list"), (None, "None")])
    def test_a_matrix_is_refused(self, sparse, cv, y, got):
        message = (
            f"Expected y to be Annotations, got {got}. Only these can be split by label, and a "
            "subset still knows every class and annotator. Pass Annotations.from_matrix(y)."
        )
        with refused(TypeError, message):
            next(cv.split(sparse[0], y))

    @pytest.mark.parametrize("scorer", [label_log_lik, label_log_lik_given_others])
    def test_scorers_refuse_a_matrix_and_silence(self, scorer):
        X, y, _ = line_world(n_items=40)
        model = CrowdClassifier(map="linear").fit(X, y)
        with pytest.raises(TypeError, match="Expected y to be Annotations, got ndarray"):
            scorer(model, X, y)
        with pytest.raises(ValueError, match="None of the 40 items in y has a label: nothing can be scored"):
            scorer(model, X, said_in(np.full((40, 3), np.nan)))

    def test_scorers_say_what_an_estimator_needs(self):
        message = (
            "Expected an estimator with log_predictive(X, y), such as CrowdClassifier, or a Pipeline that "
            "ends in one; got PCA. Without scoring=, its own score is used."
        )
        for estimator in (PCA(), make_pipeline(PCA())):
            with refused(TypeError, message):
                label_log_lik(estimator, np.zeros((2, 2)), said_in([[0, 1], [1, 1]]))

    @pytest.mark.parametrize("splitter", [ItemFolds, AnnotationFolds])
    @pytest.mark.parametrize("n_splits", [1, 0, -3, 2.5, "3", None])
    def test_fewer_than_two_folds_are_refused(self, splitter, n_splits):
        message = f"n_splits must be an integer of at least 2; got {n_splits!r}."
        with refused(ValueError, message):
            splitter(n_splits)

    def test_more_folds_than_labels_are_refused(self):
        said = said_in([[0, 1], [1, np.nan], [np.nan, np.nan]])
        few = "(3 labels of 3 items). Use fewer folds, or more labels."
        with refused(ValueError, f"ItemFolds(n_splits=3) needs as many labelled items; there are 2 {few}"):
            next(ItemFolds(3).split(None, said))
        with refused(ValueError, f"ItemFolds(n_splits=2) needs as many groups of labelled items; there are 1 {few}"):
            next(ItemFolds(2).split(None, said, groups=["a", "a", "b"]))
        few = "AnnotationFolds(n_splits=4) needs as many labels; there are 3. Use fewer folds, or more labels."
        with refused(ValueError, few):
            next(AnnotationFolds(4).split(None, said))

    def test_groups_of_items_cannot_be_held_out_by_label(self, sparse):
        message = "AnnotationFolds has every item in training, so it cannot hold out groups of items. Use ItemFolds."
        with refused(ValueError, message):
            next(AnnotationFolds().split(*sparse, groups=np.arange(60)))

    @both_splitters
    def test_x_and_y_of_different_length(self, sparse, cv):
        X, said = sparse
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            next(cv.split(X[:50], said))
