"""Laplace's approximation: the information of every item by brute force, the prior by differences."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import norm

from tests.fit.worlds import WORLD, fit, prepare
from tests.reference.worlds import slope, with_ones
from whoknows.data import Annotations
from whoknows.fit import laplace
from whoknows.fit.engines import Serial
from whoknows.fit.items import Items
from whoknows.fit.laplace import _prior_precisions, _with_population, information, laplace_covariances
from whoknows.fit.objective import Model, Parameters
from whoknows.fit.solve import covariances_of, parameters_of
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators, GaussianAnnotators, Population
from whoknows.model.annotators.ordered import OrderedAnnotators
from whoknows.model.truth import GraphTruth, LogisticTruth

T, D = 3, 2  # annotators, and features beside the constant


# --- log p(labels of an item | x), one label and one class at a time ------------------------------


def log_sum(terms):
    return np.logaddexp.reduce(terms)


def log_class(xi, x, z):
    """log p(z | x) of two classes, or of more."""
    f = x @ xi
    return log_expit(f[0] if z else -f[0]) if len(f) == 1 else f[z] - log_sum(f)


def bernoulli(row, x, z, y):
    eta = row[: len(x)] @ x
    return log_expit(eta if y == z else -eta)


def two_coin(row, x, z, y):
    eta = row[: len(x)] @ x + (2 * z - 1) * row[len(x)]
    return log_expit(eta if y == z else -eta)


def confusion(row, x, z, y):
    """Right with log-odds wᵀx + γ + k_z; if wrong, softmax over the other two of r_z."""
    eta = row[: len(x)] @ x + row[len(x) + z]
    if y == z:
        return log_expit(eta)
    r = row[len(x) + 3 :].reshape(3, 3)[z]
    return log_expit(-eta) + r[y] - log_sum(np.delete(r, z))


def gaussian(row, x, z, y):
    return norm.logpdf(y, z, 0.3 + 0.7 * expit(row @ x))


KINDS = {
    "bernoulli": (BernoulliAnnotators(), bernoulli, 2),
    "two-coin": (BernoulliAnnotators(two_coin=True), two_coin, 2),
    "confusion": (ConfusionAnnotators(), confusion, 3),
    "gaussian": (GaussianAnnotators(), gaussian, 2),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def small_world(kind, seed=0, n_items=9, **besides):
    """A model, items most of whose pairs have a label, and parameters no fit has come to."""
    annotators, _, K = KINDS[kind]
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, size=(n_items, T)).astype(float)
    y[rng.random(y.shape) < 0.3] = np.nan
    features = with_ones(rng.normal(size=(n_items, D)))
    model = Model(annotators.for_classes(K), LogisticTruth().for_classes(K).prepare(features[:, :-1], features))
    theta = model.annotators.init(D + 1, T)
    theta = theta + 0.5 * rng.normal(size=theta.shape)
    xi = rng.normal(size=model.truth.init(D + 1).shape)
    said = Annotations.from_matrix(y, labels=range(K), confidence=besides.pop("confidence", None))
    return model, Items(features, features, said, **besides), Parameters(theta, xi)


def log_lik(kind, items, i, theta, xi):
    """log p(labels of item i | x_i), z summed out, or at its gold."""
    _, log_label, K = KINDS[kind]
    Y, x = items.Y, items.X_truth[i]
    gold = np.nan if items.gold is None else items.gold[i]
    classes = range(K) if np.isnan(gold) else [int(gold)]
    mine = np.flatnonzero(Y.item == i)
    joint = [
        log_class(xi, x, z) + sum(Y.counts[n] * log_label(theta[Y.annotator[n]], x, z, Y.label[n]) for n in mine)
        for z in classes
    ]
    return log_sum(joint)


def by_brute_force(kind, items, at):
    """Σ s sᵀ over items, s by differences: for each column of ξ, and for each row of θ but the crowd's.

    A label of confidence c is c labels, each with a gradient s / c: c times its square.
    """
    n_outputs = at.xi.shape[1]
    of_truth = np.zeros((n_outputs, D + 1, D + 1))
    of_annotators = np.zeros((T, at.theta.shape[1], at.theta.shape[1]))
    for i in range(len(items.X_truth)):
        d_xi = slope(lambda xi, i=i: log_lik(kind, items, i, at.theta, xi), at.xi).reshape(D + 1, -1)
        d_theta = slope(lambda theta, i=i: log_lik(kind, items, i, theta, at.xi), at.theta)
        of_truth += np.einsum("jk,lk->kjl", d_xi, d_xi)
        counts, mine = np.ones(T), items.Y.item == i
        counts[items.Y.annotator[mine]] = items.Y.counts[mine]
        of_annotators += np.einsum("t,tj,tl->tjl", 1 / counts, d_theta[:T], d_theta[:T])
    return of_truth, of_annotators


@every_kind
def test_information_is_the_sum_of_every_items_squared_gradient(kind):
    model, items, at = small_world(kind)
    for mine, theirs in zip(information(items, model, at), by_brute_force(kind, items, at), strict=True):
        assert mine.shape == theirs.shape
        assert np.abs(theirs).max() > 0.1
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


@every_kind
def test_gold_and_confidence_are_part_of_an_items_likelihood(kind):
    rng = np.random.default_rng(1)
    gold = np.full(9, np.nan)
    gold[[0, 4, 5]] = [0, 1, 1]
    model, items, at = small_world(kind, gold=gold, confidence=rng.uniform(0.2, 2, size=(9, T)))
    for mine, theirs in zip(information(items, model, at), by_brute_force(kind, items, at), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


@every_kind
def test_an_item_of_weight_two_is_the_item_twice(kind):
    model, items, at = small_world(kind)
    weight = np.ones(9)
    weight[[1, 4]] = 2
    twice = items[np.sort(np.append(np.arange(9), [1, 4]))]
    weighted = information(replace(items, weight=weight), model, at)
    for mine, theirs in zip(weighted, information(twice, model, at), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
    assert not np.allclose(weighted[1], information(items, model, at)[1])


def test_an_item_of_weight_zero_says_nothing():
    model, items, at = small_world("confusion")
    weight = np.append(np.zeros(4), np.ones(5))
    weighted = information(replace(items, weight=weight), model, at)
    for mine, theirs in zip(weighted, information(items[4:], model, at), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


@pytest.mark.parametrize("n_chunks", [2, 7])
@every_kind
def test_chunks_add_up(kind, n_chunks):
    model, items, at = small_world(kind)
    whole = laplace_covariances(model, [items], at, None, Serial())
    parts = laplace_covariances(model, list(items.chunks(n_chunks)), at, None, Serial())
    np.testing.assert_allclose(parts.truth, whole.truth, rtol=1e-9)
    np.testing.assert_allclose(parts.annotators, whole.annotators, rtol=1e-9)


@every_kind
def test_labels_looked_at_a_few_at_a_time_add_up(kind, monkeypatch):
    model, items, at = small_world(kind)
    whole = information(items, model, at)
    monkeypatch.setattr(laplace, "NUMBERS_PER_BLOCK", 20)
    for mine, theirs in zip(information(items, model, at), whole, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_without_mistakes_the_information_about_the_rest_is_the_same(monkeypatch):
    model, items, at = small_world("confusion")
    _, whole = information(items, model, at)
    monkeypatch.setattr(laplace, "MOST_COLUMNS", 5)
    _, part = information(items, model, at)
    n = whole.shape[1] - 9
    assert part.shape[1:] == (n, n)
    np.testing.assert_allclose(part, whole[:, :n, :n], atol=1e-12)


@pytest.mark.parametrize("kind", ["bernoulli", "confusion"])
def test_covariances_are_the_same_of_tensors(kind):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    model, items, at = small_world(kind)
    tensors = replace(items, X_truth=torch.as_tensor(items.X_truth), X_annotators=torch.as_tensor(items.X_annotators))
    mine, theirs = (laplace_covariances(model, [each], at, None, Serial()) for each in (tensors, items))
    np.testing.assert_allclose(mine.truth, theirs.truth, rtol=1e-10)
    np.testing.assert_allclose(mine.annotators, theirs.annotators, rtol=1e-10)


# --- the prior, and everybody at once --------------------------------------------------------------

PRIORS = {
    "bernoulli": BernoulliAnnotators(),
    "bernoulli, constant": BernoulliAnnotators(varies_with_x=False),
    "two-coin": BernoulliAnnotators(two_coin=True),
    "confusion": ConfusionAnnotators().for_classes(3),
    "gaussian": GaussianAnnotators(),
    "ordered": OrderedAnnotators().for_classes(3),  # whose severities do not come from a crowd
    "another crowd": BernoulliAnnotators(
        population=Population(slope_variance=0.7, deviation_variance=0.2, precision_rate=0.3)
    ),
}


@pytest.mark.parametrize("name", PRIORS)
def test_prior_precisions_are_the_curvature_of_the_prior(name):
    """The whole Hessian: own on the diagonal, −shared with the crowd, nothing anywhere else."""
    annotators = PRIORS[name]
    theta = np.random.default_rng(0).normal(size=annotators.init(D + 1, T).shape)
    C = theta.shape[1]

    def gradient(at):  # log p(θ) is quadratic: differences are exact for any step
        return slope(lambda t: annotators.log_prior(t)[0], at, step=0.5)

    steps = np.eye(theta.size).reshape(-1, *theta.shape)
    curvature = np.array([gradient(theta) - gradient(theta + step) for step in steps])
    own, shared, crowd = _prior_precisions(annotators, theta)
    expected = np.zeros((T + 1, C, T + 1, C))
    for t in range(T):
        expected[t, :, t, :] = np.diag(own)
        expected[t, :, T, :] = expected[T, :, t, :] = -np.diag(shared)
    expected[T, :, T, :] = np.diag(crowd)
    np.testing.assert_allclose(curvature.reshape(expected.shape), expected, atol=1e-9)


@every_kind
def test_covariances_are_blocks_of_the_inverse_of_the_whole(kind):
    """Annotators, a stranger without a label and the crowd in one matrix, inverted as it is."""
    model, items, at = small_world(kind)
    _, info = information(items, model, at)
    own, shared, crowd = _prior_precisions(model.annotators, at.theta)
    C = len(own)
    joint = np.zeros((T + 2, C, T + 2, C))  # the stranger is T, the crowd T + 1
    for t in range(T + 1):
        joint[t, :, t, :] = np.diag(own) + (info[t] if t < T else 0)
        joint[t, :, -1, :] = joint[-1, :, t, :] = -np.diag(shared)
    joint[-1, :, -1, :] = np.diag(crowd + own)  # ``crowd`` counts T annotators
    whole = np.linalg.inv(joint.reshape((T + 2) * C, -1)).reshape(joint.shape)
    covariance = _with_population(info, own, shared, crowd)
    assert covariance.shape == (T + 1, C, C)
    for t in range(T + 1):
        np.testing.assert_allclose(covariance[t], whole[t, :, t, :], atol=1e-10)


@every_kind
def test_spread_is_the_inverse_of_information_and_prior(kind):
    model, items, at = small_world(kind)
    found = laplace_covariances(model, [items], at, None, Serial())
    of_truth, of_annotators = information(items, model, at)
    for k, S in enumerate(found.truth):
        np.testing.assert_allclose(S @ (of_truth[k] + model.truth.precision), np.eye(D + 1), atol=1e-9)
    prior = _prior_precisions(model.annotators, at.theta)
    np.testing.assert_allclose(found.annotators, _with_population(of_annotators, *prior))


def test_the_crowd_may_be_one_the_fit_has_learnt():
    """Annotators who were found to be alike are better known, strangers above all."""
    model, items, at = small_world("bernoulli")
    prior = laplace_covariances(model, [items], at, None, Serial()).annotators
    alike = Population(precision_shape=200.0, precision_rate=2.0)
    learnt = laplace_covariances(model, [items], at, alike, Serial()).annotators
    assert (np.linalg.eigvalsh(prior - learnt) > -1e-12).all()
    assert prior[-1, 0, 0] - learnt[-1, 0, 0] > 0.5
    assert model.annotators.population == Population()  # the settings are as they were


# --- after a fit ------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["vb", "em", "lbfgs"])
def test_an_annotator_without_labels_is_as_unknown_as_a_stranger(solver):
    silent = replace(WORLD, matrix=np.column_stack([WORLD.matrix, np.full(len(WORLD.X), np.nan)]))
    model, items = prepare(BernoulliAnnotators(), LogisticTruth(), silent)
    found = covariances_of(model, items, fit(BernoulliAnnotators(), LogisticTruth(), solver, silent)[0])
    np.testing.assert_allclose(found.annotators[-2], found.annotators[-1], rtol=1e-9)
    sizes = np.trace(found.annotators, axis1=1, axis2=2)
    assert sizes[:-2].max() < sizes[-1]


def test_the_variational_fit_brings_the_crowd_it_has_learnt():
    model, items = prepare(BernoulliAnnotators(), LogisticTruth())
    fitted = fit(BernoulliAnnotators(), LogisticTruth(), "vb")[0]
    at = parameters_of(model, fitted)
    expected = laplace_covariances(model, [items], at, fitted.crowd.fitted_population(), Serial())
    np.testing.assert_array_equal(covariances_of(model, items, fitted).annotators, expected.annotators)
    without = laplace_covariances(model, [items], at, None, Serial())
    assert not np.allclose(expected.annotators, without.annotators)


def test_a_graph_truth_has_no_parameters_to_be_unsure_of_but_annotators_have():
    annotators, truth = GaussianAnnotators(), GraphTruth()
    model, items = prepare(annotators, truth)
    found = covariances_of(model, items, fit(annotators, truth, "em")[0])
    assert found.truth is None
    assert found.annotators.shape == (5, 3, 3)
    assert (np.linalg.eigvalsh(found.annotators) > 0).all()
    sizes = np.trace(found.annotators, axis1=1, axis2=2)
    assert sizes[:-1].max() < sizes[-1]


def test_more_labels_more_is_known():
    """Twice the items, half of them new: no direction of any parameter is known less well."""
    model, items, at = small_world("two-coin", n_items=60)
    few, many = (laplace_covariances(model, [part], at, None, Serial()) for part in (items[:30], items))
    for less, more in ((few.truth, many.truth), (few.annotators, many.annotators)):
        assert (np.linalg.eigvalsh(less - more) > -1e-12).all()
        assert np.trace(more[0]) < 0.8 * np.trace(less[0])
