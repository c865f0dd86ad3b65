"""More than two classes: softmax truth, confusion annotators, leave-one-out, and the classics inside."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from tests.estimators.worlds import without_doubt
from tests.model.worlds import variance_without_item
from tests.reference.worlds import with_ones
from whoknows import CrowdClassifier
from whoknows.data.annotations import Annotations
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, marginal
from whoknows.fit.solve import solve
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators, GaussianAnnotators, Population
from whoknows.model.evidence import TableEvidence
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import GraphTruth, LogisticTruth
from whoknows.model.truth.logistic import MOST_SHARPNESS, SHARPNESS_DEVIATION, sharpness

K, T, N = 3, 4, 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
FEATURES = with_ones(X)
Z = (X @ RNG.normal(size=(2, K))).argmax(axis=1)
SAID = np.where(RNG.random((N, T)) < 0.7, Z[:, None], RNG.integers(0, K, (N, T))).astype(float)
SAID[RNG.random((N, T)) < 0.3] = np.nan
Y = Annotations.from_matrix(SAID, labels=range(K))
Q = CategoricalPosterior(softmax(RNG.normal(size=(N, K)), axis=1))

PIECES = {
    "confusion": ConfusionAnnotators(),
    "constant": ConfusionAnnotators(varies_with_x=False),
    "shared mistakes": ConfusionAnnotators(own_mistakes=False),
    "one accuracy": ConfusionAnnotators(two_coin=False),
    "bernoulli": BernoulliAnnotators(),
    "bernoulli by class": BernoulliAnnotators(two_coin=True),
    "one coin": BernoulliAnnotators(varies_with_x=False),
}
every_piece = pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES.keys())


def some_theta(piece):
    start = piece.for_classes(K).init(3, T)
    return start + 0.5 * np.random.default_rng(1).normal(size=start.shape)


def numerical_gradient(function, at, step=1e-6):
    flat, gradient = at.ravel(), np.zeros(at.size)
    for j in range(at.size):
        up, down = flat.copy(), flat.copy()
        up[j] += step
        down[j] -= step
        gradient[j] = (function(up.reshape(at.shape)) - function(down.reshape(at.shape))) / (2 * step)
    return gradient.reshape(at.shape)


class TestAnnotators:
    @every_piece
    def test_gradients_are_those_of_the_value(self, piece):
        piece, theta = piece.for_classes(K), some_theta(piece)
        _, gradient = piece.expected_log_lik(theta, FEATURES, Y, Q)
        by_differences = numerical_gradient(lambda t: piece.expected_log_lik(t, FEATURES, Y, Q)[0], theta)
        np.testing.assert_allclose(gradient, by_differences, atol=1e-5)
        np.testing.assert_allclose(
            piece.log_prior(theta)[1], numerical_gradient(lambda t: piece.log_prior(t)[0], theta), atol=1e-5
        )

    @every_piece
    def test_log_odds_beyond_all_numbers_do_no_harm(self, piece):
        """A line search may try them: the value is finite and low, and the gradient points back."""
        piece = piece.for_classes(K)
        start = some_theta(piece)
        for size in (300, 3e3, 3e4):
            value, gradient = piece.expected_log_lik(size * start, FEATURES, Y, Q)
            assert np.isfinite(value)
            assert np.isfinite(gradient).all()
            assert value < piece.expected_log_lik(start, FEATURES, Y, Q)[0]
            assert np.vdot(gradient, start) < 0

    @every_piece
    def test_labels_of_every_class_have_probabilities_that_sum_to_one(self, piece):
        piece, theta = piece.for_classes(K), some_theta(piece)
        total = np.zeros((N, K))
        for label in range(K):
            y = Annotations.from_matrix(np.full((N, 1), label), labels=range(K))
            total += np.exp(piece.evidence(theta, FEATURES, y).table)
        np.testing.assert_allclose(total, 1)

    def test_evidence_is_the_softmax_of_the_formula(self):
        """p(y = l | z = k, x, t) = softmax over l of B_t[k, l] + [l = k] w_tᵀx."""
        piece, theta = ConfusionAnnotators().for_classes(K), some_theta(ConfusionAnnotators())
        expected = np.zeros((N, K))
        for i, t in np.argwhere(~np.isnan(SAID)):
            w, gamma, by_class = theta[t, :2], theta[t, 2], theta[t, 3 : 3 + K]
            mistakes = theta[t, 3 + K :].reshape(K, K)
            for k in range(K):
                others = np.delete(np.arange(K), k)
                B = mistakes[k].copy()
                B[k] = gamma + by_class[k] + np.log(np.exp(mistakes[k, others]).sum())
                B[k] += w @ X[i]
                expected[i, k] += log_softmax(B)[int(SAID[i, t])]
        np.testing.assert_allclose(piece.evidence(theta, FEATURES, Y).table, expected)

    def test_confusion_of_an_annotator_has_rows_that_sum_to_one(self):
        piece, theta = ConfusionAnnotators().for_classes(K), some_theta(ConfusionAnnotators())
        matrices = piece.confusion(Belief(theta), FEATURES)
        assert matrices.shape == (T + 1, K, K)
        np.testing.assert_allclose(matrices.sum(axis=2), 1)
        np.testing.assert_allclose(
            matrices[:, np.arange(K), np.arange(K)], piece.accuracy(Belief(theta), FEATURES).mean(axis=0)
        )

    def test_two_classes_are_bernoulli_with_two_coins(self):
        two = Annotations.from_matrix(np.where(SAID == 2, np.nan, SAID), labels=[0, 1])
        confusion, bernoulli = ConfusionAnnotators(), BernoulliAnnotators(two_coin=True)
        theta = bernoulli.init(3, T) + RNG.normal(size=(T + 1, 4))
        for method in ("evidence",):
            one, other = (getattr(piece, method)(theta, FEATURES, two).table for piece in (confusion, bernoulli))
            np.testing.assert_allclose(one, other)

    def test_numbers_for_labels_are_refused(self):
        with pytest.raises(NotCompatible, match=r"GaussianAnnotators .* 3 classes. Use annotators='confusion'"):
            GaussianAnnotators().for_classes(3)
        with pytest.raises(NotCompatible, match=r"GraphTruth .* there are 3.*map='spectral'"):
            GraphTruth().for_classes(3)


class TestTruth:
    truth = LogisticTruth(variance=5.0).for_classes(K).prepare(X, FEATURES)
    xi = RNG.normal(size=(3, K))

    def test_gradients_are_those_of_the_value(self):
        _, gradient = self.truth.expected_log_truth(self.xi, FEATURES, Q)
        by_differences = numerical_gradient(lambda xi: self.truth.expected_log_truth(xi, FEATURES, Q)[0], self.xi)
        np.testing.assert_allclose(gradient, by_differences, atol=1e-5)
        np.testing.assert_allclose(
            self.truth.log_prior(self.xi)[1],
            numerical_gradient(lambda xi: self.truth.log_prior(xi)[0], self.xi),
            atol=1e-5,
        )

    def test_the_marginal_is_the_sum_over_classes_and_its_gradient_eqs_6(self):
        model = Model(ConfusionAnnotators().for_classes(K), self.truth)
        parameters = Parameters(some_theta(ConfusionAnnotators()), self.xi)
        items = Items(FEATURES, FEATURES, Y)
        value, d_theta, d_xi = marginal(items, model, parameters)
        table = model.annotators.evidence(parameters.theta, FEATURES, Y).table
        by_hand = np.log((softmax(FEATURES @ self.xi, axis=1) * np.exp(table)).sum(axis=1)).sum()
        assert value == pytest.approx(by_hand)
        flat = numerical_gradient(lambda f: marginal(items, model, parameters.unflatten(f))[0], parameters.flatten())
        np.testing.assert_allclose(np.concatenate([d_theta.ravel(), d_xi.ravel()]), flat, atol=1e-5)

    def test_two_classes_as_softmax_and_as_logistic_predict_the_same(self):
        two = LogisticTruth().prepare(X, FEATURES)
        xi = RNG.normal(size=3)
        pair = np.column_stack([np.zeros(3), xi])
        np.testing.assert_allclose(
            two.log_predict(Belief(xi[:, None]), FEATURES), self.truth.log_predict(Belief(pair), FEATURES)
        )

    @pytest.mark.parametrize("n_classes", [2, K])
    def test_leave_one_out_is_near_a_refit_without_the_item(self, n_classes):
        prob = softmax(2 * RNG.normal(size=(N, n_classes)), axis=1)
        truth = LogisticTruth(variance=2.0).for_classes(n_classes).prepare(X, FEATURES)
        xi = fitted(truth, prob, np.ones(N))
        posterior = CategoricalPosterior(prob)
        variance = variance_without_item(truth, xi, FEATURES, posterior)
        found = truth.leave_one_out(xi, FEATURES, posterior, variance)
        with_item, gaps = truth.log_predict(Belief(xi), FEATURES), []
        for i in range(0, N, 5):
            without = truth.log_predict(Belief(fitted(truth, prob, np.arange(N) != i)), FEATURES[[i]])[0]
            gaps.append((np.abs(found[i] - without).max(), np.abs(with_item[i] - without).max()))
        ours, naive = np.mean(gaps, axis=0)
        assert ours < naive / 2


class TestSharpness:
    """The factor of log p(z | x) that suits the labels of held-out items best."""

    rng = np.random.default_rng(3)
    right = log_softmax(2 * rng.normal(size=(4000, K)), axis=1)
    z = np.argmax(right + rng.gumbel(size=(4000, K)), axis=1)
    evidence = np.where(np.arange(K) == np.where(rng.random(4000) < 0.8, z, (z + 1) % K)[:, None], 1.0, -1.0)

    @pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
    def test_predictions_that_are_too_cautious_or_too_sure_are_corrected(self, factor):
        evidence = np.where(np.arange(K) == self.z[:, None], 0.0, -np.inf)  # gold
        assert sharpness(self.right / factor, evidence, np.ones(4000)) == pytest.approx(factor, rel=0.1)

    def test_it_is_the_best_factor(self):
        log_p, evidence, counts = 0.6 * self.right[:40], self.evidence[:40], self.rng.uniform(0, 2, size=40)
        found = sharpness(log_p, evidence, counts)

        def height(t):
            at = log_softmax(t * log_p, axis=1)
            return counts @ np.log((np.exp(at + evidence)).sum(axis=1)) - 0.5 * np.log(t) ** 2 / SHARPNESS_DEVIATION**2

        around = found * np.exp(np.linspace(-1, 1, 201))
        assert around[np.argmax([height(t) for t in around])] == pytest.approx(found)

    def test_without_evidence_nothing_changes_and_extremes_are_cut_off(self):
        few, ones = self.right[:50], np.ones(50)
        assert sharpness(few, np.zeros((50, K)), ones) == pytest.approx(1)
        gold = np.where(np.arange(K) == few.argmax(axis=1)[:, None], 0.0, -np.inf)
        assert sharpness(few, gold, 1e6 * ones) == MOST_SHARPNESS
        assert sharpness(few, np.roll(gold, 1, axis=1), 1e6 * ones) == 1 / MOST_SHARPNESS


def test_of_clearly_separated_classes_the_stated_probability_is_the_share_that_is_right():
    rng = np.random.default_rng(0)
    z = rng.integers(4, size=500)
    X = 2.2 * np.eye(4)[z] + rng.normal(size=(500, 4)) / np.sqrt(2)
    y = np.where(rng.random((500, 4)) < 0.8, z[:, None], rng.integers(4, size=(500, 4))).astype(float)
    y[60:] = np.nan
    prob = without_doubt(CrowdClassifier().fit(X, y)).predict_proba(X[60:])
    right = np.mean(prob.argmax(axis=1) == z[60:])
    assert prob.max(axis=1).mean() == pytest.approx(right, abs=0.05)


def fitted(truth, prob, kept):
    """Maximise the expected log truth of the kept items, by plain gradient steps of L-BFGS."""
    from whoknows.fit.lbfgs import maximize

    rows = np.flatnonzero(kept)
    posterior = CategoricalPosterior(prob[rows])

    def objective(xi):
        value, gradient = truth.expected_log_truth(xi, FEATURES[rows], posterior)
        prior, prior_gradient = truth.log_prior(xi)
        return value + prior, gradient + prior_gradient

    return maximize(objective, truth.init(3), 500, tol=1e-14)


class TestTheClassics:
    """Dawid and Skene, Raykar and one coin are settings: held against plain implementations of their own."""

    FLAT = Population(centre=1.0, centre_variance=1e6, slope_variance=1e6, deviation_variance=1e6, precision_shape=1e-6)

    @staticmethod
    def plain_em(prior_of, n_rounds=3000, one_coin=False):
        """Dawid and Skene (1979), or its one-coin form, with loops; ``prior_of(q)`` is p(z) of each item."""
        votes = np.stack([(k == SAID).sum(axis=1) for k in range(K)], axis=1) * 0.8
        q = np.clip(softmax(votes, axis=1), 0.02, 0.98)
        q /= q.sum(axis=1, keepdims=True)
        for _ in range(n_rounds):
            confusion = np.zeros((T, K, K))
            for t in range(T):
                seen = ~np.isnan(SAID[:, t])
                for label in range(K):
                    confusion[t, :, label] = q[seen & (SAID[:, t] == label)].sum(axis=0)
                if one_coin:
                    accuracy = np.trace(confusion[t]) / confusion[t].sum()
                    confusion[t] = (1 - accuracy) / (K - 1)
                    np.fill_diagonal(confusion[t], accuracy)
                else:
                    confusion[t] /= confusion[t].sum(axis=1, keepdims=True)
            log_prior = np.log(prior_of(q))
            log_joint = log_prior.copy()
            for i, t in np.argwhere(~np.isnan(SAID)):
                with np.errstate(divide="ignore"):
                    log_joint[i] += np.log(confusion[t, :, int(SAID[i, t])])
            q = softmax(log_joint, axis=1)
        return q

    def ours(self, annotators, truth, features):
        seen = Y.labelled
        items = Items(features[seen], np.ones((seen.sum(), 1)), Y[seen])
        model = Model(annotators.for_classes(K), truth.for_classes(K).prepare(features[:, :-1], features))
        fitted = solve(model, items, None, Monitor(20_000, 1e-9), "em")
        evidence = model.annotators.evidence_at(fitted.annotators, items.X_annotators, items.Y)
        return model.truth.posterior_at(fitted.truth, items.X_truth, evidence)

    def test_dawid_and_skene_are_constant_confusion_without_features(self):
        truth = LogisticTruth(intercept_variance=1e6)
        ours = self.ours(ConfusionAnnotators(varies_with_x=False, population=self.FLAT), truth, np.ones((N, 1)))
        theirs = self.plain_em(lambda q: np.tile(q[Y.labelled].mean(axis=0), (N, 1)))[Y.labelled]
        np.testing.assert_allclose(ours, theirs, atol=2e-2)

    def test_one_coin_is_bernoulli_without_features(self):
        truth = LogisticTruth(intercept_variance=1e6)
        ours = self.ours(BernoulliAnnotators(varies_with_x=False, population=self.FLAT), truth, np.ones((N, 1)))
        theirs = self.plain_em(lambda q: np.tile(q[Y.labelled].mean(axis=0), (N, 1)), one_coin=True)
        np.testing.assert_allclose(ours, theirs[Y.labelled], atol=2e-2)

    def test_raykar_is_constant_confusion_with_a_classifier(self):
        truth = LogisticTruth(variance=1.0, intercept_variance=1.0)
        ours = self.ours(ConfusionAnnotators(varies_with_x=False, population=self.FLAT), truth, FEATURES)

        def classifier(q):
            prepared = truth.for_classes(K).prepare(X, FEATURES)
            xi = fitted(prepared, q, Y.labelled)
            return softmax(FEATURES @ xi, axis=1)

        theirs = self.plain_em(classifier, n_rounds=150)[Y.labelled]
        np.testing.assert_allclose(ours, theirs, atol=2e-2)


def test_em_and_lbfgs_never_fall_and_cross_fitting_ends():
    truth = LogisticTruth().for_classes(K).prepare(X, FEATURES)
    seen = Y.labelled
    items = Items(FEATURES[seen], FEATURES[seen], Y[seen])
    for piece in PIECES.values():
        for solver in ("em", "lbfgs"):
            monitor = Monitor(500, 1e-8)
            solve(Model(piece.for_classes(K), truth), items, None, monitor, solver)
            assert np.diff(monitor.history).min() >= -1e-9 * abs(monitor.history[-1])
        monitor = Monitor(500, 1e-6, exact=False)
        fitted = solve(Model(piece.for_classes(K), truth), items, None, monitor, "auto")
        assert fitted.solver == "crossfit"
        assert monitor.converged


def test_cross_fitting_gives_an_item_of_the_fit_its_held_out_prior():
    truth = LogisticTruth(variance=100.0).for_classes(K).prepare(X, FEATURES)
    seen = Y.labelled
    items = Items(FEATURES[seen], FEATURES[seen], Y[seen])
    model = Model(ConfusionAnnotators().for_classes(K), truth)
    fitted = solve(model, items, None, Monitor(500, 1e-6, exact=False), "crossfit")
    says = np.arange(float(K))[None]
    own, moved = (
        truth.posterior_at(fitted.truth, x, TableEvidence(says))
        for x in (items.X_truth[[0]], items.X_truth[[0]] + 1e-9)
    )
    np.testing.assert_allclose(own, softmax(fitted.truth.held_out[[0]] + says, axis=1))
    assert np.abs(own - moved).max() > 1e-3


def test_without_labels_an_item_of_the_fit_is_what_x_says():
    truth = LogisticTruth(variance=100.0).for_classes(K).prepare(X, FEATURES)
    items = Items(FEATURES, FEATURES, Y)[np.flatnonzero(Y.labelled)]
    model = Model(ConfusionAnnotators().for_classes(K), truth)
    fitted = solve(model, items, None, Monitor(500, 1e-6, exact=False), "crossfit")
    found = truth.posterior_at(fitted.truth, items.X_truth, TableEvidence(np.zeros((len(items.X_truth), K))))
    np.testing.assert_allclose(found, np.exp(truth.log_predict(fitted.truth, items.X_truth)))


def test_cross_fitting_needs_a_classifier():
    model = Model(GaussianAnnotators(), GraphTruth().prepare(X, FEATURES))
    two = Annotations.from_matrix(np.where(SAID == 2, np.nan, SAID), labels=[0, 1])
    with pytest.raises(
        NotCompatible, match=r"'crossfit' needs LeaveOneOutTruth.*GraphTruth does not have.*leave_one_out.*'em'"
    ):
        solve(model, Items(X, FEATURES, two), None, Monitor(5, 1e-3), "crossfit")
