"""The monitor: history, stopping rules, the callback and the warnings."""

import warnings

import numpy as np
import pytest

from tests.fit.worlds import fit
from whoknows.fit.monitor import DidNotConverge, Monitor
from whoknows.model.annotators import BernoulliAnnotators
from whoknows.model.truth import LogisticTruth

HERE = np.zeros(2)
every_solver = pytest.mark.parametrize("solver", ["em", "lbfgs", "vb"])


def watched(solver, **settings):
    return fit(BernoulliAnnotators(), LogisticTruth(), solver, **settings)[1]


def test_a_small_rise_of_the_bound_ends_the_fit():
    monitor = Monitor(100, tol=1e-3)
    assert not monitor.add(-1000.0, HERE)
    assert not monitor.add(-998.0, HERE)
    assert monitor.add(-997.5, HERE)
    assert monitor.converged
    monitor.finish()


def test_small_means_small_beside_the_bound_but_never_beside_less_than_one():
    monitor = Monitor(100, tol=1e-3)
    monitor.add(0.0, HERE)
    assert not monitor.add(2e-3, HERE)
    assert monitor.add(2.9e-3, HERE)


def test_the_rule_of_algorithm_1_looks_at_the_squared_step_of_theta():
    monitor = Monitor(100, tol=0.01, stop="parameters")
    assert not monitor.add(-1.0, np.array([0.0, 0.0]))
    assert not monitor.add(-1.0, np.array([0.1, 0.1]))  # the bound stood still, θ did not
    assert monitor.add(-0.5, np.array([0.15, 0.15]))  # 0.005 < 0.01


def test_an_unknown_rule_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"stop must be one of \('bound', 'parameters'\); got 'never'"):
        Monitor(10, 1e-3, stop="never")


def test_running_out_of_iterations_warns_with_what_to_do():
    monitor = Monitor(3, tol=1e-6)
    ends = [monitor.add(bound, HERE) for bound in (-10.0, -8.0, -7.5)]
    assert ends == [False, False, True]
    with pytest.warns(
        DidNotConverge, match=r"did not converge in max_iter=3 .* increased by 0\.5 .*Raise max_iter, or tol=1e-06"
    ):
        monitor.finish()


@every_solver
def test_every_solver_warns_when_it_ran_out_of_iterations(solver):
    with pytest.warns(DidNotConverge, match="max_iter=4"):
        monitor = watched(solver, max_iter=4, tol=1e-9)
    assert monitor.n_iter == 4
    assert not monitor.converged


def test_a_falling_bound_is_not_passed_over():
    monitor = Monitor(10, tol=1e-6)
    monitor.add(-10.0, HERE)
    with pytest.warns(DidNotConverge, match=r"bound decreased by 1 at iteration 2.*gradient or an expectation"):
        monitor.add(-11.0, HERE)


def test_rounding_is_not_falling():
    monitor = Monitor(10, tol=0.0)
    monitor.add(-1000.0, HERE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monitor.add(-1000.0 - 1e-6, HERE)


def test_an_approximate_e_step_may_fall():
    monitor = Monitor(10, tol=1e-6, exact=False)
    monitor.add(-10.0, HERE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not monitor.add(-11.0, HERE)


@every_solver
def test_the_callback_sees_iteration_bound_and_seconds(solver):
    seen = []
    monitor = watched(solver, callback=lambda *what: seen.append(what))
    iterations, bounds, seconds = zip(*seen, strict=True)
    assert list(iterations) == list(range(1, monitor.n_iter + 1))
    assert list(bounds) == monitor.history
    assert np.all(np.diff(seconds) >= 0)
    assert 0 <= seconds[0] < 60


@every_solver
def test_a_callback_that_returns_true_stops_the_fit_without_a_warning(solver):
    monitor = watched(solver, callback=lambda iteration, bound, seconds: iteration == 3)
    assert monitor.n_iter == 3
    assert monitor.stopped


@every_solver
def test_stopping_by_parameters_ends_when_theta_stands_still(solver):
    loose, tight = (watched(solver, stop="parameters", tol=tol) for tol in (1e-2, 1e-8))
    assert loose.converged
    assert tight.converged
    assert loose.n_iter < tight.n_iter


@every_solver
def test_a_tighter_tolerance_goes_on_longer_and_higher(solver):
    loose, tight = (watched(solver, tol=tol) for tol in (1e-3, 1e-8))
    assert loose.n_iter < tight.n_iter
    assert loose.history[-1] < tight.history[-1]
    np.testing.assert_allclose(tight.history[: loose.n_iter], loose.history)


@pytest.mark.parametrize("solver", ["em", "vb", "lbfgs"])
def test_a_fit_can_be_stopped_at_its_first_iteration(solver):
    assert watched(solver, callback=lambda iteration, bound, seconds: iteration == 1).n_iter == 1


def test_one_iteration_has_risen_from_nothing():
    monitor = Monitor(1, 1e-6)
    monitor.add(-5.0, np.zeros(1))
    with pytest.warns(DidNotConverge, match=r"in max_iter=1 iterations\. Raise max_iter"):
        monitor.finish()
