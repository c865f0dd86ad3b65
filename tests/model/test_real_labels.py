"""Real-valued labels: LinearTruth and BiasedAnnotators against dense Gaussian algebra and differences."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone

from tests.model.worlds import with_row
from tests.reference.worlds import slope, with_ones
from whoknows.data.annotations import Annotations
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, log_prior, marginal
from whoknows.fit.solve import parameters_of, solve
from whoknows.model.annotators.gaussian import BiasedAnnotators
from whoknows.model.annotators.population import Population
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.gaussian import Belief
from whoknows.model.graph import KnnGraph
from whoknows.model.posterior import GaussianPosterior
from whoknows.model.settings import NotCompatible
from whoknows.model.truth.linear import LinearTruth
from whoknows.model.truth.logistic import LogisticTruth

N, T = 14, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
FEATURES = with_ones(X)
MATRIX = RNG.normal(size=(N, T))
MATRIX[RNG.random((N, T)) < 0.4] = np.nan
MATRIX[-2:] = np.nan  # two items without a label
Y = Annotations.from_matrix(MATRIX)
ITEMS = Items(FEATURES, FEATURES, Y)
POSTERIOR = GaussianPosterior(RNG.normal(size=N), RNG.uniform(0.1, 1, size=N))
PIECES = {
    "default": BiasedAnnotators(),
    "constant": BiasedAnnotators(varies_with_x=False),
    "another crowd": BiasedAnnotators(
        sigma_floor=0.0, bias_variance=2.0, population=Population(centre=0.3, deviation_variance=0.1)
    ),
}
TRUTHS = {
    "plain": LinearTruth(),
    "graph": LinearTruth(graph=KnnGraph(k=3), strength=2.0, variance=3.0),
    "sure": LinearTruth(variance=0.2, intercept_variance=0.5, noise=0.1, log_noise_variance=0.3),
}
every_piece = pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES.keys())
every_truth = pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS.keys())


def some_theta(piece, seed=3):
    start = piece.init(3, T)
    return start + 0.5 * np.random.default_rng(seed).normal(size=start.shape)


def say(piece, theta, i, t):
    """Bias and σ of annotator t on item i, from the formula."""
    *w, gamma, bias = theta[t]
    w = w if piece.varies_with_x else [0.0, 0.0]
    return bias, piece.sigma_floor + np.exp(X[i] @ w + gamma)


def labels():
    return [(i, t, MATRIX[i, t]) for i, t in np.argwhere(~np.isnan(MATRIX))]


def prepared(truth):
    return truth.prepare(X, FEATURES)


class Dense:
    """z and all labels as one Gaussian vector, weights integrated out: covariance XR⁻¹Xᵀ + s²I and so on."""

    def __init__(self, truth, piece, theta, xi):
        self.of_z = FEATURES @ np.linalg.inv(truth.precision) @ FEATURES.T + np.exp(xi[0]) * np.eye(N)
        self.pick = np.array([np.eye(N)[i] for i, _, _ in labels()])
        said = np.array([say(piece, theta, i, t) for i, t, _ in labels()])
        self.surprise = np.array([y for *_, y in labels()]) - said[:, 0]
        self.of_y = self.pick @ self.of_z @ self.pick.T + np.diag(said[:, 1] ** 2)

    def conditioned(self):
        gain = self.of_z @ self.pick.T @ np.linalg.inv(self.of_y)
        return gain @ self.surprise, np.diag(self.of_z - gain @ self.pick @ self.of_z)

    def log_marginal(self):
        return multivariate_normal(np.zeros(len(self.of_y)), self.of_y).logpdf(self.surprise)


@every_piece
class TestAnnotators:
    def test_theta_starts_with_everybody_alike_and_unbiased(self, piece):
        theta = piece.init(3, T)
        assert theta.shape == (T + 1, 4 if piece.varies_with_x else 2)
        assert np.all(theta == theta[-1])
        assert np.all(piece.bias(theta) == 0)

    def test_evidence_is_the_sum_of_log_densities(self, piece):
        theta = some_theta(piece)
        evidence = piece.evidence(theta, FEATURES, Y)
        for z in (-1.3, 0.0, 2.0):
            found = -0.5 * evidence.precision * z**2 + evidence.pull * z + evidence.constant
            expected = np.zeros(N)
            for i, t, y in labels():
                bias, sigma = say(piece, theta, i, t)
                expected[i] += norm(z + bias, sigma).logpdf(y)
            np.testing.assert_allclose(found, expected, atol=1e-10)

    def test_expected_log_likelihood_is_the_density_averaged_over_z(self, piece):
        theta = some_theta(piece)
        value, _ = piece.expected_log_lik(theta, FEATURES, Y, POSTERIOR)
        nodes, weights = np.polynomial.hermite_e.hermegauss(7)
        expected = 0.0
        for i, t, y in labels():
            bias, sigma = say(piece, theta, i, t)
            z = POSTERIOR.mean[i] + np.sqrt(POSTERIOR.variance[i]) * nodes
            expected += weights @ norm(z + bias, sigma).logpdf(y) / np.sqrt(2 * np.pi)
        assert value == pytest.approx(expected, abs=1e-9)

    def test_gradients_match_differences(self, piece):
        theta = some_theta(piece)
        _, gradient = piece.expected_log_lik(theta, FEATURES, Y, POSTERIOR)
        numeric = slope(lambda at: piece.expected_log_lik(at, FEATURES, Y, POSTERIOR)[0], theta)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)
        _, gradient = piece.log_prior(theta)
        np.testing.assert_allclose(gradient, slope(lambda at: piece.log_prior(at)[0], theta), atol=1e-5)
        assert np.abs(gradient).min() > 0

    def test_the_prior_is_the_populations_and_a_gaussian_for_biases(self, piece):
        theta = some_theta(piece)
        shifted = theta.copy()
        shifted[:, -1] = 0
        change = piece.log_prior(theta)[0] - piece.log_prior(shifted)[0]
        assert change == pytest.approx(-0.5 * (theta[:, -1] ** 2).sum() / piece.bias_variance)
        assert piece.log_prior(shifted)[0] == pytest.approx(
            piece.population.log_prior(theta[:, :-1], theta.shape[1] - 2)[0]
        )

    @pytest.mark.parametrize("n_chunks", [2, 7])
    def test_sums_over_chunks_add_up(self, piece, n_chunks):
        theta, value, gradient = some_theta(piece), 0.0, 0.0
        for rows in Y.chunks(n_chunks):
            part = GaussianPosterior(POSTERIOR.mean[rows], POSTERIOR.variance[rows])
            v, g = piece.expected_log_lik(theta, FEATURES[rows], Y[rows], part)
            value, gradient = value + v, gradient + g
        whole = piece.expected_log_lik(theta, FEATURES, Y, POSTERIOR)
        assert value == pytest.approx(whole[0], abs=1e-9)
        np.testing.assert_allclose(gradient, whole[1], atol=1e-9)

    def test_permuting_annotators_permutes_their_gradients(self, piece):
        theta, order = some_theta(piece), np.array([2, 0, 3, 1])
        there, moved = Annotations.from_matrix(MATRIX[:, order]), np.vstack([theta[:-1][order], theta[-1:]])
        value, gradient = piece.expected_log_lik(theta, FEATURES, Y, POSTERIOR)
        same, permuted = piece.expected_log_lik(moved, FEATURES, there, POSTERIOR)
        assert same == pytest.approx(value, abs=1e-9)
        np.testing.assert_allclose(permuted[:-1], gradient[:-1][order], atol=1e-9)

    def test_scale_and_coefficients_say_the_same(self, piece):
        theta = some_theta(piece)
        w, gamma = piece.coefficients(theta, 3)
        assert (w.shape, gamma.shape) == ((T + 1, 2), (T + 1,))
        np.testing.assert_allclose(piece.scale(theta, FEATURES), piece.sigma_floor + np.exp(X @ w.T + gamma))

    def test_a_stranger_has_the_crowds_scale_and_a_bias_nobody_knows(self, piece):
        theta = some_theta(piece)
        theta[-1, -1] = 0
        stranger = replace(Y, annotator=np.full_like(Y.annotator, -1))
        sigma = piece.scale(theta, FEATURES)[Y.item, -1]
        expected = np.bincount(Y.item, 1 / (sigma**2 + piece.bias_variance), minlength=N)
        np.testing.assert_allclose(piece.evidence_at(Belief(theta), FEATURES, stranger).precision, expected)
        known = piece.evidence_at(Belief(theta), FEATURES, Y)
        np.testing.assert_allclose(known.precision, piece.evidence(theta, FEATURES, Y).precision)

    def test_extreme_coefficients_stay_finite(self, piece):
        theta = some_theta(piece) * 300
        piece = replace(piece, sigma_floor=0.05)
        value, gradient = piece.expected_log_lik(theta, FEATURES, Y, POSTERIOR)
        assert np.isfinite(value)
        assert np.all(np.isfinite(gradient))
        assert np.all(np.isfinite(piece.evidence(theta, FEATURES, Y).constant))

    def test_integer_labels_are_numbers_too(self, piece):
        whole = Annotations.from_matrix([[1, 3], [4, np.nan]])
        assert whole.labels.dtype.kind == "i"
        evidence = piece.evidence(piece.init(1, 2), np.ones((2, 1)), whole)
        np.testing.assert_allclose(evidence.pull / evidence.precision, [2, 4])


@every_truth
class TestTruth:
    def test_the_posterior_is_dense_joint_gaussian_conditioning(self, truth):
        truth, xi = prepared(truth), np.array([-0.7])
        for piece in PIECES.values():
            theta = some_theta(piece)
            posterior = truth.posterior(xi, FEATURES, piece.evidence(theta, FEATURES, Y))
            dense = Dense(truth, piece, theta, xi)
            mean, variance = dense.conditioned()
            np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)
            np.testing.assert_allclose(posterior.variance, variance, atol=1e-9)
            assert posterior.log_marginal == pytest.approx(dense.log_marginal(), abs=1e-8)

    def test_given_the_weights_precisions_of_truth_and_labels_add_up(self, truth):
        certain = prepared(replace(truth, graph=None, variance=1e-12, intercept_variance=1e-12))
        evidence = PIECES["default"].evidence(some_theta(PIECES["default"]), FEATURES, Y)
        posterior = certain.posterior(np.array([-0.7]), FEATURES, evidence)
        np.testing.assert_allclose(1 / posterior.variance, np.exp(0.7) + evidence.precision, rtol=1e-8)

    def test_the_prior_of_the_weights_is_that_of_logistic_truth(self, truth):
        other = LogisticTruth(truth.graph, truth.strength, truth.variance, truth.intercept_variance)
        np.testing.assert_array_equal(prepared(truth).precision, other.prepare(X, FEATURES).precision)

    def test_residual_is_the_expected_square_by_brute_force(self, truth):
        """Draw weights from their posterior, z given them, and look."""
        truth, xi, rng = prepared(truth), np.array([-0.7]), np.random.default_rng(1)
        evidence = PIECES["default"].evidence(some_theta(PIECES["default"]), FEATURES, Y)
        posterior = truth.posterior(xi, FEATURES, evidence)
        weights = rng.multivariate_normal(posterior.weights.mean, posterior.weights.covariance, 40_000)
        precision = np.exp(0.7) + evidence.precision
        f = weights @ FEATURES.T
        z = (f * np.exp(0.7) + evidence.pull) / precision + rng.normal(size=f.shape) / np.sqrt(precision)
        np.testing.assert_allclose(z.mean(axis=0), posterior.mean, atol=0.03)
        np.testing.assert_allclose(z.var(axis=0), posterior.variance, rtol=0.05)
        np.testing.assert_allclose(((z - f) ** 2).mean(axis=0), posterior.residual, rtol=0.05)

    def test_gradients_match_differences(self, truth):
        truth, xi = prepared(truth), np.array([-0.7])
        evidence = PIECES["default"].evidence(some_theta(PIECES["default"]), FEATURES, Y)
        posterior = truth.posterior(xi, FEATURES, evidence)
        _, gradient = truth.expected_log_truth(xi, FEATURES, posterior)
        numeric = slope(lambda at: truth.expected_log_truth(at, FEATURES, posterior)[0], xi)
        np.testing.assert_allclose(gradient, numeric, atol=1e-6)
        numeric = slope(lambda at: truth.posterior(at, FEATURES, evidence).log_marginal, xi)
        np.testing.assert_allclose(gradient, numeric, atol=1e-6, err_msg="Fisher's identity")
        _, gradient = truth.log_prior(xi)
        np.testing.assert_allclose(gradient, slope(lambda at: truth.log_prior(at)[0], xi), atol=1e-6)

    def test_items_without_evidence_change_nothing(self, truth):
        truth, xi, seen = prepared(truth), np.array([-0.7]), Y.labelled
        piece = PIECES["default"]
        theta = some_theta(piece)
        whole = truth.posterior(xi, FEATURES, piece.evidence(theta, FEATURES, Y))
        part = truth.posterior(xi, FEATURES[seen], piece.evidence(theta, FEATURES[seen], Y[seen]))
        assert part.log_marginal == pytest.approx(whole.log_marginal)
        np.testing.assert_allclose(part.mean, whole.mean[seen])

    def test_predictions_are_dense_conditioning_at_a_new_x(self, truth):
        truth, xi, piece = prepared(truth), np.array([-0.7]), PIECES["default"]
        theta = some_theta(piece)
        known = self.known(truth, xi, theta)
        new = with_ones(np.random.default_rng(5).normal(size=(6, 2)) * 3)
        dense = Dense(truth, piece, theta, xi)
        R_inverse = np.linalg.inv(truth.precision)
        cross = new @ R_inverse @ FEATURES.T @ dense.pick.T
        gain = cross @ np.linalg.inv(dense.of_y)
        prior = np.einsum("ij,ij->i", new @ R_inverse, new) + np.exp(xi[0])
        predicted = truth.predict(known, new)
        np.testing.assert_allclose(predicted.mean, gain @ dense.surprise, atol=1e-8)
        np.testing.assert_allclose(predicted.variance, prior - np.einsum("ij,ij->i", gain, cross), rtol=1e-7, atol=1e-9)

    def test_the_posterior_of_the_items_of_the_fit_is_that_of_the_fit(self, truth):
        """Their labels are in the weights already and must not count twice."""
        truth, xi, piece = prepared(truth), np.array([-0.7]), PIECES["default"]
        theta = some_theta(piece)
        evidence = piece.evidence(theta, FEATURES, Y)
        exact = truth.posterior(xi, FEATURES, evidence)
        again = truth.posterior_at(self.known(truth, xi, theta), FEATURES, evidence)
        np.testing.assert_allclose(again.mean, exact.mean, atol=1e-8)
        np.testing.assert_allclose(again.variance, exact.variance, atol=1e-8)

    def test_other_labels_of_an_item_of_the_fit_replace_the_old_ones(self, truth):
        truth, xi, piece = prepared(truth), np.array([-0.7]), PIECES["default"]
        theta = some_theta(piece)
        old = piece.evidence(theta, FEATURES, Y)
        fresh = QuadraticEvidence(np.array([2.0]), np.array([5.0]), np.array([0.3]))
        replaced = with_row(old, 3, fresh)
        exact = truth.posterior(xi, FEATURES, replaced)
        known = self.known(truth, xi, theta)
        found = truth.posterior_at(known, FEATURES[3:4], fresh)
        assert found.mean[0] == pytest.approx(exact.mean[3], abs=1e-8)
        assert found.variance[0] == pytest.approx(exact.variance[3], abs=1e-8)
        without = with_row(old, 3, QuadraticEvidence(*np.zeros((3, 1))))
        others = truth.posterior(xi, FEATURES, without).log_marginal
        assert truth.log_density(known, FEATURES[3:4], fresh)[0] == pytest.approx(exact.log_marginal - others, abs=1e-8)

    def test_twins_keep_their_own_labels(self, truth):
        twice = np.vstack([FEATURES[:5], FEATURES[:5]])
        rng = np.random.default_rng(2)
        evidence = QuadraticEvidence(rng.uniform(1, 9, 10), rng.normal(size=10), np.zeros(10))
        truth, xi = prepared(truth), np.array([-0.7])
        exact = truth.posterior(xi, twice, evidence)
        again = truth.posterior_at(truth.state(xi, exact, evidence, twice), twice, evidence)
        np.testing.assert_allclose(again.mean, exact.mean, atol=1e-8)

    def test_settings_survive(self, truth):
        before = str(clone(truth).get_params())
        prepared(truth)
        assert str(truth.get_params()) == before

    @staticmethod
    def known(truth, xi, theta):
        evidence = PIECES["default"].evidence(theta, FEATURES, Y)
        return truth.state(xi, truth.posterior(xi, FEATURES, evidence), evidence, FEATURES)


def fit(solver, model, items, max_iter=3000, tol=1e-11):
    monitor = Monitor(max_iter, tol)
    return parameters_of(model, solve(model, items, None, monitor, solver)), monitor


@every_truth
class TestFit:
    def test_gradient_of_the_marginal_matches_differences(self, truth):
        """θ and ξ together, priors included: the objective of both solvers."""
        model = Model(PIECES["default"], prepared(truth))
        at = Parameters(some_theta(model.annotators), np.array([-0.7]))

        def objective(flat):
            parameters = at.unflatten(flat)
            return marginal(ITEMS, model, parameters)[0] + log_prior(model, parameters)[0]

        (_, *likelihood), (_, *prior) = marginal(ITEMS, model, at), log_prior(model, at)
        gradient = np.concatenate([(a + b).ravel() for a, b in zip(likelihood, prior, strict=True)])
        np.testing.assert_allclose(gradient, slope(objective, at.flatten()), rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("solver", ["em", "lbfgs"])
    @every_piece
    def test_the_bound_never_falls(self, truth, piece, solver):
        _, monitor = fit(solver, Model(replace(piece, sigma_floor=0.05), prepared(truth)), ITEMS)
        assert len(monitor.history) > 3
        assert np.diff(monitor.history).min() >= -1e-9 * np.abs(monitor.history[-1])

    def test_em_and_lbfgs_reach_the_same_maximum(self, truth):
        model = Model(PIECES["default"], prepared(truth))
        (em, here), (lbfgs, there) = (fit(solver, model, ITEMS) for solver in ("em", "lbfgs"))
        assert here.history[-1] == pytest.approx(there.history[-1], abs=1e-5)
        np.testing.assert_allclose(em.theta, lbfgs.theta, atol=0.02)
        np.testing.assert_allclose(em.xi, lbfgs.xi, atol=0.02)

    def test_an_annotator_without_labels_gets_the_crowds_coefficients(self, truth):
        silent = Annotations.from_matrix(np.column_stack([MATRIX, np.full(N, np.nan)]))
        model = Model(PIECES["default"], prepared(truth))
        for solver in ("em", "lbfgs"):
            theta = fit(solver, model, Items(FEATURES, FEATURES, silent))[0].theta
            np.testing.assert_allclose(theta[4], theta[5], atol=1e-4)
            assert theta[5, -1] == 0, "the crowd has no bias"
            assert np.abs(theta[:4] - theta[5]).max() > 1e-3


def test_a_bias_of_everybody_is_the_truths_intercept():
    model = Model(BiasedAnnotators(), prepared(LinearTruth(intercept_variance=1e6)))
    shifted = replace(Y, labels=Y.labels + 5)
    here, there = (fit("lbfgs", model, replace(ITEMS, Y=said))[0] for said in (replace(Y, labels=Y.labels), shifted))
    np.testing.assert_allclose(there.theta, here.theta, atol=0.02)


@pytest.mark.parametrize("piece", [LinearTruth(), BiasedAnnotators()], ids=repr)
def test_classes_are_refused(piece):
    with pytest.raises(NotCompatible, match="Use CrowdRegressor"):
        piece.for_classes(2)


def test_settings_that_mean_nothing_are_refused():
    for piece in (BiasedAnnotators(sigma_floor=1.0), BiasedAnnotators(bias_variance=0), LinearTruth(noise=0)):
        with pytest.raises(ValueError, match="must be a number"):
            piece.check()


def test_unprepared_truth_says_so():
    with pytest.raises(RuntimeError, match="call prepare"):
        LinearTruth().precision  # noqa: B018


# --- biases integrated out ----------------------------------------------------------------------------


def dense(truth, piece, theta, noise, features, labels):
    """Mean and covariance of ω, b and z given labels (i, t, y), and log p(labels): dense Gaussian algebra."""
    (n, p), R = features.shape, np.linalg.inv(truth.precision)
    prior = np.zeros((p + T + n, p + T + n))
    prior[:p, :p], prior[p : p + T, p : p + T] = R, piece.bias_variance * np.eye(T)
    prior[:p, p + T :] = R @ features.T
    prior[p + T :, :p] = prior[:p, p + T :].T
    prior[p + T :, p + T :] = features @ R @ features.T + noise * np.eye(n)
    sigma, y = piece.scale(theta, features), np.array([y for _, _, y in labels])
    H, spread = np.zeros((len(y), len(prior))), np.zeros(len(y))
    for row, (i, t, _) in enumerate(labels):
        H[row, p + T + i] = 1
        spread[row] = sigma[i, t] ** 2 + (piece.bias_variance if t < 0 else 0)
        if t >= 0:
            H[row, p + t] = 1
    K = H @ prior @ H.T + np.diag(spread)
    gain = prior @ H.T @ np.linalg.inv(K)
    return gain @ y, prior - gain @ H @ prior, multivariate_normal(np.zeros(len(y)), K).logpdf(y)


def listed(matrix):
    return [(i, t, matrix[i, t]) for i, t in np.argwhere(np.isfinite(matrix))]


@every_truth
def test_biases_are_integrated_out_exactly(truth):
    """Of training items with their labels and with others, of new items, and of an annotator not seen in training."""
    piece, truth, xi = PIECES["default"], prepared(truth), np.array([-1.1])
    theta, noise, p = some_theta(piece), np.exp(-1.1), FEATURES.shape[1]
    theta[-1, -1] = 0.0  # of the population
    theta[:T, -1] = dense(truth, piece, theta, noise, FEATURES, listed(MATRIX))[0][p : p + T]  # as a fit does

    def evidence(features, labels):
        item, annotator, y = map(np.array, zip(*labels, strict=True))
        levels, code = np.unique(y, return_inverse=True)
        codes = (item.astype(np.int32), annotator.astype(np.int32), code.astype(np.int32))
        said = Annotations(*codes, np.arange(len(features)), np.arange(T), levels)
        return piece.evidence_at(Belief(theta), features, said)

    given = evidence(FEATURES, listed(MATRIX))
    state = truth.state(xi, truth.posterior(xi, FEATURES, given), given, FEATURES)
    mean, covariance, _ = dense(truth, piece, theta, noise, FEATURES, listed(MATRIX))
    again = truth.posterior_at(state, FEATURES, given)
    np.testing.assert_allclose(state.joint, covariance[: p + T, : p + T], atol=1e-10)
    np.testing.assert_allclose(again.mean, mean[p + T :], atol=1e-10)
    np.testing.assert_allclose(again.variance, np.diag(covariance)[p + T :], atol=1e-10)

    features = np.vstack([FEATURES, [0.3, -0.8, 1.0]])
    for i, now in ((0, [(2, 0.9)]), (1, [(0, 0.1), (-1, 1.5)]), (N, [(0, 0.4), (3, -2.0), (-1, 0.7)])):
        others = [label for label in listed(MATRIX) if label[0] != i]
        before = dense(truth, piece, theta, noise, features, others)
        after = dense(truth, piece, theta, noise, features, others + [(i, t, y) for t, y in now])
        own = evidence(features[[i]], [(0, t, y) for t, y in now])
        found = truth.posterior_at(state, features[[i]], own)
        assert found.mean[0] == pytest.approx(after[0][p + T + i], abs=1e-9)
        assert found.variance[0] == pytest.approx(after[1][p + T + i, p + T + i], abs=1e-9)
        assert truth.log_density(state, features[[i]], own)[0] == pytest.approx(after[2] - before[2], abs=1e-9)


def test_of_very_many_annotators_biases_are_taken_as_estimated(monkeypatch):
    monkeypatch.setattr("whoknows.model.truth.biases.MOST_BIASES", T - 1)
    truth, piece, xi = prepared(LinearTruth()), PIECES["default"], np.array([-1.1])
    given = piece.evidence_at(Belief(some_theta(piece)), FEATURES, Y)
    state = truth.state(xi, truth.posterior(xi, FEATURES, given), given, FEATURES)
    assert state.joint is state.evidence.by_annotator is None
