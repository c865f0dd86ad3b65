"""AutoCrowdClassifier: weights without truth, words that fit them, and one estimator to the outside."""

from functools import wraps

import numpy as np
import pytest
from sklearn.datasets import make_moons

from tests.estimators.worlds import line_world, said_in, without_doubt
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier, load
from whoknows.estimators.auto import cross_validation, ensemble, members
from whoknows.estimators.auto.members import Member, default_members, with_trees
from whoknows.estimators.auto.reading import labels_of
from whoknows.estimators.boosted_trees import BoostedTrees

pytestmark = pytest.mark.filterwarnings("ignore::whoknows.fit.monitor.DidNotConverge")


@pytest.fixture(scope="module")
def line():
    """A straight boundary, constant expertise."""
    X, y, z = line_world(n_items=150, accuracies=(0.9, 0.75, 0.6), share_labelled=0.5)
    return X, y, z, AutoCrowdClassifier().fit(X, y)


@pytest.fixture(scope="module")
def moons():
    """Two moons, 40 of 300 items labelled: the graph knows what the labels do not."""
    X, z = make_moons(300, noise=0.06, random_state=0)
    rng = np.random.default_rng(0)
    y = np.where(rng.random((300, 4)) < 0.8, z[:, None], 1 - z[:, None]).astype(float)
    y[rng.permutation(300)[40:]] = np.nan
    return X, y, z, AutoCrowdClassifier().fit(X, y)


def log_labels(model, items):
    """log p(labels | x, z) of each item."""
    pair = model._pair
    annotators, belief = pair.prepared.model.annotators, pair.solution.annotators
    return annotators.predictive(belief, items.X_annotators, items.Y).table


def test_it_behaves_like_one_estimator(line):
    X, y, z, model = line
    assert np.mean(model.predict(X) == z) > 0.85
    for prob in (model.predict_proba(X), model.posterior(X, y), model.posterior_):
        assert prob.shape == (150, 2)
        np.testing.assert_allclose(prob.sum(axis=1), 1)
    np.testing.assert_allclose(model.posterior(X, y), model.posterior_)
    expertise = model.expertise(X)
    assert expertise.shape == (150, 3)
    assert expertise[:, 0].mean() > expertise[:, 2].mean()
    np.testing.assert_allclose(model.confusion(0).sum(axis=1), 1)
    assert model.score(X, z) == np.mean(model.predict(X) == z)
    assert model.score(X, said_in(y)) < 0


def test_predictions_are_the_weighted_average_of_the_members(line):
    X, _, _, model = line
    weights = model.selection_.on_truth
    by_hand = sum(w * m.predict_proba(X) for w, m in zip(weights, model.members_, strict=True))
    np.testing.assert_allclose(without_doubt(model).predict_proba(X), by_hand)
    assert (weights > 0).tolist() == [member.map != "none" for member in model.selection_.members]
    assert model.weights_.sum() == pytest.approx(1)
    assert weights.sum() == pytest.approx(1)
    assert len(model.members_) == len(model.selection_.members)


def test_the_graph_gets_the_weight_where_items_lie_in_clusters(line, moons):
    def graph(model):
        return model.selection_.share(map="spectral")

    assert graph(moons[3]) > 0.4 > graph(line[3])  # a seventh if all counted alike
    assert "unlabelled items help here" in str(moons[3].selection_)
    X, _, z, model = moons
    plain = CrowdClassifier(map="linear").fit(X, moons[1])
    assert np.mean(model.predict(X) == z) > np.mean(plain.predict(X) == z) + 0.03


def test_no_sign_of_expertise_that_varies_where_it_does_not(line):
    assert "no clear evidence that it depends on x" in str(line[3].selection_)


