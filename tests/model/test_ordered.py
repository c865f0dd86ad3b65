"""Ordered labels: OrderedTruth and OrderedAnnotators against loops, differences and simulated scores."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax
from scipy.stats import norm

from tests.contracts.annotator_contract import AnnotatorContract, Case, ClassAnnotatorContract
from tests.contracts.truth_contract import Case as TruthCase
from tests.contracts.truth_contract import TruthContract
from tests.model.worlds import variance_without_item
from tests.reference.worlds import slope, with_ones
from whoknows.data.annotations import Annotations
from whoknows.fit.items import Items
from whoknows.fit.lbfgs import maximize
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, marginal
from whoknows.fit.solve import solve
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators, Population
from whoknows.model.annotators import ordered as annotators_module
from whoknows.model.annotators.ordered import OrderedAnnotators
from whoknows.model.evidence import TableEvidence
from whoknows.model.gaussian import Belief, belief_about
from whoknows.model.graph import KnnGraph
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.truth import LogisticTruth
from whoknows.model.truth.ordered import OrderedTruth

K, T, N = 4, 4, 14
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
FEATURES = with_ones(X)
MATRIX = np.clip(np.round(1.5 + X[:, :1] + RNG.normal(size=(N, T))), 0, K - 1)
MATRIX[RNG.random((N, T)) < 0.4] = np.nan
MATRIX[-2:] = np.nan  # two items without a label
Y = Annotations.from_matrix(MATRIX, labels=range(K))
POSTERIOR = CategoricalPosterior(softmax(RNG.normal(size=(N, K)), axis=1))
WEIGHTED = replace(POSTERIOR, weight=RNG.random(N))
PIECES = {
    "default": OrderedAnnotators().for_classes(K),
    "constant": OrderedAnnotators(varies_with_x=False).for_classes(K),
    "another crowd": OrderedAnnotators(bias_variance=2.0, population=Population(centre=0.0)).for_classes(K),
}
TRUTHS = {
    "plain": OrderedTruth(),
    "graph": OrderedTruth(KnnGraph(k=3), strength=2.0, variance=3.0, gap=1.0),
    "sure": OrderedTruth(variance=0.2, intercept_variance=0.5, log_gap_variance=0.1),
}
every_piece = pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES.keys())
every_truth = pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS.keys())


def say(piece, theta, n_levels=K):
    """p(y | x, z, t) of the formula, with loops."""

    def probability(y, z, x, t):
        *w, gamma, b = theta[t]
        eta = gamma + (np.dot(w, x[:-1]) if piece.varies_with_x else 0.0)
        weights = [np.exp(-0.5 * (level - z - b) ** 2 * np.exp(eta)) for level in range(n_levels)]
        return weights[int(y)] / sum(weights)

    return probability


def truth_of(z, f, cuts):
    """P(z | f) of the ordered logit: a difference of logistics, with both ends open."""
    edges = [-np.inf, *cuts, np.inf]
    return expit(edges[z + 1] - f) - expit(edges[z] - f)


def some_theta(piece, seed=3):
    start = piece.init(3, T)
    return start + 0.5 * np.random.default_rng(seed).normal(size=start.shape)


def prepared(truth, n_levels=K):
    return truth.for_classes(n_levels).prepare(X, FEATURES)


def some_xi(truth, seed=4):
    start = truth.init(3)
    return start + np.random.default_rng(seed).normal(size=start.shape)


@pytest.mark.parametrize("piece", [OrderedAnnotators(), OrderedAnnotators(False)], ids=["varying", "constant"])
class TestTwoLevelsKeepTheAnnotatorContract(AnnotatorContract, ClassAnnotatorContract):
    @pytest.fixture
    def case(self, piece):
        return Case(piece, lambda theta: say(piece, theta, 2))

    def test_three_hundred_labels_on_one_item_do_not_underflow(self, case):
        """Of five levels; the contract's annotators would all be a level too severe, of two."""
        piece, rng = case.piece.for_classes(5), np.random.default_rng(0)
        said = rng.choice([1, 2, 3], p=[0.2, 0.6, 0.2], size=(1, 300))
        many = Annotations.from_matrix(said, labels=range(5))
        evidence = piece.evidence(piece.init(3, 300), np.ones((1, 3)), many)
        assert np.exp(evidence.table).max() < 1e-40
        assert softmax(evidence.table)[0, 2] > 0.99


