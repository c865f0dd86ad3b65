"""Every solver on every pair of pieces: the bound, the maximum, the chunks, the start."""

import numpy as np
import pytest

from tests.fit.worlds import FITS, PAIRS, fit, prepare, solvers_of
from tests.reference.worlds import slope
from whoknows.data.annotations import Annotations
from whoknows.fit.engines import Serial
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Parameters, log_prior, marginal
from whoknows.fit.solve import solve
from whoknows.fit.starts import vote
from whoknows.model.annotators import BernoulliAnnotators, GaussianAnnotators
from whoknows.model.graph import AnchorGraph
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import GraphTruth, LogisticTruth, OrderedTruth

every_fit = pytest.mark.parametrize(("annotators", "truth", "solver"), FITS.values(), ids=FITS.keys())
every_pair = pytest.mark.parametrize(("annotators", "truth"), PAIRS.values(), ids=PAIRS.keys())
ONE_PEAK = {name: pair for name, pair in PAIRS.items() if "low floor" not in name}  # that one has many
SEPARABLE = {name: s for name, s in FITS.items() if "+ id" in name or "bernoulli + lgp" in name}


@every_fit
def test_the_bound_never_falls(annotators, truth, solver):
    _, monitor = fit(annotators, truth, solver)
    history = np.array(monitor.history)
    assert len(history) > 3
    assert np.diff(history).min() >= -1e-9 * abs(history[-1])
    assert history[-1] > history[0]


@pytest.mark.parametrize(("annotators", "truth"), ONE_PEAK.values(), ids=ONE_PEAK.keys())
def test_em_and_lbfgs_reach_the_same_height(annotators, truth):
    em, lbfgs = (fit(annotators, truth, solver, tol=1e-11)[1].history[-1] for solver in ("em", "lbfgs"))
    assert em == pytest.approx(lbfgs, rel=1e-5)


@every_pair
@pytest.mark.parametrize("solver", ["em", "lbfgs"])
def test_what_is_found_is_a_stationary_point_of_the_marginal(annotators, truth, solver):
    model, items = prepare(annotators, truth)
    fitted, monitor = fit(annotators, truth, solver, tol=1e-12)
    xi = np.zeros(0) if truth.couples_items else fitted.truth.mean
    at = Parameters(fitted.annotators.mean, xi)

    def height(flat):
        p = at.unflatten(flat)
        return marginal(items, model, p)[0] + log_prior(model, p)[0]

    assert height(at.flatten()) == pytest.approx(monitor.history[-1], rel=1e-10)
    assert np.abs(slope(height, at.flatten(), step=1e-5)).max() < 5e-3


@every_pair
def test_gradient_of_the_marginal_and_the_priors_matches_differences(annotators, truth):
    model, items = prepare(annotators, truth)
    theta = annotators.init(3, 4)
    rng = np.random.default_rng(0)
    at = Parameters(theta + rng.normal(size=theta.shape), truth.init(3) + rng.normal(size=truth.init(3).shape))
    _, d_theta, d_xi = marginal(items, model, at)
    _, prior_theta, prior_xi = log_prior(model, at)

    def height(flat):
        p = at.unflatten(flat)
        return marginal(items, model, p)[0] + log_prior(model, p)[0]

    found = np.concatenate([(d_theta + prior_theta).ravel(), (d_xi + prior_xi).ravel()])
    np.testing.assert_allclose(found, slope(height, at.flatten()), atol=2e-6)


@pytest.mark.parametrize("n_chunks", [2, 7])
@pytest.mark.parametrize(("annotators", "truth", "solver"), SEPARABLE.values(), ids=SEPARABLE.keys())
def test_the_number_of_chunks_does_not_matter(annotators, truth, solver, n_chunks):
    settings = {"tol": 0.0, "max_iter": 12, "callback": lambda i, *_: i == 12}
    whole, one = fit(annotators, truth, solver, **settings)
    parts, many = fit(annotators, truth, solver, n_chunks=n_chunks, **settings)
    np.testing.assert_allclose(many.history, one.history, rtol=1e-8)
    tolerance = 1e-8 if solver == "vb" else 1e-5  # line searches decide on the last digit
    np.testing.assert_allclose(parts.annotators.mean, whole.annotators.mean, atol=tolerance)
    np.testing.assert_allclose(parts.truth.mean, whole.truth.mean, atol=tolerance)