def test_expertise_that_varies_is_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 2))
    z = (X @ [1.0, 0.2] > 0).astype(int)
    left = X[:, 1] < 0
    accuracy = np.column_stack([np.where(left, 0.97, 0.5), np.where(left, 0.5, 0.97), np.where(left, 0.97, 0.5)])
    y = np.where(rng.random((250, 3)) < accuracy, z[:, None], 1 - z[:, None])
    model = AutoCrowdClassifier().fit(X, y)
    assert model.selection_.share(varies_with_x=True) > 0.8
    assert "it does depend on x." in str(model.selection_)


def test_without_selection_all_members_count_alike():
    X, y, _ = line_world(n_items=40)
    model = AutoCrowdClassifier(selection=False).fit(X, y)
    np.testing.assert_allclose(model.weights_, 1 / len(model.members_))
    assert "No selection: no label was held out, and all members have the same weight." in str(model.selection_)


def test_too_few_labels_are_admitted(moons, few_members):
    X, _, z, _ = moons
    y = np.full((300, 4), np.nan)
    few = np.random.default_rng(0).permutation(300)[:5]
    y[few] = z[few, None]
    found = AutoCrowdClassifier(tol=1e-3).fit(X, y, gold={int(few[0]): z[few[0]]}).selection_
    assert "too few labels to compare the members" in str(found)
    assert found.varies is None
    assert "graph" not in str(found).split("\n\n")[0]


@pytest.mark.parametrize(("accuracies", "are_apart"), [([0.55, 0.97], True), ([0.8], False)])
def test_held_out_labels_tell_how_far_annotators_are_apart(accuracies, are_apart):
    """Sixty annotators with twenty labels each: too few to learn it from each of them."""
    rng = np.random.default_rng(3)
    z = rng.integers(0, 2, 300)
    accuracy, y = rng.choice(accuracies, 60), np.full((300, 60), np.nan)
    for i, truth in enumerate(z):
        who = rng.choice(60, 4, replace=False)
        y[i, who] = np.where(rng.random(4) < accuracy[who], truth, 1 - truth)
    members = [Member("none", 10.0, False, False, far_apart=apart) for apart in (False, True)]
    found = AutoCrowdClassifier(members=members).fit(rng.normal(size=(300, 2)), y).selection_
    assert (found.held_out[1] > found.held_out[0]) == are_apart
    assert (found.on_labelled[1] > 0.7) == are_apart


