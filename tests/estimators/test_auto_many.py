"""Auto with more items than members are weighed on."""

import numpy as np
import pytest

from whoknows import AutoCrowdClassifier
from whoknows.estimators import auto
from whoknows.estimators.members import Member
from whoknows.estimators.stacking import far_behind

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
    assert len(model.selection_.log_lik) == 100
    assert (model.posterior_.argmax(axis=1) == z).mean() > 0.93


def test_members_without_weight_are_left_out(few_are_tried):
    X, y, _ = world()
    model = AutoCrowdClassifier(members=MEMBERS, tol=1e-3).fit(X, y)
    assert [m.variance for m in model.selection_.members] == [3.0] * len(model.members_)
    assert model.weights_.sum() == pytest.approx(1)
    assert len(model.weights_) == len(model.members_) == model.selection_.log_lik.shape[1]
    assert len(AutoCrowdClassifier(members=MEMBERS, selection=False, tol=1e-3).fit(X, y).members_) == 3


def test_a_member_far_behind_is_not_fitted_in_every_fold(few_are_tried, monkeypatch):
    X, y, _ = world()
    asked = []
    foretell = auto.Candidate.foretell

    def counted(self, rest, fold):
        asked.append(self.estimator.truth.variance)
        return foretell(self, rest, fold)

    monkeypatch.setattr(auto.Candidate, "foretell", counted)
    AutoCrowdClassifier(members=MEMBERS, tol=1e-3).fit(X, y)
    assert asked.count(0.001) < 3
    assert asked.count(3.0) == 6


def test_far_behind_is_beyond_doubt():
    rng = np.random.default_rng(0)
    best = rng.normal(size=400)
    log_lik = np.column_stack([best - 1 + 0.1 * rng.normal(size=400), best, best + 2 * rng.normal(size=400)])
    winner, behind = far_behind(log_lik[:, :2])
    assert winner == 1
    assert behind[0] == pytest.approx((log_lik[:, 1] - log_lik[:, 0]).mean())
    assert behind[1] == 0
    assert far_behind(log_lik)[1][1:].tolist() == [0, 0]  # as good on average, for all one knows


def test_nobody_is_behind_before_the_first_fold():
    winner, behind = far_behind(np.zeros((0, 3)))
    assert winner == 0
    assert behind.tolist() == [0, 0, 0]
