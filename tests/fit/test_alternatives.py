"""Simpler models of the labels, and whether features say anything about the truth."""

import numpy as np
import pytest
from scipy.special import expit, logit

from whoknows import Annotations, ConfusionAnnotators, LogisticTruth
from whoknows._array import log_softmax
from whoknows.fit.alternatives import (
    INFORMATIVE,
    all_alike,
    features_say_nothing,
    first_step,
    fit_labels_alone,
    gain_of_features,
    probability_of_gain,
    weight_of_features,
    without_features,
)
from whoknows.fit.items import Items
from whoknows.fit.objective import Model

N_ITEMS = 200


def world(n_classes, informative, seed=0):
    """Return a model and items whose features say much about the truth, or nothing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, N_ITEMS)
    labels = np.where(rng.random((N_ITEMS, 4)) < 0.75, truth[:, None], rng.integers(0, n_classes, (N_ITEMS, 4)))
    X = rng.normal(size=(N_ITEMS, 6))
    X[:, :n_classes] += 2 * informative * np.eye(n_classes)[truth]
    features = np.hstack([X / np.sqrt(6), np.ones((N_ITEMS, 1))])
    Y = Annotations.from_matrix(labels.astype(float), labels=list(range(n_classes)))
    model = Model(
        ConfusionAnnotators().for_classes(n_classes), LogisticTruth().for_classes(n_classes).prepare(X, features)
    )
    return model, Items(features, features[:, -1:], Y), truth


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_noise_says_nothing_and_features_of_the_classes_do(n_classes):
    for informative in (0, 1):
        model, items, _ = world(n_classes, informative)
        assert features_say_nothing(model, items) == (not informative)


@pytest.mark.parametrize("seed", range(3))
def test_the_weight_of_features_is_their_probability_averaged_over_the_gain(seed):
    model, items, _ = world(2, 0.15, seed)
    alone, solution = fit_labels_alone(model.annotators, items)
    evidence = alone.annotators.evidence_at(solution.annotators, items.X_annotators, items.Y).table
    log_shares = alone.truth.log_predict(solution.truth, items.X_truth[:, -1:])
    prob = np.exp(log_softmax(log_shares + evidence))
    gain = gain_of_features(first_step(model.truth, items.X_truth, prob, np.ones(N_ITEMS)), log_shares, evidence)
    total = gain.sum() + gain.std() * N_ITEMS**0.5 * np.random.default_rng(0).normal(size=200_000)
    assert weight_of_features(model, items) == pytest.approx(expit(logit(INFORMATIVE) + total).mean(), abs=0.02)


@pytest.mark.parametrize(("gain", "prior"), [(0.0, 0.5), (0.03, 0.5), (0.03, 0.05), (-0.05, 0.5)])
def test_the_probability_of_a_gain_is_its_average_over_what_the_sum_may_be(gain, prior):
    rng = np.random.default_rng(0)
    gains, counts = gain + rng.normal(scale=0.2, size=100), rng.integers(1, 3, 100).astype(float)
    of_item = gains - np.average(gains, weights=counts)
    total = counts @ gains + np.sqrt(counts @ of_item**2) * rng.normal(size=200_000)
    expected = expit(logit(prior) + total).mean()
    assert probability_of_gain(gains, counts, prior) == pytest.approx(expected, abs=0.02)


def test_an_item_of_weight_two_is_the_item_twice():
    _, items, truth = world(2, 1)
    model = LogisticTruth().prepare(items.X_truth[:, :-1], items.X_truth)
    prob, counts = np.eye(2)[truth], np.ones(N_ITEMS)
    counts[:5] = 2
    twice = np.r_[np.arange(N_ITEMS), np.arange(5)]
    alone = first_step(model, items.X_truth, prob, counts)
    again = first_step(model, items.X_truth[twice], prob[twice], np.ones(len(twice)))
    np.testing.assert_allclose(alone[5:], again[5:N_ITEMS], atol=1e-10)


def test_the_first_step_is_the_newton_step_of_a_fit_without_the_item():
    _, items, truth = world(3, 1)
    X, prob, R = (
        items.X_truth,
        np.eye(3)[truth],
        LogisticTruth().prepare(items.X_truth[:, :-1], items.X_truth).precision,
    )
    found = first_step(LogisticTruth().with_precision(R), X, prob, np.ones(N_ITEMS))
    for i in (0, 7):
        rest = np.arange(N_ITEMS) != i
        xi = np.linalg.solve(2 / 9 * X[rest].T @ X[rest] + R, X[rest].T @ (prob[rest] - 1 / 3))
        np.testing.assert_allclose(found[i], X[i] @ xi, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_annotators_who_count_alike_are_the_vote(n_classes):
    _, items, _ = world(n_classes, 0)
    model, solution = all_alike(items)
    one = np.ones((N_ITEMS, 1))
    table = model.annotators.evidence_at(solution.annotators, one, items.Y).table
    votes = np.stack([np.bincount(items.Y.item[items.Y.label == k], minlength=N_ITEMS) for k in range(n_classes)], 1)
    found, due = (np.argsort(np.round(t, 4), axis=1, kind="stable") for t in (table, votes))
    np.testing.assert_array_equal(found, due)


def test_labels_alone_leave_expertise_constant():
    model, items, _ = world(2, 1)
    alone, solution = without_features(model, items)
    assert not alone.annotators.varies_with_x
    assert solution.annotators.mean.shape == (5, 2)
