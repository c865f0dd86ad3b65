"""CrowdClassifier: what it learns, what its attributes mean, how it fits into scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.estimators.worlds import line_world, said_in, without_doubt
from whoknows import (
    BernoulliAnnotators,
    CrowdClassifier,
    DidNotConverge,
    GaussianAnnotators,
    GraphTruth,
    KnnGraph,
    LogisticTruth,
    NotCompatible,
    RbfMap,
    SpectralMap,
)
from whoknows.data.simulate import cluster_experts

MAPS = ["linear", "rbf", "spectral"]
SETTINGS = [
    {"truth": "id"},
    {"truth": "lgp"},
    {"truth": "gp"},
    {"truth": "id", "annotators": "gaussian"},
    {"truth": "lgp", "annotators": BernoulliAnnotators(two_coin=True)},
    {"truth": "gp", "annotators": GaussianAnnotators(varies_with_x=False)},
    {"truth": GraphTruth(graph=KnnGraph(k=15))},
]


@pytest.fixture(scope="module")
def tumours():
    """Breast cancer data, the paper's labelers, 30 % of the items labelled."""
    X, z = load_breast_cancer(return_X_y=True)
    labels = cluster_experts(X, z, random_state=1)
    seen = np.random.default_rng(1).random(len(X)) < 0.3
    return X, said_in(np.where(seen[:, None], labels, np.nan)), z, labels


class TestWhatIsLearnt:
    def test_the_posterior_beats_the_majority_vote_by_five_points(self, tumours):
        X, said, z, labels = tumours
        model = CrowdClassifier().fit(X, said)
        seen = said.labelled
        vote = labels[seen].mean(axis=1) > 0.5
        consensus = model.posterior(X, said)[seen].argmax(axis=1)
        assert np.mean(consensus == z[seen]) >= np.mean(vote == z[seen]) + 0.05

    def test_expertise_tells_right_labels_from_wrong(self, tumours):
        X, said, z, labels = tumours
        expertise = CrowdClassifier().fit(X, said).expertise(X)[said.labelled]
        right = (labels == z[:, None])[said.labelled]
        assert roc_auc_score(right.ravel(), expertise.ravel()) >= 0.70

    @pytest.mark.parametrize(
        "settings", [{}, {"map": "linear"}, {"map": "linear", "annotators": "gaussian"}, {"truth": "gp"}], ids=str
    )
    def test_em_and_lbfgs_reach_the_same_objective(self, tumours, settings):
        X, said, *_ = tumours
        em, lbfgs = (
            CrowdClassifier(solver=solver, max_iter=3000, tol=1e-9, **settings).fit(X, said).bound_history_[-1]
            for solver in ("em", "lbfgs")
        )
        assert em == pytest.approx(lbfgs, rel=1e-5)

    @pytest.mark.parametrize("settings", SETTINGS, ids=str)
    @pytest.mark.parametrize("map_", MAPS)
    def test_every_combination_of_pieces_learns_an_easy_world(self, settings, map_):
        X, y, z = line_world()
        model = CrowdClassifier(map=map_, **settings).fit(X, y)
        assert np.mean(model.predict(X) == z) > 0.85
        expertise = model.expertise(X)
        assert expertise.shape == (len(X), 3)
        assert np.all((expertise > 0) & (expertise < 1))
        assert expertise[:, 0].mean() > expertise[:, 2].mean()

    def test_posterior_of_the_fit_covers_every_item(self):
        X, y, _ = line_world()
        model = CrowdClassifier().fit(X, y)
        unlabelled = np.isnan(y).all(axis=1)
        np.testing.assert_allclose(model.posterior_, model.posterior(X, y))
        np.testing.assert_allclose(model.posterior_[unlabelled, 1] > 0.5, model.predict_proba(X)[unlabelled, 1] > 0.5)

    def test_two_coins_see_an_annotator_who_always_says_one(self):
        X, y, z = line_world(n_items=400, accuracies=(0.9, 0.85, 0.8))
        y = np.column_stack([y, np.where(np.isnan(y[:, 0]), np.nan, 1.0)])
        model = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True)).fit(X, y)
        lazy = model.expertise(X)[:, 3]
        assert lazy[z == 1].mean() > 0.75
        assert lazy[z == 0].mean() < 0.35


