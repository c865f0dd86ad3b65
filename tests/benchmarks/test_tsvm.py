"""The transductive support vector machine: objective, labels of unlabelled items, model selection."""

import pickle
from dataclasses import replace
from itertools import combinations, groupby

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks.paper.tsvm import COSTS, WEIGHTS, TransductiveSVM, _best_labels, _folds, anneal, svm
from tests.estimators.worlds import line_world, said_in
from whoknows import Annotations
from whoknows._array import with_constant
from whoknows.estimators.baselines.two_step import majority, votes


@parametrize_with_checks([TransductiveSVM(), TransductiveSVM(C=1.0, unlabelled_weight=0.5)])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def blobs(seed=0, n=100):
    """Two clusters, one above the other; one labelled item in each, far left and far right."""
    rng = np.random.default_rng(seed)
    z = np.repeat([0, 1], n // 2)
    X = rng.normal(size=(n, 2))
    X[:, 1] += np.where(z == 1, 3.5, -3.5)
    labelled = [np.argmin(X[: n // 2, 0]), n // 2 + np.argmax(X[n // 2 :, 0])]
    said = Annotations.from_arrays(labelled, ["anna"] * 2, [0, 1], items=range(n))
    return X, said, z


def one_side(X, said):
    """Labelled rows, their ±1, and unlabelled rows, each with a constant."""
    A, vote = with_constant(X), majority(votes(said))
    return A[said.labelled], np.where(vote[said.labelled] == 1, 1.0, -1.0), A[~said.labelled]


def objective(A, y, cost, w):
    return w[:-1] @ w[:-1] / 2 + cost @ np.maximum(1 - y * (A @ w), 0) ** 2


# --- the plain SVM ------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.001, 1.0, 1000.0])
def test_svm_minimises_its_objective(C):
    X, _, z = line_world()
    A, y = with_constant((X - X.mean(axis=0)) / X.std(axis=0)), 2.0 * z - 1
    cost = C * np.random.default_rng(0).random(len(y))
    w, value = svm(A, y, cost, np.zeros(3))
    assert value == pytest.approx(objective(A, y, cost, w))
    best = minimize(lambda w: objective(A, y, cost, w), w, method="Nelder-Mead", options={"fatol": 1e-12})
    assert value <= best.fun * (1 + 1e-9)
    far, same = svm(A, y, cost, np.array([30.0, -20.0, 5.0]))
    np.testing.assert_allclose(far, w, rtol=1e-4, atol=1e-6)
    assert same == pytest.approx(value)


@pytest.mark.parametrize(("seed", "C"), [(77, 10.0), (107, 100.0), (202, 1000.0)])
def test_newton_steps_are_shortened_if_they_overshoot(seed, C):
    rng = np.random.default_rng(seed)
    A = with_constant(rng.normal(size=(30, 2)))
    y, cost = np.sign(A[:, 0] + 0.5 * rng.normal(size=30)), np.full(30, C)
    w, _ = svm(A, y, cost, np.zeros(3))
    slope = np.append(w[:-1], 0) - 2 * A.T @ (cost * y * np.maximum(1 - y * (A @ w), 0))
    np.testing.assert_allclose(slope, 0, atol=1e-4 * C)


def test_svm_equals_linear_svc():
    X, y, _ = line_world(accuracies=(0.85,), share_labelled=1)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LinearSVC(C=0.5, intercept_scaling=1000.0, dual=False, tol=1e-10).fit(scaled, y[:, 0])
    w, _ = svm(with_constant(scaled), 2 * y[:, 0] - 1, np.full(len(y), 0.5), np.zeros(3))
    np.testing.assert_allclose(w, np.append(theirs.coef_, theirs.intercept_), rtol=1e-3)


def test_svm_terminates_for_badly_scaled_features_and_one_class():
    rng = np.random.default_rng(0)
    A, y = with_constant(rng.normal(size=(50, 2)) * [1e9, 1e-9]), np.repeat([-1.0, 1.0], 25)
    assert np.isfinite(svm(A, y, np.full(50, 1e3), np.zeros(3))[1])
    w, value = svm(A, np.ones(50), np.ones(50), np.zeros(3))
    np.testing.assert_allclose(w, [0, 0, 1], atol=1e-6)
    assert value == pytest.approx(0, abs=1e-9)


# --- labels of unlabelled items -----------------------------------------------------------------------


def test_best_labels_equal_an_exhaustive_search():
    f = np.random.default_rng(0).normal(size=7)
    for n_positive in range(8):
        cost = {
            chosen: sum(max(0, 1 - (1 if i in chosen else -1) * f[i]) ** 2 for i in range(7))
            for chosen in combinations(range(7), n_positive)
        }
        assert tuple(np.flatnonzero(_best_labels(f, n_positive) > 0)) == min(cost, key=cost.get)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_objective_never_increases_at_a_weight_and_the_share_is_kept(seed, C):
    rng = np.random.default_rng(seed)
    X, y, _ = line_world(n_items=200, share_labelled=0.1, seed=seed)
    X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), rng.normal(size=(200, 6))])
    labelled, sign, unlabelled = one_side(X, said_in(y))
    steps = list(anneal(labelled, sign, unlabelled, C, WEIGHTS))
    assert len(steps) > 11  # otherwise no label was switched and nothing is tested
    for _, group in groupby(steps, key=lambda step: step.weight):
        values = np.array([step.objective for step in group])
        assert (np.diff(values) <= 1e-8 * values[:-1]).all()
    wanted = round(len(unlabelled) * np.mean(sign > 0))
    assert {int(np.sum(step.labels > 0)) for step in steps} == {wanted}
    last = steps[-1]
    cost = C * np.append(np.ones(len(sign)), np.ones(len(unlabelled)))
    everything = np.vstack([labelled, unlabelled]), np.append(sign, last.labels)
    assert last.weight == 1
    assert last.objective == pytest.approx(objective(*everything, cost, last.w))
    np.testing.assert_array_equal(last.labels, _best_labels(unlabelled @ last.w, wanted))


def test_annealing_finds_one_of_the_best_labellings():
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        A = with_constant(rng.normal(size=(12, 2)) + np.repeat([[1.0], [-1.0]], 6, axis=0))
        seen, unseen, sign = A[[0, 1, 6, 7]], A[[2, 3, 4, 5, 8, 9, 10, 11]], np.array([1.0, 1, -1, -1])
        *_, last = anneal(seen, sign, unseen, 1.0, [1.0])
        every = np.vstack([seen, unseen])
        values = []
        for positive in combinations(range(8), 4):
            guess = np.where(np.isin(np.arange(8), positive), 1.0, -1.0)
            values.append(svm(every, np.append(sign, guess), np.ones(12), np.zeros(3))[1])
        assert last.objective >= min(values) * (1 - 1e-8)
        found.append(np.mean(np.array(values) < last.objective * (1 - 1e-8)))
    assert np.mean(np.array(found) == 0) >= 0.5  # the best of 70 in most cases
    assert max(found) < 0.25


def test_the_boundary_follows_the_gap_despite_misleading_labels():
    X, said, z = blobs()
    plain = TransductiveSVM(C=1.0, unlabelled_weight=0.0).fit(X, said)
    transductive = TransductiveSVM(C=1.0, unlabelled_weight=1.0).fit(X, said)
    assert plain.score(X, z) < 0.8
    assert transductive.score(X, z) == 1
    assert np.abs(transductive.decision_function(X[~said.labelled])).min() > 0.5  # the gap is empty


def test_without_weight_or_unlabelled_items_it_is_a_plain_svm():
    X, y, _ = line_world()
    said = said_in(y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    labelled, sign, _ = one_side(scaled, said)
    w, _ = svm(labelled, sign, np.full(len(sign), 0.3), np.zeros(3))
    plain = TransductiveSVM(C=0.3, unlabelled_weight=0).fit(X, said)
    np.testing.assert_allclose(plain.decision_function(X), with_constant(scaled) @ w, rtol=1e-6)
    rows = said.labelled
    few = [TransductiveSVM(C=0.3, unlabelled_weight=v).fit(X[rows], said[rows]) for v in (0, 1)]
    np.testing.assert_allclose(few[0].decision_function(X), few[1].decision_function(X), rtol=1e-6)


# --- the estimator ------------------------------------------------------------------------------------


def test_parameters_are_chosen_by_held_out_votes():
    X, y, _ = line_world(n_items=60, accuracies=(0.8, 0.7, 0.7), share_labelled=0.4, seed=3)
    said = said_in(y)
    vote = np.where(said.labelled, majority(votes(said)), -1)
    met = np.zeros((len(COSTS), len(WEIGHTS)))
    for part in _folds(vote, np.random.RandomState(5)):
        kept = ~np.isin(said.item, part)
        without = replace(said, **{name: getattr(said, name)[kept] for name in ("item", "annotator", "label")})
        for i, C in enumerate(COSTS):
            for j, weight in enumerate(WEIGHTS):
                predicted = TransductiveSVM(C, weight).fit(X, without).predict(X[part])
                met[i, j] += np.sum(predicted == vote[part])
    i, j = np.argwhere(met == met.max())[0]
    model = TransductiveSVM(random_state=5).fit(X, said)
    assert (model.C_, model.unlabelled_weight_) == (COSTS[i], WEIGHTS[j])
    assert met.max() > met.min()
    half = TransductiveSVM(C=0.1, random_state=5).fit(X, said)
    assert (half.C_, half.unlabelled_weight_) == (0.1, WEIGHTS[met[COSTS.index(0.1)].argmax()])
    np.testing.assert_allclose(
        model.decision_function(X), TransductiveSVM(COSTS[i], WEIGHTS[j]).fit(X, said).decision_function(X)
    )


def test_each_labelled_item_is_held_out_once_in_stratified_folds():
    vote = np.repeat([-1, 0, 1], [10, 17, 8])
    parts = _folds(vote, np.random.RandomState(0))
    assert sorted(np.concatenate(parts)) == list(range(10, 35))
    assert {np.sum(vote[part] == 1) for part in parts} <= {1, 2}
    assert _folds(np.array([-1, 0, -1]), np.random.RandomState(0)) == []


def test_three_classes_one_versus_rest():
    rng = np.random.default_rng(0)
    z = rng.integers(3, size=150)
    X = np.array([[0, 3], [-3, -2], [3, -2]])[z] + rng.normal(size=(150, 2))
    y = np.where(rng.random((150, 3)) < 0.85, z[:, None], rng.integers(3, size=(150, 3))).astype(float)
    y[30:] = np.nan
    model = TransductiveSVM().fit(X, y)
    assert model.score(X, z) > 0.93
    assert model.decision_function(X).shape == (150, 3)
    np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), model.predict(X))


