"""Auto with more items than members are weighed on, or with many annotators."""

import numpy as np
import pytest

from whoknows import Annotations, AutoCrowdClassifier
from whoknows.estimators.auto import cross_validation, ensemble, members
from whoknows.estimators.auto.cross_validation import Candidate
from whoknows.estimators.auto.members import Member
from whoknows.estimators.auto.selection import HeldOutScores, Selection

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
    monkeypatch.setattr(cross_validation, "MOST_SCORED", 100)


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


def test_of_many_items_only_the_best_members_are_fitted_to_all(few_are_tried, monkeypatch):
    X, y, z = world()
    several = AutoCrowdClassifier(tol=1e-3).fit(X, y)
    monkeypatch.setattr(ensemble, "MANY_ITEMS", 400)
    best = AutoCrowdClassifier(tol=1e-3).fit(X, y)
    assert len(best.members_) < len(several.members_)
    assert {member.map for member in best.selection_.members} <= {member.map for member in several.selection_.members}
    assert (best.posterior_.argmax(axis=1) == z).mean() > 0.93


def test_of_members_that_differ_in_variance_alone_one_has_the_weight_of_all():
    members = [Member("linear", 3.0, True), Member("linear", 30.0, True), Member("linear", 3.0, False)]
    says = np.array([[0.3, 0.5, 0.2], [0.1, 0.6, 0.3], [0.4, 0.5, 0.1]])
    found = Selection(members, *says, np.arange(6.0).reshape(2, 3), np.ones(2)).condensed(0.1)
    assert found.members == members[1:]
    assert found.weights == pytest.approx([0.8, 0.2])
    assert found.on_truth == pytest.approx([0.7, 0.3])
    assert found.on_labelled == pytest.approx([0.9, 0.1])
    assert found.log_lik.tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert found.left_out == 0  # whoever has the weight of others speaks for them
    fewer = found.condensed(0.5)
    assert "Members tried and dropped: 1." in str(fewer)
    assert fewer.members == members[1:2]
    assert found.condensed(0.9).weights.tolist() == [1.0]  # the best is worth it, however little it has


def test_of_many_items_a_map_must_be_clearly_better_than_the_linear_one():
    members = [Member("linear", 30.0, True), Member("rbf 2", 30.0, True), Member("none", 30.0, False)]
    log_lik = np.random.default_rng(0).normal(-2, 0.5, (400, 1)) + np.zeros((1, 3))
    log_lik[:, 1] += np.random.default_rng(1).normal(0.01, 0.3, 400)
    says = np.array([[0.3, 0.6, 0.1], [0.4, 0.6, 0.0], [0.25, 0.5, 0.25]])
    found = Selection(members, *says, log_lik, np.ones(400)).without_costly_maps()
    assert found.members == [members[0], members[2]]
    assert found.weights == pytest.approx([0.75, 0.25])
    assert (found.on_truth.tolist(), found.on_labelled.tolist(), found.left_out) == ([1, 0], [0.5, 0.5], 1)
    log_lik[:, 1] += 0.1
    assert Selection(members, *says, log_lik, np.ones(400)).without_costly_maps().members == members


def test_somebody_is_left_to_tell_the_truth():
    members = [Member("linear", 3.0, True), Member("none", 10.0, False), Member("rbf 2", 3.0, True)]
    weights, on_truth = np.array([0.1, 0.8, 0.1]), np.array([0.9, 0.0, 0.1])
    found = Selection(members, weights, on_truth, weights, np.zeros((2, 3)), np.ones(2)).condensed(0.5)
    assert found.members == members[:2]
    assert found.on_truth.tolist() == [1, 0]


def test_the_best_at_the_truth_stays_though_another_is_best_at_expertise():
    members = [Member("linear", 30.0, True), Member("rbf 0.5", 30.0, True), Member("rbf 2", 30.0, True)]
    says = np.array([[0.2, 0.7, 0.1], [0.97, 0.02, 0.01], [0.8, 0.1, 0.1]])
    found = Selection(members, *says, np.zeros((2, 3)), np.ones(2)).condensed(0.75)
    assert found.members == members[:2]
    assert found.on_truth == pytest.approx([0.97 / 0.99, 0.02 / 0.99])


def test_labels_alone_stay_where_they_have_much_to_say_on_labelled_items():
    members = [Member("linear", 3.0, True), Member("none", 10.0, False), Member("rbf 2", 3.0, True)]
    says = np.array([[0.8, 0.1, 0.1], [0.9, 0.0, 0.1], [0.3, 0.5, 0.2]])
    found = Selection(members, *says, np.zeros((2, 3)), np.ones(2)).condensed(0.75)
    assert found.members == members[:2]
    assert found.on_labelled == pytest.approx([0.375, 0.625])
    assert found.on_truth.tolist() == [1, 0]


