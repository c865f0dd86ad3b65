"""Starts: the better mode is found where the vote leads to the wrong one."""

import numpy as np
import pytest

from whoknows import Annotations, CrowdClassifier
from whoknows.estimators.inputs.resolve import one_accuracy_is_enough
from whoknows.fit.engines import Serial
from whoknows.fit.items import Items
from whoknows.fit.starts import LabelCounts, bound_of_labels, one_label, vote
from whoknows.model.annotators import BernoulliAnnotators


def crowd(seed, right, n_constant=0):
    """Return 120 items with 80 labelled, by annotators who are right this often and some who always say 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    truth = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
    is_right = rng.random((120, len(right))) < right
    labels = np.where(is_right, truth[:, None], 1 - truth[:, None]).astype(float)
    labels = np.column_stack([labels, np.ones((120, n_constant))])
    labels[80:] = np.nan
    return X, labels, truth


def share_right(model, truth):
    return np.mean(model.posterior_[:80].argmax(axis=1) == truth[:80])


@pytest.mark.parametrize("seed", range(3))
def test_a_few_gold_items_correct_a_crowd_that_is_mostly_wrong(seed):
    X, labels, truth = crowd(seed, [0.9, 0.9, 0.2, 0.2, 0.2])
    gold = {i: int(truth[i]) for i in range(6)}
    model = CrowdClassifier("id", map="linear")
    assert share_right(model.fit(X, labels), truth) < 0.1  # without gold, the mirror image
    assert share_right(model.fit(X, labels, gold=gold), truth) > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_annotators_who_always_say_one_thing_do_not_outvote_the_others(seed):
    X, labels, truth = crowd(seed, [0.85, 0.85, 0.85], n_constant=4)
    assert share_right(CrowdClassifier("id", map="linear").fit(X, labels), truth) > 0.9


def test_weights_of_votes():
    one = np.ones((6, 1))
    labels = [[0, 1, 1], [0, 1, 1], [1, 0, 1], [1, 0, 1], [1, 0, 1], [0, np.nan, 1]]
    gold = np.array([0, 0, 1, 1, np.nan, np.nan])
    counts = LabelCounts.of([Items(one, one, Annotations.from_matrix(labels), gold)], Serial())
    assert counts.labels.tolist() == [[3, 3], [3, 2], [0, 6]]
    assert counts.right.tolist() == [4, 0, 2]
    assert counts.on_gold.tolist() == [4, 4, 4]
    good, bad, even = counts.vote_weights
    assert good > 1 > even > 0 > bad
    unknown = LabelCounts(counts.labels, np.zeros(3), np.zeros(3))
    assert unknown.vote_weights.tolist() == [1, 1, 1]


def test_constant_annotators_have_no_vote_among_two_classes():
    counts = np.array([[30, 30], [0, 60], [28, 32]])
    assert one_label(counts).tolist() == [False, True, False]
    assert LabelCounts(counts, np.zeros(3), np.zeros(3)).vote_weights[1] == 0
    more = np.column_stack([counts, [0, 0, 0]])
    assert LabelCounts(more, np.zeros(3), np.zeros(3)).vote_weights[1] == 1


def test_an_inverted_vote_counts_for_the_other_class():
    one = np.ones((1, 1))
    items = Items(one, one, Annotations.from_matrix([[1.0]], labels=[0, 1]))
    assert vote(items, np.array([-1.25])).prob[0] == pytest.approx([0.731, 0.269], abs=1e-3)


def test_accuracies_that_differ_by_class_are_found_by_the_bound():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    cautious = np.where(truth[:, None] == 1, rng.random((300, 6)) < 0.5, rng.random((300, 6)) < 0.03)
    even = np.where(rng.random((300, 6)) < 0.8, truth[:, None], 1 - truth[:, None])
    assert not one_accuracy_is_enough(Annotations.from_matrix(cautious.astype(float)))
    assert one_accuracy_is_enough(Annotations.from_matrix(even.astype(float)))


def test_the_bound_of_the_labels_does_not_depend_on_the_order_of_items():
    labels = np.random.default_rng(1).integers(0, 2, (40, 3)).astype(float)
    bounds = [bound_of_labels(BernoulliAnnotators(), Annotations.from_matrix(y)) for y in (labels, labels[::-1])]
    assert bounds[0] == pytest.approx(bounds[1])
