"""Fits to many items: they start from a fit to some of them and end where they would have ended anyway."""

import numpy as np
import pytest

from whoknows import Annotations, CrowdClassifier
from whoknows.fit import solve as solving


def world(n_items, n_annotators=4, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    z = np.digitize(2 * X[:, 0] + rng.logistic(size=n_items), [-1.0, 1.0][-(n_classes - 1) :])
    wrong = rng.random((n_items, n_annotators)) < np.linspace(0.05, 0.4, n_annotators)
    y = np.where(wrong, np.where(z == 1, 2 * rng.integers(0, 2, n_items), 1)[:, None], z[:, None])
    y = np.minimum(y, n_classes - 1).astype(float)
    y[rng.random(y.shape) < 0.3] = np.nan
    return X, y


@pytest.fixture
def many_are_few(monkeypatch):
    monkeypatch.setattr(solving, "MANY", 100)
    monkeypatch.setattr(solving, "SAMPLE", 80)


@pytest.mark.parametrize(
    ("settings", "n_classes"),
    [
        ({"truth": "id", "map": "linear"}, 2),
        ({"truth": "id", "map": "linear", "solver": "em"}, 2),
        ({"truth": "id", "map": "linear"}, 3),
        ({"truth": "ordered", "map": "linear"}, 3),
    ],
    ids=["vb", "em", "crossfit", "ordered"],
)
def test_the_answer_is_the_same_from_either_start(monkeypatch, settings, n_classes):
    X, y = world(400, n_classes=n_classes)
    direct = CrowdClassifier(**settings, tol=1e-8, max_iter=1000).fit(X, y)
    monkeypatch.setattr(solving, "MANY", 100)
    monkeypatch.setattr(solving, "SAMPLE", 80)
    found = CrowdClassifier(**settings, tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(found.posterior_, direct.posterior_, atol=5e-3)
    np.testing.assert_allclose(found.expertise(X), direct.expertise(X), atol=5e-3)


def test_it_takes_fewer_iterations_over_all_items(many_are_few, monkeypatch):
    X, y = world(2000)
    found = CrowdClassifier("id", map="linear", tol=1e-6).fit(X, y)
    monkeypatch.setattr(solving, "MANY", 10_000)
    direct = CrowdClassifier("id", map="linear", tol=1e-6).fit(X, y)
    assert found.n_iter_ < direct.n_iter_


def test_an_annotator_who_labelled_none_of_the_few_is_learnt_of(many_are_few):
    X, y = world(2000)
    rare = np.full((2000, 1), np.nan)
    rows = np.setdiff1d(np.arange(2000), np.random.default_rng(0).choice(2000, 80, replace=False))[:40]
    rare[rows] = 1 - np.nan_to_num(y[rows][:, :1], nan=0.5).round()  # says the opposite of the best
    model = CrowdClassifier("id", map="linear").fit(X, np.hstack([y, rare]))
    assert model.expertise(X)[:, -1].mean() < 0.5


def test_a_start_that_is_not_there_yet_does_not_warn(many_are_few):
    X, y = world(400)
    said = Annotations.from_matrix(y)
    with pytest.warns(UserWarning, match="max_iter=3") as caught:
        CrowdClassifier("id", map="linear", max_iter=3, tol=1e-12).fit(X, said)
    assert len(caught) == 1
