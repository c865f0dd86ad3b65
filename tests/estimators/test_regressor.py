"""CrowdRegressor: what it learns, its units, its uncertainty, and scikit-learn's own checks."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.estimators.worlds import not_ours
from whoknows import Annotations, CrowdClassifier, DidNotConverge, GaussianAnnotators, LogisticTruth, NotCompatible
from whoknows.estimators.regressor import CrowdRegressor
from whoknows.model.annotators.gaussian import BiasedAnnotators
from whoknows.model.truth.linear import LinearTruth

BIAS = np.array([0.8, -0.5, 0.0, -0.3])  # they sum to 0: a bias of all is the truth's own level
SIGMA = np.array([0.3, 0.6, 1.2, 0.5])


def wave_world(n_items=300, share=0.7, seed=0, bias=BIAS):
    """z = sin plus noise of 0.3; the last annotator is precise where x₀ > 0 and hopeless elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    z = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n_items)
    sigma = np.tile(SIGMA, (n_items, 1))
    sigma[:, 3] = np.where(X[:, 0] > 0, 0.15, 1.5)
    y = z[:, None] + bias + sigma * rng.normal(size=sigma.shape)
    y[rng.random(y.shape) >= share] = np.nan
    return X, y, z


@pytest.fixture(scope="module")
def wave():
    X, y, z = wave_world()
    return X, y, z, CrowdRegressor().fit(X, y)


# The checks shorten fits to a few iterations; that such a fit says so is tested elsewhere.
@pytest.mark.filterwarnings("ignore::whoknows.fit.monitor.DidNotConverge")
@parametrize_with_checks(
    [CrowdRegressor(max_iter=5), CrowdRegressor("lgp", map="linear", solver="lbfgs", max_iter=5)],
    expected_failed_checks=not_ours,
)
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)


class TestWhatIsLearnt:
    def test_biases_are_found_within_their_error(self, wave):
        *_, y, _, model = wave
        error = np.sqrt((SIGMA**2 + 0.3**2) / (~np.isnan(y)).sum(axis=0)).max()
        np.testing.assert_allclose(model.annotator_bias_, BIAS, atol=3 * error)

    def test_the_better_annotator_has_the_smaller_spread(self, wave):
        X, *_, model = wave
        scale = model.annotator_scale(X)
        assert scale.shape == (300, 4)
        np.testing.assert_allclose(scale[:, :3].mean(axis=0), SIGMA[:3], rtol=0.35)
        assert np.all(np.diff(scale[:, :3].mean(axis=0)) > 0.2)

    def test_where_an_annotator_knows_is_found(self, wave):
        X, *_, model = wave
        scale = model.annotator_scale(X)[:, 3]
        assert np.median(scale[X[:, 0] > 0.5]) < 0.4
        assert np.median(scale[X[:, 0] < -0.5]) > 1.0

    def test_the_consensus_beats_the_mean_of_labels_and_the_regression_on_it(self, wave):
        X, y, z, model = wave
        seen = ~np.isnan(y).all(axis=1)
        plain = np.nanmean(y[seen], axis=1)
        ours = np.sqrt(np.mean((model.posterior_mean_ - z)[seen] ** 2))
        assert ours < 0.6 * np.sqrt(np.mean((plain - z[seen]) ** 2))
        smooth = LinearRegression().fit(X[seen], plain).predict(X[seen])
        assert ours < 0.6 * np.sqrt(np.mean((smooth - z[seen]) ** 2))

    def test_the_regression_is_good_on_new_items(self, wave):
        new, _, z = wave_world(1000, seed=9)
        model = wave[-1]
        assert model.score(new, z) > 0.85
        assert model.noise_ == pytest.approx(0.3, abs=0.1)

    @pytest.mark.parametrize("map_", ["rbf", "linear", "spectral"])
    @pytest.mark.parametrize("truth", ["id", "lgp"])
    def test_every_combination_learns_an_easy_world(self, truth, map_):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 2))
        z = X @ [1.0, -0.5]
        model = CrowdRegressor(truth, map=map_).fit(X, z[:, None] + 0.3 * rng.normal(size=(150, 3)))
        assert model.score(X, z) > 0.8

    def test_one_dimension_is_one_annotator(self):
        X, _, z = wave_world()
        model = CrowdRegressor().fit(X, z)
        assert model.annotators_.tolist() == [0]
        assert model.score(X, z) > 0.85

    def test_all_labels_the_same_are_learnt_as_such(self):
        model = CrowdRegressor().fit(np.arange(6.0)[:, None], np.full((6, 2), 7))
        np.testing.assert_allclose(model.predict([[2.5]]), 7)

    @pytest.mark.parametrize("solver", ["em", "lbfgs"])
    def test_the_bound_never_falls(self, solver):
        X, y, _ = wave_world()
        model = CrowdRegressor(solver=solver).fit(X, y)
        assert np.diff(model.bound_history_).min() >= -1e-9 * abs(model.bound_history_[-1])
        assert model.n_iter_ == len(model.bound_history_)
        assert model.solver_ == solver

    def test_em_and_lbfgs_agree(self, wave):
        X, y, _, em = wave
        lbfgs = CrowdRegressor(solver="lbfgs", tol=1e-9, max_iter=2000).fit(X, y)
        assert lbfgs.bound_history_[-1] == pytest.approx(em.bound_history_[-1], rel=1e-3)
        np.testing.assert_allclose(lbfgs.predict(X), em.predict(X), atol=0.05)


