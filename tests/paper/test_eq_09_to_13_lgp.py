"""Equations (9) to (13): model LGP, the logistic truth with a graph prior on its weights."""

import numpy as np
import pytest
from scipy.special import expit

from tests.reference import models
from tests.reference.graphs import laplacian
from tests.reference.worlds import slope, with_ones, world
from whoknows.fit.em import m_step
from whoknows.fit.engines import Serial
from whoknows.fit.objective import Model, Parameters, e_step, expected_log_lik, expected_log_truth, log_prior, marginal
from whoknows.model.annotators import BernoulliAnnotators, GaussianAnnotators
from whoknows.model.evidence import TableEvidence
from whoknows.model.graph import AnchorGraph, GaussianGraph, KnnGraph
from whoknows.model.truth import LogisticTruth

TINY = world(n_items=6, n_annotators=3, n_features=2, unlabelled=1, seed=13)
RNG = np.random.default_rng(14)
XI = RNG.normal(size=3)
COLUMN = XI[:, None]  # ξ of a single output
THETA = RNG.normal([0, 0, 0.5], size=(4, 3))
FLOOR = 0.3
SIGMA = np.array([[0.8, -0.2], [-0.2, 0.5]])

ANNOTATORS = {
    "gaussian": (GaussianAnnotators(sigma_floor=FLOOR), models.gaussian(THETA, FLOOR)),
    "bernoulli": (BernoulliAnnotators(), models.bernoulli(THETA)),
}
every_annotator = pytest.mark.parametrize(("annotators", "say"), ANNOTATORS.values(), ids=ANNOTATORS.keys())


def lgp(strength=2.0):
    return LogisticTruth(GaussianGraph(metric=SIGMA), strength=strength).prepare(TINY.X, TINY.features)


def log_p_xi(xi, strength=2.0, variance=10.0):
    """log p(ξ|X) as built, up to a constant: Eq. (10) as a mean over edges, and a ridge."""
    Phi = models.weights(TINY.X, SIGMA)
    A = models.smoothness(TINY.features, Phi) / Phi.sum()
    return -strength * xi @ A @ xi - 0.5 * xi @ xi / variance


def test_eq_09_truth_is_logistic_in_x():
    """Printed: p(z = 1|ξ, x) = (1 + exp(−ξᵀx))⁻¹. Built: the same; the posterior without evidence."""
    empty = TableEvidence(np.zeros((6, 2)))
    found = lgp().posterior(COLUMN, TINY.features, empty).prob
    expected = [[models.truth(z, x, XI) for z in (0, 1)] for x in TINY.features]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_eq_10_prior_on_the_weights():
    """Printed: p(ξ|X) ∝ exp(−ξᵀAξ). Built: −strength ξᵀAξ, A a mean over edges, and a ridge beside it."""
    value, gradient = lgp().log_prior(COLUMN)
    assert value == pytest.approx(log_p_xi(XI), abs=1e-12)
    np.testing.assert_allclose(gradient[:, 0], slope(log_p_xi, XI), atol=1e-7)


@pytest.mark.parametrize("graph", [GaussianGraph(), KnnGraph(k=3), AnchorGraph(anchors=9, nearest=3)])
def test_eq_10_smoothness_is_a_sum_over_edges(graph):
    """Printed: A = XᵀΔX. Built: ½ Σφ (x_i − x_j)(x_i − x_j)ᵀ / Σφ, whatever the graph."""
    X = np.random.default_rng(2).normal(size=(30, 3))
    built = graph.build(X)
    Phi = -laplacian(built, X)
    np.fill_diagonal(Phi, 0.0)  # an anchor graph ties items to themselves, which changes no difference
    A = built.smoothness(X, X)
    n_ends = len(X)  # Σφ, in units of the mean degree
    np.testing.assert_allclose(A, models.smoothness(X, Phi) / n_ends, atol=1e-12)


@pytest.mark.parametrize("graph", [GaussianGraph(), KnnGraph(k=3), AnchorGraph(anchors=9, nearest=3)])
def test_eq_10_a_constant_column_is_not_penalised(graph):
    """Built: Δ1 = 0, so the intercept's row and column of A are zero, and only its ridge remains."""
    X = np.random.default_rng(2).normal(size=(30, 3))
    A = graph.build(X).smoothness(X, with_ones(X))
    assert np.abs(A[-1]).max() < 1e-12
    assert np.abs(A[:, -1]).max() < 1e-12
    assert np.linalg.eigvalsh(A[:-1, :-1]).min() > 1e-3
    precision = LogisticTruth(graph, intercept_variance=4.0).prepare(X, with_ones(X)).precision
    np.testing.assert_allclose(precision[-1], [0, 0, 0, 0.25], atol=1e-12)


def test_eq_11_truth_and_weights_together():
    """Printed: p(Z, ξ|X) = Π_i p(z_i|ξ, x_i) p(ξ|X). Built: the prior once, the truth once an item."""
    truth, Z = lgp(), [1, 0, 0, 1, 1, 0]
    certain = truth.posterior(COLUMN, TINY.features, TableEvidence(1e3 * np.eye(2)[Z]))
    found = truth.expected_log_truth(COLUMN, TINY.features, certain)[0] + truth.log_prior(COLUMN)[0]
    items = sum(np.log(models.truth(z, x, XI)) for z, x in zip(Z, TINY.features, strict=True))
    assert found == pytest.approx(items + log_p_xi(XI), abs=1e-10)


