"""Equations (1) to (8): models ID and GP, their likelihoods, bounds and posteriors."""

import numpy as np
import pytest

from tests.reference import models
from tests.reference.worlds import slope, world
from whoknows.fit.items import Items
from whoknows.fit.objective import Model, Parameters, e_step, marginal
from whoknows.model.annotators import BernoulliAnnotators, GaussianAnnotators
from whoknows.model.graph import GaussianGraph, PrecomputedGraph
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.truth import GraphTruth, LogisticTruth

TINY = world(n_items=6, n_annotators=3, n_features=2, unlabelled=1, seed=3)
FULL = world(n_items=4, n_annotators=3, n_features=2, asked=1.0, unlabelled=0, seed=4)
RNG = np.random.default_rng(5)
XI = RNG.normal(size=3)
COLUMN = XI[:, None]  # ξ of a single output
THETA = RNG.normal([0, 0, 0.5], size=(4, 3))
BIAS = RNG.normal(size=4)
FLOOR = 0.3
SIGMA = np.array([[1.5, 0.4], [0.4, 0.6]])
REAL = RNG.normal(size=(3, 6))  # three truths of model GP

ANNOTATORS = {
    "gaussian": (GaussianAnnotators(sigma_floor=FLOOR), THETA, models.gaussian(THETA, FLOOR)),
    "one coin": (BernoulliAnnotators(), THETA, models.bernoulli(THETA)),
    "two coins": (BernoulliAnnotators(two_coin=True), np.column_stack([THETA, BIAS]), models.bernoulli(THETA, BIAS)),
}
every_annotator = pytest.mark.parametrize(("annotators", "theta", "say"), ANNOTATORS.values(), ids=ANNOTATORS.keys())


def log_joint(w, annotators, theta, Z):
    """Eqs. (1), (2) from whoknows' pieces: truth's log p(z|x) and the table of evidence, read at Z."""
    certain = CategoricalPosterior(np.eye(2)[Z])
    evidence = annotators.evidence(theta, w.features, w.Y).table
    return LogisticTruth().expected_log_truth(COLUMN, w.features, certain)[0] + evidence[range(len(Z)), Z].sum()


@every_annotator
def test_eq_01_joint_of_labels_and_truth(annotators, theta, say):
    """Printed: p(Y, Z | X) = Π_i p(z_i|x_i) Π_t p(y_i^(t)|x_i, z_i). Built: the same, in log space."""
    for Z in ([0, 0, 0, 0], [1, 0, 1, 1], [1, 1, 1, 1]):
        expected = np.log(models.joint(Z, FULL.features, FULL.Y_L, XI, say))
        assert log_joint(FULL, annotators, theta, Z) == pytest.approx(expected, abs=1e-10)


@every_annotator
def test_eq_02_missing_labels_take_no_part(annotators, theta, say):
    """Printed: the product over t runs over 𝒯_i, who labelled item i. Built: a sum over observed triples."""
    assert len(TINY.Y_L) < TINY.matrix.size
    for Z in ([0, 0, 0, 0, 0, 0], [1, 0, 1, 1, 0, 1]):
        expected = np.log(models.joint(Z, TINY.features, TINY.Y_L, XI, say))
        assert log_joint(TINY, annotators, theta, Z) == pytest.approx(expected, abs=1e-10)