def test_a_vote_of_one_class_predicts_it():
    X, y, _ = line_world(n_items=30)
    model = TransductiveSVM().fit(X, said_in(np.where(np.isnan(y), np.nan, 1)))
    assert set(model.predict(X)) == {1}


def test_more_features_than_items_give_the_same_svm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 80))
    y = np.where(np.arange(30) < 12, (X[:, 0] > 0), np.nan)
    said = Annotations.from_matrix(y.astype(float), labels=[0, 1])
    model = TransductiveSVM(C=0.05, unlabelled_weight=1.0, standardize=False).fit(X, said)
    *_, last = anneal(*one_side(X, said), 0.05, [1.0])
    new = rng.normal(size=(10, 80))
    np.testing.assert_allclose(model.decision_function(new), with_constant(new) @ last.w, atol=1e-6)


def test_the_fit_is_deterministic_and_can_be_pickled():
    X, y, _ = line_world(n_items=50)
    model = TransductiveSVM(random_state=1).fit(X, y)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))
    assert loaded.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C must be a number above 0, or None; got 0"),
        ({"unlabelled_weight": -1}, "unlabelled_weight must be a number of 0 or more, or None; got -1"),
    ],
)
def test_invalid_parameters_are_errors(settings, message):
    X, y, _ = line_world(n_items=20)
    with pytest.raises(ValueError, match=message):
        TransductiveSVM(**settings).fit(X, y)
