"""Items that look alike: each is known by its own labels, whatever their order."""

import numpy as np
import pytest
from scipy.stats import norm

from whoknows import Annotations, CrowdClassifier
from whoknows.data.simulate import constant_accuracies


def cornered(n=200):
    """Items in four corners, three classes."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 4, n)
    z = np.where(rng.random(n) < 0.8, corner % 3, rng.integers(0, 3, n))
    return np.eye(4)[corner], constant_accuracies(z, [0.7, 0.7, 0.65], random_state=1), rng.permutation(n)


@pytest.mark.parametrize("map", ["linear", "clusters"])
def test_of_twins_each_is_known_by_its_own_labels(map):
    X, y, order = cornered()
    model, other = CrowdClassifier("id", map=map).fit(X, y), CrowdClassifier("id", map=map)
    np.testing.assert_allclose(other.fit(X[order], y[order]).posterior_, model.posterior_[order], atol=1e-9)
    known = model._pair.solution.truth
    joint = (
        known.held_out
        + model._pair.prepared.model.annotators.evidence_at(
            model._pair.solution.annotators, model._pair.prepared.items(X).X_annotators, Annotations.from_matrix(y)
        ).table
    )
    own, doubt = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None]), model._pair.reading.doubt
    np.testing.assert_allclose(model.posterior_, (1 - doubt) * own + doubt / 3)


@pytest.mark.parametrize("map", ["linear", "rbf"])
def test_without_labels_the_posterior_of_an_item_of_the_fit_is_what_x_says(map):
    X, y, _ = cornered()
    model = CrowdClassifier("id", map=map).fit(X, y)
    np.testing.assert_allclose(model.posterior(X, np.full(y.shape, np.nan)), model.predict_proba(X))
    assert not np.allclose(model.posterior(X, y), model.predict_proba(X))


def test_what_a_graph_says_of_twins_does_not_hang_on_their_order():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [5.0], [6.0]])
    y = np.repeat([[0.0], [1.0], [0.0], [0.0], [1.0], [1.0]], 3, axis=1)
    found = [
        CrowdClassifier("gp").fit(X[o], y[o]).predict_proba([[0.0]]) for o in ([0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5])
    ]
    np.testing.assert_allclose(*found, atol=1e-6)
    known = CrowdClassifier("gp").fit(X, y)._pair.solution.truth.posterior
    low, high = norm.cdf((known.mean[:2] - 0.5) / np.sqrt(known.variance[:2]))
    assert low < found[0][0, 1] < high  # between what is known of either
