"""Whether labels have more than one factor: only then can they not tell which of them is the truth."""

import numpy as np
import pytest
from scipy.special import expit, logit

from whoknows import Annotations
from whoknows.fit.second_factor import CONTRADICTION, contradiction, correlations, one_factor, second_factor


def said(rng, right, truth):
    """Return labels that are right with these probabilities."""
    return np.where(rng.random(right.shape) < right, truth, 1 - truth).astype(float)


def share(labels):
    return second_factor(Annotations.from_matrix(labels, labels=list(range(int(np.nanmax(labels)) + 1))))


@pytest.mark.parametrize(
    ("accuracy", "effect"),
    [([0.9] * 6 + [0.2] * 3, 0.0), (np.linspace(0.55, 0.9, 20), 1.5), ([0.9, 0.9, 0.2, 0.2, 0.2], 0.0)],
)
def test_annotators_of_any_accuracy_have_one_factor(accuracy, effect):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (300, 1))
    assert share(said(rng, expit(logit(accuracy) + effect * rng.normal(size=(300, 1))), truth)) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_judges_who_follow_a_trap_have_two(seed):
    rng = np.random.default_rng(seed)
    truth, trap = rng.integers(0, 2, (2, 300, 1))
    right = np.full((300, 6), 0.85)
    assert share(np.hstack([said(rng, right, truth), said(rng, right, trap)])) > 0.4


def test_contradiction_grows_with_the_second_factor_and_is_not_explained_by_constant_expertise():
    rng = np.random.default_rng(0)
    truth, trap = rng.integers(0, 2, (2, 300, 1))
    right = np.full((300, 6), 0.85)
    labels = np.hstack([said(rng, right, truth), said(rng, right, trap)])
    found = [contradiction(Annotations.from_matrix(labels[:, :n]), np.full((300, n), 0.8)) for n in (6, 8, 12)]
    assert found[0] == 0 < found[1] < 1 == found[2]
    few = second_factor(Annotations.from_matrix(labels[:, :8]))
    assert found[1] == pytest.approx(few / CONTRADICTION)


def test_experts_of_different_items_do_not_contradict_each_other():
    """Within each half of the items, one group knows the truth and the other guesses."""
    rng = np.random.default_rng(0)
    truth, left = rng.integers(0, 2, (600, 1)), np.arange(600)[:, None] < 300
    right = np.where(left == (np.arange(12) < 6), 0.9, 0.5)
    Y = Annotations.from_matrix(said(rng, right, truth))
    assert second_factor(Y) > CONTRADICTION
    assert contradiction(Y, right) < 0.2


def test_few_common_items_say_nothing():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (300, 12)).astype(float)
    labels[rng.random(labels.shape) < 0.85] = np.nan
    assert share(labels) == 0.0


def test_correlations_of_two_classes_are_those_of_pearson():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, (80, 3)).astype(float)
    labels[:, 1] = np.where(rng.random(80) < 0.7, labels[:, 0], labels[:, 1])
    labels[60:, 2] = np.nan
    C, n_common = correlations(Annotations.from_matrix(labels))
    assert C[0, 1] == pytest.approx(np.corrcoef(labels[:, 0], labels[:, 1])[0, 1])
    assert C[1, 2] == pytest.approx(np.corrcoef(labels[:60, 1], labels[:60, 2])[0, 1])
    assert n_common.tolist() == [[80, 80, 60], [80, 80, 60], [60, 60, 60]]


def test_one_factor_is_recovered_from_the_numbers_off_the_diagonal():
    a = np.array([0.9, 0.7, 0.5, -0.4, 0.6])
    known = ~np.eye(5, dtype=bool)
    found = one_factor(np.where(known, np.outer(a, a), 0.0), known)
    np.testing.assert_allclose(found * np.sign(found[0]), a, atol=1e-6)
