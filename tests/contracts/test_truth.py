"""Every truth model keeps the contract. Adding one is adding a line."""

import numpy as np
import pytest

from tests.contracts.toy_truth import ProbitTruth
from tests.contracts.truth_contract import WORLD, Case, TruthContract
from tests.reference import models
from whoknows.model.gaussian import Belief
from whoknows.model.graph import AnchorGraph, GaussianGraph, KnnGraph
from whoknows.model.truth import GraphTruth, LinearTruth, LogisticTruth, OrderedTruth, TemperedTruth

CASES = {
    "ID": Case(LogisticTruth()),
    "ID, tight": Case(LogisticTruth(variance=0.5, intercept_variance=2.0)),
    "ID, 3 classes": Case(LogisticTruth(), 3),
    "LGP, kNN": Case(LogisticTruth(KnnGraph(k=4))),
    "LGP, kNN, 4 classes": Case(LogisticTruth(KnnGraph(k=4)), 4),
    "LGP, anchors": Case(LogisticTruth(AnchorGraph(anchors=8, nearest=3), strength=30.0)),
    "LGP, Gaussian": Case(LogisticTruth(GaussianGraph())),
    "tempered, 3 classes": Case(TemperedTruth(), 3),
    "tempered, 5 classes": Case(TemperedTruth(), 5),
    "ordered, 2 levels": Case(OrderedTruth()),
    "ordered, 4 levels": Case(OrderedTruth(KnnGraph(k=4)), 4),
    "linear": Case(LinearTruth(), 0),
    "linear, kNN": Case(LinearTruth(KnnGraph(k=4), noise=0.2), 0),
    "GP, Gaussian": Case(GraphTruth()),
    "GP, kNN": Case(GraphTruth(KnnGraph(k=4), lam=3.0)),
    "GP, anchors": Case(GraphTruth(AnchorGraph(anchors=8, nearest=3))),
    "toy": Case(ProbitTruth()),
}
LOGISTIC = {
    name: case.piece for name, case in CASES.items() if type(case.piece) is LogisticTruth and case.n_classes == 2
}
EVIDENCE, EMPTY = CASES["ID"].evidence(), CASES["ID"].empty()


def prepared(piece):
    return Case(piece).prepared


def some_xi(piece):
    return Case(piece).xi


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
class TestTruth(TruthContract):
    pass


@pytest.mark.parametrize("piece", [*LOGISTIC.values(), LinearTruth(), GraphTruth()], ids=repr)
def test_using_it_unprepared_says_what_to_do(piece):
    with pytest.raises(RuntimeError, match=r"not prepared: call prepare\(X"):
        piece.covariance if isinstance(piece, GraphTruth) else piece.precision


@pytest.mark.parametrize("piece", LOGISTIC.values(), ids=LOGISTIC.keys())
class TestBoundedTruth:
    """What the variational solver needs on top."""

    def belief(self, piece):
        root = np.random.default_rng(1).normal(size=(3, 3)) * 0.6
        return Belief(some_xi(piece), root @ root.T)

    def test_the_prior_belief_is_the_prior(self, piece):
        truth = prepared(piece)
        assert truth.divergence(truth.prior_belief()) == pytest.approx(0, abs=1e-10)

    def test_divergence_is_kl_by_monte_carlo(self, piece):
        truth, belief = prepared(piece), self.belief(piece)
        rng = np.random.default_rng(2)
        prior = np.linalg.inv(truth.precision)
        xi = rng.multivariate_normal(belief.mean[:, 0], belief.covariance, size=4000)
        ratio = [
            models.log_normal(x, belief.mean[:, 0], belief.covariance) - models.log_normal(x, np.zeros(3), prior)
            for x in xi
        ]
        assert truth.divergence(belief) == pytest.approx(np.mean(ratio), abs=5 * np.std(ratio) / 4000**0.5)

    def test_moments_are_those_of_the_linear_function(self, piece):
        belief, X = self.belief(piece), WORLD.features
        mean, second = prepared(piece).moments(belief, X)
        np.testing.assert_allclose(mean, X @ belief.mean[:, 0])
        np.testing.assert_allclose(second, mean**2 + np.diag(X @ belief.covariance @ X.T))

    def test_the_update_is_the_best_gaussian_for_the_bound(self, piece):
        """Any other q(ξ) gives less of E[bound] − KL, at the posterior and c the sums were made with."""
        truth, X = prepared(piece), WORLD.features
        moments = truth.moments(self.belief(piece), X)
        q = truth.bounded_posterior(moments, EVIDENCE)
        gram, pull = truth.statistics(moments, X, q)
        best = truth.update(gram, pull)

        def bound(belief):
            second = belief.covariance + belief.mean @ belief.mean.T
            return pull @ belief.mean[:, 0] - 0.5 * (gram * second).sum() - truth.divergence(belief)

        c = np.sqrt(moments[1])
        np.testing.assert_allclose(gram, (X.T * np.tanh(c / 2) / (2 * c)) @ X, atol=1e-12)
        np.testing.assert_allclose(pull, X.T @ (q.mean - 0.5), atol=1e-12)
        rng = np.random.default_rng(4)
        for size in (0.01, 0.3):
            for _ in range(5):
                root = np.linalg.cholesky(best.covariance) @ (np.eye(3) + size * rng.normal(size=(3, 3)))
                other = Belief(best.mean + size * rng.normal(size=(3, 1)), root @ root.T)
                assert bound(other) < bound(best)

    def test_uncertainty_pulls_predictions_towards_a_half(self, piece):
        truth, belief = prepared(piece), self.belief(piece)
        sure = np.exp(truth.log_predict(Belief(belief.mean), WORLD.features))[:, 1]
        unsure = np.exp(truth.log_predict(belief, WORLD.features))[:, 1]
        assert np.all(np.abs(unsure - 0.5) < np.abs(sure - 0.5))
        assert np.all((unsure > 0.5) == (sure > 0.5))

    def test_without_evidence_an_uncertain_posterior_is_the_prediction_too(self, piece):
        truth, belief = prepared(piece), self.belief(piece)
        np.testing.assert_allclose(
            truth.posterior_at(belief, WORLD.features, EMPTY),
            np.exp(truth.log_predict(belief, WORLD.features)),
            atol=1e-10,
        )
