"""Cross-fitted EM: its predictions without an item are those of a refit without it."""

from functools import partialmethod

import numpy as np
import pytest

from tests.model.worlds import variance_without_item
from whoknows.data.annotations import Annotations
from whoknows.fit import crossfit
from whoknows.fit.engines import Chunks, Serial
from whoknows.fit.items import Items
from whoknows.fit.lbfgs import maximize
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.reduced_basis import principal_basis
from whoknows.fit.solve import solve
from whoknows.model.annotators import ConfusionAnnotators
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.truth import LogisticTruth, OrderedTruth

N, D, K = 90, 30, 3


def fitted(truth, X, posterior, rows, start):
    """ξ at the maximum of the expected log truth of some items."""
    some = CategoricalPosterior(posterior.prob[rows], weight=posterior.counts[rows])

    def objective(xi):
        value, gradient = truth.expected_log_truth(xi, X[rows], some)
        prior, prior_gradient = truth.log_prior(xi)
        return value + prior, gradient + prior_gradient

    return maximize(objective, start, 500, tol=1e-13)


def problem(kind, seed, weighted=False):
    """A truth in its principal basis, features in it, a posterior of the items, and ξ fitted to them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(N, D)) / np.sqrt(D), np.ones(N)])
    z = np.argmax(4 * X[:, :K] * np.sqrt(D) / 2 + rng.normal(size=(N, K)), axis=1)
    prob = np.where(np.arange(K) == z[:, None], 0.9, 0.05)
    weight = rng.integers(1, 3, size=N).astype(float) if weighted else None
    truth = kind(variance=20.0).for_classes(K).prepare(X, X)
    items = Items(X, X[:, -1:], Annotations.from_matrix(z[:, None].astype(float), labels=range(K)), weight=weight)
    chunks = Chunks([items], Serial())
    basis = principal_basis(Model(ConfusionAnnotators().for_classes(K), truth), chunks, N, D + 1)
    ((items,), truth), posterior = (basis.chunks.chunks, basis.model.truth), CategoricalPosterior(prob, weight=weight)
    xi = fitted(truth, items.X_truth, posterior, np.arange(N), truth.init(items.X_truth.shape[1]))
    return truth, items, posterior, xi


def curvature(truth, items, posterior, xi, steps=12):
    """h, as the solver finds it, and the spectrum."""
    (spectrum,), h = crossfit._spectrum(items), np.zeros(truth.weights(xi).shape[1])
    for _ in range(steps):
        h = crossfit._next_curvature(truth, xi, h, spectrum, [(items, posterior)], Serial())
    return h, spectrum


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [LogisticTruth, OrderedTruth])
def test_leave_one_out_is_near_a_refit_without_the_item(kind, weighted):
    truth, items, posterior, xi = problem(kind, 0, weighted)
    X = items.X_truth
    found = np.exp(crossfit._leave_one_out(items, posterior, truth, xi, *curvature(truth, items, posterior, xi)))
    with_item, gaps = np.exp(truth.log_prob(xi, truth.log_odds(xi, X))), []
    for i in range(0, N, 9):
        at = fitted(truth, X, posterior, np.delete(np.arange(N), i), xi)
        refit = np.exp(truth.log_prob(at, truth.log_odds(at, X[[i]])))[0]
        gaps.append((np.abs(found[i] - refit).sum(), np.abs(with_item[i] - refit).sum()))
    ours, naive = np.mean(gaps, axis=0)
    assert ours < naive / 3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [LogisticTruth, OrderedTruth])
def test_one_curvature_stands_for_those_of_all_items(kind, weighted):
    truth, items, posterior, xi = problem(kind, 1, weighted)
    h, spectrum = curvature(truth, items, posterior, xi)
    a = crossfit._variance_without_item(items.X_truth, posterior, h, spectrum)
    exact = variance_without_item(truth, xi, items.X_truth, posterior)
    np.testing.assert_allclose(np.median(a / exact), 1, atol=0.05)
    assert np.quantile(np.abs(np.log(a / exact)), 0.9) < 0.25


def test_equal_curvatures_are_found_exactly():
    truth, items, posterior, _ = problem(LogisticTruth, 2)
    xi = truth.init(items.X_truth.shape[1])  # p = 1/3 everywhere
    h, spectrum = curvature(truth, items, posterior, xi, steps=60)
    np.testing.assert_allclose(h, 2 / 9, rtol=1e-9)
    a = crossfit._variance_without_item(items.X_truth, posterior, h, spectrum)
    np.testing.assert_allclose(a, variance_without_item(truth, xi, items.X_truth, posterior), rtol=1e-8)


def crowd(n_items, n_features, seed=0):
    """Items of three classes labelled by four annotators, some known and some counted twice, and their truth model."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n_items, n_features)) / np.sqrt(n_features), np.ones(n_items)])
    z = np.argmax(X[:, :K] * np.sqrt(n_features), axis=1)
    wrong = (z[:, None] + rng.integers(1, K, size=(n_items, 4))) % K
    y = np.where(rng.random((n_items, 4)) < [0.9, 0.8, 0.7, 0.6], z[:, None], wrong).astype(float)
    y[rng.random(y.shape) < 0.3] = np.nan
    gold = np.where(np.arange(n_items) < 5, z, np.nan)
    weight = 1.0 + (np.arange(n_items) % 7 == 0)
    return Items(X, X[:, -4:], Annotations.from_matrix(y, labels=range(K)), gold, weight)


