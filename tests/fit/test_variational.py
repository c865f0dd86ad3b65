"""The variational solver against the exact posterior, on problems small enough for quadrature."""

import numpy as np
import pytest
from scipy.special import expit, roots_hermitenorm

from tests.fit.worlds import crowd, fit
from tests.reference.worlds import World, with_ones
from whoknows.model.annotators import BernoulliAnnotators, Population
from whoknows.model.truth import LogisticTruth

# θ_0 is as good as known, so that γ_1 and γ_2 are independent, N(1.4, 0.5).
ANNOTATORS = BernoulliAnnotators(
    varies_with_x=False, population=Population(centre=1.4, centre_variance=1e-9, deviation_variance=0.5)
)
TRUTH = LogisticTruth(variance=2.0, intercept_variance=1.0)
SEEDS = [0, 1, 2]


def tiny(seed, n_items=12):
    """One feature, two annotators of constant accuracy, every item labelled by both."""
    rng = np.random.default_rng(seed)
    X = np.linspace(-2, 2, n_items)[:, None] + 0.1 * rng.normal(size=(n_items, 1))
    z = (X[:, 0] > 0).astype(int)
    return World(X, crowd(z, [0.9, 0.7], rng), z)


class Exact:
    """p(Y_L | X) and what follows, by Gauss-Hermite quadrature over ξ (slope, intercept) and γ_1, γ_2."""

    def __init__(self, w, n_nodes=24):
        nodes, weights = roots_hermitenorm(n_nodes)
        u = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
        prior = np.log(np.outer(weights, weights).ravel() / weights.sum() ** 2)
        self.xi = u * np.sqrt([2.0, 1.0])
        right = expit(1.4 + u * np.sqrt(0.5))
        log_mass = prior[:, None] + prior[None]  # a row for each ξ, a column for each (γ_1, γ_2)
        self.one = []
        for x, labels in zip(w.X[:, 0], w.matrix, strict=True):
            f = self.xi @ [x, 1.0]
            said = [np.prod(np.where(labels == z, right, 1 - right), axis=1) for z in (0, 1)]
            joint = [np.outer(expit(-f), said[0]), np.outer(expit(f), said[1])]
            self.one.append(joint[1] / (joint[0] + joint[1]))
            log_mass += np.log(joint[0] + joint[1])
        mass = np.exp(log_mass)
        self.log_evidence = np.log(mass.sum())
        self.weight = mass / mass.sum()

    def posterior(self):
        """p(z_i = 1 | Y_L, X) of every item."""
        return np.array([(self.weight * one).sum() for one in self.one])

    def predict(self, x):
        """p(z = 1 | x, Y_L, X) of an item without labels."""
        return self.weight.sum(axis=1) @ expit(self.xi @ [x, 1.0])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_lies_below_the_exact_evidence_and_not_far(seed):
    w = tiny(seed)
    bound = fit(ANNOTATORS, TRUTH, "vb", w, tol=1e-10)[1].history[-1]
    gap = Exact(w).log_evidence - bound
    assert 0 < gap < 1.5


@pytest.mark.parametrize("seed", SEEDS)
def test_the_posterior_of_labelled_items_is_near_the_exact_one(seed):
    w = tiny(seed)
    fitted, _ = fit(ANNOTATORS, TRUTH, "vb", w, tol=1e-10)
    evidence = ANNOTATORS.evidence_at(fitted.annotators, w.features, w.Y)
    found = TRUTH.prepare(w.X, w.features).posterior_at(fitted.truth, w.features, evidence)[:, 1]
    off = np.abs(found - Exact(w).posterior())
    assert off.max() < 0.12
    assert off.mean() < 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_the_classifier_is_near_the_exact_predictive(seed):
    w = tiny(seed)
    exact = Exact(w)
    fitted, _ = fit(ANNOTATORS, TRUTH, "vb", w, tol=1e-10)
    x = np.array([-3.0, -1.0, 0.2, 0.7, 5.0])
    found = np.exp(TRUTH.prepare(w.X, w.features).log_predict(fitted.truth, with_ones(x[:, None])))[:, 1]
    np.testing.assert_allclose(found, [exact.predict(v) for v in x], atol=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_point_estimates_are_surer_of_themselves_than_the_exact_predictive(seed):
    """Why vb is the default: with a dozen items a point estimate overstates what is known."""
    w = tiny(seed)
    exact, x = Exact(w), np.array([-4.0, 4.0])
    truth, features = TRUTH.prepare(w.X, w.features), with_ones(x[:, None])
    vb, em = (np.exp(truth.log_predict(fit(ANNOTATORS, TRUTH, s, w)[0].truth, features))[:, 1] for s in ("vb", "em"))
    right = np.array([exact.predict(v) for v in x])
    assert np.abs(vb - right).sum() < np.abs(em - right).sum()