class TestUncertainty:
    def test_nine_of_ten_truths_lie_in_the_ninety_percent_interval(self):
        """Over worlds whose biases come from the prior: a bias of all annotators shifts all items at once."""
        inside_new, inside_labelled = [], []
        half = norm.ppf(0.95)
        for seed in range(16):
            X, y, z = wave_world(seed=seed, bias=0.6 * np.random.default_rng(seed).normal(size=4))
            new, _, truth = wave_world(1000, seed=100 + seed)
            model = CrowdRegressor().fit(X, y)
            mean, std = model.predict(new, return_std=True)
            inside_new.append(np.abs(truth - mean) < half * std)
            inside_labelled.append(np.abs(z - model.posterior_mean_) < half * model.posterior_std_)
        assert 0.85 <= np.mean(inside_new) <= 0.95
        assert 0.82 <= np.mean(inside_labelled) <= 0.95

    def test_labels_make_surer_and_distance_less_sure(self, wave):
        X, y, _, model = wave
        seen = ~np.isnan(y).all(axis=1)
        _, alone = model.predict(X, return_std=True)
        assert np.all(model.posterior_std_[seen] < alone[seen])
        np.testing.assert_allclose(model.posterior_std_[~seen], alone[~seen])
        linear = CrowdRegressor(map="linear").fit(X, y)
        _, (near, far) = linear.predict([[0.0, 0.0], [50.0, 50.0]], return_std=True)
        assert far > 2 * near

    def test_posterior_of_the_fit_is_the_posterior_of_its_items(self, wave):
        X, y, _, model = wave
        mean, std = model.posterior(X, y)
        np.testing.assert_allclose(mean, model.posterior_mean_, atol=1e-8)
        np.testing.assert_allclose(std, model.posterior_std_, atol=1e-8)
        rows = [5, 3, 77]
        np.testing.assert_allclose(model.posterior(X[rows], y[rows])[0], mean[rows], atol=1e-8)

    def test_a_new_items_labels_count_by_bias_and_spread(self, wave):
        model, x = wave[-1], [[3.0, 0.0]]
        nan = np.nan
        (before,), (doubt,) = model.predict(x, return_std=True)
        (sharp,), (sure,) = model.posterior(x, [[nan, nan, nan, before + 2]])
        (blunt,), (unsure,) = model.posterior(x, [[nan, nan, before + 2, nan]])
        assert sharp > blunt > before
        assert sure < unsure < doubt

    def test_strangers_are_refused_or_count_as_the_crowd_with_unknown_bias(self, wave):
        X, *_, model = wave
        said = Annotations.from_arrays([0], ["new"], [1.0], items=range(300))
        with pytest.raises(ValueError, match="not among the known annotators"):
            model.posterior(X, said)
        crowd = model.posterior(X, said, unknown="population")
        assert crowd[1][0] < model.predict(X[:1], return_std=True)[1][0]