def test_prior_variances_do_not_make_expertise_vary():
    """Of a truth that x tells, a wide prior tells more; that is not the annotators' doing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    z = (X[:, 0] > 0).astype(int)
    y = np.where(rng.random((400, 4)) < 0.8, z[:, None], 1 - z[:, None])
    members = [Member("linear", 100.0, True, False), Member("linear", 0.1, False, False)]
    found = AutoCrowdClassifier(members=members).fit(X, y).selection_
    assert found.held_out[0] > found.held_out[1] + 0.1
    assert not found.varies


def test_weights_of_items_reach_the_choice_of_members():
    """Items that hardly count choose hardly: as if they were not there."""
    X, y, _ = line_world(n_items=60, share_labelled=1.0)
    noise = np.arange(60) >= 30
    y[noise] = np.random.default_rng(0).integers(0, 2, y[noise].shape)
    members = [Member("linear", 10.0, False), Member("rbf 0.5", 30.0, False), Member("none", 10.0, False)]
    model = AutoCrowdClassifier(members=members)
    hardly = model.fit(X, y, sample_weight=np.where(noise, 1e-9, 1.0)).weights_
    without = model.fit(X, np.where(noise[:, None], np.nan, y)).weights_
    alike = model.fit(X, y).weights_
    np.testing.assert_allclose(hardly, without, atol=0.12)  # held out in other parts
    assert np.abs(hardly - alike).max() > 0.2


def test_members_without_a_say_are_not_fitted():
    X, y, _ = nothing_to_see(0)
    model = AutoCrowdClassifier(members=[Member(map, 3.0, True) for map in ("linear", "spectral")], tol=1e-2).fit(X, y)
    assert len(model.members_) == len(model.selection_.members) == len(model.weights_)
    assert (model.weights_ > 0).all()


@pytest.mark.parametrize(("settings", "message"), [
    ({"selection": "no"}, "selection must be True or False; got 'no'"),
    ({"tol": "a"}, "tol must be a number of 0 or more; got 'a'"),
    ({"folds": 1}, "folds must be a whole number of 2 or more; got 1"),
    ({"folds": 2.5}, "folds must be a whole number of 2 or more; got 2.5"),
    ({"members": []}, r"members must be a list of Member, one at least, or None; got \[\]"),
    ({"members": ["linear"]}, r"members must be a list of Member, one at least, or None; got \['linear'\]"),
    ({"members": 3}, "members must be a list of Member, one at least, or None; got 3"),
])  # fmt: skip
def test_settings_that_mean_nothing_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        AutoCrowdClassifier(**settings).fit([[0.0], [1.0]], [[0], [1]])


def test_a_member_has_a_map_there_is():
    with pytest.raises(ValueError, match=r"map must be one of 'linear', 'rbf 0.5', .* got 'rbf'"):
        Member("rbf", 3.0, True)


@pytest.mark.parametrize(("settings", "message"), [
    ({"variance": 0.0}, r"variance must be a number above 0; got 0\.0"),
    ({"varies_with_x": "no"}, "varies_with_x must be True or False; got 'no'"),
    ({"far_apart": 1}, "far_apart must be True or False; got 1"),
    ({"clusters": -1}, "clusters must be a whole number of 0 or more; got -1"),
    ({"map": "none"}, "varies needs a map that sees x, .* got map='none', varies_with_x=True"),
    ({"varies_with_x": False, "clusters": 4}, "clusters need expertise that varies; got .* clusters=4"),
])  # fmt: skip
def test_a_member_that_means_nothing_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Member(**{"map": "linear", "variance": 3.0, "varies_with_x": True} | settings)


def test_items_whose_labels_do_not_count_have_none(line):
    X, y, _, model = line
    said = Annotations.from_matrix(y, confidence=np.where(np.arange(150) < 75, 1.0, 0.0)[:, None] * np.ones(3))
    np.testing.assert_array_equal(model.posterior(X, said)[75:], model.predict_proba(X)[75:])


@pytest.mark.parametrize(("member", "n_classes"), [(m, k) for k in (2, 3) for m in default_members(k)[::7]])
def test_labels_one_by_one_add_up_to_those_of_an_item(member, n_classes):
    X, y, _ = nothing_to_see(0)
    y = np.where(X[:, :1] > 1, 2.0, y) if n_classes == 3 else y
    model = member.build(AutoCrowdClassifier(tol=1e-2), n_classes).fit(X, y)
    items = model._pair.prepared.items(X, model._training_data)
    each = model._pair.log_each_label(items)
    total = np.array([each[items.Y.item == i].sum(axis=0) for i in range(len(X))])
    np.testing.assert_allclose(total, log_labels(model, items), atol=1e-10)


def test_three_classes_and_any_labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 2))
    z = (X @ rng.normal(size=(2, 3))).argmax(axis=1)
    said = np.array(["a", "b", "c"], dtype=object)[np.where(rng.random((90, 3)) < 0.8, z[:, None], 2 - z[:, None])]
    said[45:] = None
    model = AutoCrowdClassifier(selection=False, tol=1e-3).fit(X, Annotations.from_matrix(said))
    assert model.predict_proba(X).shape == (90, 3)
    assert np.mean(model.predict(X) == np.array(["a", "b", "c"])[z]) > 0.7


def test_the_same_seed_gives_the_same_model():
    X, y, _ = line_world(n_items=30)
    one, other = (AutoCrowdClassifier(random_state=3, tol=1e-2).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_members_can_be_named():
    X, y, z = line_world(n_items=60)
    chosen = [Member("linear", 10.0, varies_with_x=True), Member("rbf 2", 3.0, varies_with_x=False)]
    model = AutoCrowdClassifier(members=chosen).fit(X, y)
    assert len(model.members_) == 2
    assert np.mean(model.predict(X) == z) > 0.85


def test_every_iteration_of_every_fit_can_be_watched():
    (X, y, _), curves, fits = line_world(n_items=60), [], []

    def watch(member, iteration, bound, seconds):
        if iteration == 1:
            curves.append((member, []))
        curves[-1][1].append(bound)

    chosen = [Member("linear", 10.0, varies_with_x=True), Member("none", 3.0, varies_with_x=False)]
    model = AutoCrowdClassifier(members=chosen).fit(X, y, lambda *about: fits.append(about), watch=watch)
    assert len(curves) == len(fits) == fits[-1][1]
    watched = dict(curves)  # the last fit of each member
    for member, pair in zip(model.selection_.members, model.pairs_, strict=True):
        assert watched[member] == pair.history
        assert np.diff(watched[member]).min() > -1e-9 * abs(watched[member][0])


# --- labels alone -----------------------------------------------------------------------------------------


def nothing_to_see(seed, n_items=100):
    """Features that say nothing of the truth."""
    rng = np.random.default_rng(seed)
    z, X = rng.integers(0, 2, n_items), rng.normal(size=(n_items, 12))
    y = np.where(rng.random((n_items, 5)) < [0.9, 0.8, 0.7, 0.65, 0.6], z[:, None], 1 - z[:, None]).astype(float)
    y[rng.random(y.shape) < 0.4] = np.nan
    return X, y, z


def test_features_that_say_nothing_do_not_spoil_the_consensus():
    gains = []
    for seed in range(2):
        X, y, z = nothing_to_see(seed)
        seeing = [m for m in default_members(2) if m.map not in ("none", "spectral") and m.variance > 1]
        spoilt, model = (AutoCrowdClassifier(members=m, folds=2, tol=1e-3).fit(X, y) for m in (seeing, None))
        gains.append(np.mean(model.posterior_.argmax(1) == z) - np.mean(spoilt.posterior_.argmax(1) == z))
        alone = np.mean([member.map == "none" for member in model.selection_.members])
        assert model.selection_.share(map="none") > 1.5 * alone  # more than an even share
    assert np.mean(gains) > 0.02


def test_labels_alone_have_a_say_only_where_there_are_labels():
    X, y, _ = nothing_to_see(0)
    y[:20] = np.nan
    members = [Member("linear", 3.0, False), Member("none", 10.0, False)]
    model = AutoCrowdClassifier(members=members, tol=1e-4).fit(X, y)
    seeing = model.members_[0]
    np.testing.assert_allclose(without_doubt(model).predict_proba(X), seeing.predict_proba(X))
    np.testing.assert_allclose(model.posterior_[:20], model.predict_proba(X)[:20])
    answers = [member.posterior(X, y)[20:] for member in model.members_]
    heard = np.isfinite(y[20:]).any(axis=1)
    average = np.tensordot(model.selection_.on_labelled, answers, axes=1)
    expected = model._reading.posterior(average, labels_of(model._training_data[np.arange(20, len(X))]))
    np.testing.assert_allclose(model.posterior_[20:][heard], expected[heard], atol=1e-12)


def test_with_labels_alone_every_item_is_alike():
    X, y, _ = nothing_to_see(0)
    model = AutoCrowdClassifier(members=[Member("none", 10.0, False)], tol=1e-4).fit(X, y)
    assert np.ptp(model.predict_proba(X)[:, 0]) < 1e-12


@pytest.fixture(scope="module")
def board():
    """A checkerboard, which no map can follow: trees can."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    z = (4 * X[:, :2]).astype(int).sum(axis=1) % 2
    y = np.where(rng.random((400, 4)) < 0.85, z[:, None], 1 - z[:, None])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(members, "ITEMS_FOR_TREES", 300)
        patch.setattr(ensemble, "default_members", lambda *given: default_members(*given)[:9])
        return X, y, z, AutoCrowdClassifier(folds=2, tol=1e-3).fit(X, y)


