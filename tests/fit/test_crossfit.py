"""Cross-fitted EM: its predictions without an item are those of a refit without it."""

import numpy as np
import pytest

from tests.model.worlds import variance_without_item
from whoknows.data.annotations import Annotations
from whoknows.fit import crossfit
from whoknows.fit.engines import Chunks, Serial
from whoknows.fit.items import Items
from whoknows.fit.lbfgs import maximize
from whoknows.fit.objective import Model
from whoknows.fit.reduced_basis import principal_basis
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
