"""Auto with more items than members are weighed on."""

import numpy as np
import pytest

from whoknows import AutoCrowdClassifier
from whoknows.estimators import auto
from whoknows.estimators.members import Member
from whoknows.estimators.selection import Selection

MEMBERS = [Member("linear", 3.0, False), Member("linear", 0.001, False), Member("rbf 2", 3.0, False)]


def world(n_items=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    z = X[:, 0] > 0
    y = np.where(rng.random((n_items, 4)) < [0.1, 0.2, 0.2, 0.3], ~z[:, None], z[:, None]).astype(float)
    y[rng.permutation(n_items)[: n_items // 5]] = np.nan
    return X, y, z


@pytest.fixture
def few_are_tried(monkeypatch):
    monkeypatch.setattr(auto, "MOST_TRIED", 100)


def test_members_are_weighed_on_some_of_the_labelled_items(few_are_tried):
    X, y, z = world()
    model = AutoCrowdClassifier(members=MEMBERS, tol=1e-3).fit(X, y)
    assert len(model.selection_.log_lik) == 34  # a third of a hundred
    assert (model.posterior_.argmax(axis=1) == z).mean() > 0.93


def test_members_without_weight_are_left_out(few_are_tried):
    X, y, _ = world()
    model = AutoCrowdClassifier(members=MEMBERS, tol=1e-3).fit(X, y)
    assert [m.variance for m in model.selection_.members] == [3.0] * len(model.members_)
    assert model.weights_.sum() == pytest.approx(1)
    assert len(model.weights_) == len(model.members_) == model.selection_.log_lik.shape[1]
    assert len(AutoCrowdClassifier(members=MEMBERS, selection=False, tol=1e-3).fit(X, y).members_) == 3


def test_of_members_that_differ_in_variance_alone_one_has_the_weight_of_all():
    members = [Member("linear", 3.0, True), Member("linear", 30.0, True), Member("linear", 3.0, False)]
    found = Selection(members, np.array([0.3, 0.5, 0.2]), np.arange(6.0).reshape(2, 3)).condensed(0.1)
    assert found.members == members[1:]
    assert found.weights == pytest.approx([0.8, 0.2])
    assert found.log_lik.tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert found.condensed(0.3).members == members[1:2]
    assert found.condensed(0.9).weights.tolist() == [1.0]  # the best is worth it, however little it has


def test_progress_reaches_its_end_though_members_are_left_out(few_are_tried):
    X, y, _ = world()
    seen = []
    model = AutoCrowdClassifier(members=MEMBERS, tol=1e-3).fit(X, y, lambda *at: seen.append(at))
    done, total, seconds = zip(*seen, strict=True)
    assert list(done) == list(range(1, len(seen) + 1))
    assert done[-1] == total[-1] == len(MEMBERS) + len(model.members_)
    assert list(seconds) == sorted(seconds)