def test_trees_carry_the_weight_where_no_map_can_follow(board, few_members):
    X, y, z, model = board
    of_trees = [member.map == "trees" for member in model.selection_.members]
    assert model.selection_.on_truth[of_trees].sum() > 0.6
    assert "Boosted trees have" in str(model.selection_)
    maps = AutoCrowdClassifier(folds=2, tol=1e-3).fit(X, y)
    assert "trees" not in str(maps.selection_)
    assert np.mean(model.predict(X) == z) > np.mean(maps.predict(X) == z) + 0.05


def test_trees_are_not_grown_where_coarse_ones_are_useless(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    z = (X.sum(axis=1) > 0).astype(int)
    y = np.where(rng.random((400, 4)) < 0.9, z[:, None], 1 - z[:, None])
    monkeypatch.setattr(members, "ITEMS_FOR_TREES", 300)
    monkeypatch.setattr(ensemble, "default_members", lambda *given: default_members(*given)[:3])
    grown, fit = [], BoostedTrees.fit

    @wraps(fit)
    def counted(self, *given, **more):
        grown.append(self.rounds)
        return fit(self, *given, **more)

    monkeypatch.setattr(BoostedTrees, "fit", counted)
    model = AutoCrowdClassifier(folds=2, tol=1e-3).fit(X, y)
    assert set(grown) == {members.COARSE.rounds}
    assert "trees" not in str(model.selection_)


def test_other_members_may_start_from_what_trees_found(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    z = (X[:, 0] > 0).astype(int)
    y = np.where(rng.random((200, 4)) < 0.8, z[:, None], 1 - z[:, None])
    monkeypatch.setattr(cross_validation, "ITEMS_OF_A_RACE", 50)
    linear = Member("linear", 10.0, False)
    model = AutoCrowdClassifier(folds=2, tol=1e-3, members=[with_trees(linear), linear]).fit(X, y)
    assert np.mean(model.posterior_.argmax(axis=1) == z) > 0.9


def test_an_ensemble_with_trees_answers_like_any_other(board, tmp_path):
    X, y, _, model = board
    low, high = model.predict_proba(X[:5], return_interval=True)[1:]
    assert ((low <= high) & (low >= 0) & (high <= 1)).all()
    assert len(model.suggest(X[:20], np.full((20, 4), np.nan), n=2)) == 2
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.posterior(X, y), model.posterior(X, y))
    before = model.posterior_.copy()
    model.update(X, said_in(y))
    np.testing.assert_allclose(model.posterior_, before, atol=0.2)


@pytest.mark.parametrize(("n_labelled", "n_columns"), [(999, 5), (2_000, 101), (1_000, 101)])
def test_trees_need_labelled_items_and_few_columns(n_labelled, n_columns):
    assert members.trees_can_learn(1_000, 100)
    assert not members.trees_can_learn(n_labelled, n_columns)


def test_without_features_few_labels_do_not_put_all_items_in_one_class():
    rng, shares = np.random.default_rng(0), []
    for _ in range(8):
        truth, right = rng.integers(2, size=60), rng.uniform(0.5, 0.9, 10)
        labels = np.where(rng.random((60, 10)) < right, truth[:, None], 1 - truth[:, None]).astype(float)
        labels[rng.random((60, 10)).argsort(axis=1) >= 3] = np.nan
        member = Member("none", 3.0, False, two_coin=True).build(AutoCrowdClassifier(), 2)
        shares.append(member.fit(np.zeros((60, 1)), labels).posterior_[:, 1].mean())
    assert min(shares) > 0.1
    assert max(shares) < 0.9
