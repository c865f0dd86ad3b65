"""The contract of every annotator model. A new one is a line in test_annotators.py.

A subclass gives each test a ``case``: a piece, and the same piece as the reference implements it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tests.reference import models
from tests.reference.worlds import World, slope, with_ones, world
from whoknows.data.annotations import Annotations
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve
from whoknows.fit.variational import has_bound
from whoknows.model.annotators.pairs import group_labels
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.protocols import (
    AccuracyAnnotators,
    BiasAnnotators,
    CoefficientAnnotators,
    ScaleAnnotators,
    supports,
)
from whoknows.model.truth import LogisticTruth

WORLD = world(n_items=14, n_annotators=4, n_features=2, unlabelled=2, seed=1)
ONE = np.random.default_rng(2).random(14)
POSTERIOR = CategoricalPosterior(np.column_stack([1 - ONE, ONE]))


@dataclass(frozen=True)
class Case:
    """A piece, and ``say`` of tests/reference from its θ (rows for x with its constant)."""

    piece: Any
    say: Callable[[np.ndarray], Callable]


def some_theta(piece, w=WORLD, seed=3):
    start = piece.init(w.X.shape[1] + 1, w.matrix.shape[1])
    return start + np.random.default_rng(seed).normal(size=start.shape)


def solvers(piece):
    return ["em", "lbfgs", *(["vb"] if has_bound(Model(piece, LogisticTruth())) else [])]


def fit(piece, w, solver):
    truth = LogisticTruth().prepare(w.X, w.features)
    monitor = Monitor(2000, 1e-12)
    return solve(Model(piece, truth), w.items.labelled(), None, monitor, solver), monitor


class AnnotatorContract:
    """What any solver needs; ``case`` comes from the subclass."""

    def test_theta_has_one_row_per_annotator_and_one_for_the_population(self, case):
        theta = case.piece.init(3, 4)
        assert theta.ndim == 2
        assert len(theta) == 5
        assert np.all(theta == theta[-1])

    def test_answers_have_the_shapes_they_promise(self, case):
        theta, piece, X, Y = some_theta(case.piece), case.piece, WORLD.features, WORLD.Y
        value, gradient = piece.expected_log_lik(theta, X, Y, POSTERIOR)
        prior, prior_gradient = piece.log_prior(theta)
        assert isinstance(value, float)
        assert isinstance(prior, float)
        assert gradient.shape == prior_gradient.shape == theta.shape
        assert piece.evidence(theta, X, Y).table.shape == (14, 2)
        if supports(piece, CoefficientAnnotators):
            w, gamma = piece.coefficients(theta, 3)
            assert (w.shape, gamma.shape) == ((5, 2), (5,))
        if supports(piece, ScaleAnnotators):
            assert np.all(piece.scale(theta, X) > 0)
            assert piece.scale(theta, X).shape == (14, 5)
        if supports(piece, BiasAnnotators):
            assert piece.bias(theta).shape == (5,)

    def test_evidence_is_what_the_reference_says_label_by_label(self, case):
        theta = some_theta(case.piece)
        found, say = case.piece.evidence(theta, WORLD.features, WORLD.Y).table, case.say(theta)
        for i in range(14):
            for z in (0, 1):
                expected = np.log(models.likelihood(i, z, WORLD.features, WORLD.Y_L, say))
                assert found[i, z] == pytest.approx(expected, abs=1e-10)

    def test_expected_log_likelihood_is_evidence_averaged_over_the_posterior(self, case):
        theta = some_theta(case.piece)
        table = case.piece.evidence(theta, WORLD.features, WORLD.Y).table
        value, _ = case.piece.expected_log_lik(theta, WORLD.features, WORLD.Y, POSTERIOR)
        assert value == pytest.approx((POSTERIOR.prob * table).sum(), abs=1e-10)

    def test_gradient_of_the_expected_log_likelihood_matches_differences(self, case):
        theta = some_theta(case.piece)

        def value(theta):
            return case.piece.expected_log_lik(theta, WORLD.features, WORLD.Y, POSTERIOR)[0]

        _, gradient = case.piece.expected_log_lik(theta, WORLD.features, WORLD.Y, POSTERIOR)
        np.testing.assert_allclose(gradient, slope(value, theta), atol=1e-6)

    def test_gradient_of_the_prior_matches_differences(self, case):
        theta = some_theta(case.piece)
        _, gradient = case.piece.log_prior(theta)
        np.testing.assert_allclose(gradient, slope(lambda t: case.piece.log_prior(t)[0], theta), atol=1e-6)
        assert np.abs(gradient).min() > 0

    @pytest.mark.parametrize("n_chunks", [1, 2, 7])
    def test_sums_over_chunks_add_up(self, case, n_chunks):
        theta = some_theta(case.piece)
        items = WORLD.items
        whole = case.piece.expected_log_lik(theta, items.X_annotators, items.Y, POSTERIOR)
        table = case.piece.evidence(theta, items.X_annotators, items.Y).table
        value, gradient, tables = 0.0, 0.0, []
        for chunk, rows in zip(items.chunks(n_chunks), items.Y.chunks(n_chunks), strict=True):
            part = CategoricalPosterior(POSTERIOR.prob[rows])
            v, g = case.piece.expected_log_lik(theta, chunk.X_annotators, chunk.Y, part)
            value, gradient = value + v, gradient + g
            tables.append(case.piece.evidence(theta, chunk.X_annotators, chunk.Y).table)
        assert len(tables) == n_chunks
        assert value == pytest.approx(whole[0], abs=1e-10)
        np.testing.assert_allclose(gradient, whole[1], atol=1e-10)
        np.testing.assert_allclose(np.vstack(tables), table, atol=1e-12)

    def test_a_label_counts_as_often_as_its_confidence_says(self, case):
        """Two is the same label twice, zero none."""
        theta, piece, X, Y = some_theta(case.piece), case.piece, WORLD.features, WORLD.Y
        counted, written_out = with_confidence(Y)
        for answer in (piece.evidence, lambda theta, X, Y: piece.evidence_at(Belief(theta), X, Y)):
            np.testing.assert_allclose(answer(theta, X, counted).table, answer(theta, X, written_out).table, atol=1e-10)
        for ours, theirs in zip(
            piece.expected_log_lik(theta, X, counted, POSTERIOR),
            piece.expected_log_lik(theta, X, written_out, POSTERIOR),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)

    def test_an_item_counts_as_often_as_its_weight_says(self, case):
        theta, weight = some_theta(case.piece), np.arange(14) % 4
        copies = np.repeat(np.arange(14), weight)
        heavy = CategoricalPosterior(POSTERIOR.prob, weight=weight.astype(float))
        ours = case.piece.expected_log_lik(theta, WORLD.features, WORLD.Y, heavy)
        theirs = case.piece.expected_log_lik(
            theta, WORLD.features[copies], WORLD.Y[copies], CategoricalPosterior(POSTERIOR.prob[copies])
        )
        assert ours[0] == pytest.approx(theirs[0], abs=1e-10)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-10)

    def test_permuting_items_permutes_the_evidence(self, case):
        theta, order = some_theta(case.piece), np.random.default_rng(4).permutation(14)
        there = World(WORLD.X[order], WORLD.matrix[order], WORLD.z[order])
        here = case.piece.evidence(theta, WORLD.features, WORLD.Y).table
        np.testing.assert_allclose(case.piece.evidence(theta, there.features, there.Y).table, here[order], atol=1e-12)
        moved = CategoricalPosterior(POSTERIOR.prob[order])
        for ours, theirs in zip(
            case.piece.expected_log_lik(theta, WORLD.features, WORLD.Y, POSTERIOR),
            case.piece.expected_log_lik(theta, there.features, there.Y, moved),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)

    def test_permuting_annotators_permutes_their_gradients(self, case):
        theta, order = some_theta(case.piece), np.array([2, 0, 3, 1])
        there = World(WORLD.X, WORLD.matrix[:, order], WORLD.z)
        moved = np.vstack([theta[:-1][order], theta[-1:]])
        np.testing.assert_allclose(
            case.piece.evidence(moved, there.features, there.Y).table,
            case.piece.evidence(theta, WORLD.features, WORLD.Y).table,
            atol=1e-12,
        )
        value, gradient = case.piece.expected_log_lik(theta, WORLD.features, WORLD.Y, POSTERIOR)
        same, permuted = case.piece.expected_log_lik(moved, there.features, there.Y, POSTERIOR)
        assert same == pytest.approx(value, abs=1e-10)
        np.testing.assert_allclose(permuted[:-1], gradient[:-1][order], atol=1e-10)
        assert case.piece.log_prior(moved)[0] == pytest.approx(case.piece.log_prior(theta)[0])

    def test_an_unseen_annotator_has_the_last_row(self, case):
        theta = some_theta(case.piece)
        Y = Annotations.from_arrays([0, 1], ["new", "new"], [0, 1], items=range(14), labels=[0, 1])
        unknown = Y.recode(WORLD.Y.annotators, [0, 1], unknown="population")
        found, say = case.piece.evidence(theta, WORLD.features, unknown).table, case.say(theta)
        for z in (0, 1):
            assert found[0, z] == pytest.approx(np.log(say(0, z, WORLD.features[0], 4)))
            assert found[1, z] == pytest.approx(np.log(say(1, z, WORLD.features[1], 4)))

    def test_an_annotator_without_labels_gets_the_populations_coefficients(self, case):
        silent = World(WORLD.X, np.column_stack([WORLD.matrix, np.full(14, np.nan)]), WORLD.z)
        for solver in solvers(case.piece):
            belief = fit(case.piece, silent, solver)[0].annotators
            np.testing.assert_allclose(belief.mean[4], belief.mean[5], atol=1e-4, err_msg=solver)
            assert np.abs(belief.mean[:4] - belief.mean[5]).max() > 1e-3
            if belief.covariance is not None:
                np.testing.assert_allclose(belief.covariance[4], belief.covariance[5], err_msg=solver)

    def test_listing_annotators_without_labels_does_not_change_the_others(self, case):
        silent = World(WORLD.X, np.column_stack([WORLD.matrix, np.full((14, 3), np.nan)]), WORLD.z)
        for solver in solvers(case.piece):
            (without, short), (with_, long) = (fit(case.piece, w, solver) for w in (WORLD, silent))
            assert long.history[-1] == pytest.approx(short.history[-1], rel=1e-7), solver
            np.testing.assert_allclose(
                with_.annotators.mean[:4], without.annotators.mean[:4], atol=2e-3, err_msg=solver
            )
            np.testing.assert_allclose(with_.truth.mean, without.truth.mean, atol=2e-3, err_msg=solver)
            if solver == "vb":
                np.testing.assert_allclose(with_.truth.mean, without.truth.mean, atol=1e-10)

    def test_settings_survive_clone_and_fit(self, case):
        before = case.piece.get_params()
        copied = clone(case.piece)
        assert copied is not case.piece
        assert copied == case.piece
        assert type(copied)().set_params(**case.piece.get_params(deep=False)) == case.piece
        for solver in solvers(copied):
            fit(copied, WORLD, solver)
        assert copied.get_params() == before == case.piece.get_params()

    def test_evidence_under_a_point_belief_is_the_evidence_at_that_point(self, case):
        theta = some_theta(case.piece)
        np.testing.assert_allclose(
            case.piece.evidence_at(Belief(theta), WORLD.features, WORLD.Y).table,
            case.piece.evidence(theta, WORLD.features, WORLD.Y).table,
            atol=1e-10,
        )

    def test_three_hundred_labels_on_one_item_do_not_underflow(self, case):
        rng = np.random.default_rng(0)
        Y = Annotations.from_matrix((rng.random((1, 300)) < 0.7).astype(float), labels=[0, 1])
        theta = case.piece.init(3, 300) + 0.3 * rng.normal(size=(301, 1))
        X = with_ones(np.array([[0.5, -1.0]]))
        evidence = case.piece.evidence(theta, X, Y)
        posterior = LogisticTruth().posterior(np.zeros((3, 1)), X, evidence)
        assert np.exp(evidence.table).max() < 1e-40
        assert np.all(np.isfinite(evidence.table))
        assert posterior.prob.sum() == pytest.approx(1)
        assert posterior.prob[0, 1] > 0.99
        assert np.isfinite(posterior.log_marginal)

    def test_extreme_coefficients_stay_finite(self, case):
        theta = some_theta(case.piece) * 300
        value, gradient = case.piece.expected_log_lik(theta, WORLD.features, WORLD.Y, POSTERIOR)
        assert np.isfinite(value)
        assert np.all(np.isfinite(gradient))
        assert np.all(np.isfinite(case.piece.evidence(theta, WORLD.features, WORLD.Y).table))


class ClassAnnotatorContract:
    """What `CrowdClassifier` needs on top."""

    def test_class_answers_have_the_shapes_they_promise(self, case):
        belief, X = Belief(some_theta(case.piece)), WORLD.features
        assert case.piece.predictive(belief, X, WORLD.Y).table.shape == (14, 2)
        assert case.piece.expertise(belief, X, POSTERIOR.prob).shape == (14, 5)
        assert case.piece.confusion(belief, X).shape == (5, 2, 2)
        np.testing.assert_allclose(case.piece.confusion(belief, X).sum(axis=2), 1, atol=1e-12)
        if supports(case.piece, AccuracyAnnotators):
            accuracy = np.broadcast_to(case.piece.accuracy(belief, X), (14, 5, 2))
            expected = (accuracy * POSTERIOR.prob[:, None, :]).sum(axis=2)
            np.testing.assert_allclose(case.piece.expertise(belief, X, POSTERIOR.prob), expected, atol=1e-12)

    def test_a_predicted_label_counts_as_often_as_its_confidence_says(self, case):
        belief, (counted, written_out) = Belief(some_theta(case.piece)), with_confidence(WORLD.Y)
        ours, theirs = (case.piece.predictive(belief, WORLD.features, Y).table for Y in (counted, written_out))
        np.testing.assert_allclose(ours, theirs, atol=1e-10)

    def test_probabilities_of_labels_sum_to_one(self, case):
        theta = some_theta(case.piece)
        covariance = np.array([0.3 * np.eye(theta.shape[1])] * len(theta))
        for belief in (Belief(theta), Belief(theta, covariance)):
            zeros, ones = (
                case.piece.predictive(belief, WORLD.features, with_labels(WORLD.Y, label)).table for label in (0, 1)
            )
            one_each = WORLD.Y.labels_per_item == 1
            assert one_each.any()
            np.testing.assert_allclose(np.exp(zeros[one_each]) + np.exp(ones[one_each]), 1, atol=1e-12)
            assert np.all(np.vstack([zeros, ones]) <= 0)

    def test_expertise_is_a_probability_and_better_than_chance_at_the_start(self, case):
        X, theta = 5 * WORLD.features, some_theta(case.piece)
        for belief in (Belief(theta), Belief(theta, np.array([np.eye(theta.shape[1])] * 5))):
            expertise = case.piece.expertise(belief, X, POSTERIOR.prob)
            assert np.all((expertise > 0) & (expertise <= 1))
        start = case.piece.expertise(Belief(case.piece.init(3, 4)), WORLD.features, POSTERIOR.prob)
        assert np.all(start > 0.6)

    def test_expertise_is_the_predictive_probability_of_the_right_label(self, case):
        theta = some_theta(case.piece)
        for belief in (Belief(theta), Belief(theta, np.array([0.5 * np.eye(theta.shape[1])] * 5))):
            found = case.piece.expertise(belief, WORLD.features, POSTERIOR.prob)
            for t in range(4):
                asked = Annotations.from_arrays(
                    range(14), [t] * 14, [0] * 14, items=range(14), annotators=range(4), labels=[0, 1]
                )
                zero = np.exp(case.piece.predictive(belief, WORLD.features, asked).table[:, 0])
                one = np.exp(case.piece.predictive(belief, WORLD.features, with_labels(asked, 1)).table[:, 1])
                expected = POSTERIOR.prob[:, 0] * zero + POSTERIOR.prob[:, 1] * one
                np.testing.assert_allclose(found[:, t], expected, atol=1e-12)


class BoundedAnnotatorContract:
    """What the variational solver needs on top, for pieces that have a bound."""

    def belief(self, piece):
        theta = some_theta(piece)
        rng = np.random.default_rng(6)
        roots = rng.normal(size=(*theta.shape, theta.shape[1])) * 0.5
        return Belief(theta, roots @ roots.transpose(0, 2, 1))

    def test_bounded_evidence_lies_below_the_expected_evidence(self, case):
        belief, rng = self.belief(case.piece), np.random.default_rng(7)
        X, Y, pairs = WORLD.features, WORLD.Y, WORLD.items.pairs
        found = case.piece.bounded_evidence(case.piece.moments(belief, pairs), pairs).table
        roots = np.linalg.cholesky(belief.covariance + 1e-12 * np.eye(belief.mean.shape[1]))
        draws = [
            case.piece.evidence(
                belief.mean + np.einsum("tij,tj->ti", roots, rng.normal(size=belief.mean.shape)), X, Y
            ).table
            for _ in range(4000)
        ]
        expected, error = np.mean(draws, axis=0), np.std(draws, axis=0) / np.sqrt(4000)
        assert np.all(found <= expected + 4 * error)
        assert np.abs(found - expected).max() < 2  # and not far below

    def test_an_unseen_annotator_is_as_uncertain_as_the_last_row_says(self, case):
        belief, X, Y = self.belief(case.piece), WORLD.features, WORLD.Y
        by_nobody, by_the_last = (
            Annotations(Y.item, np.full_like(Y.annotator, code), Y.label, Y.items, Y.annotators, Y.labels)
            for code in (-1, 4)
        )
        for answer in (case.piece.evidence_at, case.piece.predictive):
            np.testing.assert_allclose(
                answer(belief, X, by_nobody).table, answer(belief, X, by_the_last).table, atol=1e-12
            )

    def test_statistics_are_the_bounds_quadratic_in_theta(self, case):
        """Σ_i,z q (log σ's bound) = pull·θ − ½ θᵀ gram θ + constant: compared by its change from θ to θ'."""
        piece, pairs, Y = case.piece, WORLD.items.pairs, WORLD.items.pairs.labels
        belief = self.belief(piece)
        moments = piece.moments(belief, pairs)
        gram, pull = piece.statistics(moments, pairs, POSTERIOR)
        c = np.sqrt(moments[1])
        omega = np.tanh(c / 2) / (2 * c)

        def bound(theta):
            eta = piece.moments(Belief(theta), pairs)[0]
            sign = np.where(Y.label[:, None] == np.arange(2), 1.0, -1.0)
            return (Y.counts[:, None] * POSTERIOR.prob[Y.item] * (sign * eta / 2 - omega * eta**2 / 2)).sum()

        def quadratic(theta):
            theta = theta[:-1]
            return (pull * theta).sum() - 0.5 * np.einsum("ti,tij,tj->", theta, gram, theta)

        for seed in (10, 11):
            theta = some_theta(piece, seed=seed)
            assert quadratic(theta) == pytest.approx(bound(theta), abs=1e-9)

    def test_statistics_count_labels_by_confidence_and_items_by_weight(self, case):
        piece, belief, weight = case.piece, self.belief(case.piece), np.arange(14) % 3
        copies = np.repeat(np.arange(14), weight)

        def sums(X, Y, posterior):
            pairs = group_labels(X, Y)
            return piece.statistics(piece.moments(belief, pairs), pairs, posterior)

        counted, written_out = with_confidence(WORLD.Y)
        heavy = CategoricalPosterior(POSTERIOR.prob, weight=weight.astype(float))
        ours = sums(WORLD.features, counted, heavy)
        theirs = sums(WORLD.features[copies], written_out[copies], CategoricalPosterior(POSTERIOR.prob[copies]))
        for total, expected in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(total, expected, atol=1e-10)

    @pytest.mark.parametrize("n_chunks", [2, 7])
    def test_statistics_add_up_over_chunks(self, case, n_chunks):
        piece, belief, items = case.piece, self.belief(case.piece), WORLD.items

        def sums(part: Items, posterior):
            return piece.statistics(piece.moments(belief, part.pairs), part.pairs, posterior)

        whole = sums(items, POSTERIOR)
        parts = [
            sums(chunk, CategoricalPosterior(POSTERIOR.prob[rows]))
            for chunk, rows in zip(items.chunks(n_chunks), items.Y.chunks(n_chunks), strict=True)
        ]
        for total, pieces in zip(whole, zip(*parts, strict=True), strict=True):
            np.testing.assert_allclose(sum(pieces), total, atol=1e-12)


def with_confidence(Y):
    """Return the labels, each with a confidence of 0 to 3, and the same labels written down so often."""
    times = np.arange(Y.n_annotations) % 4
    again = np.repeat(np.arange(Y.n_annotations), times)
    codes = Y.item[again], Y.annotator[again], Y.label[again]
    return replace(Y, confidence=times.astype(float)), Annotations(*codes, Y.items, Y.annotators, Y.labels)


def with_labels(Y, label):
    """Return the same triples, every label the same."""
    return Annotations(Y.item, Y.annotator, np.full_like(Y.label, label), Y.items, Y.annotators, np.array([0, 1]))
