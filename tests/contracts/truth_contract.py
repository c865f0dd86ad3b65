"""The contract of every truth model. A new one is a line in test_truth.py.

A subclass gives each test a ``case``: a piece, and the number of classes, or 0 for a real-valued truth.
Evidence for two classes and for real values comes from Gaussian annotators, which every such truth accepts.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

from tests.reference.graphs import laplacian
from tests.reference.worlds import slope, with_ones, world
from whoknows.data.annotations import Annotations
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve
from whoknows.model.annotators import BernoulliAnnotators, BiasedAnnotators, GaussianAnnotators
from whoknows.model.evidence import QuadraticEvidence, TableEvidence
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.protocols import RealTruth, supports
from whoknows.model.truth import GraphTruth, TemperedTruth

WORLD = world(n_items=24, n_annotators=4, n_features=2, unlabelled=6, seed=7)
PARTS = ("precision", "pull", "constant")


@dataclass(frozen=True)
class Case:
    """A truth model, and its number of classes; 0 for a real-valued truth."""

    piece: Any
    n_classes: int = 2

    @property
    def prepared(self):
        piece = self.piece.for_classes(self.n_classes) if self.n_classes else self.piece
        return piece.prepare(WORLD.X, WORLD.features)

    @property
    def X(self):
        """The features of the truth: those of a map, or for GP the items themselves."""
        return self.features(WORLD.X)

    def features(self, X):
        if isinstance(self.piece, TemperedTruth):  # one log-probability per class
            X = X @ np.random.default_rng(6).normal(size=(2, self.n_classes))
        return X if isinstance(self.piece, GraphTruth) else with_ones(X)

    @property
    def xi(self):
        start = self.prepared.init(3)
        return start + np.random.default_rng(9).normal(size=start.shape)

    @property
    def annotators(self):
        if self.n_classes == 0:
            return BiasedAnnotators()
        return GaussianAnnotators() if self.n_classes == 2 else BernoulliAnnotators().for_classes(self.n_classes)

    @property
    def Y(self):
        """The world's labels; for more than two classes, some of its ones are another class."""
        matrix = WORLD.matrix.copy()
        if self.n_classes > 2:
            matrix[::2][matrix[::2] == 1] = self.n_classes - 1
        labels = range(max(self.n_classes, 2))
        return Annotations.from_matrix(matrix, labels=labels if self.n_classes else [0.0, 1.0])

    def evidence(self, Y=None):
        theta = self.annotators.init(3, 4)
        theta = theta + 0.5 * np.random.default_rng(8).normal(size=theta.shape)
        return self.annotators.evidence(theta, WORLD.features, self.Y if Y is None else Y)

    def empty(self, n_items=24):
        if self.n_classes > 2:
            return TableEvidence(np.zeros((n_items, self.n_classes)))
        return QuadraticEvidence(np.zeros(n_items), np.zeros(n_items), np.zeros(n_items))

    def state(self, truth, evidence):
        return truth.state(self.xi, truth.posterior(self.xi, self.X, evidence), evidence, self.X)


def rows_of(evidence, rows):
    if isinstance(evidence, TableEvidence):
        return TableEvidence(evidence.table[rows])
    return QuadraticEvidence(*(getattr(evidence, part)[rows] for part in PARTS))


def as_numbers(posterior):
    """Return the probabilities of classes, or the mean and variance of a real truth: (n_items, n)."""
    if isinstance(posterior, CategoricalPosterior):
        return posterior.prob
    return posterior if isinstance(posterior, np.ndarray) else np.column_stack([posterior.mean, posterior.variance])


def predicted(truth, state, X):
    """Return p(z | x) as numbers."""
    if supports(truth, RealTruth):
        return as_numbers(truth.predict(state, X))
    return np.exp(truth.log_predict(state, X))


