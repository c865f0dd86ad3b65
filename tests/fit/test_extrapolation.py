"""Extrapolation of the variational solver: to the limit of a geometric sequence, never to a lower bound."""

import numpy as np

from tests.fit.test_many_items import world
from whoknows import CrowdClassifier
from whoknows.fit import variational
from whoknows.fit.variational import extrapolate

RNG = np.random.default_rng(0)
GRAM, PULL = np.stack([np.eye(2), 2 * np.eye(2)]), RNG.normal(size=(2, 2))
END = GRAM, PULL, 3 * np.eye(3), RNG.normal(size=3)


def approach(start, end, factor, n=3):
    """Sums of successive iterations that converge geometrically."""
    return [tuple(e + factor**k * (s - e) for s, e in zip(start, end, strict=True)) for k in range(n)]


def test_extrapolation_is_the_limit_of_a_geometric_sequence():
    start = tuple(1.1 * part for part in END)
    for found, wanted in zip(extrapolate(approach(start, END, 0.9)), END, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_a_constant_sequence_is_not_extrapolated():
    assert extrapolate([END, END, END]) is None


def test_an_indefinite_gram_matrix_is_refused():
    below = (END[0], END[1], -3 * np.eye(3), END[3])
    start = tuple(part + 1.0 for part in END)
    assert extrapolate(approach(start, below, 0.9)) is None


def test_it_reaches_a_higher_bound_in_fewer_iterations(monkeypatch):
    X, y = world(600)
    fast = CrowdClassifier("id", map="linear", tol=1e-5).fit(X, y)
    monkeypatch.setattr(variational, "extrapolate", lambda last: None)
    slow = CrowdClassifier("id", map="linear", tol=1e-5).fit(X, y)
    assert fast.n_iter_ < slow.n_iter_
    assert fast.bound_history_[-1] > slow.bound_history_[-1] - 1e-2
    assert np.diff(fast.bound_history_).min() > -1e-9 * abs(fast.bound_history_[-1])


def test_a_step_to_a_lower_bound_is_not_taken(monkeypatch):
    X, y = world(300)
    monkeypatch.setattr(variational, "extrapolate", lambda last: tuple(100 * part for part in last[-1]))
    model = CrowdClassifier("id", map="linear", tol=1e-5).fit(X, y)
    assert np.diff(model.bound_history_).min() > -1e-9 * abs(model.bound_history_[-1])