class TestUnits:
    @pytest.mark.parametrize("solver", ["em", "lbfgs"])
    def test_labels_times_a_hundred_make_every_answer_times_a_hundred(self, solver):
        X, y, z = wave_world(120)
        here, there = CrowdRegressor(solver=solver).fit(X, y), CrowdRegressor(solver=solver)
        there.fit(X, 100 * y + 7000)
        for name, shift in (("posterior_mean_", 7000), ("posterior_std_", 0), ("annotator_bias_", 0)):
            expected = 100 * getattr(here, name) + shift
            np.testing.assert_allclose(getattr(there, name), expected, rtol=1e-3, atol=0.5, err_msg=name)
        np.testing.assert_allclose(there.annotator_scale(X), 100 * here.annotator_scale(X), rtol=2e-2)
        np.testing.assert_allclose(there.predict(X), 100 * here.predict(X) + 7000, atol=0.5)
        assert there.noise_ == pytest.approx(100 * here.noise_, rel=1e-2)
        assert there.score(X, 100 * z + 7000) == pytest.approx(here.score(X, z), abs=1e-3)
        assert there.score(X, 100 * y + 7000) == pytest.approx(here.score(X, y) - np.log(100), abs=1e-3)

    def test_order_of_annotators_does_not_matter(self, wave):
        X, y, _, model = wave
        order = [2, 0, 3, 1]
        permuted = CrowdRegressor().fit(X, y[:, order])
        np.testing.assert_allclose(permuted.annotator_bias_, model.annotator_bias_[order], atol=2e-3)
        np.testing.assert_allclose(permuted.predict(X), model.predict(X), atol=2e-3)

    def test_an_annotator_without_labels_gets_the_crowds(self, wave):
        X, y, _, model = wave
        listed = CrowdRegressor().fit(X, np.column_stack([y, np.full(300, np.nan)]))
        assert listed.annotator_bias_[4] == pytest.approx(0, abs=1e-6)
        theta = listed._pair.solution.annotators.mean
        np.testing.assert_allclose(theta[4], theta[5], atol=1e-3)
        np.testing.assert_allclose(listed.predict(X), model.predict(X), atol=0.02)


class TestScore:
    def test_a_vector_is_scored_by_r_squared(self, wave):
        X, _, z, model = wave
        residual = z - model.predict(X)
        assert model.score(X, z) == pytest.approx(1 - residual.var() / z.var(), abs=0.01)

    def test_annotations_are_scored_by_their_log_density(self, wave):
        """One label: N(y; E z + b, Var(z + b) + σ²)."""
        model = wave[-1]
        pair = model._pair
        state, x_truth = pair.solution.truth, pair.prepared.items(np.array([[0.4, -1.1]])).X_truth
        n = x_truth.shape[1]
        of_bias = state.joint[n + 1, n + 1] + 2 * x_truth[0] @ state.joint[:n, n + 1]
        x, y = [[0.4, -1.1]], np.array([[np.nan, 0.7, np.nan, np.nan]])
        (mean,), (std,) = model.predict(x, return_std=True)
        units = model._pair.prepared.units.scale
        spread = np.sqrt(std**2 + units**2 * of_bias + model.annotator_scale(x)[0, 1] ** 2)
        assert model.score(x, y) == pytest.approx(norm(mean + model.annotator_bias_[1], spread).logpdf(0.7))

    def test_the_score_prefers_the_right_model(self):
        X, y, _ = wave_world()
        said = Annotations.from_matrix(y)
        rbf, linear = (cross_val_score(CrowdRegressor(map=m), X, said, cv=KFold(3)) for m in ("rbf", "linear"))
        assert rbf.mean() > linear.mean()

    def test_grid_search_reaches_into_the_pieces(self):
        X, y, _ = wave_world(80)
        model = CrowdRegressor(LinearTruth(), BiasedAnnotators(), map="linear")
        grid = {"truth__variance": [0.1, 1.0], "annotators__varies_with_x": [True, False]}
        search = GridSearchCV(model, grid, cv=KFold(2)).fit(X, Annotations.from_matrix(y))
        assert set(search.best_params_) == set(grid)

    def test_scores_that_mean_nothing_are_refused(self, wave):
        X, y, _, model = wave
        with pytest.raises(ValueError, match="sample_weight goes with a truth vector"):
            model.score(X, y, sample_weight=np.ones(300))
        with pytest.raises(ValueError, match="at least one label"):
            model.score(X[:1], np.full((1, 4), np.nan))