def on(device, torch, items, precision):
    """The same items with tensors as features."""
    X, X_annotators = (
        torch.as_tensor(part, dtype=precision, device=device) for part in (items.X_truth, items.X_annotators)
    )
    return Items(X, X_annotators, items.Y, items.gold, items.weight)


@pytest.mark.parametrize(("n_items", "n_features"), [(200, 12), (60, 90)])
@pytest.mark.parametrize("varies_with_x", [False, True])
def test_tensors_are_fitted_as_arrays_are_and_products_are_computed_on_them(
    n_items, n_features, varies_with_x, monkeypatch
):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'whoknows[gpu]'")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    items, multiplied = crowd(n_items, n_features), set()
    truth = LogisticTruth(variance=20.0).for_classes(K).prepare(items.X_truth, items.X_truth)
    model = Model(ConfusionAnnotators(varies_with_x=varies_with_x).for_classes(K), truth)
    names = ("expected_log_truth", "curvature", "leave_one_out")

    def told(self, xi, X, *rest, ask):
        multiplied.add((ask.__name__, type(X)))
        return ask(self, xi, X, *rest)

    for name in names:
        monkeypatch.setattr(LogisticTruth, name, partialmethod(told, ask=getattr(LogisticTruth, name)))
    monitor, expected_monitor = Monitor(60, 1e-6), Monitor(60, 1e-6)
    expected = solve(model, items, None, expected_monitor)
    multiplied.clear()
    found = solve(model, on(device, torch, items, torch.float64), None, monitor)
    assert found.solver == "crossfit"
    assert multiplied == {(name, torch.Tensor) for name in names}
    assert monitor.n_iter == expected_monitor.n_iter > 5
    np.testing.assert_allclose(monitor.history, expected_monitor.history, rtol=1e-8)
    np.testing.assert_allclose(found.annotators.mean, expected.annotators.mean, atol=1e-8)
    for name in ("mean", "items", "held_out", "says"):
        part = getattr(found.truth, name)
        assert isinstance(part, np.ndarray)
        np.testing.assert_allclose(part, getattr(expected.truth, name), atol=1e-8)


def test_ordered_truths_of_tensors_are_computed_on_the_host():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'whoknows[gpu]'")
    items = crowd(80, 6)
    truth = OrderedTruth().for_classes(K).prepare(items.X_truth, items.X_truth)
    model = Model(ConfusionAnnotators().for_classes(K), truth)
    found, expected = (
        solve(model, each, None, Monitor(20, 1e-4, warn=False))
        for each in (on("cpu", torch, items, torch.float64), items)
    )
    np.testing.assert_allclose(found.truth.mean, expected.truth.mean, atol=1e-8)
