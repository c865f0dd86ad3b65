"""The crowd behind the annotators: its prior, and what the variational solver believes of it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from whoknows.model.annotators.population import CrowdBelief, Population

CROWD = Population(centre=0.8, centre_variance=0.7, slope_variance=0.4, deviation_variance=0.6,
                   precision_shape=3.0, precision_rate=1.5, deviation_shape=4.0)  # fmt: skip


def sums(n_annotators=5, n_columns=3, n_labels=8):
    """Return what some labels could have said: a gram matrix and a pull for each annotator."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(n_annotators, n_labels, n_columns))
    weight = rng.uniform(0.1, 0.25, size=(n_annotators, n_labels))
    gram = np.einsum("tl,tli,tlj->tij", weight, a, a)
    return gram, np.einsum("tl,tli->ti", rng.choice([-0.5, 0.5], size=(n_annotators, n_labels)), a)


def elbo(belief, gram, pull):
    """What `update` climbs: the labels' quadratic, expected, minus what the belief costs."""
    on = belief.active
    second = belief.covariance + np.einsum("ti,tj->tij", belief.mean, belief.mean)
    expected = (pull * belief.mean).sum(axis=1) - 0.5 * (gram * second).sum(axis=(1, 2))
    return expected[on].sum() - belief.divergence()


def settled(gram, pull, active, n_slopes=2, n_intercepts=1, rounds=400):
    belief = CrowdBelief.prior(CROWD, active, n_slopes, n_intercepts)
    for _ in range(rounds):
        belief = belief.update(gram, pull)
    return belief


def test_everybody_starts_at_the_centre():
    theta = CROWD.start(4, n_slopes=2, n_intercepts=2)
    np.testing.assert_array_equal(theta, np.tile([0, 0, 0.8, 0], (5, 1)))


def test_log_prior_is_the_hierarchy_of_normals():
    """θ_0 ~ N(centre, spread), θ_t ~ N(θ_0, deviation), 1/τ² held at its prior mean; up to a constant."""

    def by_scipy(theta):
        crowd = theta[-1]
        tau = np.sqrt(1.5 / 3.0)
        spread, deviation = np.sqrt([0.4, 0.4, 0.7]), np.array([tau, tau, np.sqrt(0.6)])
        value = stats.norm.logpdf(crowd, [0, 0, 0.8], spread).sum()
        return value + sum(stats.norm.logpdf(row, crowd, deviation).sum() for row in theta[:-1])

    one, other = np.random.default_rng(1).normal(size=(2, 4, 3))
    difference = CROWD.log_prior(one, n_slopes=2)[0] - CROWD.log_prior(other, n_slopes=2)[0]
    assert difference == pytest.approx(by_scipy(one) - by_scipy(other))


@pytest.mark.parametrize(("n_slopes", "n_intercepts"), [(2, 1), (1, 2), (0, 1), (0, 2)])
def test_updates_never_lower_the_bound(n_slopes, n_intercepts):
    gram, pull = sums(n_columns=n_slopes + n_intercepts)
    belief = CrowdBelief.prior(CROWD, np.ones(5, bool), n_slopes, n_intercepts)
    heights = [elbo(belief, gram, pull)]
    for _ in range(30):
        belief = belief.update(gram, pull)
        heights.append(elbo(belief, gram, pull))
    assert np.diff(heights).min() > -1e-10
    assert heights[-1] > heights[0] + 0.1


def test_where_updates_end_every_coordinate_is_at_its_best():
    gram, pull = sums()
    best = settled(gram, pull, np.ones(5, bool))
    top, rng = elbo(best, gram, pull), np.random.default_rng(2)
    for size in (1e-3, 0.1):
        for _ in range(4):
            root = np.eye(3) + size * rng.normal(size=(5, 3, 3))
            others = [
                replace(best, mean=best.mean + size * rng.normal(size=(5, 3))),
                replace(best, covariance=root @ best.covariance @ root.transpose(0, 2, 1)),
                replace(best, crowd_mean=best.crowd_mean + size * rng.normal(size=3)),
                replace(best, crowd_variance=best.crowd_variance * np.exp(size * rng.normal(size=3))),
                replace(best, shape=best.shape * np.exp([size, 0])),
                replace(best, shape=best.shape * np.exp([0, size])),
                replace(best, rate=best.rate * np.exp([-size, 0])),
                replace(best, rate=best.rate * np.exp([0, -size])),
            ]
            for other in others:
                assert elbo(other, gram, pull) < top


