"""Annotators against gold, by kind, and who errs together."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from whoknows import Annotations, CrowdClassifier
from whoknows.data.errors import InputError
from whoknows.insight import (
    against_gold,
    by_kind,
    contradicting_blocks,
    copying_suspects,
    expected_pairs,
    shared_errors,
)
from whoknows.insight.accuracy import kappa_and_variance, kappa_interval, wilson
from whoknows.insight.kinds import ByKind
from whoknows.insight.summary import summarize
from whoknows.insight.worse import worse_than_chance


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


def test_annotators_worse_than_chance_are_named_with_the_use_of_their_labels():
    truth, labels = judged(300, (0.9, 0.85, 0.8, 0.15))
    y, X = Annotations.from_matrix(labels, annotators=["a", "b", "c", "turned"]), np.zeros((300, 1))
    gold = np.where(np.arange(300) < 60, truth, np.nan)
    model = CrowdClassifier().fit(X, y, gold=gold)
    (found,) = worse_than_chance(model, X, y, gold)
    wrong_way = np.mean(labels[:60, 3] == truth[:60])
    assert (found.annotator, found.n_gold, found.accuracy) == ("turned", 60, wrong_way)
    assert found.influence < 0
    assert found.sentence().startswith(f"turned is worse than chance on 60 gold items ({wrong_way:.0%} right)")
    assert "inverted" in found.sentence()
    assert found.sentence() in summarize(model, X, y, gold=gold).given["warnings"]


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


def worth_by_model(X, y, **settings):
    return shared_errors(y, expected=expected_pairs(CrowdClassifier(**settings).fit(X, y), X, y))


def test_independent_annotators_are_worth_their_number():
    truth, labels = judged(1000, (0.7, 0.7, 0.8, 0.6))
    y = Annotations.from_matrix(labels)
    for found in (shared_errors(y, truth.astype(float)), worth_by_model(np.zeros((1000, 1)), y)):
        assert found.worth == pytest.approx(4, abs=0.4)
        assert found.groups == []
        assert not found.matters


def test_copies_are_found_by_gold_and_by_the_model():
    truth, labels = judged(1000, (0.7, 0.7, 0.8, 0.6, 0.75))
    labels[:, 1] = labels[:, 0]
    y = Annotations.from_matrix(labels, annotators=list("abcde"))
    by_gold = shared_errors(y, truth.astype(float))
    for found in (by_gold, worth_by_model(truth[:, None] + 0.5 * np.eye(1000)[:, :1], y)):
        assert found.groups == [["a", "b"]]
        assert (found.first[0], found.second[0]) == ("a", "b")
        assert found.correlation[0] > 0.8
    assert 3 < by_gold.worth < 4.6


def test_copies_of_one_annotator_are_worth_one():
    truth, labels = judged(500, (0.8,))
    y = Annotations.from_matrix(np.repeat(labels, 6, axis=1))
    found = shared_errors(y, truth.astype(float))
    assert found.worth == pytest.approx(1)
    assert found.sentence("judges") == "6 judges are worth about 1.0 judges with independent errors."


def test_labels_are_worth_less_the_more_difficulty_is_shared():
    """Simulated item effects. Errors that all share look like expertise, so the model's number is the larger one."""
    worth = []
    for size in (0.0, 1.0, 2.0):
        rng = np.random.default_rng(0)
        truth, u = rng.integers(2, size=1500), rng.normal(size=(1500, 1))
        right = rng.random((1500, 8)) < 1 / (1 + np.exp(-(np.linspace(0.8, 2, 8) + size * u)))
        y = Annotations.from_matrix(np.where(right, truth[:, None], 1 - truth[:, None]))
        found, known = worth_by_model(np.zeros((1500, 1)), y), shared_errors(y, truth.astype(float))
        worth.append((found.worth, known.worth))
        assert found.matters == (size > 0)
    by_model, by_truth = np.transpose(worth)
    assert np.all(np.diff(worth, axis=0) < 0)
    assert np.all(by_truth <= by_model + 0.1)
    assert by_model[0] == pytest.approx(8, abs=0.1)
    assert by_model[1] == pytest.approx(by_truth[1], abs=1.5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_expected_pairs_add_up_what_the_model_predicts_of_two_labels(n_classes):
    truth, labels = judged(30, n_classes=n_classes)
    X, y = truth[:, None] + np.linspace(0, 1, 30)[:, None], Annotations.from_matrix(labels).only(np.arange(90) % 7 > 0)
    model = CrowdClassifier(map="linear").fit(X, y)
    found, matrix = expected_pairs(model, X, y), y.to_matrix()
    for place, who in enumerate(([0, 1], [0, 2], [1, 2])):
        rows = np.flatnonzero(np.isfinite(matrix[:, who]).all(axis=1))
        same = 0.0
        for k in range(n_classes):
            said = np.full((len(rows), 3), np.nan)
            said[:, who] = k
            same += np.exp(model.log_predictive(X[rows], Annotations.from_matrix(said, labels=range(n_classes)))).sum()
        assert found.agreements[place] == pytest.approx(same)
        assert found.first_right[place] == pytest.approx(model.expertise(X[rows])[:, who[0]].sum(), rel=1e-6)
        assert found.second_right[place] == pytest.approx(model.expertise(X[rows])[:, who[1]].sum(), rel=1e-6)


def test_shared_difficulty_is_no_copying_and_a_copier_is_found_all_the_same():
    rng = np.random.default_rng(0)
    truth, u = rng.integers(2, size=400), rng.normal(size=(400, 1))
    right = rng.random((400, 10)) < 1 / (1 + np.exp(-(np.linspace(0.5, 2, 10) + 1.5 * u)))
    labels = np.where(right, truth[:, None], 1 - truth[:, None])
    copied = labels.copy()
    copied[:, 7] = np.where(rng.random(400) < 0.8, labels[:, 0], labels[:, 7])
    X = np.zeros((400, 1))
    for said, suspected in ((labels, []), (copied, [(0, 7)])):
        y = Annotations.from_matrix(said)
        model = CrowdClassifier().fit(X, y)
        found = copying_suspects(y, model.posterior_, expected=expected_pairs(model, X, y))
        assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == suspected
    without_difficulty = copying_suspects(y, np.eye(2)[truth], (said == truth[:, None]).mean(axis=0))
    assert len(without_difficulty) > 40  # of 45


def test_pairs_without_enough_common_gold_are_left_out():
    truth, labels = judged(40)
    found = shared_errors(Annotations.from_matrix(labels), np.where(np.arange(40) < 5, truth, np.nan))
    assert len(found) == 0
    assert np.isnan(found.mean)
    with pytest.raises(InputError, match="either gold= or expected="):
        shared_errors(Annotations.from_matrix(labels))


# --- blocks ------------------------------------------------------------------------------------------------


def crowd_of(rng, right, n_items=150, share=0.5):
    """Annotations by annotators who are right with these probabilities, given each of two classes."""
    truth = (rng.random(n_items) < share).astype(int)
    said = np.where(
        rng.random((n_items, np.shape(right)[1])) < np.asarray(right)[truth], truth[:, None], 1 - truth[:, None]
    )
    return Annotations.from_matrix(said)


def test_blocks_that_contradict_each_other_are_found_and_hardly_ever_invented():
    """Independent annotators, few items, rare classes, and annotators of whom half are stricter than the others."""
    rng = np.random.default_rng(0)
    mirrored = [contradicting_blocks(crowd_of(rng, [[0.9, 0.85, 0.2, 0.2, 0.25]] * 2)) for _ in range(20)]
    assert all(found is not None and found.first == [2, 3, 4] for found in mirrored)
    strict = [[0.98, 0.98, 0.98, 0.75, 0.75, 0.75], [0.5, 0.5, 0.5, 0.9, 0.9, 0.9]]
    for share, n_items, right in ((0.5, 60, None), (0.15, 150, None), (0.3, 300, strict)):
        crowds = (crowd_of(rng, right or [rng.uniform(0.55, 0.95, 6)] * 2, n_items, share) for _ in range(100))
        assert sum(contradicting_blocks(crowd) is not None for crowd in crowds) <= 3
