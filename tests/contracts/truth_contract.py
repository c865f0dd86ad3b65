"""What every truth model promises. A new one is a line in test_truth.py and passes all of this.

A subclass gives each test a ``piece``. Evidence comes from Gaussian annotators, which every truth accepts.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

from tests.reference.worlds import slope, with_ones, world
from whoknows.data.annotations import Annotations
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve
from whoknows.model.annotators import GaussianAnnotators
from whoknows.model.evidence import QuadraticEvidence, with_gold
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior

WORLD = world(n_items=24, n_annotators=4, n_features=2, unlabelled=6, seed=7)
ANNOTATORS = GaussianAnnotators()
THETA = ANNOTATORS.init(3, 4) + np.random.default_rng(8).normal(size=(5, 3))
EVIDENCE = ANNOTATORS.evidence(THETA, WORLD.features, WORLD.Y)
EMPTY = QuadraticEvidence(np.zeros(24), np.zeros(24), np.zeros(24))


def prepared(piece):
    return piece.prepare(WORLD.X, WORLD.features)


def seen_by(piece):
    """What the truth sees of x: a map's features, or for GP the items themselves."""
    return WORLD.X if piece.couples_items else WORLD.features


def some_xi(piece):
    start = piece.init(3)
    return start + np.random.default_rng(9).normal(size=start.shape)