class TestManyClasses:
    """Three classes in the plane, five annotators; one calls every "c" a "b"."""

    @pytest.fixture
    def world(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(240, 2))
        z = (X @ rng.normal(size=(2, 3)) * 3).argmax(axis=1)
        right = rng.random((240, 5)) < [0.9, 0.8, 0.7, 0.6, 0.95]
        y = np.where(right, z[:, None], (z[:, None] + rng.integers(1, 3, (240, 5))) % 3)
        y[(z == 2), 4] = 1
        said = np.array(["a", "b", "c"], dtype=object)[y]
        said[80:] = None
        return X, said, z

    @pytest.mark.parametrize("truth", ["id", "lgp"])
    @pytest.mark.parametrize("map_", MAPS)
    @pytest.mark.parametrize("annotators", ["auto", "bernoulli"])
    def test_every_map_and_truth_learns_them(self, world, truth, map_, annotators):
        X, said, z = world
        model = CrowdClassifier(truth=truth, map=map_, annotators=annotators).fit(X, said)
        assert model.solver_ == "crossfit"
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert np.mean(model.predict(X) == model.classes_[z]) > 0.75
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        np.testing.assert_allclose(model.posterior(X, said), model.posterior_, atol=1e-12)
        assert model.expertise(X).shape == (240, 5)

    def test_confusion_shows_who_mistakes_what(self, world):
        X, said, _ = world
        model = CrowdClassifier(map="linear").fit(X, said)
        matrix = model.confusion(4)
        np.testing.assert_allclose(matrix.sum(axis=1), 1)
        assert matrix[2, 1] > 0.6 > matrix[0, 1]

    def test_some_rows_of_the_fit_have_the_posterior_they_had_in_it(self, world):
        X, said, _ = world
        model = CrowdClassifier().fit(X, said)
        rows = np.array([7, 200, 3])
        np.testing.assert_allclose(model.posterior(X[rows], said[rows]), model.posterior_[rows], atol=1e-12)

    def test_linear_logits_are_in_the_units_of_X(self, world):
        X, said, _ = world
        model = CrowdClassifier(map="linear").fit(X, said)
        np.testing.assert_allclose(
            without_doubt(model).predict_proba(X), softmax(X @ model.coef_.T + model.intercept_, axis=1), atol=1e-9
        )


class TestCoefficients:
    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("solver", ["em", "lbfgs"])
    def test_truth_coefficients_are_in_the_units_of_X(self, standardize, solver):
        X, y, _ = line_world()
        model = CrowdClassifier("id", map="linear", solver=solver, standardize=standardize, max_iter=1000)
        model.fit(X, y)
        by_hand = expit(X @ model.coef_[0] + model.intercept_[0])
        np.testing.assert_allclose(without_doubt(model).predict_proba(X)[:, 1], by_hand, atol=1e-9)
        assert model.coef_.shape == (1, 2)
        assert model.intercept_.shape == (1,)

    def test_variational_coefficients_give_the_sign_of_the_log_odds(self):
        X, y, _ = line_world()
        model = CrowdClassifier(map="linear").fit(X, y)
        f = X @ model.coef_[0] + model.intercept_[0]
        np.testing.assert_array_equal(f > 0, model.predict_proba(X)[:, 1] > 0.5)

    def test_annotator_coefficients_are_the_log_odds_of_being_right(self):
        X, y, _ = line_world()
        model = CrowdClassifier("id", map="linear", solver="em").fit(X, y)
        by_hand = expit(X @ model.annotator_coef_.T + model.annotator_intercept_)
        np.testing.assert_allclose(model.expertise(X), by_hand, atol=1e-9)

    def test_annotator_coefficients_are_those_of_the_scale_for_gaussian_annotators(self):
        X, y, _ = line_world()
        annotators = GaussianAnnotators(sigma_floor=0.2)
        model = CrowdClassifier("id", map="linear", annotators=annotators).fit(X, y)
        by_hand = 0.2 + 0.8 * expit(X @ model.annotator_coef_.T + model.annotator_intercept_)
        np.testing.assert_allclose(model.annotator_scale(X), by_hand, atol=1e-9)

    def test_expertise_in_few_directions_still_has_coefficients(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 12))
        y = np.where(rng.random((150, 3)) < 0.8, (X[:, :1] > 0), X[:, :1] <= 0).astype(int)
        annotators = BernoulliAnnotators(directions=4)
        model = CrowdClassifier("id", map="linear", annotators=annotators, solver="em").fit(X, y)
        by_hand = expit(X @ model.annotator_coef_.T + model.annotator_intercept_)
        np.testing.assert_allclose(model.expertise(X), by_hand, atol=1e-9)
        assert np.linalg.matrix_rank(model.annotator_coef_) <= 4

    def test_constant_expertise_has_coefficient_zero(self):
        X, y, _ = line_world()
        model = CrowdClassifier(map="linear", annotators=BernoulliAnnotators(varies_with_x=False)).fit(X, y)
        np.testing.assert_array_equal(model.annotator_coef_, np.zeros((3, 2)))

    def test_a_map_that_is_not_linear_says_why_it_has_none(self):
        X, y, _ = line_world()
        model = CrowdClassifier(map="linear").fit(X, y)
        model.set_params(map="rbf").fit(X, y)
        with pytest.raises(AttributeError, match="coef_ exists only with map='linear'"):
            _ = model.coef_

    def test_annotator_scale_needs_gaussian_annotators(self):
        X, y, _ = line_world()
        with pytest.raises(NotCompatible, match=r"BernoulliAnnotators does not have scale. Use annotators='gaussian'"):
            CrowdClassifier().fit(X, y).annotator_scale(X)


