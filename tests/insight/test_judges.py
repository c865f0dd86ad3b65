"""Annotators against gold, by kind, and who errs together."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from whoknows import Annotations
from whoknows.data.errors import InputError
from whoknows.insight import against_gold, by_kind, shared_errors
from whoknows.insight.accuracy import kappa_and_variance, kappa_interval, wilson
from whoknows.insight.kinds import ByKind


def judged(n=400, skills=(0.9, 0.7, 0.5), n_classes=2, seed=0):
    """Truth, and labels that are right with these probabilities."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    right = rng.random((n, len(skills))) < skills
    labels = np.where(
        right, truth[:, None], (truth[:, None] + rng.integers(1, n_classes, (n, len(skills)))) % n_classes
    )
    return truth, labels


# --- against gold ----------------------------------------------------------------------------------------


def test_numbers_are_those_of_scikit_learn():
    truth, labels = judged(60, n_classes=3)
    found = against_gold(Annotations.from_matrix(labels), truth)
    assert np.allclose(found.accuracy[0], (labels == truth[:, None]).mean(axis=0))
    assert np.allclose(found.kappa[0], [cohen_kappa_score(truth, column) for column in labels.T])
    assert np.allclose(found.recall[0][0], [(labels[truth == k, 0] == k).mean() for k in range(3)])
    for value, low, high in (found.accuracy, found.kappa, found.recall):
        assert (low < value).all()
        assert (value < high).all()


def test_the_variance_of_kappa_is_that_of_many_samples():
    share = np.array([[0.45, 0.1], [0.05, 0.4]])
    samples = np.random.default_rng(0).multinomial(500, share.ravel(), 4000).reshape(-1, 2, 2)
    found = kappa_and_variance(samples)[0].var()
    assert kappa_and_variance(500 * share[None])[1][0] == pytest.approx(found, rel=0.08)


@pytest.mark.parametrize("n", [10, 30, 100])
def test_the_interval_of_kappa_covers(n):
    rng = np.random.default_rng(n)
    share = rng.dirichlet([8, 1, 1, 8], 800).reshape(-1, 2, 2)
    truth = kappa_and_variance(share)[0]
    counts = np.array([rng.multinomial(n, each.ravel()) for each in share]).reshape(-1, 2, 2)
    _, low, high = kappa_interval(counts, 1.645)
    assert 0.87 <= np.mean((low <= truth) & (truth <= high)) <= 0.95


def test_wilson_is_the_solution_of_its_equation():
    share, low, high = wilson(7, 20, 1.645)
    for limit in (low, high):
        assert (share - limit) ** 2 == pytest.approx(1.645**2 * limit * (1 - limit) / 20)


def test_annotators_without_gold_have_no_numbers():
    y = Annotations.from_matrix([["a", None], ["b", None], [None, "a"]], annotators=["one", "two"])
    found = against_gold(y, {0: "a", 1: "b"})
    assert found.n_gold.tolist() == [2, 0]
    assert np.isnan([found.accuracy[0][1], found.accuracy[1][1], found.kappa[0][1], found.kappa[2][1]]).all()
    table = found.columns()
    assert list(table)[:5] == ["annotator", "n_gold", "accuracy", "accuracy low", "accuracy high"]
    assert "recall of b high" in table


@pytest.mark.parametrize("second", [0, 1])
def test_kappa_of_one_class_is_not_defined(second):
    found = against_gold(Annotations.from_matrix([[1], [second], [0]]), {0: 1, 1: 1})
    assert found.accuracy[0][0] == (1 + second) / 2
    assert np.isnan(found.kappa).all()


def test_gold_of_strange_items_is_named():
    with pytest.raises(InputError, match="gold names 1 of 1 items"):
        against_gold(Annotations.from_matrix([[0], [1]]), {"x": 0})


# --- by kind -----------------------------------------------------------------------------------------------


def test_gold_corrects_a_posterior_that_trusts_the_wrong_annotator():
    """The posterior follows annotator 0, who is wrong on texts."""
    rng = np.random.default_rng(0)
    truth, kind = rng.integers(2, size=600), np.repeat(["image", "text"], 300)
    labels = np.column_stack([np.where(kind == "text", 1 - truth, truth), truth])
    posterior = np.eye(2)[labels[:, 0]] * 0.9 + 0.05
    gold = np.where(rng.random(600) < 0.15, truth, np.nan)
    y = Annotations.from_matrix(labels, annotators=["bad on texts", "good"])
    blind, found = by_kind(y, posterior, kind), by_kind(y, posterior, kind, gold)
    assert blind.right[1] > 0.9
    assert found.kind.tolist() == ["image", "text"] * 2
    assert np.allclose(found.right, [1, 0, 1, 1], atol=0.1)
    assert (found.low <= [1, 0, 1, 1]).all()
    assert found.n_gold.sum() == 2 * np.isfinite(gold).sum()


def test_items_of_no_kind_are_left_out():
    y = Annotations.from_matrix([[0, None], [1, 1], [0, None]])
    found = by_kind(y, np.eye(2)[[0, 1, 0]], ["x", "y", None])
    assert list(zip(found.annotator.tolist(), found.kind.tolist(), strict=True)) == [(0, "x"), (0, "y"), (1, "y")]
    assert found.n_labels.tolist() == [1, 1, 1]
    assert len(by_kind(y, np.eye(2)[[0, 1, 0]], [None] * 3)) == 0
    assert list(found.columns()) == list(ByKind.__dataclass_fields__)[:-1]


# --- who errs together ---------------------------------------------------------------------------------


def test_independent_annotators_are_worth_their_number():
    truth, labels = judged(2000, (0.7, 0.7, 0.8, 0.6))
    y = Annotations.from_matrix(labels)
    by_gold = shared_errors(y, truth.astype(float))
    by_model = shared_errors(y, expertise=np.array([0.7, 0.7, 0.8, 0.6]))
    assert by_gold.worth == pytest.approx(4, abs=0.4)
    assert by_model.worth == pytest.approx(4, abs=0.4)
    assert by_gold.groups == by_model.groups == []


def test_copies_are_found_by_gold_and_by_agreement():
    truth, labels = judged(1000, (0.7, 0.7, 0.8, 0.6))
    labels[:, 1] = labels[:, 0]
    y = Annotations.from_matrix(labels, annotators=list("abcd"))
    for found in (shared_errors(y, truth.astype(float)), shared_errors(y, expertise=np.array([0.7, 0.7, 0.8, 0.6]))):
        assert found.groups == [["a", "b"]]
        assert (found.first[0], found.second[0]) == ("a", "b")
        assert found.correlation[0] > 0.9
        assert 2.5 < found.worth < 3.7


def test_pairs_without_enough_common_gold_are_left_out():
    truth, labels = judged(40)
    found = shared_errors(Annotations.from_matrix(labels), np.where(np.arange(40) < 5, truth, np.nan))
    assert len(found) == 0
    assert np.isnan(found.mean)
    with pytest.raises(InputError, match="either gold= or expertise="):
        shared_errors(Annotations.from_matrix(labels))
