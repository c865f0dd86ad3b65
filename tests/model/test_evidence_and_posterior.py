"""Evidence and posterior: the two things annotators and truth exchange."""

import numpy as np
import pytest
from scipy.stats import norm

from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.posterior import CategoricalPosterior, GaussianPosterior


def test_a_quadratic_read_as_a_table_is_its_value_at_zero_and_one():
    precision, pull, constant = np.random.default_rng(0).random((3, 4))
    table = QuadraticEvidence(precision, pull, constant).table
    for z in (0, 1):
        np.testing.assert_allclose(table[:, z], -0.5 * precision * z**2 + pull * z + constant)


def test_normalising_a_log_joint_keeps_its_odds_and_its_sum():
    log_joint = np.random.default_rng(0).normal(size=(5, 3))
    posterior = CategoricalPosterior.from_log_joint(log_joint)
    joint = np.exp(log_joint)
    np.testing.assert_allclose(posterior.prob, joint / joint.sum(axis=1, keepdims=True))
    assert posterior.log_marginal == pytest.approx(np.log(joint.sum(axis=1)).sum())


def test_normalising_survives_what_exp_does_not():
    posterior = CategoricalPosterior.from_log_joint(np.array([[-5000.0, -5001.0], [4000.0, 3000.0]]))
    np.testing.assert_allclose(posterior.prob[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.e)])
    assert posterior.log_marginal == pytest.approx(-5000 + np.log1p(np.exp(-1)) + 4000)


def test_moments_and_entropy_of_a_categorical():
    prob = np.random.default_rng(0).dirichlet(np.ones(3), size=4)
    posterior = CategoricalPosterior(prob)
    for i, p in enumerate(prob):
        mean = p[1] + 2 * p[2]
        assert posterior.mean[i] == pytest.approx(mean)
        assert posterior.variance[i] == pytest.approx(sum(p[k] * (k - mean) ** 2 for k in range(3)))
        assert posterior.entropy[i] == pytest.approx(-sum(p * np.log(p)))


def test_a_certain_item_has_no_entropy_and_no_variance():
    posterior = CategoricalPosterior(np.array([[1.0, 0.0], [0.0, 1.0]]))
    np.testing.assert_array_equal(posterior.entropy, 0)
    np.testing.assert_array_equal(posterior.variance, 0)


def test_entropy_of_a_gaussian_is_differential():
    posterior = GaussianPosterior(np.zeros(2), np.array([0.5, 3.0]))
    np.testing.assert_allclose(posterior.entropy, [norm(0, s).entropy() for s in np.sqrt([0.5, 3.0])])