class TestInput:
    def test_frames_arrays_and_annotations_are_the_same(self):
        X, y, _ = wave_world(60)
        names = ["anna", "bob", "cleo", "dan"]
        frame = CrowdRegressor().fit(pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(y, columns=names))
        plain = CrowdRegressor().fit(X, Annotations.from_matrix(y, annotators=names))
        assert frame.annotators_.tolist() == names
        np.testing.assert_allclose(frame.posterior_mean_, plain.posterior_mean_, atol=1e-5)

    @pytest.mark.parametrize("labels", [["good", "bad"], [True, False], ["1.5", "2.5"]], ids=str)
    def test_classes_are_sent_to_the_classifier(self, labels):
        with pytest.raises(ValueError, match="use CrowdClassifier"):
            CrowdRegressor().fit(np.arange(2.0)[:, None], np.array(labels, dtype=object))

    def test_text_is_refused_after_the_fit_too(self, wave):
        X, *_, model = wave
        with pytest.raises(ValueError, match="use CrowdClassifier"):
            model.posterior(X[:1], Annotations.from_arrays([0], [0], ["good"], annotators=range(4)))

    def test_infinite_labels_are_refused(self):
        with pytest.raises(ValueError, match="Expected finite labels, got inf"):
            CrowdRegressor().fit(np.arange(2.0)[:, None], [1.0, np.inf])

    def test_no_labels_are_refused(self):
        with pytest.raises(ValueError, match="None of the 3 items has a label"):
            CrowdRegressor().fit(np.arange(3.0)[:, None], np.full((3, 2), np.nan))

    def test_pieces_for_classes_are_refused_and_so_are_ours_by_the_classifier(self):
        X, y, z = wave_world(30)
        with pytest.raises(NotCompatible, match="needs LinearTruth; got LogisticTruth"):
            CrowdRegressor(LogisticTruth()).fit(X, y)
        with pytest.raises(NotCompatible, match="needs BiasedAnnotators"):
            CrowdRegressor(annotators=GaussianAnnotators()).fit(X, y)
        with pytest.raises(NotCompatible, match="Use CrowdRegressor"):
            CrowdClassifier(LinearTruth()).fit(X, (z > 0).astype(int))
        with pytest.raises(ValueError, match="solver must be one of"):
            CrowdRegressor(solver="vb").fit(X, y)
        with pytest.raises(ValueError, match="truth must be 'id', 'lgp' or a piece such as LinearTruth"):
            CrowdRegressor("gp").fit(X, y)

    def test_a_fit_cut_short_says_so_and_a_callback_may_stop_it(self):
        X, y, _ = wave_world(60)
        with pytest.warns(DidNotConverge):
            CrowdRegressor(max_iter=3).fit(X, y)
        stopped = CrowdRegressor().fit(X, y, callback=lambda iteration, *_: iteration >= 3)
        assert stopped.n_iter_ == 3

    def test_a_fit_that_fails_leaves_the_old_one_whole(self):
        X, y, _ = wave_world(60)
        model = CrowdRegressor().fit(X, y)
        before = model.predict(X)

        def interrupt(*_):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, callback=interrupt)
        np.testing.assert_array_equal(model.predict(X), before)

    def test_survives_pickle_clone_and_a_pipeline(self, wave):
        X, y, _, model = wave
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert clone(model).get_params() == model.get_params()
        piped = make_pipeline(StandardScaler(), CrowdRegressor()).fit(X, y)
        np.testing.assert_allclose(piped.predict(X), model.predict(X), atol=1e-6)
