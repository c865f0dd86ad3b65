"""What held-out labels say of members: their weights, who has which say, and the words for it."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from whoknows import AutoCrowdClassifier
from whoknows.estimators.auto.members import Member, with_trees
from whoknows.estimators.auto.selection import (
    PRIOR_ITEMS,
    HeldOutScores,
    Selection,
    gain_of_varying,
    graph_is_worse,
    half_and_half,
    stack,
)
from whoknows.model.maps import RbfFeatures


def selection(*members, **settings):
    weights = np.arange(1.0, len(members) + 1)
    weights /= weights.sum()
    told = np.zeros((20, len(members))), np.ones(20)
    return Selection(list(members), weights, weights, weights, *told, **settings)


LINEAR, GRAPH = Member("linear", 3.0, True), Member("spectral", 3.0, True)


def test_the_graph_is_said_to_be_tried_only_if_it_was():
    share = "Members with a graph have 67% of the weight: unlabelled items"
    assert f"{share} help" in str(selection(LINEAR, GRAPH, graph=0.5))
    assert f"{share} add little" in str(selection(LINEAR, GRAPH, graph=0.7))
    assert "no graph was tried" in str(selection(LINEAR, LINEAR, parts=0.4))
    assert "graph" not in str(selection(LINEAR, LINEAR))
    dropped = str(selection(LINEAR, LINEAR, graph=0.2))  # a graph was tried
    assert "Members with a graph have 0%" in dropped
    assert "graph" not in str(selection(GRAPH, GRAPH, parts=0.4))  # nothing to compare it with


def test_the_prior_weight_of_the_graph_is_its_share_of_maps_that_are_not_linear():
    bent = Member("rbf 2", 3.0, True)
    for members, had in (
        ([LINEAR, GRAPH], 0.5),
        ([LINEAR, bent, GRAPH, GRAPH, Member("none", 3.0, False)], 1 / 3),
        ([GRAPH, bent], 0.5),
    ):
        assert Selection.of(members, HeldOutScores.nothing(len(members)), 2, 0.1).graph == pytest.approx(had)
    for members in ([GRAPH], [LINEAR], [Member("none", 3.0, False)]):
        assert np.isnan(Selection.of(members, HeldOutScores.nothing(1), 2, 0.1).graph)


@pytest.mark.parametrize(
    ("varying", "varies", "words"),
    [
        ((0.3, 0.1), True, ": it does depend"),
        ((0.3, 0.2), False, ": some signs that it depends on x"),
        ((0.1, 0.2), False, ": no clear evidence that it depends on x"),
        ((np.nan, np.nan), None, ""),
    ],
)
def test_expertise_varies_if_the_gain_is_beyond_two_errors(varying, varies, words):
    found = selection(LINEAR, GRAPH, varying=varying)
    assert found.varies is varies
    assert words in str(found)
    assert ("held-out log-likelihood" in str(found)) == (varies is not None)


def test_members_are_told_apart_by_their_coins():
    one, each = Member("linear", 3.0, True, two_coin=False), Member("linear", 3.0, True)
    rows = str(selection(one, each)).splitlines()[-2:]
    assert rows[0].endswith("linear, variance 3, expertise varies with x, one accuracy per class")
    assert rows[1].endswith("linear, variance 3, expertise varies with x")


def test_whoever_has_much_of_any_say_is_in_the_table():
    members = [Member("linear", float(v), True) for v in range(1, 21)]
    says = np.full((3, 20), 0.02)
    says[0, :10], says[1, 17], says[2, 19] = 0.08, 0.9, 0.9
    rows = str(Selection(members, *says, np.zeros((20, 20)), np.ones(20))).split("member\n")[1].splitlines()
    assert len(rows) == 8
    assert [row.split("variance ")[1].split(",")[0] for row in rows[-2:]] == ["18", "20"]


def test_members_are_told_apart_by_how_far_annotators_are():
    alike, apart = Member("none", 3.0, False), Member("none", 3.0, False, far_apart=True)
    rows = str(selection(alike, apart)).splitlines()[-2:]
    ends = [row.split("expertise ")[1] for row in rows]
    assert sorted(ends) == ["constant", "constant, annotators far apart"]


def meaning(log_lik, log_truth=0.0):
    """Members that say this of all labels, whatever the truth, and see the truth so: (n_items, n_members)."""
    shape = (*np.shape(log_lik), 2)
    log_truth, log_labels = (np.broadcast_to(np.asarray(each)[..., None], shape) for each in (log_truth, log_lik))
    weights = np.ones((2, len(log_labels)))
    return HeldOutScores(log_truth - np.log(2), log_labels, np.zeros(shape[:2]), *weights)


def test_whether_expertise_varies_is_asked_of_members_that_see_x():
    members = [Member("linear", 3.0, True), Member("none", 3.0, False)]
    assert np.isnan(gain_of_varying(members, meaning(np.zeros((20, 2))))).all()
    members.append(Member("linear", 3.0, False))
    gain, error = gain_of_varying(members, meaning(np.tile([3.0, 9.0, 1.0], (20, 1))))
    assert (gain, error) == (pytest.approx(2), pytest.approx(0))


def test_whether_expertise_varies_is_no_question_of_coins():
    members = [Member("linear", 3.0, True, two_coin=False), Member("linear", 3.0, False)]
    assert np.isnan(gain_of_varying(members, meaning(np.zeros((20, 2))))).all()
    members.append(Member("rbf 2", 3.0, True))
    gain, _ = gain_of_varying(members, meaning(np.tile([9.0, 1.0, 3.0], (20, 1))))
    assert gain == pytest.approx(2)
    members.append(Member("linear", 3.0, False, far_apart=True))
    assert gain_of_varying(members, meaning(np.tile([9.0, 1.0, 3.0, 9.0], (20, 1))))[0] == pytest.approx(2)


def test_few_items_do_not_show_whether_expertise_varies():
    members = [Member("linear", 3.0, True), Member("linear", 3.0, False)]
    told = meaning(np.tile([3.0, 1.0], (19, 1)))
    assert np.isnan(gain_of_varying(members, told)).all()


def test_many_ways_of_varying_are_not_better_by_chance():
    """Members that say whatever they say at random: forty of a side, one of the other."""
    members = [*[Member("linear", 3.0, True)] * 40, Member("linear", 3.0, False)]
    rng = np.random.default_rng(0)
    gains = [gain_of_varying(members, meaning(rng.normal(size=(20, 41))))[0] for _ in range(40)]
    alone = [gain_of_varying(members[39:], meaning(rng.normal(size=(20, 2))))[0] for _ in range(40)]
    mixed = np.log(np.exp(rng.normal(size=(9999, 40))).mean(axis=1)).mean()  # what an even average is better
    assert np.mean(gains) < mixed
    assert abs(np.mean(alone)) < 3 * np.std(alone) / np.sqrt(40)


def test_nor_of_how_the_truth_is_seen():
    members = [Member("rbf 2", 30.0, True), Member("linear", 3.0, False)]
    told = meaning(np.tile([1.0, 1.0], (20, 1)), log_truth=np.tile([0.0, -3.0], (20, 1)))
    assert np.ptp(told.log_lik, axis=1) == pytest.approx(3)
    assert gain_of_varying(members, told)[0] == pytest.approx(0)


def test_members_whose_expertise_varies_are_weighed_among_themselves():
    """Each predicts half of the items well: only together are they better than the third."""
    varies, constant = Member("linear", 3.0, True), Member("linear", 3.0, False)
    clusters = Member("linear", 3.0, True, clusters=4)
    log_lik = np.tile([[-1.0, -9.0, -2.0], [-9.0, -1.0, -2.0]], (50, 1))
    gain, error = gain_of_varying([varies, clusters, constant], meaning(log_lik))
    assert gain == pytest.approx(2 - 1 - np.log(2), abs=1e-3)
    assert gain_of_varying([varies, constant], meaning(log_lik[:, [0, 2]]))[0] < 0
    assert error == pytest.approx(0, abs=1e-3)


def test_members_are_told_apart_by_their_clusters():
    smooth, clusters = Member("rbf 2", 3.0, True, False), Member("rbf 2", 3.0, True, False, clusters=8)
    rows = str(selection(smooth, clusters)).splitlines()[-2:]
    assert sorted(row.split("expertise ")[1] for row in rows) == ["by 8 clusters", "varies with x"]
    assert (smooth.view, clusters.view) == ("rbf 2", "rbf 2, 8 clusters")


@pytest.mark.parametrize("prior", [None, np.array([0.6, 0.3, 0.1])])
def test_stacking_maximises_the_held_out_likelihood_with_its_prior(prior):
    lik, share = np.random.default_rng(0).normal(size=(60, 3)), np.full(3, 1 / 3) if prior is None else prior

    def negative(free):
        w = np.exp(free) / np.exp(free).sum()
        return -(np.log(np.exp(lik) @ w).sum() + PRIOR_ITEMS * share @ np.log(w))

    best = np.exp(minimize(negative, np.zeros(3)).x)
    np.testing.assert_allclose(stack(lik, prior), best / best.sum(), atol=1e-3)


def test_what_counts_twice_is_there_twice():
    rng = np.random.default_rng(1)
    lik, counts = rng.normal(size=(30, 4)), rng.integers(1, 4, 30)
    lik[:, 3] += 0.2 * counts - 0.2  # better where it counts
    often = np.repeat(lik, counts, axis=0)
    np.testing.assert_allclose(stack(lik, counts=counts.astype(float)), stack(often))


def test_half_and_half_whatever_the_number_of_each_kind():
    assert half_and_half(np.array([False, True, False])).tolist() == [0.25, 0.5, 0.25]
    assert half_and_half(np.array([True, True])).tolist() == [0.5, 0.5]
    assert half_and_half(np.array([False])).tolist() == [1]


@pytest.mark.parametrize(("gain", "worse"), [(-0.3, True), (-0.05, False), (0.0, False), (0.3, False)])
def test_members_with_a_graph_are_dropped_only_if_they_are_clearly_worse(gain, worse):
    noise, spectral = 0.3 * np.random.default_rng(2).normal(size=(100, 4)), np.array([False, False, True, True])
    assert graph_is_worse(noise + gain * spectral, spectral, np.ones(100)) == worse


def test_one_item_more_often_counts_as_that_many_items_for_the_graph():
    lik, spectral = 0.3 * np.random.default_rng(2).normal(size=(100, 4)), np.array([False, False, True, True])
    slightly_worse = lik - 0.03 * spectral
    assert not graph_is_worse(slightly_worse, spectral, np.ones(100))
    assert graph_is_worse(slightly_worse, spectral, np.full(100, 50.0))


def test_a_graph_without_anything_to_compare_it_with_is_not_worse():
    lik, spectral = np.tile([0.0, -9.0], (100, 1)), np.array([False, True])
    for kinds, items in ((np.array([True, True]), lik), (np.array([False, False]), lik), (spectral, lik[:0])):
        assert not graph_is_worse(items, kinds, np.ones(len(items)))


def random_scores(n_items=200, n_members=3, n_classes=2, seed=0):
    """Two labels on each item."""
    rng, item = np.random.default_rng(seed), np.arange(2 * n_items) // 2
    log_truth = np.log(rng.dirichlet(np.ones(n_classes), (n_items, n_members)))
    log_each = rng.normal(size=(2 * n_items, n_members, n_classes))
    return HeldOutScores.joined(
        [HeldOutScores.by_member(log_truth[:, m], log_each[:, m], item) for m in range(n_members)], axis=1
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_likelihoods_of_labels_are_sums_over_what_the_truth_may_be(n_classes):
    told, weights = random_scores(4, 3, n_classes), np.array([0.5, 0.3, 0.2])
    for i, m in product(range(4), range(3)):
        own = sum(np.exp(told.log_truth[i, m, z] + told.log_labels[i, m, z]) for z in range(n_classes))
        pooled = sum(np.exp(told.log_truth[i, m, z] + weights @ told.log_labels[i, :, z]) for z in range(n_classes))
        assert told.log_lik[i, m] == pytest.approx(np.log(own))
        assert told.log_lik_of_truth(weights)[i, m] == pytest.approx(np.log(pooled))
        seen = sum(
            weights @ np.exp(told.log_truth[i, :, z]) * np.exp(told.log_labels[i, m, z]) for z in range(n_classes)
        )
        assert told.log_lik_of_labels(weights)[i, m] == pytest.approx(np.log(seen))


def test_who_understands_labels_need_not_know_the_truth():
    rng, names = np.random.default_rng(1), ("linear", "rbf 0.5", "rbf 2")
    z = rng.integers(0, 2, 200)
    right = np.array([0.6, 0.9, 0.6])  # probability of the truth, as each member sees it
    log_truth = np.log(np.where(np.arange(2) == z[:, None, None], right[:, None], 1 - right[:, None]))
    heard = np.where(rng.random(200) < 0.9, z, 1 - z)  # a label, right nine times of ten
    log_labels = np.log(np.where(np.arange(2) == heard[:, None], 0.9, 0.1))[:, None].repeat(3, axis=1)
    log_labels[:, 0] += 1  # the first one would have expected just these labels, whatever the truth
    members = [Member(name, 3.0, True) for name in names]
    told = HeldOutScores(log_truth, log_labels, np.zeros((200, 3)), *np.ones((2, 200)))
    found = Selection.of(members, told, 2, np.nan)
    assert found.weights.argmax() == 0
    assert found.weights[0] > 0.9
    assert found.on_truth[1] > 0.9


def test_where_labels_tell_no_difference_straight_boundaries_have_half_of_the_say():
    told = random_scores(n_members=4)
    for table in (told.log_truth, told.log_labels, told.log_given):
        table[:] = table[:, :1]
    members = [Member(name, 3.0, True) for name in ("rbf 0.5", "linear", "rbf 2")] + [Member("none", 3.0, False)]
    found = Selection.of(members, told, 2, np.nan)
    assert found.weights == pytest.approx([0.25] * 4)
    assert found.on_truth == pytest.approx([0.25, 0.5, 0.25, 0])


def test_members_that_labels_or_eyes_rule_out_have_no_say_on_truth():
    told = random_scores()
    told.log_labels[:, 1] -= 3  # so the graph is worse
    members = [Member("linear", 3.0, True), Member("spectral", 3.0, True), Member("none", 3.0, False)]
    found = Selection.of(members, told, 2, np.nan)
    assert found.weights[1] == 0
    assert found.on_truth.tolist() == [1, 0, 0]
    blind = Selection.of(members[2:], told.of([2]), 2, np.nan)
    assert blind.on_truth.tolist() == [1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_label_given_the_others_is_a_quotient_of_sums_over_the_truth(n_classes):
    rng, item = np.random.default_rng(3), np.array([0, 0, 0, 1, 2, 2])
    truth = rng.dirichlet(np.ones(n_classes), 3)
    each = rng.random((6, n_classes))
    found = HeldOutScores.by_member(np.log(truth), np.log(each), item)
    for j, i in enumerate(item):
        others = [k for k in np.flatnonzero(item == i) if k != j]
        without = [truth[i, z] * np.prod(each[others, z]) for z in range(n_classes)]
        expected = sum(without[z] * each[j, z] for z in range(n_classes)) / sum(without)
        assert found.log_given[j, 0] == pytest.approx(np.log(expected))
    alone = found.log_lik[1, 0]  # an item's only label has no others
    assert found.log_given[3, 0] == pytest.approx(alone)
    np.testing.assert_allclose(found.log_labels[0, 0], np.log(each[:3]).sum(axis=0))


def test_where_other_labels_settle_an_item_nothing_need_be_seen_of_it():
    """Features predict all labels of an item better, one label given the others worse: each counts where it helps."""
    members = [Member("linear", 3.0, True), Member("none", 3.0, False)]
    told = random_scores(n_members=2)
    told.log_labels[:, 0] += 1
    told.log_given[:] = [-2.0, -1.0]
    found = Selection.of(members, told, 2, np.nan)
    assert found.weights[0] > 0.9
    assert found.on_truth.tolist() == [1, 0]
    assert found.on_labelled[1] > 0.9
    assert found.on_labelled.sum() == pytest.approx(1)


def test_a_graph_that_did_not_earn_its_place_has_no_say_on_labelled_items():
    members = [Member("linear", 3.0, True), Member("spectral", 3.0, True)]
    told = random_scores(n_members=2)
    told.log_labels[:, 1] -= 3
    told.log_given[:] = [-2.0, -1.0]
    assert Selection.of(members, told, 2, np.nan).on_labelled.tolist() == [1, 0]


def test_without_a_held_out_item_members_keep_their_prior_weights():
    members = [Member(name, 3.0, True) for name in ("linear", "rbf 2", "rbf 0.5")]
    members.append(Member("none", 3.0, False))
    found = Selection.of(members, HeldOutScores.nothing(4), 2, np.nan)
    assert found.weights == pytest.approx([1 / 4] * 4)
    assert found.on_truth == pytest.approx([0.5, 0.25, 0.25, 0])
    assert found.on_labelled == pytest.approx([1 / 4] * 4)


def test_members_without_a_say_are_left_out():
    told = random_scores(n_members=2)
    told.log_labels[:, 1] -= 3  # so the graph is worse
    found = Selection.of([LINEAR, GRAPH], told, 2, 0.1).with_weight()
    assert (found.members, found.left_out, found.log_lik.shape) == ([LINEAR], 1, (200, 1))
    assert found.weights.tolist() == found.on_truth.tolist() == found.on_labelled.tolist() == [1]
    assert "Members with a graph have 0% of the weight: unlabelled items add little here." in str(found)


@pytest.mark.parametrize(
    ("on_truth", "on_labelled", "stays"), [(0.01, 0.3, False), (0.1, 0.3, True), (0.01, 0.5, False)]
)
def test_trees_need_weight_for_the_truth(on_truth, on_labelled, stays):
    members = [LINEAR, Member("rbf 2", 30.0, True, False), with_trees(LINEAR)]
    table = {"weights": (0.5, 0.5, 0.0)}
    for purpose, w in (("on_truth", on_truth), ("on_labelled", on_labelled)):
        table[purpose] = ((1 - w) / 2, (1 - w) / 2, w)
    found = replace(selection(*members), **{name: np.array(row) for name, row in table.items()}).with_weight(0.02)
    assert (members[2] in found.members) == stays
    assert found.weights.sum() == found.on_truth.sum() == found.on_labelled.sum() == pytest.approx(1)
    if stays:
        assert found.on_truth[2] == on_truth


def test_members_without_weight_on_the_truth_are_not_asked_about_it(monkeypatch):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 2)), rng.integers(0, 2, (60, 3)).astype(float)
    members = [LINEAR, Member("rbf 2", 30.0, True, False)]
    model = AutoCrowdClassifier(members=members, selection=False).fit(X, labels)
    before = model.predict_proba(X)
    model.selection_ = replace(model.selection_, on_truth=np.array([1.0, 0.0]))
    monkeypatch.setattr(RbfFeatures, "transform", None)  # not even its features are computed
    found = model.predict_proba(X)
    assert np.abs(found - before).max() > 1e-3
    np.testing.assert_allclose(found.sum(axis=1), 1)