@every_annotator
def test_eq_02_an_item_without_labels_is_ignored(annotators, theta, say):
    """Printed: p(Y_L | X) does not depend on z_k when 𝒯_k is empty. Built: nor do the gradients."""
    whole, model = TINY.items, Model(annotators, LogisticTruth())
    seen = whole.labelled()
    assert seen.Y.n_items == 5
    for ours, theirs in zip(
        marginal(whole, model, Parameters(theta, COLUMN)), marginal(seen, model, Parameters(theta, COLUMN)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_eq_03_prior_energy_is_the_squared_difference_along_edges():
    """Printed: p(Z|X) ∝ exp(−ZᵀΔZ / 2λ). Built: Δ over the mean degree, so ½ Σφ(z_i − z_j)² over it."""
    Phi, Z = models.weights(TINY.X, SIGMA), REAL[0]
    Delta = GaussianGraph(metric=SIGMA).build(TINY.X).laplacian()
    assert Z @ Delta @ Z == pytest.approx(models.energy(Z, Phi) / Phi.sum(axis=1).mean(), rel=1e-12)


def test_eq_03_prior_covariance_is_lambda_over_the_laplacian():
    """Built: Δ is singular, so Z has covariance λ (Δ + jitter)⁻¹; its energy is ZᵀΔZ/λ and the jitter's."""
    truth = GraphTruth(GaussianGraph(metric=SIGMA), lam=0.7, jitter=0.02).prepare(TINY.X)
    Phi, Z = models.weights(TINY.X, SIGMA), REAL[0]
    scaled = models.energy(Z, Phi) / Phi.sum(axis=1).mean()
    assert Z @ np.linalg.solve(truth.covariance, Z) == pytest.approx((scaled + 0.02 * Z @ Z) / 0.7)


def test_eq_04_gaussian_weights_for_any_positive_definite_metric():
    """Printed: φ_ij ∝ exp(−(x_i − x_j)ᵀ Σ (x_i − x_j)). Built: the same, with a zero diagonal."""
    built = GaussianGraph(metric=SIGMA).build(TINY.X)
    np.testing.assert_allclose(built.Phi, models.weights(TINY.X, SIGMA), atol=1e-12)


def test_eq_04_without_a_metric_the_bandwidth_is_a_typical_neighbours_distance():
    """Built: Σ = I/h², h² the median squared distance to the 7th neighbour; the unit of x drops out."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    squared = np.sort(((X[:, None] - X[None]) ** 2).sum(axis=2), axis=1)
    Sigma = np.eye(2) / np.median(squared[:, 7])
    np.testing.assert_allclose(GaussianGraph().build(X).Phi, models.weights(X, Sigma), atol=1e-10)
    np.testing.assert_allclose(GaussianGraph().build(1000 * X).Phi, GaussianGraph().build(X).Phi, atol=1e-10)


def gp_world(jitter=0.02, lam=0.7):
    """Return GP as built, and its prior written down: Eq. (3) with Φ over the mean degree."""
    Phi = models.weights(TINY.X, SIGMA)
    prior = models.graph_prior(Phi / Phi.sum(axis=1).mean(), lam, jitter)
    return GraphTruth(PrecomputedGraph(Phi), lam=lam, jitter=jitter).prepare(TINY.X), prior


def test_eq_05_gp_joint_is_the_prior_times_the_labels():
    """Printed: p(Y_L, Z|X) = p(Z|X) Π_i Π_t p(y|x,z). Built: z real, so evidence is a quadratic in each z."""
    truth, (mean, covariance) = gp_world()
    evidence = GaussianAnnotators(sigma_floor=FLOOR).evidence(THETA, TINY.features, TINY.Y)
    say = models.gaussian(THETA, FLOOR)
    np.testing.assert_allclose(truth.covariance, covariance, atol=1e-10)
    for Z in REAL:
        labels = sum(np.log(say(y, Z[i], TINY.features[i], t)) for i, t, y in TINY.Y_L)
        built = -0.5 * evidence.precision * Z**2 + evidence.pull * Z + evidence.constant
        assert built.sum() == pytest.approx(labels, abs=1e-10)
        log_prior = models.log_normal(Z, mean, covariance)
        ours = models.log_normal(Z, np.full(6, 0.5), truth.covariance)
        assert ours + built.sum() == pytest.approx(log_prior + labels, abs=1e-9)


@every_annotator
def test_eq_06_marginal_equals_enumeration(annotators, theta, say):
    """Printed: log p(Y_L|X) = Σ_i log Σ_z p(z|x_i) Π_t p(y|x_i,z). Built: the same, by logsumexp."""
    found = e_step(TINY.items, Model(annotators, LogisticTruth()), Parameters(theta, COLUMN)).log_marginal
    assert found == pytest.approx(models.marginal(TINY.features, TINY.Y_L, XI, say), abs=1e-10)


@every_annotator
def test_eq_06_jensens_bound_needs_the_weights_and_the_entropy(annotators, theta, say):
    """Printed: log p(Y_L|X) ≥ Σ_i,z [log p(z|x) + Σ_t log p(y|x,z)]. Built: weights p̃, plus p̃'s entropy.

    With them the bound touches the marginal at p̃ of Eq. (7) and lies below it anywhere else.
    """
    items, model = TINY.items, Model(annotators, LogisticTruth())
    best = e_step(items, model, Parameters(theta, COLUMN))

    def bound(q):
        expected = models.Q(TINY.features, TINY.Y_L, XI, say, q.mean)
        return expected + q.entropy.sum()

    assert bound(best) == pytest.approx(best.log_marginal, abs=1e-10)
    for one in np.random.default_rng(0).random((5, 6)):
        assert bound(CategoricalPosterior(np.column_stack([1 - one, one]))) < best.log_marginal


@every_annotator
def test_eq_07_posterior_equals_enumeration(annotators, theta, say):
    """Printed: p̃(z_i) ∝ Π_t p(y|x_i,z_i) p(z_i|x_i). Built: the same."""
    found = e_step(TINY.items, Model(annotators, LogisticTruth()), Parameters(theta, COLUMN))
    np.testing.assert_allclose(found.mean, models.posterior(TINY.features, TINY.Y_L, XI, say), atol=1e-10)


def test_eq_08_gp_marginal_and_posterior_are_exact():
    """Printed: a bound on log p_GP(Y_L|X), with an E-step called exponential.

    Built: the value itself. z real and Eq. (14) make the joint Gaussian, precision Δ/λ + diag(Σ_t σ⁻²).
    """
    truth, prior = gp_world()
    model = Model(GaussianAnnotators(sigma_floor=FLOOR), truth)
    items = Items(TINY.X, TINY.features, TINY.Y)
    found = e_step(items, model, Parameters(THETA, np.zeros(0)))
    mean, covariance, log_marginal = models.gp(prior, TINY.features, TINY.Y_L, THETA, FLOOR)
    np.testing.assert_allclose(found.mean, mean, atol=1e-10)
    np.testing.assert_allclose(found.variance, np.diag(covariance), atol=1e-10)
    assert found.log_marginal == pytest.approx(log_marginal, abs=1e-10)


def test_eq_08_gp_gradient_is_that_of_the_marginal():
    """Built: EM's gradient at the exact posterior is the gradient of log p_GP(Y_L|X) (Fisher's identity)."""
    truth, prior = gp_world()
    model = Model(GaussianAnnotators(sigma_floor=FLOOR), truth)
    items = Items(TINY.X, TINY.features, TINY.Y)
    _, d_theta, _ = marginal(items, model, Parameters(THETA, np.zeros(0)))
    expected = slope(lambda theta: models.gp(prior, TINY.features, TINY.Y_L, theta, FLOOR)[2], THETA)
    np.testing.assert_allclose(d_theta, expected, atol=1e-7)