@pytest.mark.parametrize("piece", TRUTHS.values(), ids=TRUTHS.keys())
class TestTwoLevelsKeepTheTruthContract(TruthContract):
    @pytest.fixture
    def case(self, piece):
        return TruthCase(piece)


@every_piece
class TestAnnotators:
    def test_evidence_is_the_softmax_of_the_formula(self, piece):
        theta, expected = some_theta(piece), np.zeros((N, K))
        for i, t in np.argwhere(~np.isnan(MATRIX)):
            for z in range(K):
                expected[i, z] += np.log(say(piece, theta)(MATRIX[i, t], z, FEATURES[i], t))
        np.testing.assert_allclose(piece.evidence(theta, FEATURES, Y).table, expected, atol=1e-10)

    def test_labels_of_every_level_have_probabilities_that_sum_to_one(self, piece):
        theta, total = some_theta(piece), 0.0
        for label in range(K):
            one = Annotations.from_matrix(np.full((N, 1), label), labels=range(K))
            total += np.exp(piece.evidence(theta, FEATURES, one).table)
            stranger = replace(one, annotator=np.full(N, -1, dtype=np.int32))
            total += np.exp(piece.evidence_at(Belief(theta), FEATURES, stranger).table)
        np.testing.assert_allclose(total, 2)

    def test_gradients_match_differences(self, piece):
        theta, sure = some_theta(piece), replace(Y, confidence=RNG.random(Y.n_annotations))
        value, gradient = piece.expected_log_lik(theta, FEATURES, sure, WEIGHTED)
        table = piece.evidence(theta, FEATURES, sure).table
        assert value == pytest.approx((WEIGHTED.counts[:, None] * WEIGHTED.prob * table).sum())
        numeric = slope(lambda at: piece.expected_log_lik(at, FEATURES, sure, WEIGHTED)[0], theta)
        np.testing.assert_allclose(gradient, numeric, atol=1e-6)
        numeric = slope(lambda at: piece.log_prior(at)[0], theta)
        np.testing.assert_allclose(piece.log_prior(theta)[1], numeric, atol=1e-6)
        np.testing.assert_allclose(numeric[:, -1], -piece.bias(theta) / piece.bias_variance, atol=1e-6)

    def test_few_labels_at_a_time_are_all_labels_at_once(self, piece, monkeypatch):
        theta = some_theta(piece)

        def answers():
            belief = Belief(theta)
            lik = piece.expected_log_lik(theta, FEATURES, Y, POSTERIOR)
            table = piece.evidence(theta, FEATURES, Y).table
            return [*lik, table, piece.accuracy(belief, FEATURES), piece.confusion(belief, FEATURES)]

        at_once = answers()
        monkeypatch.setattr(annotators_module, "NUMBERS_PER_BLOCK", 5 * K * K)
        for found, expected in zip(answers(), at_once, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_a_stranger_has_the_crowds_spread_and_a_severity_nobody_knows(self, piece):
        theta = some_theta(piece)
        theta[-1, -1] = 0
        grid = np.linspace(-8, 8, 2001) * np.sqrt(piece.bias_variance)
        density = norm(0, np.sqrt(piece.bias_variance)).logpdf(grid) + np.log(grid[1] - grid[0])
        alone = Y.only(np.diff(Y.item, prepend=-1) > 0)  # the first label of each item
        stranger = replace(alone, annotator=np.full_like(alone.annotator, -1))
        at_each = []
        for b in grid:
            moved = theta.copy()
            moved[-1, -1] = b
            at_each.append(piece.evidence(moved, FEATURES, stranger).table)
        expected = logsumexp(np.array(at_each) + density[:, None, None], axis=0)
        found = piece.evidence_at(Belief(theta), FEATURES, stranger).table
        np.testing.assert_allclose(found, expected, atol=2e-3)
        known = piece.evidence_at(Belief(theta), FEATURES, Y).table
        np.testing.assert_array_equal(known, piece.evidence(theta, FEATURES, Y).table)

    def test_accuracy_expertise_and_confusion_say_the_same(self, piece):
        theta = some_theta(piece)
        belief = Belief(theta)
        accuracy, matrices = piece.accuracy(belief, FEATURES), piece.confusion(belief, FEATURES)
        assert accuracy.shape == (N, T + 1, K)
        np.testing.assert_allclose(matrices.sum(axis=2), 1)
        np.testing.assert_allclose(np.diagonal(matrices, axis1=1, axis2=2), accuracy.mean(axis=0))
        np.testing.assert_allclose(piece.confusion(belief_about(belief, 2), FEATURES)[0], matrices[2])
        expertise = piece.expertise(belief, FEATURES, POSTERIOR.prob)
        np.testing.assert_allclose(expertise[:, 1], (accuracy[:, 1] * POSTERIOR.prob).sum(axis=1))
        assert accuracy[5, 1, 2] == pytest.approx(say(piece, theta)(2, 2, FEATURES[5], 1))

    def test_scale_and_coefficients_say_the_same(self, piece):
        theta = some_theta(piece)
        w, gamma = piece.coefficients(theta, 3)
        assert (w.shape, gamma.shape) == ((T + 1, 2), (T + 1,))
        np.testing.assert_allclose(piece.scale(theta, FEATURES), np.exp(-0.5 * (X @ w.T + gamma)))

    def test_extreme_coefficients_stay_finite(self, piece):
        theta = 1000 * some_theta(piece)
        value, gradient = piece.expected_log_lik(theta, FEATURES, Y, POSTERIOR)
        assert np.isfinite(value)
        assert np.all(np.isfinite(gradient))
        stranger = replace(Y, annotator=np.full_like(Y.annotator, -1))
        assert np.all(np.isfinite(piece.evidence_at(Belief(theta), FEATURES, stranger).table))
        assert np.all(piece.scale(theta, FEATURES) > 0)


def test_an_average_annotator_is_mostly_right_and_else_off_by_one():
    piece = OrderedAnnotators().for_classes(5)
    (p,) = piece.confusion(Belief(piece.init(1, 0)), np.ones((1, 1)))
    assert 0.65 < np.diag(p).mean() < 0.75
    assert sum(np.diag(p, 1)) + sum(np.diag(p, -1)) > 0.98 * (5 - np.trace(p))


def test_two_levels_are_two_coins():
    """Right with log-odds exp(η) (½ ± b): Bernoulli annotators with γ = exp(η) / 2 and k = exp(η) b."""
    theta = np.random.default_rng(5).normal(size=(T + 1, 2))
    two = Annotations.from_matrix(np.where(np.isnan(MATRIX), np.nan, MATRIX > 1), labels=[0, 1])
    coins = BernoulliAnnotators(varies_with_x=False, two_coin=True)
    precision = np.exp(theta[:, 0])
    same = np.column_stack([precision / 2, precision * theta[:, 1]])
    np.testing.assert_allclose(
        OrderedAnnotators(varies_with_x=False).evidence(theta, FEATURES, two).table,
        coins.evidence(same, FEATURES, two).table,
    )


@every_truth
class TestTruth:
    def test_levels_are_differences_of_logistics(self, truth):
        truth = prepared(truth)
        xi = some_xi(truth)
        cuts = truth.cuts(xi)
        assert cuts.shape == (K - 1,)
        assert np.all(np.diff(cuts) > 0)
        assert cuts.mean() == pytest.approx(0, abs=1e-12)
        found = np.exp(truth.log_predict(Belief(xi), FEATURES))
        f = FEATURES @ truth.weights(xi)[:, 0]
        expected = [[truth_of(z, f_i, cuts) for z in range(K)] for f_i in f]
        np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_gradients_match_differences(self, truth):
        truth = prepared(truth)
        xi = some_xi(truth)
        _, gradient = truth.expected_log_truth(xi, FEATURES, WEIGHTED)
        numeric = slope(lambda at: truth.expected_log_truth(at, FEATURES, WEIGHTED)[0], xi)
        np.testing.assert_allclose(gradient, numeric, atol=1e-6)
        numeric = slope(lambda at: truth.log_prior(at)[0], xi)
        np.testing.assert_allclose(truth.log_prior(xi)[1], numeric, atol=1e-6)

    def test_curvature_and_residual_match_differences(self, truth):
        truth = prepared(truth)
        xi = some_xi(truth)
        residual = truth.residual(xi, FEATURES, WEIGHTED)
        assert residual.shape == (N, 1)
        gradient = truth.expected_log_truth(xi, FEATURES, WEIGHTED)[1]
        np.testing.assert_allclose(FEATURES.T @ (WEIGHTED.counts * residual[:, 0]), gradient[:3, 0])
        weight = WEIGHTED.counts * truth.curvature(xi, FEATURES, WEIGHTED)[:, 0]
        step = 1e-5 * np.eye(len(xi))[:, :, None]
        for j in range(3):
            up, down = (truth.expected_log_truth(xi + s * step[j], FEATURES, WEIGHTED)[1] for s in (1, -1))
            numeric = (down - up)[:3, 0] / 2e-5
            np.testing.assert_allclose(FEATURES.T @ (weight * FEATURES[:, j]), numeric, atol=1e-6)

    def test_turning_the_scale_round_changes_nothing(self, truth):
        truth = prepared(truth)
        xi = some_xi(truth)
        turned = np.concatenate([-xi[:3], xi[3:][::-1]])
        here, there = (truth.log_predict(Belief(at), FEATURES) for at in (xi, turned))
        np.testing.assert_allclose(there, here[:, ::-1])
        assert truth.log_prior(turned)[0] == pytest.approx(truth.log_prior(xi)[0])

    def test_leave_one_out_is_near_a_refit_without_the_item(self, truth):
        truth = prepared(truth)
        xi = fitted(truth, np.arange(N))
        variance = variance_without_item(truth, xi, FEATURES, POSTERIOR)
        found = truth.leave_one_out(xi, FEATURES, POSTERIOR, variance)
        with_item, gaps = truth.log_predict(Belief(xi), FEATURES), []
        for i in range(0, N, 2):
            without = fitted(truth, np.delete(np.arange(N), i))
            refit = truth.log_predict(Belief(without), FEATURES[[i]])[0]
            gaps.append((np.abs(found[i] - refit).max(), np.abs(with_item[i] - refit).max()))
        ours, naive = np.mean(gaps, axis=0)
        assert ours < 0.7 * naive

    def test_two_levels_are_logistic_truth(self, truth):
        two = prepared(truth, 2)
        logistic = LogisticTruth(truth.graph, truth.strength, truth.variance, truth.intercept_variance)
        logistic = logistic.prepare(X, FEATURES)
        xi, q = RNG.normal(size=(3, 1)), CategoricalPosterior(softmax(RNG.normal(size=(N, 2)), axis=1))
        assert two.init(3).shape == (3, 1)
        variance = variance_without_item(two, xi, FEATURES, q)
        for method, *given in (
            ("log_predict", Belief(xi), FEATURES),
            ("curvature", xi, FEATURES, q),
            ("residual", xi, FEATURES, q),
            ("leave_one_out", xi, FEATURES, q, variance),
        ):
            ours, theirs = (getattr(model, method)(*given) for model in (two, logistic))
            np.testing.assert_allclose(ours, theirs, atol=1e-12, err_msg=method)
        for method, *given in (("log_prior", xi), ("expected_log_truth", xi, FEATURES, q)):
            (value, gradient), (same, too) = (getattr(model, method)(*given) for model in (two, logistic))
            assert value == pytest.approx(same)
            np.testing.assert_allclose(gradient, too)


def fitted(truth, rows):
    """Maximise the expected log truth of some items."""
    posterior = CategoricalPosterior(POSTERIOR.prob[rows])

    def objective(xi):
        value, gradient = truth.expected_log_truth(xi, FEATURES[rows], posterior)
        prior, prior_gradient = truth.log_prior(xi)
        return value + prior, gradient + prior_gradient

    return maximize(objective, truth.init(3), 500, tol=1e-14)


@pytest.mark.parametrize("sign", [1, -1])
def test_far_out_levels_keep_their_last_digits(sign):
    """At f = 1000 the level below the top has log-odds c − f: a difference of logistics would be 0."""
    truth, one = OrderedTruth().for_classes(3), np.ones((1, 1))
    xi = np.array([[sign * 1000.0], [np.log(2.0)]])
    bottom, middle, top = truth.log_predict(Belief(xi), one)[0][::sign]
    assert top == pytest.approx(0, abs=1e-300)
    assert middle == pytest.approx(1 - 1000 + np.log(1 - np.exp(-2)), rel=1e-14)
    assert bottom == pytest.approx(-1 - 1000, rel=1e-14)
    for level, push in enumerate((-1, -1, 0)[::sign]):
        certain = CategoricalPosterior(np.eye(3)[[level]])
        gradient = truth.expected_log_truth(xi, one, certain)[1]
        assert gradient[0, 0] == pytest.approx(sign * push, abs=1e-12)


def test_gaps_of_any_size_stay_finite():
    truth = OrderedTruth().for_classes(K)
    for log_gap in (-1e3, -40.0, 40.0, 1e3):
        xi = np.array([1.0, -2.0, 0.5, log_gap, 0.0])[:, None]
        value, gradient = truth.expected_log_truth(xi, FEATURES, POSTERIOR)
        assert np.isfinite(value)
        assert np.all(np.isfinite(gradient))
        assert np.all(np.isfinite(truth.log_predict(Belief(xi), FEATURES)))


class TestFit:
    def test_the_marginal_is_the_sum_over_every_z(self):
        model, rows = Model(PIECES["default"], prepared(OrderedTruth())), slice(0, 5)
        at = Parameters(some_theta(model.annotators), some_xi(model.truth))
        cuts, speak = model.truth.cuts(at.xi), say(model.annotators, at.theta)
        f = FEATURES @ model.truth.weights(at.xi)[:, 0]
        total = 0.0
        for Z in product(range(K), repeat=5):
            joint = 1.0
            for i, z in enumerate(Z):
                joint *= truth_of(z, f[i], cuts)
                for t in np.flatnonzero(~np.isnan(MATRIX[i])):
                    joint *= speak(MATRIX[i, t], z, FEATURES[i], t)
            total += joint
        value = marginal(Items(FEATURES[rows], FEATURES[rows], Y[rows]), model, at)[0]
        assert value == pytest.approx(np.log(total), abs=1e-10)

    @pytest.mark.parametrize("names", list(zip(TRUTHS, PIECES, strict=True)), ids=" and ".join)
    def test_em_never_falls_and_meets_lbfgs(self, names):
        truth, piece = TRUTHS[names[0]], PIECES[names[1]]
        (em, here), (lbfgs, there) = (fit(solver, truth, piece) for solver in ("em", "lbfgs"))
        assert len(here.history) > 3
        assert np.diff(here.history).min() >= -1e-9 * abs(here.history[-1])
        assert here.history[-1] == pytest.approx(there.history[-1], abs=1e-4)
        np.testing.assert_allclose(em.annotators.mean, lbfgs.annotators.mean, atol=0.05)
        np.testing.assert_allclose(em.truth.mean, lbfgs.truth.mean, atol=0.05)

    def test_permuting_annotators_changes_nothing(self):
        order = np.array([2, 0, 3, 1])
        moved = Annotations.from_matrix(MATRIX[:, order], labels=range(K))
        (here, _), (there, _) = fit("em"), fit("em", Y=moved)
        np.testing.assert_allclose(there.annotators.mean[:-1], here.annotators.mean[order], atol=1e-3)
        np.testing.assert_allclose(there.truth.mean, here.truth.mean, atol=1e-3)

    def test_an_annotator_without_labels_gets_the_crowd(self):
        silent = Annotations.from_matrix(np.column_stack([MATRIX, np.full(N, np.nan)]), labels=range(K))
        theta = fit("em", Y=silent)[0].annotators.mean
        np.testing.assert_allclose(theta[T], theta[T + 1], atol=1e-4)
        assert theta[-1, -1] == 0, "the crowd has no severity"
        assert np.abs(theta[:T] - theta[T]).max() > 1e-3

    def test_cross_fitting_gives_an_item_of_the_fit_its_held_out_prior(self):
        found, _ = fit("crossfit", OrderedTruth(variance=100.0), tol=1e-6)
        truth = prepared(OrderedTruth(variance=100.0))
        says, rows = np.arange(float(K))[None], np.flatnonzero(Y.labelled)
        own = truth.posterior_at(found.truth, FEATURES[rows[:1]], TableEvidence(says))
        np.testing.assert_allclose(own, softmax(found.truth.held_out[:1] + says, axis=1))
        seeing = truth.log_predict(found.truth, FEATURES[rows[:1]])
        assert np.abs(own - softmax(seeing + says, axis=1)).max() > 1e-3


@pytest.fixture(scope="module")
def scores():
    """450 items on five levels, three scores each by five annotators, and what two models learn."""
    rng, n, levels = np.random.default_rng(4), 450, np.arange(5)
    x = rng.normal(size=(n, 2))
    z = np.searchsorted([-2.4, -0.8, 0.8, 2.4], 2 * x[:, 0] + x[:, 1] + rng.logistic(size=n))
    severity = np.array([0.8, -0.7, 0.0, 0.3, -0.3])
    sigma = np.where(x[:, :1] * [1, 1, -1, -1, 0] > 0, 1.3, 0.5)  # sharp on one side; the last on both
    u = -0.5 * ((levels - (z[:, None] + severity)[:, :, None]) / sigma[:, :, None]) ** 2
    said = (u + rng.gumbel(size=u.shape)).argmax(axis=2).astype(float)
    said[rng.random(said.shape).argsort(axis=1) >= 3] = np.nan
    features, Y = with_ones(x), Annotations.from_matrix(said, labels=levels)
    found = []
    for truth, piece in ((OrderedTruth(), OrderedAnnotators()), (LogisticTruth(), ConfusionAnnotators())):
        model = Model(piece.for_classes(5), truth.for_classes(5).prepare(x, features))
        known = solve(model, Items(features, features, Y), None, Monitor(500, 1e-6), "em")
        evidence = model.annotators.evidence_at(known.annotators, features, Y)
        prob = model.truth.posterior_at(known.truth, features, evidence)
        found.append((model, known, (prob.cumsum(axis=1) < 0.5).sum(axis=1)))  # the posterior median
    return SimpleNamespace(x=x, z=z, severity=severity, said=said, features=features, ordered=found[0], plain=found[1])


class TestRecovery:
    def test_severity_spread_and_cut_points_are_found(self, scores):
        model, known, _ = scores.ordered
        severity = model.annotators.bias(known.annotators.mean)[:-1]
        np.testing.assert_allclose(severity, scores.severity, atol=0.2)
        sigma = model.annotators.scale(known.annotators.mean, scores.features)
        right, left = sigma[scores.x[:, 0] > 0.7].mean(axis=0), sigma[scores.x[:, 0] < -0.7].mean(axis=0)
        assert np.all(right[:2] > 1.4 * left[:2])
        assert np.all(left[2:4] > 1.4 * right[2:4])
        assert max(left[4], right[4]) < 0.7
        np.testing.assert_allclose(model.truth.cuts(known.truth.mean), [-2.4, -0.8, 0.8, 2.4], atol=0.5)

    def test_the_consensus_beats_the_rounded_mean_and_a_model_without_order(self, scores):
        def error(guess):
            return np.abs(guess - scores.z).mean()

        ordered, plain = error(scores.ordered[2]), error(scores.plain[2])
        assert ordered < 0.7 * error(np.round(np.nanmean(scores.said, axis=1)))
        assert ordered < 0.9 * plain


def fit(solver, truth=TRUTHS["plain"], piece=PIECES["default"], Y=Y, tol=1e-12):
    items = Items(FEATURES, FEATURES, Y)
    monitor = Monitor(3000, tol)
    model = Model(piece, prepared(truth))
    return solve(model, items[Y.labelled], None, monitor, solver), monitor
