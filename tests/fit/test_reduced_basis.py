"""Fewer items than features: the fit in the reduced basis equals the fit in all features."""

import numpy as np
import pytest

from whoknows import CrowdClassifier
from whoknows.data import Annotations
from whoknows.fit import reduced_basis as module
from whoknows.fit import solve as solving

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
    anew = CrowdClassifier(**model.get_params()).fit(X, later)
    gap = np.abs(model.posterior_ - anew.posterior_).max()
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
    reduce = module.reduced_basis
    monkeypatch.setattr(solving, "reduced_basis", lambda *args: used.append(reduce(*args)) or used[-1])
    CrowdClassifier("id", "bernoulli", "linear").fit(X, crowd(2, np.arange(20)))
    assert used[-1].basis.shape == (D + 1, 20)
    CrowdClassifier("id", "bernoulli", "linear").fit(X, crowd(2, np.arange(N)))
    assert used[-1] is None  # 60 items, 71 features
    CrowdClassifier("ordered").fit(X, crowd(3, np.arange(20)))
    assert used[-1] is None  # cut points do not multiply features
    n_asked = len(used)
    CrowdClassifier("id", "bernoulli", "linear", solver="em").fit(X, crowd(2, np.arange(20)))
    assert len(used) == n_asked