def test_divergence_is_kl_by_monte_carlo():
    """E_q[log q − log p] over θ_0, 1/τ² and every θ_t, drawn and averaged."""
    gram, pull = sums(n_annotators=3)
    q = settled(gram, pull, np.ones(3, bool), rounds=3)
    n, rng = 100_000, np.random.default_rng(3)
    theta_0 = rng.normal(q.crowd_mean, np.sqrt(q.crowd_variance), size=(n, 3))
    precision = rng.gamma(q.shape, 1 / q.rate, size=(n, 2))
    ratio = stats.norm.logpdf(theta_0, q.crowd_mean, np.sqrt(q.crowd_variance)).sum(axis=1)
    ratio -= stats.norm.logpdf(theta_0, [0, 0, 0.8], np.sqrt([0.4, 0.4, 0.7])).sum(axis=1)
    ratio += stats.gamma.logpdf(precision, q.shape, scale=1 / q.rate).sum(axis=1)
    ratio -= stats.gamma.logpdf(precision, [3.0, 4.0], scale=[1 / 1.5, 1 / (4.0 * 0.6)]).sum(axis=1)
    deviation = precision[:, [0, 0, 1]] ** -0.5
    for mean, covariance in zip(q.mean, q.covariance, strict=True):
        theta_t = rng.multivariate_normal(mean, covariance, size=n)
        ratio += stats.multivariate_normal.logpdf(theta_t, mean, covariance)
        ratio -= stats.norm.logpdf(theta_t, theta_0, deviation).sum(axis=1)
    assert q.divergence() == pytest.approx(ratio.mean(), abs=5 * ratio.std() / np.sqrt(n))


def test_gamma_divergence_by_quadrature():
    shape, rate = np.array([4.2, 5.1]), np.array([2.9, 1.7])
    belief = replace(CrowdBelief.prior(CROWD, np.ones(2, bool), 2), shape=shape, rate=rate)
    t, expected = np.linspace(1e-4, 40, 200_001), 0.0
    for a, b, a0, b0 in ((4.2, 2.9, 3.0, 1.5), (5.1, 1.7, 4.0, 2.4)):
        q, p = stats.gamma(a, scale=1 / b), stats.gamma(a0, scale=1 / b0)
        expected += np.trapezoid(q.pdf(t) * (q.logpdf(t) - p.logpdf(t)), t)
    assert belief._precision_divergence() == pytest.approx(expected, abs=1e-6)


def test_no_annotator_no_divergence():
    nobody = CrowdBelief.prior(CROWD, np.zeros(3, bool), 2)
    assert nobody.divergence() == pytest.approx(0, abs=1e-12)


def test_silent_annotators_change_nothing_and_read_as_strangers():
    gram, pull = sums()
    loud = np.array([True, True, False, True, False])
    gram[~loud], pull[~loud] = 0, 0
    few, all_five = settled(gram[loud], pull[loud], np.ones(3, bool)), settled(gram, pull, loud)
    assert all_five.divergence() == pytest.approx(few.divergence(), abs=1e-10)
    np.testing.assert_allclose(all_five.crowd_mean, few.crowd_mean, atol=1e-12)
    np.testing.assert_allclose(all_five.mean[loud], few.mean, atol=1e-12)
    belief = all_five.belief()
    for row in (2, 4):
        np.testing.assert_array_equal(belief.mean[row], belief.mean[-1])
        np.testing.assert_array_equal(belief.covariance[row], belief.covariance[-1])


def test_a_stranger_is_less_certain_than_anyone_who_spoke():
    belief = settled(*sums(), np.ones(5, bool)).belief()
    variances = np.diagonal(belief.covariance, axis1=1, axis2=2)
    assert np.all(variances[-1] > variances[:-1])


def test_few_labels_stay_with_the_crowd_and_many_leave_it():
    gram, pull = sums(n_labels=40)
    weak = settled(gram / 1000, pull / 1000, np.ones(5, bool))
    strong = settled(gram * 1000, pull * 1000, np.ones(5, bool))
    alone = np.linalg.solve(gram, pull[:, :, None])[:, :, 0]
    assert np.abs(weak.mean - weak.crowd_mean).max() < 0.05
    np.testing.assert_allclose(strong.mean, alone, atol=0.1)
