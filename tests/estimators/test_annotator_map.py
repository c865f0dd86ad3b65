"""Expertise that sees x in another way than the truth does."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from tests.estimators.worlds import without_doubt
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier, CrowdRegressor, PrecomputedGraph
from whoknows.estimators.auto.members import Member
from whoknows.model.maps import ClusterMap, SpectralMap

CORNERS = np.array([[4.0, 4.0], [-4.0, 4.0], [-4.0, -4.0], [4.0, -4.0]])
KNOWN, ELSEWHERE = 0.97, 0.6


@cache
def world(n_items=600, seed=0):
    """Four clouds at the corners of a square; a third feature says something of the truth.

    Two annotators know two corners that lie across from each other, two the others: no line parts these.
    """
    rng = np.random.default_rng(seed)
    cloud = rng.integers(4, size=n_items)
    X = np.column_stack([CORNERS[cloud] + rng.normal(size=(n_items, 2)), rng.normal(size=n_items)])
    z = (X[:, 2] + rng.normal(size=n_items) > 0).astype(int)
    right = rng.random((n_items, 4)) < accuracy(cloud)
    return X, np.where(right, z[:, None], 1 - z[:, None]), z, cloud


def log_labels(model, items):
    """log p(labels | x, z) of each item."""
    pair = model._pair
    annotators, belief = pair.prepared.model.annotators, pair.solution.annotators
    return annotators.predictive(belief, items.X_annotators, items.Y).table


def accuracy(cloud):
    """How often each of the four is right in these clouds: (n, 4)."""
    return np.where(cloud[:, None] % 2 == np.arange(4) % 2, KNOWN, ELSEWHERE)


def by_clusters(map="linear"):
    return CrowdClassifier("id", "bernoulli", map, annotator_map=ClusterMap(4))


def test_expertise_is_found_cluster_by_cluster():
    X, y, _, cloud = world()
    expertise = by_clusters().fit(X, y).expertise(X)
    for corner in range(4):
        inside = expertise[cloud == corner]
        assert np.ptp(np.sort(inside, axis=0)[3:-3], axis=0).max() < 1e-12  # the same all over, but for strays
        np.testing.assert_allclose(np.median(inside, axis=0), accuracy(np.array([corner]))[0], atol=0.08)


def test_labels_then_tell_more_than_with_expertise_along_a_line():
    X, y, z, _ = world()
    right = {
        name: (model.fit(X, y).posterior_.argmax(axis=1) == z).mean()
        for name, model in {"clusters": by_clusters(), "line": CrowdClassifier("id", map="linear")}.items()
    }
    assert right["clusters"] > right["line"] + 0.02


@pytest.mark.parametrize("map", ["linear", "rbf", "spectral"])
def test_the_truth_sees_what_it_saw_before(map):
    X, y, _, _ = world()
    ours, plain = (model.fit(X, y)._pair.prepared for model in (by_clusters(map), CrowdClassifier("id", map=map)))
    np.testing.assert_array_equal(ours.items(X).X_truth, plain.items(X).X_truth)
    assert ours.items(X).X_annotators.shape == (600, 5)


def test_few_labels_do_not_cut_the_map_short():
    X, y, _, _ = world()
    few = np.where(np.arange(600)[:, None] < 8, y, np.nan)
    assert by_clusters().fit(X, few)._pair.prepared.items(X).X_annotators.shape[1] == 5


def test_the_same_map_twice_is_the_same_model():
    X, y, _, _ = world()
    once, twice = (CrowdClassifier("id", map="linear", annotator_map=map).fit(X, y) for map in (None, "linear"))
    np.testing.assert_array_equal(once.posterior_, twice.posterior_)
    np.testing.assert_array_equal(once.expertise(X), twice.expertise(X))


def test_of_coefficients_only_the_classifiers_are_left():
    X, y, _, _ = world()
    model = by_clusters().fit(X, y)
    assert np.abs(model.coef_).argmax() == 2
    with pytest.raises(AttributeError, match=r"annotator_coef_ exists only with map='linear'.*annotator_map="):
        _ = model.annotator_coef_


def test_clusters_are_a_setting_that_a_search_can_reach():
    model = by_clusters()
    assert clone(model).set_params(annotator_map__clusters=2).annotator_map == ClusterMap(2)
    with pytest.raises(ValueError, match=r"annotator_map must be 'rbf', .* got 'cubic'"):
        CrowdClassifier(annotator_map="cubic").fit(*world()[:2])
    with pytest.raises(ValueError, match="clusters must be"):
        CrowdClassifier(annotator_map=ClusterMap(0)).fit(*world()[:2])


def test_a_graph_of_the_items_alone_knows_no_others():
    X, y, _, _ = world(60)
    near = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = CrowdClassifier("id", map="linear", annotator_map=SpectralMap(PrecomputedGraph(near), rank=5)).fit(X, y)
    assert model.expertise(X).shape == (60, 4)
    with pytest.raises(ValueError, match="items"):
        model.expertise(X[:7])


def test_spread_of_numbers_by_clusters():
    X, _, _, cloud = world()
    rng = np.random.default_rng(3)
    spread = np.where(cloud[:, None] % 2 == np.arange(4) % 2, 0.5, 2.0)
    y = 3 * X[:, [2]] + spread * rng.normal(size=(600, 4))
    found = CrowdRegressor(map="linear", annotator_map=ClusterMap(4)).fit(X, y).annotator_scale(X)
    for corner in range(4):
        inside = cloud == corner
        np.testing.assert_allclose(np.median(found[inside], axis=0), spread[inside][0], rtol=0.25)


def test_labels_that_come_in_later():
    X, y, _, _ = world()
    first = np.where(np.arange(600)[:, None] < 300, y, np.nan)
    before, fresh = (by_clusters().set_params(tol=1e-10, max_iter=2000) for _ in range(2))
    updated, fresh = before.fit(X, first).update(X, y), fresh.fit(X, y)
    np.testing.assert_allclose(updated.posterior_, fresh.posterior_, atol=1e-3)


MEMBERS = [
    Member("linear", 3.0, True, False),
    Member("linear", 3.0, True, False, clusters=4),
    Member("linear", 3.0, False, False),
]


def test_held_out_labels_find_the_clusters():
    X, y, _, _ = world(300)
    model = AutoCrowdClassifier(members=MEMBERS).fit(X, y)
    assert model.selection_.share(clusters=4) > 0.7
    assert model.selection_.varies


def test_members_with_one_map_share_what_the_truth_sees():
    X, y, _, _ = world(300)
    model = AutoCrowdClassifier(members=MEMBERS).fit(X, y)
    smooth, clusters, constant = model._items(X)
    assert clusters.X_truth is smooth.X_truth
    assert constant is smooth
    assert clusters.X_annotators.shape[1] == 5


@pytest.mark.parametrize("seed", [None, np.random.RandomState(0)], ids=["none", "state"])
def test_members_with_one_map_see_alike_whatever_the_seed(seed):
    """More items than landmarks: other seeds would give other features."""
    X, y, _, _ = world(900)
    members = [Member("rbf 2", 30.0, True, False, clusters=n) for n in (4, 8)]
    model = AutoCrowdClassifier(members=members, selection=False, random_state=seed, tol=1e-2)
    model.fit(X[:800], np.where(np.arange(800)[:, None] < 60, y[:800], np.nan))
    for _ in range(2):
        expected = np.mean([without_doubt(member).predict_proba(X) for member in model.members_], axis=0)
        np.testing.assert_allclose(without_doubt(model).predict_proba(X), expected, atol=1e-12)
        model.update(X, np.where(np.arange(900)[:, None] < 70, y, np.nan))


def test_uncertain_labels_are_predicted_one_by_one():
    X, y, _, _ = world(60)
    item, annotator = np.divmod(np.arange(240), 4)
    said = Annotations.from_arrays(item, annotator, y.ravel(), items=range(60), confidence=np.linspace(0.1, 1, 240))
    model = by_clusters().fit(X, said)
    items = model._pair.prepared.items(X, model._training_data)
    each = model._pair.log_each_label(items)
    np.testing.assert_allclose(each.reshape(60, 4, 2).sum(axis=1), log_labels(model, items), atol=1e-10)


def test_the_graph_of_expertise_is_named():
    X, y, _, _ = world(200)
    model = CrowdClassifier("id", map="linear", annotator_map="spectral").fit(X, y)
    assert model.graph_.startswith("expertise on ")


def test_more_labels_do_not_change_what_a_map_of_its_own_sees():
    X, y, _, _ = world(200)
    model = by_clusters().fit(X, np.where(np.arange(200)[:, None] < 10, y, np.nan))
    learnt = model._pair.prepared
    assert model.update(X, y)._pair.prepared is learnt