def test_progress_reaches_its_end_though_members_are_left_out(few_are_tried):
    X, y, _ = world()
    seen = []
    model = AutoCrowdClassifier(members=MEMBERS, tol=1e-3).fit(X, y, lambda *at: seen.append(at))
    done, total, seconds = zip(*seen, strict=True)
    assert list(done) == list(range(1, len(seen) + 1))
    assert done[-1] == total[-1] == len(MEMBERS) + len(model.members_)
    assert list(seconds) == sorted(seconds)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_which_kind_of_expertise_is_settled_before_the_maps_are_tried(few_are_tried, n_classes):
    X, y, z = world(900)
    if n_classes == 3:
        z = np.digitize(X[:, 0], [-0.5, 0.5])
        wrong = np.random.default_rng(1).integers(3, size=y.shape)
        y = np.where(np.isnan(y), np.nan, np.where(np.arange(4) < 3, z[:, None], wrong))
    seen = []
    model = AutoCrowdClassifier().fit(X, y, lambda *at: seen.append(at))
    chosen = model.selection_.members
    assert {(m.varies_with_x, m.two_coin) for m in chosen if m.map != "none"} == {
        (chosen[0].varies_with_x, chosen[0].two_coin)
    }
    assert seen[0][1] >= seen[-1][1]  # what is foreseen is never less than what there is to do,
    assert seen[0][1] <= seen[-1][1] + 8  # and not much more
    assert seen[-1][0] == seen[-1][1]
    n_kinds, n_fits = 6 if n_classes == 2 else 2, seen[-1][0] - len(chosen)
    assert n_fits - n_kinds in (4, 5)  # maps without or with a graph; those chosen are fitted to all items
    assert model.selection_.varies is False
    assert np.abs(model.selection_.varying[0]) < 0.1
    assert (model.classes_[model.posterior_.argmax(axis=1)] == z).mean() > 0.9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_start_from_what_they_learnt_on_trial(few_are_tried, monkeypatch, n_classes):
    """Where they start from does not matter to where they end."""
    X, y, _ = world(700)
    y = np.where(X[:, 1:] > 0.5, 2.0, y) if n_classes == 3 else y
    found, known, fit = [], [], Candidate.fit

    def told(self, step, before=None, start=None):
        known.append(before is not None)
        return fit(self, step) if found else fit(self, step, before)

    monkeypatch.setattr(Candidate, "fit", told)
    monkeypatch.setattr(members, "ROUGH", 1e-6)  # near enough to where they end
    monkeypatch.setattr(cross_validation, "TOL_OF_MANY", 1e-6)
    for _ in range(2):
        found.append(AutoCrowdClassifier(members=MEMBERS[::2], tol=1e-7).fit(X, y))
    assert known
    assert all(known)
    assert found[0].n_iter_ < found[1].n_iter_
    np.testing.assert_allclose(found[0].posterior_, found[1].posterior_, atol=0.01)


def test_more_eigenvectors_are_tried_where_the_graph_wins(few_are_tried, monkeypatch):
    rng, tried, compare = np.random.default_rng(0), [], cross_validation.MemberFits.compare
    angle, z = rng.uniform(0, np.pi, 600), rng.integers(2, size=600)  # two moons
    X = np.column_stack([np.cos(angle) + z, np.where(z == 1, -1, 1) * np.sin(angle) + 0.3 * z])
    X += rng.normal(0, 0.08, X.shape)
    y = np.where(rng.random((600, 3)) < 0.25, 1 - z[:, None], z[:, None]).astype(float)
    y[rng.permutation(600)[:450]] = np.nan

    def told(self, members, *name):
        tried.append([member.map for member in members])
        return compare(self, members, *name)

    monkeypatch.setattr(cross_validation.MemberFits, "compare", told)
    model = AutoCrowdClassifier().fit(X, y)
    assert tried[1:] == [["finest"]]
    graphs = {m.map: pair for m, pair in zip(model.selection_.members, model.pairs_, strict=True) if m.has_graph}
    assert (model.classes_[model.posterior_.argmax(axis=1)] == z).mean() > 0.95
    assert "Members with a graph" in str(model.selection_)
    few, many = (graphs[name].prepared.preprocessing.features for name in ("spectral", "finest"))
    assert many.graph is few.graph
    assert len(many.eigenvalues) > len(few.eigenvalues) == 80
    tried.clear()
    AutoCrowdClassifier().fit(*world(500)[:2])  # a straight line
    assert len(tried) == 1


def test_gold_in_place_of_labels_settles_no_kind_of_expertise(few_are_tried):
    X, y, z = world(900)
    labelled = np.flatnonzero(~np.isnan(y).any(axis=1))[:60]
    few = np.full_like(y, np.nan)
    few[labelled] = y[labelled]
    gold = {i: float(z[i]) for i in range(900) if i not in set(labelled)}
    model = AutoCrowdClassifier(tol=1e-3).fit(X, few, gold=gold)
    assert len(model.selection_.log_lik) == 20  # a third of all items with labels
    kinds = {(m.varies_with_x, m.two_coin) for m in model.selection_.members}
    assert len(kinds) > 1


def test_kinds_are_chosen_by_items_as_they_count():
    """One kind is far better on items that hardly count, another on those that do."""

    log_labels = np.full((40, 6, 2), -1.0)
    log_labels[:20, 2], log_labels[20:, 1] = -0.1, -0.5
    weight = np.repeat([1e-6, 1.0], 20)
    truth = np.log(np.full(log_labels.shape, 0.5))
    assert HeldOutScores(truth, log_labels, np.zeros((0, 6)), weight, np.zeros(0)).best == 1


def test_many_annotators_of_one_label_each_need_few_fits(monkeypatch):
    monkeypatch.setattr(cross_validation, "MANY_ANNOTATORS", 400)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(450, 2))
    truth = (X[:, 0] > 0).astype(int)
    label = np.where(rng.random(450) < 0.8, truth, 1 - truth)
    y = Annotations.from_arrays(range(450), range(450), label)
    totals = []
    model = AutoCrowdClassifier().fit(X, y, lambda done, total, seconds: totals.append((done, total)))
    assert totals[-1] == (len(totals), len(totals))
    assert len(totals) < 20
    assert np.mean(model.predict(X) == truth) > 0.95
    assert model.expertise(X[:3]).shape == (3, 450)
