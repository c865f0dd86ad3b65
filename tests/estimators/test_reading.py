"""How labels are read after a fit: features that say nothing, judges who contradict each other, doubt, and gold."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone

import whoknows
from whoknows import Annotations, AutoCrowdClassifier, BernoulliAnnotators, CrowdClassifier
from whoknows.estimators.auto.members import Member
from whoknows.estimators.reading import SIZES, Source

FEW_MEMBERS = [Member("linear", 10.0, False, False), Member("none", 10.0, False, False)]
MODELS = {"pair": CrowdClassifier(), "ensemble": AutoCrowdClassifier(members=FEW_MEMBERS)}


def three_labels_each(n_classes, seed):
    """Return noise, labels of three of eight annotators per item, and the truth."""
    rng = np.random.default_rng(seed)
    truth, X = rng.integers(0, n_classes, 250), rng.normal(size=(250, 20))
    other = (truth[:, None] + rng.integers(1, n_classes, (250, 8))) % n_classes
    y = np.where(rng.random((250, 8)) < rng.uniform(0.5, 0.9, 8), truth[:, None], other).astype(float)
    y[np.argsort(rng.random((250, 8)), axis=1) >= 3] = np.nan
    return X, y, truth


def with_traps(n_items=300, n_judges=12, seed=0, share=1.0):
    """Return labels of judges, half of whom follow a trap on a share of the items, and the truth."""
    rng = np.random.default_rng(seed)
    truth, trap = rng.integers(0, 2, (2, n_items))
    trap = np.where(np.arange(n_items) < share * n_items, trap, truth)
    followed = np.where(np.arange(n_judges) < n_judges // 2, truth[:, None], trap[:, None])
    return np.where(rng.random((n_items, n_judges)) < 0.85, followed, 1 - followed).astype(float), truth


def right(model, truth):
    return np.mean(model.posterior_.argmax(axis=1) == truth)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", MODELS)
def test_features_that_say_nothing_cost_nothing(kind, n_classes):
    gaps = []
    for seed in range(4 if kind == "pair" else 2):
        X, y, truth = three_labels_each(n_classes, seed)
        seeing, blind = (MODELS[kind].fit(each, y).posterior_ for each in (X, np.zeros((250, 1))))
        gaps.append(np.mean(blind.argmax(axis=1) == truth) - np.mean(seeing.argmax(axis=1) == truth))
    assert np.mean(gaps) < 0.01


@pytest.mark.parametrize("kind", MODELS)
def test_where_judges_contradict_each_other_the_consensus_is_the_vote(kind):
    y, _ = with_traps()
    model = MODELS[kind].fit(np.random.default_rng(0).normal(size=(300, 3)), y)
    votes = y.mean(axis=1)
    clear = np.abs(votes - 0.5) > 0.01
    np.testing.assert_array_equal(model.posterior_[clear].argmax(axis=1), (votes > 0.5)[clear])


@pytest.mark.parametrize("kind", MODELS)
def test_gold_tells_who_of_them_is_right(kind):
    y, truth = with_traps()
    gold = np.where(np.arange(300) < 40, truth, np.nan)
    X = np.random.default_rng(0).normal(size=(300, 3))
    without, model = (right(MODELS[kind].fit(X, y, gold=g), truth) for g in (None, gold))
    assert model > 0.93
    assert model > without + 0.1


def test_gold_corrects_the_average_that_labels_are_read_by_without_it():
    y, truth = with_traps(n_judges=8, share=0.3)
    X = truth[:, None] + np.random.default_rng(0).normal(size=(300, 3))
    gold = np.where(np.arange(300) < 20, truth, np.nan)
    model, corrected = CrowdClassifier().fit(X, y), CrowdClassifier().fit(X, y, gold=gold)
    reading, items = corrected._pair.reading, model._pair.prepared.items(X, model._training_data)
    assert 0.1 < reading.share < 0.9
    by_vote, by_fit = reading.source.posterior(items), replace(model._pair, reading=None).posterior(items).prob
    before = reading.averaged(np.full((300, 2), np.nan), items)  # nothing of the fit that gold corrected
    np.testing.assert_allclose(before, reading.share * by_vote + (1 - reading.share) * by_fit, atol=0.05)
    assert np.abs(before - by_fit).max() > 0.2


def test_independent_annotators_leave_little_doubt_and_shared_errors_do():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    doubts = []
    for size in (0.0, 1.5):
        log_odds = 1.4 * np.sqrt(1 + np.pi * size**2 / 8) + size * rng.normal(size=(400, 1))
        y = np.where(rng.random((400, 9)) < expit(log_odds), truth[:, None], 1 - truth[:, None]).astype(float)
        model = CrowdClassifier("id", map="linear").fit(np.zeros((400, 1)), y)
        doubts.append(model._pair.reading.doubt)
        assert model.posterior_.max() <= 1 - doubts[-1] / 2 + 1e-12
    assert doubts[0] < 0.01
    assert 0.05 < doubts[1] < 0.15


def test_the_chance_of_an_item_effect_is_that_of_the_labels_under_each_size():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 40)
    y = np.where(rng.random((40, 4)) < 0.75, truth[:, None], 1 - truth[:, None]).astype(float)
    model = CrowdClassifier("id", BernoulliAnnotators(varies_with_x=False), map="linear").fit(np.zeros((40, 1)), y)
    pair = model._pair
    pieces, solution = pair.prepared.model, pair.solution
    items = pair.prepared.items(np.zeros((40, 1)), model._training_data)
    log_prior = pieces.truth.log_predict(solution.truth, items.X_truth)
    eta = logit(pieces.annotators.expertise(solution.annotators, items.X_annotators, np.exp(log_prior))[0, :-1])
    nodes, shares = np.polynomial.hermite_e.hermegauss(60)
    signs = np.where(y[:, :, None] == [0, 1], 1, -1)  # whether the label is right if the truth is 0, or 1
    likelihood = []
    for size in SIZES:
        shifted = eta * np.sqrt(1 + np.pi * size**2 / 8) + size * nodes[:, None]
        given = expit(signs * shifted[:, None, :, None]).prod(axis=2)  # (n_nodes, n_items, n_classes)
        per_item = (np.tensordot(shares / shares.sum(), given, axes=1) * np.exp(log_prior)).sum(axis=1)
        likelihood.append(per_item.prod())
    due = np.mean(likelihood[1:]) / (np.mean(likelihood[1:]) + likelihood[0])
    assert Source(pieces, solution).chance_of_item_effect(items) == pytest.approx(due, abs=1e-3)


@pytest.mark.parametrize("kind", MODELS)
def test_gold_drawn_unevenly_counts_by_its_weight(kind):
    """Gold is mostly of easy items, on which another judge is right; weights say how many items each stands for."""
    rng = np.random.default_rng(3)
    n = 600
    truth, hard = rng.integers(0, 2, n), np.arange(n) < 300
    of_first, of_second = np.where(hard, 0.95, 0.2), np.where(hard, 0.2, 0.95)
    y = np.where(rng.random((n, 2)) < np.stack([of_first, of_second], 1), truth[:, None], 1 - truth[:, None])
    is_gold = np.r_[np.arange(10), 300 + np.arange(50)]
    gold = np.full(n, np.nan)
    gold[is_gold] = truth[is_gold]
    weight = np.ones(n)
    weight[:10] = 40.0
    X = rng.normal(size=(n, 1))
    fits = (clone(MODELS[kind]).fit(X, y.astype(float), gold=gold, sample_weight=w) for w in (None, weight))
    scores = [np.mean(model.posterior_[10:300].argmax(axis=1) == truth[10:300]) for model in fits]
    assert scores[1] > scores[0] + 0.3


@pytest.mark.parametrize("kind", MODELS)
def test_a_saved_model_reads_labels_in_the_same_way(kind, tmp_path):
    y, truth = with_traps()
    X = np.random.default_rng(0).normal(size=(300, 3))
    for gold in (None, np.where(np.arange(300) < 30, truth, np.nan)):
        model = MODELS[kind].fit(X, y, gold=gold)
        model.save(tmp_path / "judges.whoknows")
        again = whoknows.load(tmp_path / "judges.whoknows")
        np.testing.assert_allclose(again.posterior(X, y), model.posterior(X, y), atol=1e-12)
        new = Annotations.from_matrix(y[:5], annotators=model.annotators_, labels=[0, 1])
        np.testing.assert_allclose(again.posterior(X[:5], new), model.posterior(X, y)[:5], atol=1e-9)


@pytest.mark.parametrize("kind", MODELS)
def test_annotators_worse_than_chance_on_the_gold_are_an_attribute(kind, tmp_path):
    rng = np.random.default_rng(0)
    truth, X = rng.integers(0, 2, 300), rng.normal(size=(300, 2))
    accuracy = [0.85, 0.85, 0.8, 0.1]
    y = np.where(rng.random((300, 4)) < accuracy, truth[:, None], 1 - truth[:, None]).astype(float)
    votes = Annotations.from_matrix(y, annotators=["anna", "bob", "cleo", "liar"], labels=[0, 1])
    model = clone(MODELS[kind]).fit(X, votes)
    assert model.worse_than_chance_ == {}
    model.fit(X, votes, gold={i: int(truth[i]) for i in range(40)})
    assert model.worse_than_chance_ == {"liar": "the labels are inverted"}
    model.save(tmp_path / "judges.whoknows")
    assert whoknows.load(tmp_path / "judges.whoknows").worse_than_chance_ == model.worse_than_chance_


@pytest.mark.parametrize("kind", MODELS)
def test_the_classifier_is_as_much_in_doubt_as_the_labels_it_learned_from(kind):
    rng = np.random.default_rng(0)
    truth, X = rng.integers(0, 2, 600), rng.normal(size=(600, 3))
    X[:, 0] += 3 * truth
    log_odds = 1.4 * np.sqrt(1 + np.pi * 1.5**2 / 8) + 1.5 * rng.normal(size=(600, 1))
    y = np.where(rng.random((600, 9)) < expit(log_odds), truth[:, None], 1 - truth[:, None]).astype(float)
    y[400:] = np.nan
    model = MODELS[kind].fit(X, y)
    doubt = model._reading.doubt
    assert 0.05 < doubt < 0.2
    prob, low, high = model.predict_proba(X, return_interval=True)
    assert prob.max() <= 1 - doubt / 2
    np.testing.assert_allclose(prob, model.predict_proba(X))
    assert (low <= prob - doubt / 2 + 1e-12).all()
    assert (high >= prob + doubt / 2 - 1e-12).all()
    np.testing.assert_allclose(model.posterior(X, y)[400:], prob[400:])
    np.testing.assert_allclose(model.posterior_[400:], prob[400:])