@every_annotator
def test_eq_11_summing_over_z_gives_the_likelihood_of_lgp(annotators, say):
    """Printed: p(Y_L, ξ|X) = p(ξ|X) Π_i Σ_z p(z|ξ,x) Π_t p(y|x,z). Built: marginal and prior, added."""
    model, at = Model(annotators, lgp()), Parameters(THETA, COLUMN)
    found = marginal(TINY.items, model, at)[0] + model.truth.log_prior(COLUMN)[0]
    expected = models.marginal(TINY.features, TINY.Y_L, XI, say) + log_p_xi(XI)
    assert found == pytest.approx(expected, abs=1e-10)


@every_annotator
def test_eq_12_posterior_equals_enumeration(annotators, say):
    """Printed: p̃(z_i) ∝ p(ξ|X) p(z_i|x_i, ξ) Π_t p(y|x_i,z_i). Built: p(ξ|X) cancels."""
    for strength in (0.0, 50.0):
        found = e_step(TINY.items, Model(annotators, lgp(strength)), Parameters(THETA, COLUMN))
        expected = models.posterior(TINY.features, TINY.Y_L, XI, say)
        np.testing.assert_allclose(found.mean, expected, atol=1e-10)


@every_annotator
def test_eq_13_truth_counts_once_an_item(annotators, say):
    """Printed: Q has log p(z_i|ξ,x_i), and log p(ξ|X), inside Σ_t: |𝒯_i| times. Built: once an item, once."""
    model = Model(annotators, lgp())
    work = TINY.items, e_step(TINY.items, model, Parameters(THETA, COLUMN))
    found = expected_log_lik(work, model, THETA)[0] + expected_log_truth(work, model, COLUMN)[0]
    q, labels = work[1].mean, TINY.Y.labels_per_item
    once = models.Q(TINY.features, TINY.Y_L, XI, say, q)
    printed = models.Q(TINY.features, TINY.Y_L, XI, say, q, times=lambda i: labels[i])
    assert found == pytest.approx(once, abs=1e-10)
    assert abs(printed - once) > 0.1


@every_annotator
def test_eq_13_counting_the_truth_once_is_what_raises_the_marginal(annotators, say):
    """Built: the gradient of Q counted once is that of Eq. (6); counted as printed it points elsewhere."""
    model = Model(annotators, lgp())
    q = e_step(TINY.items, model, Parameters(THETA, COLUMN)).mean
    labels = TINY.Y.labels_per_item
    of_marginal = slope(lambda xi: models.marginal(TINY.features, TINY.Y_L, xi, say), XI)
    once = slope(lambda xi: models.Q(TINY.features, TINY.Y_L, xi, say, q), XI)
    printed = slope(lambda xi: models.Q(TINY.features, TINY.Y_L, xi, say, q, times=lambda i: labels[i]), XI)
    np.testing.assert_allclose(once, of_marginal, atol=1e-6)
    assert np.abs(printed - of_marginal).max() > 0.01


@every_annotator
def test_eq_13_the_m_step_raises_q(annotators, say):
    """Built: θ and then ξ maximise Q with the priors, at a frozen posterior; the gradient there is zero."""
    items, model = TINY.items, Model(annotators, lgp())
    at = Parameters(THETA, COLUMN)
    work = items, e_step(items, model, at)

    def q_and_gradient(p):
        prior, prior_theta, prior_xi = log_prior(model, p)
        (lik, d_theta), (tru, d_xi) = (expected_log_lik(work, model, p.theta), expected_log_truth(work, model, p.xi))
        return lik + tru + prior, d_theta + prior_theta, d_xi + prior_xi

    new = m_step(model, [items], [work[1]], at, Serial())
    before, after = q_and_gradient(at), q_and_gradient(new)
    assert after[0] > before[0]
    assert np.abs(after[1]).max() < 2e-3 * np.abs(before[1]).max()
    assert np.abs(after[2]).max() < 2e-3 * np.abs(before[2]).max()


@every_annotator
def test_eq_13_last_gradients_of_the_paper_are_em_gradients(annotators, say):
    """Printed: ∂f/∂ξ, ∂f/∂θ_s as ratios of sums over z: gradients of the marginal, not of Q.

    Built: one function for both, since by Fisher's identity they agree at the current posterior; checked
    against the printed ratios, written out, and against differences of the enumerated marginal.
    """
    model, at = Model(annotators, lgp()), Parameters(THETA, COLUMN)
    _, d_theta, d_xi = marginal(TINY.items, model, at)

    def of_xi(xi):
        return models.marginal(TINY.features, TINY.Y_L, xi, say)

    def of_theta(theta):
        bernoulli = isinstance(annotators, BernoulliAnnotators)
        said = models.bernoulli(theta) if bernoulli else models.gaussian(theta, FLOOR)
        return models.marginal(TINY.features, TINY.Y_L, XI, said)

    np.testing.assert_allclose(d_xi[:, 0], slope(of_xi, XI), atol=1e-7)
    np.testing.assert_allclose(d_theta, slope(of_theta, THETA), atol=1e-7)

    printed = np.zeros(3)
    for i, x in enumerate(TINY.features):
        p = expit(XI @ x)
        L0, L1 = (models.likelihood(i, z, TINY.features, TINY.Y_L, say) for z in (0, 1))
        printed += p * (1 - p) * (L1 - L0) / ((1 - p) * L0 + p * L1) * x
    np.testing.assert_allclose(d_xi[:, 0], printed, atol=1e-10)