def test_the_engine_adds_up_what_the_function_says_of_each_chunk():
    value, vector = Serial().sum(lambda c, k: (k * sum(c), np.array(c)), [[1, 2], [3, 4], [5, 6]], 10)
    assert value == 210
    np.testing.assert_array_equal(vector, [9, 12])


@every_fit
def test_a_start_near_the_end_gets_to_the_same_end_sooner(annotators, truth, solver):
    model, items = prepare(annotators, truth)
    fitted, cold = fit(annotators, truth, solver)
    evidence = model.annotators.evidence_at(fitted.annotators, items.X_annotators, items.Y)
    end = model.truth.posterior_at(fitted.truth, items.X_truth, evidence)
    warm = Monitor(3000, 1e-9)
    solve(model, items, end, warm, solver)
    assert warm.history[-1] == pytest.approx(cold.history[-1], rel=1e-4)
    if not truth.couples_items:  # GP's start is its end read as 0 or 1
        assert warm.history[0] > cold.history[0]
        assert warm.n_iter < cold.n_iter + (2 if solver == "vb" else 0)  # vb restarts its q(θ), q(ξ)


@pytest.mark.parametrize("solver", ["em", "lbfgs", "vb"])
def test_a_fit_is_the_same_every_time(solver):
    pieces = BernoulliAnnotators(), LogisticTruth(AnchorGraph(anchors=8, nearest=3))
    (one, _), (two, _) = (fit(*pieces, solver, tol=1e-5) for _ in range(2))
    np.testing.assert_array_equal(one.annotators.mean, two.annotators.mean)
    np.testing.assert_array_equal(one.truth.mean, two.truth.mean)


def test_auto_is_vb_where_there_is_a_bound_and_em_elsewhere():
    assert fit(BernoulliAnnotators(), LogisticTruth(), "auto")[0].solver == "vb"
    assert fit(GaussianAnnotators(), LogisticTruth(), "auto")[0].solver == "em"
    assert fit(GaussianAnnotators(), GraphTruth(), "auto")[0].solver == "em"
    assert solvers_of(BernoulliAnnotators(), LogisticTruth()) == ["em", "lbfgs", "vb"]


def test_the_vote_is_soft_never_certain_and_even_where_nobody_spoke():
    nan = np.nan
    matrix = np.array([[1.0] * 6, [0, 0, 0, nan, nan, nan], [1, 0, 1, nan, nan, nan], [nan] * 6])
    said = Annotations.from_matrix(matrix, labels=[0, 1])
    prob = vote(Items(np.ones((4, 1)), np.ones((4, 1)), said)).prob
    odds = np.exp([-0.8 * 3, 0.8])
    np.testing.assert_allclose(prob[:, 1], [0.98, *(odds / (1 + odds)), 0.5])
    np.testing.assert_allclose(prob.sum(axis=1), 1)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotators", "truth", "named"),
    [
        (GaussianAnnotators(), LogisticTruth(), "VariationalAnnotators .*; GaussianAnnotators"),
        (BernoulliAnnotators(), OrderedTruth().for_classes(3), "VariationalTruth .*; OrderedTruth"),
    ],
)
def test_vb_refuses_pieces_without_a_bound_by_name(annotators, truth, named):
    with pytest.raises(NotCompatible, match=rf"'vb' needs {named} does not have .*\. Use solver='em' or 'lbfgs'"):
        fit(annotators, truth, "vb")


def test_pieces_that_do_not_fit_are_refused_by_name_with_what_to_use_instead():
    with pytest.raises(
        NotCompatible,
        match=r"GraphTruth needs quadratic evidence; BernoulliAnnotators gives a table.*"
        r"Use GaussianAnnotators .*or LogisticTruth",
    ):
        fit(BernoulliAnnotators(), GraphTruth(), "em")


def test_an_unknown_solver_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"solver must be one of .*'vb', 'em', 'lbfgs'.*got 'adam'"):
        fit(BernoulliAnnotators(), LogisticTruth(), "adam")


def test_items_that_hang_together_are_not_cut_into_chunks():
    with pytest.raises(NotCompatible, match="GraphTruth"):
        fit(GaussianAnnotators(), GraphTruth(), "em", n_chunks=2)
