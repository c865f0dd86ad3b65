"""What gold alone teaches, and what follows from a posterior that gold corrected."""

import numpy as np
import pytest

import whoknows
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.auto.members import Member
from whoknows.estimators.corrected_fit import fit_to_posterior
from whoknows.estimators.gold_classifier import GoldClassifier, teach
from whoknows.fit.engines import Chunks, Serial
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve
from whoknows.model.annotators import BernoulliAnnotators
from whoknows.model.truth import LogisticTruth

MEMBERS = [Member("linear", 10.0, False, False), Member("none", 10.0, False, False)]
MODELS = {"pair": CrowdClassifier(), "ensemble": AutoCrowdClassifier(members=MEMBERS, folds=2)}


def items_of_classes(n_items, n_classes, seed=0, apart=1.5):
    """Return features, constant last, whose mean depends on the class, and the classes."""
    rng = np.random.default_rng(seed)
    truth, centres = rng.integers(0, n_classes, n_items), apart * rng.normal(size=(n_classes, 4))
    X = centres[truth] + rng.normal(size=(n_items, 4))
    return np.column_stack([X, np.ones(n_items)]), truth


def misled(seed, n_items=300):
    """Return features that show the truth, labels of one good judge and seven who follow a trap, and the truth."""
    rng = np.random.default_rng(seed)
    truth, trap = rng.integers(0, 2, (2, n_items))
    X = rng.normal(size=(n_items, 5)) + 5 * np.eye(5)[0] * truth[:, None]
    followed = np.column_stack([truth, np.tile(trap[:, None], 7)])
    right = rng.random((n_items, 8)) < 0.88
    return X, np.where(right, followed, 1 - followed).astype(float), truth


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gold_teaches_a_classifier_where_features_tell(n_classes):
    X, truth = items_of_classes(240, n_classes)
    classifier, held_out = teach(X[:60], truth[:60], np.ones(60), n_classes)
    log_p = classifier.log_prob(X[60:])
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1)
    assert np.mean(log_p.argmax(axis=1) == truth[60:]) > 0.9
    assert np.mean(held_out.argmax(axis=1) == truth[:60]) > 0.85


def test_an_item_is_not_predicted_by_a_fit_that_saw_it():
    X, truth = items_of_classes(60, 2)
    _, before = teach(X, truth, np.ones(60), 2)
    changed = truth.copy()
    changed[7] = 1 - truth[7]
    _, after = teach(X, changed, np.ones(60), 2)
    np.testing.assert_allclose(after[7], before[7])
    assert np.abs(after - before).max() > 0.05


@pytest.mark.parametrize("seed", range(5))
def test_noise_teaches_nothing(seed):
    _, truth = items_of_classes(60, 2)
    noise = np.column_stack([np.random.default_rng(seed).normal(size=(60, 20)), np.ones(60)])
    assert teach(noise, truth, np.ones(60), 2) is None


def test_nor_do_few_items_or_one_class():
    X, truth = items_of_classes(60, 2)
    assert teach(X[:6], truth[:6], np.ones(6), 2) is None
    assert teach(X, np.zeros(60, int), np.ones(60), 2) is None


def test_a_class_without_gold_is_improbable():
    X, truth = items_of_classes(60, 2)
    prob = np.exp(GoldClassifier.fit(X, truth, np.ones(60), 3, 10.0).log_prob(X))
    assert prob[:, 2].max() < 1e-3


@pytest.mark.filterwarnings("ignore:gold contradicts every annotator")
@pytest.mark.parametrize("kind", MODELS)
def test_consensus_classifier_and_expertise_follow_gold_against_most_judges(kind, tmp_path):
    X, y, truth = misled(0)
    gold = {i: int(truth[i]) for i in range(40)}
    model = MODELS[kind].fit(X[:200], y[:200], gold=gold)
    assert np.mean(model.posterior_[40:].argmax(axis=1) == truth[40:200]) > 0.93
    assert model.score(X[200:], truth[200:]) > 0.9
    actual = (y[:200] == truth[:200, None]).mean(axis=0)
    np.testing.assert_allclose(model.expertise(X[:200]).mean(axis=0), actual, atol=0.06)
    new = model.posterior(X[200:], y[200:])
    assert np.mean(new.argmax(axis=1) == truth[200:]) > 0.93
    model.save(tmp_path / "model.whoknows")
    loaded = whoknows.load(tmp_path / "model.whoknows")
    np.testing.assert_allclose(loaded.posterior(X[200:], y[200:]), new)
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore:gold contradicts every annotator")
def test_an_update_keeps_to_gold():
    X, y, truth = misled(1)
    gold = {i: int(truth[i]) for i in range(40)}
    for model in MODELS.values():
        model.fit(X[:250], np.where(np.arange(250)[:, None] < 200, y[:250], np.nan), gold=gold)
        model.update(X[:250], Annotations.from_matrix(np.where(np.arange(250)[:, None] < 200, np.nan, y[:250])))
        assert np.mean(model.posterior_[40:].argmax(axis=1) == truth[40:250]) > 0.93


def prepared_pair(X, Y):
    truth = LogisticTruth().for_classes(2).prepare(X, X)
    return Model(BernoulliAnnotators().for_classes(2), truth), Items(X, X[:, -2:], Y)


def test_a_certain_posterior_is_gold_and_an_uncertain_one_half_of_each():
    X, truth = items_of_classes(60, 2)
    rng = np.random.default_rng(0)
    Y = Annotations.from_matrix(np.where(rng.random((60, 3)) < 0.8, truth[:, None], 1.0 - truth[:, None]))
    model, items = prepared_pair(X, Y)
    certain = np.eye(2)[truth]
    settings = CrowdClassifier(tol=1e-9)

    def parameters(solution):
        return np.concatenate([solution.annotators.mean.ravel(), solution.truth.mean.ravel()])

    def known(rows, gold, weight):
        parts = Items(X[rows], X[rows, -2:], Y[rows], gold.astype(float), weight)
        return parameters(solve(model, parts, None, Monitor(200, 1e-4), "vb"))

    data, everything = Chunks([items], Serial()), np.arange(60)
    found = fit_to_posterior(model, data, [certain], settings)
    np.testing.assert_allclose(parameters(found), known(everything, truth, None), atol=1e-6)
    twice, both = np.repeat(everything, 2), np.tile([0, 1], 60)
    found = fit_to_posterior(model, data, [np.full((60, 2), 0.5)], settings)
    np.testing.assert_allclose(parameters(found), known(twice, both, np.full(120, 0.5)), atol=1e-6)