class TruthContract:
    """What any solver and the estimators need; ``case`` comes from the subclass."""

    def test_posterior_is_a_distribution(self, case):
        posterior = case.prepared.posterior(case.xi, case.X, case.evidence())
        assert np.isfinite(posterior.log_marginal)
        assert posterior.mean.shape == posterior.variance.shape == posterior.entropy.shape == (24,)
        assert np.all(posterior.variance > 0)
        if isinstance(posterior, CategoricalPosterior):
            np.testing.assert_allclose(posterior.prob.sum(axis=1), 1, atol=1e-12)
            assert np.all(posterior.prob > 0)

    def test_without_evidence_the_posterior_is_the_prediction(self, case):
        truth = case.prepared
        posterior = truth.posterior(case.xi, case.X, case.empty())
        assert posterior.log_marginal == pytest.approx(0, abs=1e-9)
        if isinstance(case.piece, GraphTruth):
            np.testing.assert_allclose(posterior.mean, 0.5)
            Delta = laplacian(case.piece.graph.build(WORLD.X), WORLD.X)
            covariance = case.piece.lam * np.linalg.inv(Delta + case.piece.jitter * np.eye(24))
            np.testing.assert_allclose(posterior.variance, np.diag(covariance))
        else:
            state = case.state(truth, case.empty())
            np.testing.assert_allclose(as_numbers(posterior), predicted(truth, state, case.X), atol=1e-12)

    def test_more_evidence_lowers_entropy_on_average(self, case):
        truth = case.prepared
        none, some, many = (
            truth.posterior(truth.init(3), case.X, evidence).entropy.mean()
            for evidence in (case.empty(), case.evidence(no_more_than(case.Y, 1)), case.evidence())
        )
        assert many < some < none

    def test_evidence_for_a_class_moves_the_posterior_towards_it(self, case):
        truth, item = case.prepared, np.arange(24) == 3
        for_the_last = case.empty()
        if case.n_classes > 2:
            for_the_last.table[3, -1] = 4.0
        else:
            for_the_last = QuadraticEvidence(4.0 * item, 8.0 * item, -8.0 * item)  # a label 2 on item 3
        before, after = (truth.posterior(case.xi, case.X, e).mean for e in (case.empty(), for_the_last))
        assert after[3] > before[3]
        others = np.delete(after - before, 3)
        assert np.abs(others).max() > 0 if case.piece.couples_items else np.all(others == 0)

    def test_an_item_counts_as_often_as_its_weight_says(self, case):
        """Two is the item twice, zero none; on a graph, where none has a copy, twice its evidence."""
        truth, evidence, weight = case.prepared, case.evidence(), np.arange(24) % 4
        heavy = truth.posterior(case.xi, case.X, replace(evidence, weight=weight.astype(float)))
        if isinstance(case.piece, GraphTruth):
            parts = (weight * getattr(evidence, part) for part in PARTS)
            more = truth.posterior(case.xi, case.X, QuadraticEvidence(*parts))
            np.testing.assert_allclose(heavy.mean, more.mean, atol=1e-10)
            assert heavy.log_marginal == pytest.approx(more.log_marginal)
            return
        copies = np.repeat(np.arange(24), weight)
        copied = truth.posterior(case.xi, case.X[copies], rows_of(evidence, copies))
        assert heavy.log_marginal == pytest.approx(copied.log_marginal)
        ours = truth.expected_log_truth(case.xi, case.X, heavy)
        theirs = truth.expected_log_truth(case.xi, case.X[copies], copied)
        assert ours[0] == pytest.approx(theirs[0])
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-10)

    def test_gold_is_certain_whatever_the_labels(self, case):
        gold = np.full(24, np.nan)
        gold[[2, 3, 20]] = [1, 0, 1]  # the last has no labels
        posterior = case.prepared.posterior(case.xi, case.X, case.evidence().with_gold(gold, None))
        np.testing.assert_allclose(posterior.mean[[2, 3, 20]], [1, 0, 1], atol=1e-3)
        assert posterior.variance[[2, 3, 20]].max() < 1e-5
        assert np.delete(posterior.variance, [2, 3, 20]).min() > 1e-5

    def test_gradient_of_the_expected_truth_matches_differences(self, case):
        truth, xi = case.prepared, case.xi
        posterior = truth.posterior(xi, case.X, case.evidence())
        value, gradient = truth.expected_log_truth(xi, case.X, posterior)
        assert isinstance(value, float)
        assert gradient.shape == xi.shape
        numeric = slope(lambda at: truth.expected_log_truth(at, case.X, posterior)[0], xi)
        np.testing.assert_allclose(gradient, numeric, atol=1e-5)

    def test_gradient_of_the_prior_matches_differences(self, case):
        truth, xi = case.prepared, case.xi
        value, gradient = truth.log_prior(xi)
        assert isinstance(value, float)
        np.testing.assert_allclose(gradient, slope(lambda at: truth.log_prior(at)[0], xi), atol=1e-6)

    def test_preparing_leaves_the_settings_alone(self, case):
        piece = case.piece
        before, fresh = piece.get_params(), clone(piece)
        truth = case.prepared
        assert truth is not piece
        assert piece.get_params() == before
        assert truth.get_params() == before
        assert {k: v for k, v in vars(piece).items() if k.startswith("_")} == {
            k: v for k, v in vars(fresh).items() if k.startswith("_")
        }

    def test_preparing_twice_is_preparing_once(self, case):
        once, twice = case.prepared, case.prepared.prepare(WORLD.X, WORLD.features)
        means = (truth.posterior(case.xi, case.X, case.evidence()).mean for truth in (once, twice))
        np.testing.assert_array_equal(*means)
        assert once.log_prior(case.xi)[0] == twice.log_prior(case.xi)[0]

    def test_the_state_holds_the_parameters(self, case):
        truth = case.prepared
        state = case.state(truth, case.evidence())
        np.testing.assert_allclose(truth.parameters(state), case.xi, atol=1e-12)

    def test_posterior_after_a_fit_is_eq_7(self, case):
        truth, evidence = case.prepared, case.evidence()
        posterior = truth.posterior(case.xi, case.X, evidence)
        expected = as_numbers(posterior)
        if isinstance(case.piece, GraphTruth):
            one = norm.cdf((posterior.mean - 0.5) / np.sqrt(posterior.variance))
            expected = np.column_stack([1 - one, one])
        found = truth.posterior_at(case.state(truth, evidence), case.X, evidence)
        np.testing.assert_allclose(as_numbers(found), expected, atol=1e-8)

    def test_the_posterior_of_some_items_is_that_of_all_read_there(self, case):
        truth, evidence, rows = case.prepared, case.evidence(), np.array([4, 0, 2])
        state = case.state(truth, evidence)
        whole = as_numbers(truth.posterior_at(state, case.X, evidence))
        some = as_numbers(truth.posterior_at(state, case.X[rows], rows_of(evidence, rows)))
        np.testing.assert_allclose(some, whole[rows], atol=1e-10)

    def test_predictions_are_distributions_anywhere(self, case):
        truth = case.prepared
        state = case.state(truth, case.evidence())
        X = case.features(np.random.default_rng(3).normal(size=(9, 2)))
        prob = predicted(truth, state, X)
        if case.n_classes:
            assert prob.shape == (9, case.n_classes)
            np.testing.assert_allclose(prob.sum(axis=1), 1, atol=1e-12)
            assert np.all((prob > 0) & (prob < 1))
        else:
            assert np.all(prob[:, 1] > 0)
        without = as_numbers(truth.posterior_at(state, X, case.empty(9)))
        np.testing.assert_allclose(prob, without, atol=1e-12)

    def test_settings_survive_clone_and_fit(self, case):
        before, truth = str(clone(case.piece).get_params()), case.prepared
        items = Items(case.X, WORLD.features, case.Y)
        solution = solve(Model(case.annotators, truth), items, None, Monitor(500, 1e-6), "em")
        assert np.all(np.isfinite(predicted(truth, solution.truth, case.X)))
        assert str(clone(truth).get_params()) == before
        assert str(case.piece.get_params()) == before


def no_more_than(Y, labels):
    """Return the annotations, at most this number per item."""
    rank = np.arange(Y.n_annotations) - np.repeat(np.cumsum(Y.labels_per_item) - Y.labels_per_item, Y.labels_per_item)
    kept = rank < labels
    return Annotations(Y.item[kept], Y.annotator[kept], Y.label[kept], Y.items, Y.annotators, Y.labels)