class TestScore:
    def test_on_a_truth_vector_it_is_accuracy(self):
        X, y, z = line_world()
        model = CrowdClassifier().fit(X, y)
        assert model.score(X, z) == np.mean(model.predict(X) == z)

    def test_on_annotations_it_is_the_mean_log_likelihood_of_a_label(self):
        X, y, _ = line_world()
        model = CrowdClassifier(annotators=BernoulliAnnotators(varies_with_x=False), map="linear", solver="em").fit(
            X, y
        )
        p, accuracy = without_doubt(model).predict_proba(X), model.expertise(X)[0]
        total = 0.0
        for i in np.flatnonzero(~np.isnan(y).all(axis=1)):
            joint = [p[i, z] * np.prod(np.where(y[i] == z, accuracy, 1 - accuracy)) for z in (0, 1)]
            total += np.log(sum(joint))
        assert model.score(X, y) == pytest.approx(total / np.isfinite(y).sum(), rel=1e-9)

    def test_a_better_model_scores_higher_on_annotations(self):
        X, y, _ = line_world(n_items=400)
        train, test = said_in(y[:200]), said_in(y[200:])
        good = CrowdClassifier("id", map="linear").fit(X[:200], train)
        blind = CrowdClassifier("id", map="linear").fit(np.zeros_like(X[:200]), train)
        assert good.score(X[200:], test) > blind.score(np.zeros_like(X[200:]), test)

    def test_annotators_never_seen_count_as_one_of_the_crowd(self):
        X, y, _ = line_world()
        model = CrowdClassifier().fit(X, said_in(y, annotators=["a", "b", "c"]))
        assert np.isfinite(model.score(X, said_in(y, annotators=["a", "b", "stranger"])))


class TestInsideScikitLearn:
    def test_annotations_pass_through_split_search_and_pipeline(self):
        X, y, z = line_world()
        said = said_in(y)
        X_train, X_test, said_train, _, _, z_test = train_test_split(X, said, z, random_state=0)
        pipeline = make_pipeline(StandardScaler(), CrowdClassifier(standardize=False))
        search = GridSearchCV(
            pipeline,
            {
                "crowdclassifier__truth": [LogisticTruth(), LogisticTruth(graph=KnnGraph(k=5))],
                "crowdclassifier__annotators": [BernoulliAnnotators()],
                "crowdclassifier__annotators__population__deviation_variance": [0.1, 0.5],
            },
            cv=KFold(3),
        )
        search.fit(X_train, said_train)
        assert np.isfinite(search.best_score_)
        assert np.mean(search.predict(X_test) == z_test) > 0.85

    def test_grid_search_reaches_into_nested_pieces(self):
        X, y, _ = line_world(n_items=60)
        model = CrowdClassifier(LogisticTruth(graph=KnnGraph()), map=SpectralMap(graph=KnnGraph()))
        grid = {"truth__graph__k": [3, 7], "map__rank": [5, 10], "truth__strength": [0.5]}
        search = GridSearchCV(model, grid, cv=KFold(2)).fit(X, said_in(y))
        assert search.best_params_["truth__graph__k"] in (3, 7)

    def test_cross_val_score_takes_annotations(self):
        X, y, _ = line_world()
        scores = cross_val_score(CrowdClassifier(), X, said_in(y), cv=KFold(3))
        assert scores.shape == (3,)
        assert np.all(scores < 0)

    def test_an_integer_cv_means_folds_of_items(self):
        X, y, _ = line_world()
        scores = [cross_val_score(CrowdClassifier(), X, said_in(y), cv=cv) for cv in (3, KFold(3))]
        np.testing.assert_array_equal(*scores)

    def test_a_pickled_model_predicts_the_same(self):
        X, y, _ = line_world()
        for settings in SETTINGS:
            model = CrowdClassifier(map="spectral", **settings).fit(X, y)
            again = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(model.posterior(X, y), again.posterior(X, y))
            np.testing.assert_array_equal(model.expertise(X), again.expertise(X))

    def test_a_clone_refits_to_the_same_model(self):
        X, y, _ = line_world()
        model = CrowdClassifier(map=RbfMap(rank=20)).fit(X, y)
        np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), model.predict_proba(X))

    def test_fitting_does_not_touch_the_pieces(self):
        X, y, _ = line_world()
        model = CrowdClassifier(LogisticTruth(graph=KnnGraph()), BernoulliAnnotators(), RbfMap())
        before = str(model.get_params())
        model.fit(X, y)
        assert str(model.get_params()) == before

    def test_names_of_columns_annotators_and_classes_are_kept(self):
        X, y, _ = line_world()
        frame = pd.DataFrame(X, columns=["age", "dose"])
        words = pd.DataFrame(np.where(np.isnan(y), None, np.where(y == 1, "ill", "well")), columns=list("abc"))
        model = CrowdClassifier().fit(frame, words)
        assert model.feature_names_in_.tolist() == ["age", "dose"]
        assert model.annotators_.tolist() == ["a", "b", "c"]
        assert model.classes_.tolist() == ["ill", "well"]
        assert set(model.predict(frame)) == {"ill", "well"}


