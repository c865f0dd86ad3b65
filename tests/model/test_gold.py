"""The correction of the posterior by gold, against quadrature and known answers."""

import numpy as np
import pytest
from scipy.special import log_softmax

from whoknows import Annotations
from whoknows.model.gold import GoldCorrection, fit_correction, maximum


def judges(seed, right, n_items=200):
    """Return labels of judges who are right this often, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_items)
    is_right = rng.random((n_items, len(right))) < right
    return np.where(is_right, truth[:, None], 1 - truth[:, None]).astype(float), truth


def share_of_votes(labels):
    """Return a posterior that counts votes, much too sure of itself."""
    odds = 4 * (2 * labels - 1).sum(axis=1)
    return np.column_stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))])


def fitted(labels, truth, n_gold, prob):
    Y = Annotations.from_matrix(labels[:n_gold], labels=[0, 1])
    return fit_correction(prob[:n_gold], Y, truth[:n_gold].astype(float), np.ones(n_gold))


def accuracy(correction, labels, truth, prob, n_gold):
    found = correction.corrected(prob[n_gold:], Annotations.from_matrix(labels[n_gold:], labels=[0, 1]))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    return np.mean(found.argmax(axis=1) == truth[n_gold:])


def test_the_evidence_is_the_integral_over_the_weights():
    rng = np.random.default_rng(0)
    features, gold = rng.normal(size=(40, 3, 1)), rng.integers(0, 3, 40)
    counts, mean, variance = rng.uniform(0.5, 2, 40), np.array([0.3]), np.array([0.4])
    _, evidence = maximum(features, gold, counts, mean, variance)
    w = np.linspace(-4, 4, 4001)
    log_q = log_softmax(features[None, :, :, 0] * w[:, None, None], axis=2)
    log_joint = log_q[:, np.arange(40), gold] @ counts - 0.5 * (w - mean) ** 2 / variance
    integral = np.log(np.trapezoid(np.exp(log_joint), w) / np.sqrt(2 * np.pi * variance[0]))
    assert evidence == pytest.approx(integral, abs=0.02)


def test_gold_items_on_which_the_model_is_right_hardly_change_it():
    """They are too few to show that its probabilities, which are those of these judges, should be others."""
    changes = []
    for seed in range(6):
        labels, truth = judges(seed, [0.8] * 5)
        odds = np.log(4) * (2 * labels - 1).sum(axis=1)
        prob = np.column_stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))])
        right = np.flatnonzero(prob.argmax(axis=1) == truth)[:20]
        Y = Annotations.from_matrix(labels, labels=[0, 1])
        found = fit_correction(prob[right], Y[right], truth[right].astype(float), np.ones(20)).corrected(prob, Y)
        np.testing.assert_array_equal(found.argmax(axis=1), prob.argmax(axis=1))
        changes.append(np.abs(found - prob).mean())
    assert np.mean(changes) < 0.008


def test_the_weights_are_the_maximum():
    rng = np.random.default_rng(1)
    features, gold, counts = rng.normal(size=(30, 2, 4)), rng.integers(0, 2, 30), np.ones(30)
    mean, variance = rng.normal(size=4), rng.uniform(0.1, 1, 4)
    best, _ = maximum(features, gold, counts, mean, variance)

    def value(weights):
        log_q = log_softmax(features @ weights, axis=1)
        return log_q[np.arange(30), gold].sum() - 0.5 * np.sum((weights - mean) ** 2 / variance)

    steps = 1e-3 * np.vstack([np.eye(4), -np.eye(4)])
    assert all(value(best) > value(best + step) for step in steps)


@pytest.mark.parametrize("seed", range(3))
def test_forty_gold_items_suffice_to_follow_one_good_judge(seed):
    labels, truth = judges(seed, [0.9, *[0.5] * 4])
    labels = np.column_stack([labels, np.repeat(labels[:, 1:2], 6, axis=1)])  # who err together
    prob = share_of_votes(labels)
    assert np.mean(prob.argmax(axis=1) == truth) < 0.6
    assert accuracy(fitted(labels, truth, 40, prob), labels, truth, prob, 40) > 0.8


def test_a_mirror_image_is_turned():
    labels, truth = judges(0, [0.2, 0.2, 0.2])
    prob = share_of_votes(labels)
    correction = fitted(labels, truth, 6, prob)
    assert accuracy(correction, labels, truth, prob, 6) > 0.85


def test_gold_tempers_a_posterior_that_is_too_sure():
    labels, truth = judges(1, [0.7, 0.7, 0.7], 400)
    prob = share_of_votes(labels)
    found = fitted(labels, truth, 200, prob).corrected(prob, Annotations.from_matrix(labels, labels=[0, 1]))
    right = np.mean(found.argmax(axis=1) == truth)
    assert prob.max(axis=1).mean() > right + 0.15
    assert found.max(axis=1).mean() == pytest.approx(right, abs=0.05)


def test_a_single_annotator_is_replaced_by_the_model_where_a_label_is_missing():
    one = np.ones(1)
    correction = GoldCorrection(one, 2 * one, 0 * one, np.array([[3.0, 0.0]]), np.zeros((1, 2)), np.array([0]))
    Y = Annotations.from_matrix([[1.0, 0.0], [np.nan, 0.0]], labels=[0, 1])
    found = correction.corrected(np.array([[0.9, 0.1], [0.9, 0.1]]), Y)
    assert found[0, 1] == pytest.approx(1 / (1 + np.exp(-3)))
    assert found[1, 0] == pytest.approx(0.9**2 / (0.9**2 + 0.1**2))


def test_an_item_of_weight_two_counts_twice():
    labels, truth = judges(2, [0.8, 0.6, 0.7], 60)
    prob, Y = share_of_votes(labels), Annotations.from_matrix(labels, labels=[0, 1])
    counts = np.where(np.arange(60) < 20, 2.0, 1.0)
    weighted = fit_correction(prob, Y, truth.astype(float), counts)
    rows = np.r_[:60, :20]
    twice = Annotations.from_matrix(labels[rows], labels=[0, 1])
    repeated = fit_correction(prob[rows], twice, truth[rows].astype(float), np.ones(80))
    assert np.abs(weighted.corrected(prob, Y) - repeated.corrected(prob, Y)).max() < 0.05


def test_a_classifier_that_gold_taught_counts_where_it_is_right():
    labels, truth = judges(2, [0.6, 0.6, 0.6])
    prob, Y = share_of_votes(labels), Annotations.from_matrix(labels, labels=[0, 1])
    log_g = np.log(np.where(np.arange(2) == truth[:, None], 0.9, 0.1))
    gold, counts = truth[:40].astype(float), np.ones(40)
    for says, lowest, highest in ((log_g, 0.95, 1.0), (np.full_like(log_g, np.log(0.5)), 0.5, 0.75)):
        correction = fit_correction(prob[:40], Y[:40], gold, counts, says[:40])
        found = correction.corrected(prob[40:], Y[40:], says[40:])
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert lowest <= np.mean(found.argmax(axis=1) == truth[40:]) <= highest


def test_without_a_classifier_candidates_have_no_weight_for_one():
    labels, truth = judges(3, [0.8, 0.7, 0.6])
    assert not fitted(labels, truth, 40, share_of_votes(labels)).of_classifier.any()
