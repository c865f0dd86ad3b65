"""What a user gets wrong: the message says what was expected, what came, and what to do."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from tests.estimators.worlds import line_world, said_in
from whoknows import (
    Annotations,
    BernoulliAnnotators,
    CrowdClassifier,
    GaussianAnnotators,
    GraphTruth,
    KnnGraph,
    LogisticTruth,
    NotCompatible,
    PrecomputedGraph,
)


@pytest.fixture
def world():
    return line_world(n_items=40)


class TestX:
    def test_nan_in_x_names_the_column(self, world):
        X, y, _ = world
        X[7, 1] = np.nan
        with pytest.raises(ValueError, match=r"contains NaN .* in column 1 \(first in row 7\)"):
            CrowdClassifier().fit(X, y)
        frame = pd.DataFrame(X, columns=["age", "dose"])
        with pytest.raises(ValueError, match=r"in column 'dose' \(first in row 7\).*SimpleImputer"):
            CrowdClassifier().fit(frame, y)

    def test_infinity_in_x_names_the_column(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, y)
        X[3, 0] = np.inf
        with pytest.raises(ValueError, match=r"contains infinity .* in column 0 \(first in row 3\)"):
            model.predict(X)

    def test_sparse_x_says_to_reduce_it(self, world):
        X, y, _ = world
        with pytest.raises(TypeError, match=r"X is sparse.*TruncatedSVD"):
            CrowdClassifier().fit(sp.csr_array(X), y)

    def test_very_wide_x_says_to_reduce_it(self, world):
        _, y, _ = world
        with pytest.raises(ValueError, match=r"X has 5001 features; at most 5000 .*PCA"):
            CrowdClassifier().fit(np.zeros((len(y), 5001)), y)


class TestY:
    def test_lengths_that_differ(self, world):
        X, y, _ = world
        with pytest.raises(ValueError, match=r"X has 40 rows and y has 39 items.*from_frame"):
            CrowdClassifier().fit(X, y[:-1])

    def test_no_labels_at_all(self, world):
        X, y, _ = world
        with pytest.raises(ValueError, match="None of the 40 items has a label"):
            CrowdClassifier().fit(X, np.full_like(y, np.nan))

    def test_one_class_only(self, world):
        X, y, _ = world
        with pytest.raises(ValueError, match=r"one class, 1; two are needed.*labels="):
            CrowdClassifier().fit(X, np.where(np.isnan(y), np.nan, 1))

    def test_a_class_that_was_declared_but_never_given_is_allowed(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, said_in(np.where(np.isnan(y), np.nan, 1)))
        assert model.classes_.tolist() == [0, 1]
        assert set(model.predict(X)) == {1}

    def test_more_than_two_classes(self, world):
        X, y, _ = world
        y[0] = 2
        with pytest.raises(ValueError, match=r"Only binary.*3 classes, 0, 1, 2.*one against the rest"):
            CrowdClassifier().fit(X, y)

    def test_real_valued_labels(self, world):
        X, y, _ = world
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            CrowdClassifier().fit(X, y + 0.5)

    def test_an_annotator_the_fit_did_not_see(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, said_in(y, annotators=["a", "b", "c"]))
        with pytest.raises(ValueError, match="'zoe'"):
            model.posterior(X, said_in(y, annotators=["a", "b", "zoe"]))

    def test_a_matrix_at_posterior_is_about_the_annotators_of_the_fit(self, world):
        X, y, _ = world
        said = said_in(y, annotators=["a", "b", "c"])
        model = CrowdClassifier().fit(X, said)
        np.testing.assert_array_equal(model.posterior(X, y), model.posterior(X, said))

    def test_a_label_the_fit_did_not_see(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, y)
        with pytest.raises(ValueError, match="label"):
            model.posterior(X, y + 5)

    def test_score_without_labels(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, y)
        with pytest.raises(ValueError, match="needs at least one label"):
            model.score(X, said_in(np.full_like(y, np.nan)))


class TestBeforeFit:
    @pytest.mark.parametrize("method", ["predict", "predict_proba", "expertise", "annotator_scale"])
    def test_methods_say_to_fit_first(self, method, world):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(CrowdClassifier(), method)(world[0])

    def test_posterior_and_score_say_to_fit_first(self, world):
        X, y, z = world
        for method in ("posterior", "score"):
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(CrowdClassifier(), method)(X, y)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            CrowdClassifier().score(X, z)


class TestPieces:
    def test_pieces_that_do_not_fit_each_other(self, world):
        X, y, _ = world
        message = (
            r"GraphTruth needs quadratic evidence; BernoulliAnnotators gives a table.*GaussianAnnotators"
        )
        with pytest.raises(NotCompatible, match=message):
            CrowdClassifier(truth="gp", annotators="bernoulli").fit(X, y)

    @pytest.mark.parametrize(
        ("settings", "named"),
        [
            ({"annotators": "gaussian"}, "GaussianAnnotators"),
            ({"truth": "gp"}, "GaussianAnnotators and GraphTruth"),
        ],
    )
    def test_vb_refuses_pieces_it_has_no_bound_for_by_name(self, settings, named, world):
        X, y, _ = world
        with pytest.raises(NotCompatible, match=f"no bound for {named}. Use solver='em'"):
            CrowdClassifier(solver="vb", **settings).fit(X, y)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (
                {"truth": "lgbt"},
                r"truth must be 'id', 'lgp', 'gp' or a piece .*LogisticTruth\(\); got 'lgbt'",
            ),
            ({"truth": LogisticTruth}, r"truth must be .*got <class"),
            ({"truth": KnnGraph()}, r"truth must be .*got KnnGraph"),
            ({"annotators": 3}, "annotators must be 'auto', 'bernoulli', 'gaussian' or a piece"),
            ({"map": "cubic"}, "map must be 'rbf', 'linear', 'spectral' or a piece"),
            ({"solver": "sgd"}, "solver must be one of .*got 'sgd'"),
            ({"stop": "never"}, "stop must be one of .*got 'never'"),
        ],
    )
    def test_words_that_mean_nothing(self, settings, message, world):
        X, y, _ = world
        with pytest.raises(ValueError, match=message):
            CrowdClassifier(**settings).fit(X, y)

    def test_gp_has_a_size_limit_and_says_what_to_use(self):
        X = np.zeros((10_001, 1))
        y = np.full(10_001, np.nan)
        y[:2] = [0, 1]
        with pytest.raises(ValueError, match=r"at most 10000; X has 10001.*map='spectral'"):
            CrowdClassifier(truth="gp", map="linear").fit(X, y)

    def test_a_precomputed_graph_cannot_place_new_items(self, world):
        X, y, _ = world
        weights = np.exp(-((X[:, None, 0] - X[None, :, 0]) ** 2))
        model = CrowdClassifier(truth=GraphTruth(graph=PrecomputedGraph(weights))).fit(X, y)
        assert model.posterior(X, y).shape == (40, 2)
        with pytest.raises(NotCompatible, match=r"cannot place new ones. Use KnnGraph"):
            model.predict(X + 1)
        np.testing.assert_allclose(model.predict_proba(X), model.posterior_)


class TestOddButRight:
    """Input that looks like a mistake and is not."""

    @pytest.mark.parametrize("truth", ["id", "lgp", "gp"])
    @pytest.mark.parametrize("map_", ["linear", "rbf", "spectral"])
    def test_degenerate_shapes_work(self, truth, map_):
        rng = np.random.default_rng(0)
        wide = rng.normal(size=(8, 30))
        worlds = {
            "one item": (np.array([[1.0, 2.0]]), [[0, 1]]),
            "one annotator": (rng.normal(size=(20, 2)), rng.integers(0, 2, 20)),
            "constant column": (
                np.column_stack([rng.normal(size=20), np.ones(20)]),
                rng.integers(0, 2, (20, 3)),
            ),
            "duplicate columns": (
                np.repeat(rng.normal(size=(20, 1)), 3, axis=1),
                rng.integers(0, 2, (20, 3)),
            ),
            "all items alike": (np.ones((20, 2)), rng.integers(0, 2, (20, 3))),
            "more features than items": (wide, np.tile([[0, 1], [1, 0]], (4, 1))),
        }
        for name, (X, y) in worlds.items():
            model = CrowdClassifier(truth=truth, map=map_).fit(X, y)
            assert np.isfinite(model.predict_proba(X)).all(), name
            assert np.isfinite(model.posterior_).all(), name
            assert np.isfinite(model.expertise(X)).all(), name

    def test_an_annotator_with_one_label(self, world):
        X, y, _ = world
        newcomer = np.full(len(y), np.nan)
        newcomer[np.flatnonzero(~np.isnan(y[:, 0]))[0]] = 1
        model = CrowdClassifier().fit(X, np.column_stack([y, newcomer]))
        assert 0.5 < model.expertise(X)[:, 3].mean() < 0.95

    def test_an_annotator_without_labels_is_one_of_the_crowd(self, world):
        X, y, _ = world
        with_her = said_in(np.column_stack([y, np.full(len(y), np.nan)]))
        model, without = CrowdClassifier().fit(X, with_her), CrowdClassifier().fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))
        assert np.all(model.expertise(X)[:, 3] > 0.5)

    def test_three_hundred_labels_on_one_item_do_not_underflow(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(30, 2))
        y = np.full((30, 300), np.nan)
        y[0] = rng.random(300) < 0.7
        y[1:, :3] = (X[1:, :1] > 0) ^ (rng.random((29, 3)) < 0.2)
        for settings in ({}, {"solver": "em"}, {"annotators": GaussianAnnotators()}, {"truth": "gp"}):
            model = CrowdClassifier(**settings).fit(X, y)
            assert np.isfinite(model.bound_history_).all()
            np.testing.assert_allclose(model.posterior_.sum(axis=1), 1)
            assert model.posterior_[0, 1] > 0.99

    def test_label_zero_is_not_missing(self):
        X, y, z = line_world()
        silent = np.where(y == 0, np.nan, y)
        silent[z == 0, 0] = 0
        model = CrowdClassifier().fit(X, said_in(silent))
        assert model.predict_proba(X)[z == 0, 0].mean() > 0.6

    def test_labels_of_any_type_come_back(self):
        X, y, _ = line_world(n_items=40)
        for zero, one in [("no", "yes"), (False, True), (-1, 1), (3, 7)]:
            labels = np.where(np.isnan(y), None, np.where(y == 1, one, zero).astype(object))
            model = CrowdClassifier(annotators=BernoulliAnnotators()).fit(X, Annotations.from_matrix(labels))
            assert set(model.predict(X).tolist()) == {zero, one}
            assert type(model.predict(X).tolist()[0]) is type(zero)
