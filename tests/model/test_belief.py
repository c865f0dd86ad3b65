"""Functions of Gaussian coefficients: quadratic and logistic."""

import numpy as np
import pytest
import scipy.sparse
from scipy.special import expit, log_expit, roots_hermitenorm

from whoknows.model.gaussian import bounded_log_logistic, moderated, omega, variance_along

NODES, WEIGHTS = roots_hermitenorm(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
MEAN, VARIANCE = (a.ravel() for a in np.meshgrid(np.linspace(-6, 6, 25), [0.01, 0.3, 1.0, 4.0, 9.0]))


def expectation(function, mean, variance):
    return function(mean[:, None] + np.sqrt(variance)[:, None] * NODES) @ WEIGHTS


def test_bound_lies_below_the_expected_log_logistic_on_both_sides():
    right, wrong = bounded_log_logistic(MEAN, MEAN**2 + VARIANCE)
    assert np.all(right < expectation(log_expit, MEAN, VARIANCE))
    assert np.all(wrong < expectation(lambda u: log_expit(-u), MEAN, VARIANCE))


def test_bound_is_tight_without_variance():
    right, wrong = bounded_log_logistic(MEAN, MEAN**2)
    np.testing.assert_allclose(right, log_expit(MEAN), atol=1e-12)
    np.testing.assert_allclose(wrong, log_expit(-MEAN), atol=1e-12)


def test_bound_is_the_best_over_all_points_it_could_touch():
    """log σ(c) + (E u − c)/2 − ω(c)/2 (E u² − c²) over a grid of c never beats c² = E u²."""
    c = np.linspace(1e-3, 12, 2000)
    second = MEAN**2 + VARIANCE
    over_c = log_expit(c) + (MEAN[:, None] - c) / 2 - omega(c) / 2 * (second[:, None] - c**2)
    best = bounded_log_logistic(MEAN, second)[0]
    assert np.all(over_c <= best[:, None] + 1e-10)
    np.testing.assert_allclose(over_c.max(axis=1), best, atol=1e-4)


def test_omega_is_a_quarter_at_zero_and_smooth_there():
    assert omega(np.array([0.0]))[0] == pytest.approx(0.25)
    c = np.array([1e-7, 1e-4, 0.1, 2.0, 50.0])
    np.testing.assert_allclose(omega(c), np.tanh(c / 2) / (2 * c), rtol=1e-9)


def test_the_moderated_logistic_is_near_the_integral():
    found = expit(moderated(MEAN, VARIANCE))
    assert np.abs(found - expectation(expit, MEAN, VARIANCE)).max() < 0.02
    np.testing.assert_array_equal(moderated(MEAN, 0 * VARIANCE), MEAN)


def test_the_moderated_logistic_of_both_sides_is_one():
    np.testing.assert_allclose(moderated(MEAN, VARIANCE), -moderated(-MEAN, VARIANCE))


def test_variance_along_is_the_quadratic_form_of_each_row():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(2, 3, 3))
    S, X = root @ root.transpose(0, 2, 1), rng.normal(size=(5, 3))
    np.testing.assert_allclose(variance_along(X, S[0]), [x @ S[0] @ x for x in X])
    np.testing.assert_allclose(variance_along(scipy.sparse.csr_array(X), S[1]), [x @ S[1] @ x for x in X])
    np.testing.assert_array_equal(variance_along(X, None), np.zeros(5))