class TestTheFit:
    def test_solver_auto_is_vb_where_it_has_a_bound(self):
        X, y, _ = line_world(n_items=40)
        assert CrowdClassifier().fit(X, y).solver_ == "vb"
        assert CrowdClassifier(annotators="gaussian").fit(X, y).solver_ == "em"
        assert CrowdClassifier(truth="gp").fit(X, y).solver_ == "em"

    def test_the_callback_sees_every_iteration_and_can_stop(self):
        X, y, _ = line_world()
        calls = []

        def stop_at_three(iteration, bound, seconds):
            calls.append((iteration, bound, seconds))
            return iteration == 3

        for solver in ("vb", "em", "lbfgs"):
            calls.clear()
            model = CrowdClassifier(solver=solver).fit(X, y, callback=stop_at_three)
            assert [iteration for iteration, *_ in calls] == [1, 2, 3]
            assert [bound for _, bound, _ in calls] == model.bound_history_
            assert all(seconds >= 0 for *_, seconds in calls)
            assert model.n_iter_ == 3

    def test_too_few_iterations_are_reported(self):
        X, y, _ = line_world()
        for solver in ("vb", "em", "lbfgs"):
            with pytest.warns(DidNotConverge, match="did not converge in max_iter=2 iterations"):
                CrowdClassifier(solver=solver, max_iter=2).fit(X, y)

    def test_the_papers_stopping_rule(self):
        X, y, _ = line_world()
        loose, tight = (
            CrowdClassifier("id", annotators="gaussian", stop="parameters", tol=tol).fit(X, y).n_iter_
            for tol in (1e-1, 1e-8)
        )
        assert loose < tight

    @pytest.mark.parametrize("solver", ["vb", "em", "lbfgs"])
    def test_a_warm_start_is_quicker_and_ends_at_the_same_bound(self, solver):
        X, y, _ = line_world(n_items=200)
        model = CrowdClassifier(solver=solver, warm_start=True).fit(X, y)
        cold, bound = model.n_iter_, model.bound_history_[-1]
        model.fit(X, y)
        assert model.n_iter_ < cold
        assert model.bound_history_[-1] == pytest.approx(bound, rel=1e-4)

    def test_a_warm_start_takes_new_items_and_new_annotators(self):
        X, y, z = line_world(n_items=200)
        model = CrowdClassifier(warm_start=True).fit(X[:100], said_in(y[:100, :2], annotators=["a", "b"]))
        model.fit(X, said_in(y, annotators=["a", "b", "c"]))
        assert model.expertise(X).shape == (200, 3)
        assert np.mean(model.predict(X) == z) > 0.85

    def test_the_same_seed_gives_the_same_model(self):
        X, y, _ = line_world(n_items=700)
        once, again, other = (
            CrowdClassifier(map="spectral", random_state=seed).fit(X, y).predict_proba(X) for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(once, again)
        assert np.abs(once - other).max() > 0
