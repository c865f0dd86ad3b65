"""Fewer items than features: the fit in the reduced basis equals the fit in all features."""

from dataclasses import replace

import numpy as np
import pytest

from whoknows import CrowdClassifier, LogisticTruth
from whoknows.data import Annotations
from whoknows.fit import reduced_basis as module
from whoknows.fit import solve as solving
from whoknows.fit.engines import Chunks, Serial
from whoknows.fit.items import Items
from whoknows.fit.objective import Model
from whoknows.model.annotators import ConfusionAnnotators
from whoknows.model.gaussian import Belief

RNG = np.random.default_rng(5)
N, D = 60, 70
X = RNG.normal(size=(N, D)) + RNG.normal(size=(N, 1))


def crowd(n_classes, rows):
    """Four annotators, right 80 % of the time, on some of the items."""
    z = np.argmax(X[:, :n_classes] + 0.3 * RNG.normal(size=(N, n_classes)), axis=1)
    said = np.where(RNG.random((N, 4)) < 0.8, z[:, None], RNG.integers(n_classes, size=(N, 4))).astype(float)
    said[np.setdiff1d(np.arange(N), rows)] = np.nan
    return Annotations.from_matrix(said, labels=range(n_classes))


@pytest.fixture
def wide(monkeypatch):
    """Return a function that calls another one without the reduced basis."""

    def call(function, *args):
        with monkeypatch.context() as patch:
            patch.setattr(module, "MOST_ITEMS_PER_FEATURE", 0.0)
            return function(*args)

    return call


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("truth", ["id", "lgp"])
def test_nothing_is_approximated(wide, n_classes, truth):
    said = crowd(n_classes, np.arange(0, N, 2))
    settings = {"truth": truth, "map": "linear", "annotators": "confusion", "tol": 1e-12, "max_iter": 400}
    if n_classes > 2:
        settings |= {"tol": 1e-4}  # cross-fitted EM oscillates, and its M-steps are as exact as L-BFGS
    narrowed = CrowdClassifier(**settings).fit(X, said)
    plain = wide(CrowdClassifier(**settings).fit, X, said)
    close = {"rtol": 0, "atol": 1e-6 if n_classes == 2 else 2e-2}
    assert narrowed.bound_history_[-1] == pytest.approx(plain.bound_history_[-1], rel=1e-9 if n_classes == 2 else 1e-3)
    np.testing.assert_allclose(narrowed.posterior_, plain.posterior_, **close)
    new = RNG.normal(size=(20, D))
    np.testing.assert_allclose(narrowed.predict_proba(new), plain.predict_proba(new), **close)


def test_directions_orthogonal_to_all_items_keep_the_prior_variance(wide):
    said = crowd(2, np.arange(20))
    model = CrowdClassifier("id", "bernoulli", "linear", tol=1e-12, max_iter=400)
    narrowed, plain = (
        model.fit(X, said)._pair.solution,
        wide(CrowdClassifier(**model.get_params()).fit, X, said)._pair.solution,
    )
    np.testing.assert_allclose(narrowed.truth.covariance, plain.truth.covariance, atol=1e-7)
    np.testing.assert_allclose(narrowed.truth.mean, plain.truth.mean, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_that_come_later_are_learnt_as_well(n_classes):
    first, all_of_them = crowd(n_classes, np.arange(20)), np.arange(30)
    model = CrowdClassifier("id", "confusion", "linear", tol=1e-10 if n_classes == 2 else 1e-4, max_iter=400)
    later = crowd(n_classes, all_of_them)
    model.fit(X, first).update(X, later)
    new = CrowdClassifier(**model.get_params()).fit(X, later)
    gap = np.abs(model.posterior_ - new.posterior_).max()
    assert gap < (1e-3 if n_classes == 2 else 0.1)


def test_duplicate_items_are_one_dimension(wide):
    rows = np.arange(0, N, 2)
    said, twice = crowd(2, rows).to_matrix(), X.copy()
    twice[rows[1::2]] = twice[rows[::2]]
    model = CrowdClassifier("id", "bernoulli", "linear", tol=1e-12, max_iter=400)
    narrowed = model.fit(twice, said).posterior_
    assert np.linalg.matrix_rank(twice[rows]) == len(rows) // 2
    np.testing.assert_allclose(narrowed, wide(model.fit, twice, said).posterior_, atol=1e-6)
    kept = module._orthonormal(np.column_stack([twice[rows].T, twice[rows].T * (1 + 1e-16)]))
    assert kept.shape == (D, len(rows) // 2)
    np.testing.assert_allclose(kept.T @ kept, np.eye(len(rows) // 2), atol=1e-12)


def test_it_is_used_only_if_it_is_faster(monkeypatch):
    used = []

    def find_basis(*args):
        used.append(module.reduced_basis(*args))
        return used[-1]

    monkeypatch.setitem(solving.SOLVERS, "vb", replace(solving.SOLVERS["vb"], basis=find_basis))
    CrowdClassifier("id", "bernoulli", "linear").fit(X, crowd(2, np.arange(20)))
    assert used[0].basis.shape == (D + 1, 20)
    CrowdClassifier("id", "bernoulli", "linear").fit(X, crowd(2, np.arange(N)))
    assert used[-1] is None  # 60 items, 71 features


@pytest.mark.parametrize("n_items", [20, N])
@pytest.mark.parametrize("weighted", [False, True])
def test_in_the_principal_basis_prior_and_items_are_uncorrelated(n_items, weighted):
    rows = np.arange(n_items)
    features = np.column_stack([X[:, :50], np.ones(N)])
    prior = RNG.normal(size=(80, 51))
    truth = LogisticTruth().for_classes(3).with_precision(prior.T @ prior)
    weight = RNG.uniform(1, 3, size=N) if weighted else None
    items = Items(features, features[:, -1:], crowd(3, rows), weight=weight)[rows]
    model = Model(ConfusionAnnotators(varies_with_x=False).for_classes(3), truth)
    found = module.principal_basis(model, Chunks([items], Serial()), n_items, 51)
    (reduced,) = found.chunks.chunks
    counts = np.ones(n_items) if weight is None else weight[rows]
    gram = reduced.X_truth.T @ (reduced.X_truth * counts[:, None])
    spectrum = np.diagonal(gram)
    assert len(spectrum) == min(n_items, 51)
    assert (np.diff(spectrum) <= 0).all()
    np.testing.assert_allclose(gram, np.diag(spectrum), atol=1e-9 * spectrum[0])
    np.testing.assert_allclose(found.basis.T @ truth.precision @ found.basis, np.eye(len(spectrum)), atol=1e-9)
    xi = RNG.normal(size=(len(spectrum), 3))
    np.testing.assert_allclose(module.to_reduced(found, module.from_reduced(found, Belief(xi))).mean, xi, atol=1e-9)


def test_cut_points_of_ordered_levels_are_kept(wide):
    said = crowd(3, np.arange(20))
    narrowed = CrowdClassifier("ordered", map="linear", tol=1e-6).fit(X, said)
    plain = wide(CrowdClassifier("ordered", map="linear", tol=1e-6).fit, X, said)
    assert narrowed._pair.solution.truth.mean.shape == (D + 2, 1)
    np.testing.assert_allclose(narrowed.predict_proba(X), plain.predict_proba(X), atol=2e-2)