class TruthContract:
    """Tests of a single piece; ``piece`` comes from the subclass."""

    def test_posterior_is_a_distribution(self, piece):
        truth = prepared(piece)
        posterior = truth.posterior(some_xi(piece), seen_by(piece), EVIDENCE)
        assert np.isfinite(posterior.log_marginal)
        assert posterior.mean.shape == posterior.variance.shape == posterior.entropy.shape == (24,)
        assert np.all(posterior.variance > 0)
        if isinstance(posterior, CategoricalPosterior):
            np.testing.assert_allclose(posterior.prob.sum(axis=1), 1, atol=1e-12)
            assert np.all(posterior.prob > 0)

    def test_without_evidence_the_posterior_is_the_prior(self, piece):
        truth, xi = prepared(piece), some_xi(piece)
        posterior = truth.posterior(xi, seen_by(piece), EMPTY)
        assert posterior.log_marginal == pytest.approx(0, abs=1e-9)
        if piece.couples_items:
            np.testing.assert_allclose(posterior.mean, 0.5)
            Delta = piece.graph.build(WORLD.X).over(WORLD.X).laplacian()
            covariance = piece.lam * np.linalg.inv(Delta + piece.jitter * np.eye(24))
            np.testing.assert_allclose(posterior.variance, np.diag(covariance))
        else:
            np.testing.assert_allclose(
                posterior.prob, np.exp(truth.log_predict(Belief(xi), WORLD.features)), atol=1e-12
            )

    def test_more_evidence_lowers_entropy_on_average(self, piece):
        truth, xi, X = prepared(piece), some_xi(piece), seen_by(piece)
        few = no_more_than(labels=1)
        none, some, many = (
            truth.posterior(xi, X, evidence).entropy.mean()
            for evidence in (EMPTY, ANNOTATORS.evidence(THETA, WORLD.features, few), EVIDENCE)
        )
        assert many < some < none

    def test_more_of_the_same_evidence_moves_the_posterior_its_way(self, piece):
        truth, xi, X = prepared(piece), some_xi(piece), seen_by(piece)
        before = truth.posterior(xi, X, EMPTY).mean
        one = np.zeros(24)
        one[3] = 4.0
        after = truth.posterior(xi, X, QuadraticEvidence(one, one, -0.5 * one)).mean  # a label 1 on item 3
        assert after[3] > before[3]
        others = np.delete(after - before, 3)
        assert np.all(others > 0) if piece.couples_items else np.all(others == 0)

    def test_an_item_counts_as_often_as_its_weight_says(self, piece):
        """Two is the item twice, zero none; on a graph, where none has a copy, twice its evidence."""
        truth, xi, X = prepared(piece), some_xi(piece), seen_by(piece)
        weight = np.arange(24) % 4
        heavy = truth.posterior(xi, X, replace(EVIDENCE, weight=weight.astype(float)))
        parts = [getattr(EVIDENCE, part) for part in ("precision", "pull", "constant")]
        if piece.couples_items:
            surer = truth.posterior(xi, X, QuadraticEvidence(*(weight * part for part in parts)))
            np.testing.assert_allclose(heavy.mean, surer.mean, atol=1e-10)
            assert heavy.log_marginal == pytest.approx(surer.log_marginal)
            return
        copies = np.repeat(np.arange(24), weight)
        copied = truth.posterior(xi, X[copies], QuadraticEvidence(*(part[copies] for part in parts)))
        assert heavy.log_marginal == pytest.approx(copied.log_marginal)
        ours = truth.expected_log_truth(xi, X, heavy)
        theirs = truth.expected_log_truth(xi, X[copies], copied)
        assert ours[0] == pytest.approx(theirs[0])
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-10)

    def test_gold_is_certain_whatever_was_said(self, piece):
        truth, xi, X = prepared(piece), some_xi(piece), seen_by(piece)
        gold = np.full(24, np.nan)
        gold[[2, 3, 20]] = [1, 0, 1]  # nobody labelled the last
        posterior = truth.posterior(xi, X, with_gold(EVIDENCE, gold, None))
        np.testing.assert_allclose(posterior.mean[[2, 3, 20]], [1, 0, 1], atol=1e-3)
        assert posterior.variance[[2, 3, 20]].max() < 1e-5
        assert np.delete(posterior.variance, [2, 3, 20]).min() > 1e-3

    def test_gradient_of_the_expected_truth_matches_differences(self, piece):
        truth, xi, X = prepared(piece), some_xi(piece), seen_by(piece)
        posterior = truth.posterior(xi, X, EVIDENCE)
        value, gradient = truth.expected_log_truth(xi, X, posterior)
        assert isinstance(value, float)
        assert gradient.shape == xi.shape
        numeric = slope(lambda at: truth.expected_log_truth(at, X, posterior)[0], xi)
        np.testing.assert_allclose(gradient, numeric, atol=1e-6)

    def test_gradient_of_the_prior_matches_differences(self, piece):
        truth, xi = prepared(piece), some_xi(piece)
        value, gradient = truth.log_prior(xi)
        assert isinstance(value, float)
        np.testing.assert_allclose(gradient, slope(lambda at: truth.log_prior(at)[0], xi), atol=1e-6)

    def test_preparing_leaves_the_settings_alone(self, piece):
        before, fresh = piece.get_params(), clone(piece)
        truth = prepared(piece)
        assert truth is not piece
        assert piece.get_params() == before
        assert truth.get_params() == before
        assert {k: v for k, v in vars(piece).items() if k.startswith("_")} == {
            k: v for k, v in vars(fresh).items() if k.startswith("_")
        }

    def test_preparing_twice_is_preparing_once(self, piece):
        xi, X = some_xi(piece), seen_by(piece)
        once, twice = prepared(piece), prepared(prepared(piece))
        np.testing.assert_array_equal(
            once.posterior(xi, X, EVIDENCE).mean, twice.posterior(xi, X, EVIDENCE).mean
        )
        assert once.log_prior(xi)[0] == twice.log_prior(xi)[0]

    def test_using_it_unprepared_says_what_to_do(self, piece):
        with pytest.raises(RuntimeError, match=r"not prepared: call prepare\(X"):
            piece.covariance if piece.couples_items else piece.log_prior(some_xi(piece))

    def test_posterior_of_a_point_estimate_is_eq_7(self, piece):
        truth, xi, X = prepared(piece), some_xi(piece), seen_by(piece)
        posterior = truth.posterior(xi, X, EVIDENCE)
        if piece.couples_items:
            one = norm.cdf((posterior.mean - 0.5) / np.sqrt(posterior.variance))
        else:
            one = posterior.prob[:, 1]
        found = truth.posterior_at(truth.state(xi, posterior, EVIDENCE, X), X, EVIDENCE)
        np.testing.assert_allclose(found, np.column_stack([1 - one, one]), atol=1e-10)

    def test_the_posterior_of_some_items_is_that_of_all_read_there(self, piece):
        truth, xi, X = prepared(piece), some_xi(piece), seen_by(piece)
        known = truth.state(xi, truth.posterior(xi, X, EVIDENCE), EVIDENCE, X)
        rows = np.array([4, 0, 2])
        some = QuadraticEvidence(
            *(getattr(EVIDENCE, part)[rows] for part in ("precision", "pull", "constant"))
        )
        whole = truth.posterior_at(known, X, EVIDENCE)
        np.testing.assert_allclose(truth.posterior_at(known, X[rows], some), whole[rows], atol=1e-10)

    def test_predictions_are_probabilities_anywhere(self, piece):
        truth, xi = prepared(piece), some_xi(piece)
        known = truth.state(xi, truth.posterior(xi, seen_by(piece), EVIDENCE), EVIDENCE, seen_by(piece))
        new = np.random.default_rng(3).normal(size=(9, 2)) * 5
        X = new if piece.couples_items else with_ones(new)
        none = QuadraticEvidence(np.zeros(9), np.zeros(9), np.zeros(9))
        for prob in (np.exp(truth.log_predict(known, X)), truth.posterior_at(known, X, none)):
            assert prob.shape == (9, 2)
            np.testing.assert_allclose(prob.sum(axis=1), 1, atol=1e-12)
            assert np.all((prob > 0) & (prob < 1))
        np.testing.assert_allclose(
            np.exp(truth.log_predict(known, X)), truth.posterior_at(known, X, none), atol=1e-12
        )

    def test_settings_survive_clone_and_fit(self, piece):
        before = str(clone(piece).get_params())
        truth = prepared(piece)
        items = Items(seen_by(piece), WORLD.features, WORLD.Y)
        solve(Model(ANNOTATORS, truth), items, None, Monitor(500, 1e-6), "em")
        assert str(clone(truth).get_params()) == before
        assert str(piece.get_params()) == before


def no_more_than(labels):
    """Return the world's annotations, no more than so many an item."""
    Y = WORLD.Y
    rank = np.arange(Y.n_annotations) - np.repeat(
        np.cumsum(Y.labels_per_item) - Y.labels_per_item, Y.labels_per_item
    )
    kept = rank < labels
    return Annotations(Y.item[kept], Y.annotator[kept], Y.label[kept], Y.items, Y.annotators, Y.labels)
