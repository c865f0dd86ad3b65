"""Equations (14) to (18): the distributions of Sec. 3.5 and their gradients."""

import numpy as np
import pytest

from tests.reference import models
from tests.reference.worlds import slope, world
from whoknows.model.annotators import GaussianAnnotators
from whoknows.model.posterior import CategoricalPosterior, GaussianPosterior
from whoknows.model.truth import LogisticTruth

TINY = world(n_items=8, n_annotators=3, n_features=2, unlabelled=1, seed=23)
RNG = np.random.default_rng(24)
THETA = RNG.normal(size=(4, 3))
XI = RNG.normal(size=3)
COLUMN = XI[:, None]  # ξ of a single output
ONE = RNG.random(8)
BELIEF = CategoricalPosterior(np.column_stack([1 - ONE, ONE]))
FLOORS = [0.0, 0.05, 0.3]


@pytest.mark.parametrize("floor", FLOORS)
def test_eq_14_label_is_the_truth_plus_gaussian_noise(floor):
    """Printed: N(y; z, σ_t(x)), called a variance. Built: σ a standard deviation, read at any real z."""
    evidence = GaussianAnnotators(sigma_floor=floor).evidence(THETA, TINY.features, TINY.Y)
    say = models.gaussian(THETA, floor)
    for z in (0, 1, 0.3, -2.0):
        found = -0.5 * evidence.precision * z**2 + evidence.pull * z + evidence.constant
        expected = [np.log(models.likelihood(i, z, TINY.features, TINY.Y_L, say)) for i in range(8)]
        np.testing.assert_allclose(found, expected, atol=1e-10)
        if z in (0, 1):
            np.testing.assert_allclose(evidence.table[:, z], expected, atol=1e-10)


@pytest.mark.parametrize("floor", FLOORS)
def test_eq_15_scale_is_logistic_in_x(floor):
    """Printed: σ_t(x) = (1 + exp(−w_tᵀx − γ_t))⁻¹ in (0, 1]. Built: lifted by a floor, 0 is as printed."""
    found = GaussianAnnotators(sigma_floor=floor).scale(THETA, TINY.features)
    expected = [[models.sigma(row, x, floor) for row in THETA] for x in TINY.features]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.min() > floor
    assert found.max() <= 1


def test_eq_15_without_a_floor_the_likelihood_has_no_maximum():
    """Built: why there is a floor. Where the truth is certain and labels agree, σ → 0 gains without end."""
    agreed = world(n_items=8, accuracy=1.0, seed=23)
    certain = CategoricalPosterior(np.eye(2)[agreed.z])

    def value(floor, gamma):
        theta = np.tile([0.0, 0.0, gamma], (4, 1))
        annotators = GaussianAnnotators(sigma_floor=floor)
        return annotators.expected_log_lik(theta, agreed.features, agreed.Y, certain)[0]

    assert value(0.0, -200) > value(0.0, -20) + 100
    assert value(0.3, -200) < value(0.3, -20) + 1e-6


def printed_gradient(with_x):
    """Eqs. (16), (17) written out, Σ over the items annotator t labelled, E over z of the posterior."""
    gradient = np.zeros((4, 3))
    for i, t, y in TINY.Y_L:
        s = models.sigma(THETA[t], TINY.features[i])
        expected = sum(p * ((y - z) ** 2 / s**2 - 1) for z, p in enumerate(BELIEF.prob[i]))
        gradient[t] += expected * (1 - s) * (TINY.features[i] if with_x else np.ones(3))
    return gradient


def test_eq_16_gradient_in_the_slopes_as_printed():
    """Printed: Σ_i E[(y − z)²/σ² − 1] (1 − σ) x. Built: the same at sigma_floor = 0 (y^(j) read as y^(t))."""
    found = GaussianAnnotators(sigma_floor=0.0).expected_log_lik(THETA, TINY.features, TINY.Y, BELIEF)[1]
    np.testing.assert_allclose(found[:, :-1], printed_gradient(with_x=True)[:, :-1], atol=1e-10)


def test_eq_17_gradient_in_the_intercept_as_printed():
    """Printed: Σ_i E[(y − z)²/σ² − 1] (1 − σ). Built: the same, as x's constant column."""
    found = GaussianAnnotators(sigma_floor=0.0).expected_log_lik(THETA, TINY.features, TINY.Y, BELIEF)[1]
    np.testing.assert_allclose(found[:, -1], printed_gradient(with_x=False)[:, -1], atol=1e-10)


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("belief", [BELIEF, GaussianPosterior(ONE - 0.3, 0.1 + ONE)], ids=["0/1", "real z"])
def test_eq_16_and_eq_17_are_the_gradient_of_the_value(floor, belief):
    """Built: with a floor and for any posterior, since only E[z] and Var[z] enter; checked by differences."""
    annotators = GaussianAnnotators(sigma_floor=floor)

    def value(theta):
        return annotators.expected_log_lik(theta, TINY.features, TINY.Y, belief)[0]

    found = annotators.expected_log_lik(THETA, TINY.features, TINY.Y, belief)[1]
    np.testing.assert_allclose(found, slope(value, THETA), atol=1e-6)


def test_eq_18_truth_of_id_is_logistic():
    """Printed: p(z = 1|x) = (1 + exp(−αᵀx − β))⁻¹. Built: Eq. (9) with β on x's constant column."""
    alpha, beta = XI[:-1], XI[-1]
    certain = CategoricalPosterior(np.tile([0.0, 1.0], (8, 1)))
    value = LogisticTruth().expected_log_truth(COLUMN, TINY.features, certain)[0]
    expected = -sum(np.log1p(np.exp(-alpha @ x - beta)) for x in TINY.X)
    assert value == pytest.approx(expected, abs=1e-12)


def test_eq_18_gradient_is_of_the_expected_log():
    """Printed, after (18): the gradient of E[p(z|x)]. Built: of E[log p(z|x)], Σ (p̃ − p) x."""
    found = LogisticTruth().expected_log_truth(COLUMN, TINY.features, BELIEF)[1][:, 0]
    p = models.logistic(TINY.features @ XI)
    np.testing.assert_allclose(found, (ONE - p) @ TINY.features, atol=1e-12)
    value = slope(lambda xi: LogisticTruth().expected_log_truth(xi, TINY.features, BELIEF)[0], COLUMN)
    np.testing.assert_allclose(found, value[:, 0], atol=1e-7)
    printed = ((2 * ONE - 1) * p * (1 - p)) @ TINY.features
    cosine = found @ printed / np.linalg.norm(found) / np.linalg.norm(printed)
    assert cosine < 0.999  # not even the same direction
