"""Whom to ask next: information by enumeration, batches that spread, costs, and what is refused."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import entr

from tests.estimators.worlds import line_world, said_in
from whoknows import Annotations, AutoCrowdClassifier, BernoulliAnnotators, ConfusionAnnotators, CrowdClassifier
from whoknows.estimators.ask import batch as module
from whoknows.estimators.ask.batch import information, information_of_next_label, suggest
from whoknows.estimators.auto.members import Member

NAMES = ["anna", "bob", "cleo"]
KINDS = ["bernoulli", BernoulliAnnotators(two_coin=True), "gaussian", ConfusionAnnotators()]


def sparse_world(seed=0, share=0.4, **kwargs):
    """The line world with labels missing at random, by people with names."""
    X, y, z = line_world(seed=seed, **kwargs)
    y[np.random.default_rng(seed).random(y.shape) > share] = np.nan
    return X, said_in(y, annotators=NAMES[: y.shape[1]]), z


def three_classes(n_items=90, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(3, size=n_items)
    X = np.eye(3)[z] * 2 + rng.normal(size=(n_items, 3))
    right = rng.random((n_items, 3)) < [0.9, 0.8, 0.6]
    y = np.where(right, z[:, None], (z[:, None] + 1) % 3).astype(float)
    y[rng.random(y.shape) > 0.5] = np.nan
    return X, Annotations.from_matrix(y, annotators=NAMES, labels=[0, 1, 2])


@pytest.fixture(scope="module")
def world():
    X, said, _ = sparse_world()
    return X, said, CrowdClassifier(truth="id", map="linear").fit(X, said)


@pytest.fixture(scope="module")
def many_classes():
    X, said = three_classes()
    return X, said, CrowdClassifier(truth="id", map="linear").fit(X, said)


def speech(model, X, said):
    """p(y | z) of every pair, from expertise on items whose truth is told: (n_items, T, K, K)."""
    items, K = model._voices(X, said)[0].items, len(model.classes_)
    pieces, belief = model._pair.prepared.model.annotators, model._pair.solution.annotators
    told = [pieces.expertise(belief, items.X_annotators, np.tile(row, (len(X), 1)))[:, :-1] for row in np.eye(K)]
    right = np.stack(told, axis=2)
    off = pieces.confusion(belief, items.X_annotators)[:-1] * (1 - np.eye(K))
    mistakes = off / off.sum(axis=2, keepdims=True)
    return right[..., None] * np.eye(K) + (1 - right)[..., None] * mistakes


def brute_force(prob, *speeches):
    """I(z; y_1, …, y_k) in bits, by summing over every truth and every pattern of answers."""
    K, total = len(prob), 0.0
    for answers in product(range(K), repeat=len(speeches)):
        joint = prob * np.prod([s[:, y] for s, y in zip(speeches, answers, strict=True)], axis=0)
        total += np.sum(joint * np.log2(joint / (joint.sum() * prob)))
    return total


def asked_pairs(said):
    return set(zip(said.items[said.item].tolist(), said.annotators[said.annotator].tolist(), strict=True))


def pairs(found):
    return list(zip(found.item.tolist(), found.annotator.tolist(), strict=True))


class TestInformation:
    @pytest.mark.parametrize("kind", KINDS, ids=str)
    def test_it_is_that_of_enumeration(self, kind):
        X, said, _ = sparse_world()
        model = CrowdClassifier(truth="id", map="linear", annotators=kind).fit(X, said)
        found = suggest(model, X, said, 10_000, spread=False)
        prob, says = model.posterior(X, said), speech(model, X, said)
        first = {}
        for (i, name), bits in zip(pairs(found), found.information, strict=True):
            first.setdefault(i, (name, bits))
        assert len(first) > 50
        for i, (name, bits) in first.items():
            assert bits == pytest.approx(brute_force(prob[i], says[i, NAMES.index(name)]), abs=1e-9)

    def test_it_is_that_of_enumeration_for_three_classes(self, many_classes):
        X, said, model = many_classes
        prob, says = model.posterior(X, said), speech(model, X, said)
        found = suggest(model, X, said, 20, spread=False)
        seen = {}
        for (i, name), bits in zip(pairs(found), found.information, strict=True):
            seen.setdefault(i, []).append(says[i, NAMES.index(name)])
            before = brute_force(prob[i], *seen[i][:-1]) if seen[i][:-1] else 0.0
            assert bits == pytest.approx(brute_force(prob[i], *seen[i]) - before, abs=1e-9)

    def test_of_the_next_label_it_is_the_mean_over_those_who_have_not_answered(self, many_classes, monkeypatch):
        X, said, model = many_classes
        monkeypatch.setattr(module, "AT_ONCE", 100)  # several blocks
        prob, says, asked = model.posterior(X, said), speech(model, X, said), asked_pairs(said)
        for i, bits in enumerate(information_of_next_label(model, X, said)):
            free = [brute_force(prob[i], says[i, t]) for t in range(3) if (i, NAMES[t]) not in asked]
            assert bits == pytest.approx(np.mean(free) if free else 0.0, abs=1e-9)

    def test_several_labels_of_an_item_add_up_to_their_joint_information(self, world):
        X, _, model = world
        nobody = said_in(np.full((1, 3), np.nan), annotators=NAMES)
        found = suggest(model, X[:1], nobody, 3)
        prob, says = model.predict_proba(X[:1])[0], speech(model, X[:1], nobody)[0]
        chosen = [says[NAMES.index(name)] for name in found.annotator]
        for k in (1, 2, 3):
            assert found.information[:k].sum() == pytest.approx(brute_force(prob, *chosen[:k]), abs=1e-9)

    def test_it_is_zero_for_coins_and_settled_items_and_full_for_adversaries(self):
        prob = np.array([[0.5, 0.5], [1.0, 0.0], [0.3, 0.7]])
        accuracy = np.tile([[0.5], [1.0], [0.0]], (3, 1, 1))
        mistakes = np.tile(1 - np.eye(2), (3, 1, 1))
        h = entr([0.3, 0.7]).sum() / np.log(2)
        np.testing.assert_allclose(information(prob, accuracy, mistakes), [[0, 1, 1], [0, 0, 0], [0, h, h]])

    def test_it_is_zero_for_coins_of_three_sides(self):
        mistakes = (1 - np.eye(3))[None] / 2
        assert information(np.array([[0.2, 0.3, 0.5]]), np.full((1, 1, 1), 1 / 3), mistakes) == 0

    def test_a_coin_is_asked_less_than_an_expert(self):
        X, y, _ = line_world(n_items=300, accuracies=(0.95, 0.5, 0.9), share_labelled=0.7)
        said = said_in(y, annotators=NAMES)
        model = CrowdClassifier(truth="id", map="linear", annotators=BernoulliAnnotators(varies_with_x=False))
        found = suggest(model.fit(X, said), X, said, 30)
        assert np.mean(found.annotator == "anna") > 0.6
        assert np.mean(found.annotator == "bob") < 0.05

    def test_labels_of_strangers_count(self, world):
        X, _, model = world
        y = np.full((len(X), 1), np.nan)
        y[:5] = 1.0
        strangers = said_in(y, annotators=["zoe"])
        found = suggest(model, X, strangers, 400, spread=False)
        assert set(found.annotator) <= set(NAMES)
        best = {i: bits for (i, _), bits in reversed(list(zip(pairs(found), found.information, strict=True)))}
        prob, says = model.posterior(X, strangers, unknown="population"), speech(model, X, strangers)
        for i in range(5):
            assert best[i] == pytest.approx(max(brute_force(prob[i], s) for s in says[i]), abs=1e-9)


class TestBatch:
    def test_no_pair_is_asked_twice(self, world):
        X, said, model = world
        found = suggest(model, X, said, 10_000)
        assert not set(pairs(found)) & asked_pairs(said)
        assert len(set(pairs(found))) == len(found)

    def test_an_item_is_asked_about_four_times_at_most(self):
        X, y, _ = line_world(accuracies=(0.8,) * 6)
        model = CrowdClassifier(truth="id", map="linear").fit(X, said_in(y))
        found = suggest(model, X[:2], said_in(np.full((2, 6), np.nan)), 20)
        assert np.bincount(found.item).tolist() == [4, 4]
        assert "at most 4 labels on one item" in str(found)

    def test_many_classes_mean_fewer_labels_an_item(self, many_classes, monkeypatch):
        X, _, model = many_classes
        monkeypatch.setattr(module, "MOST_PATTERNS", 3)
        nobody = Annotations.from_matrix(np.full((1, 3), np.nan), annotators=NAMES, labels=[0, 1, 2])
        assert len(suggest(model, X[:1], nobody, 3)) == 2

    def test_near_copies_are_not_both_first(self, world):
        X, _, model = world
        nobody = said_in(np.full((len(X), 3), np.nan), annotators=NAMES)
        best = X[suggest(model, X, nobody, 1).item]
        twins = np.vstack([best, best + 1e-9, X[:40]])
        nobody = said_in(np.full((len(twins), 3), np.nan), annotators=NAMES)
        close = suggest(model, twins, nobody, 2, spread=False)
        apart = suggest(model, twins, nobody, 2)
        assert set(close.item) <= {0, 1} | set(np.flatnonzero((twins == best).all(axis=1)))
        assert len(set(apart.item) & {0, 1}) == 1

    def test_copies_come_at_the_end(self, world):
        X, _, model = world
        copies = np.tile(X[:1], (3, 1))
        found = suggest(model, copies, said_in(np.full((3, 3), np.nan), annotators=NAMES), 9)
        assert len(found) == 9

    def test_without_spread_worth_falls(self, world):
        X, said, model = world
        found = suggest(model, X, said, 60, spread=False, costs=[1, 2, 3])
        assert (np.diff(found.per_cost) <= 1e-12).all()

    def test_a_batch_is_spread_over_annotators(self):
        X, y, _ = line_world(n_items=300, accuracies=(0.9, 0.9, 0.9))
        y[:100, 1:] = np.nan  # anna has labelled most, and no one is better
        said = said_in(y, annotators=NAMES)
        constant = BernoulliAnnotators(varies_with_x=False)
        model = CrowdClassifier(truth="id", map="linear", annotators=constant).fit(X, said)
        asked = {name: suggest(model, X, said, 60).annotator.tolist().count(name) for name in NAMES}
        assert min(asked["bob"], asked["cleo"]) > asked["anna"] >= 5

    def test_the_first_of_a_batch_are_a_smaller_batch(self, world):
        X, said, model = world
        assert pairs(suggest(model, X, said, 30))[:10] == pairs(suggest(model, X, said, 10))

    @pytest.mark.parametrize("fixture", ["world", "many_classes"])
    def test_the_order_of_rows_does_not_matter(self, fixture, request):
        X, said, model = request.getfixturevalue(fixture)
        order = np.random.default_rng(3).permutation(len(X))
        shuffled = said[order]
        assert pairs(suggest(model, X[order], shuffled, 15)) == pairs(suggest(model, X, said, 15))

    def test_chunks_and_pool_change_nothing(self, world, monkeypatch):
        X, said, model = world
        whole = suggest(model, X, said, 20, spread=False)
        monkeypatch.setattr(module, "AT_ONCE", 50)
        monkeypatch.setattr(module, "POOL", 20)
        assert pairs(suggest(model, X, said, 20, spread=False)) == pairs(whole)


class TestCosts:
    def test_worth_is_information_for_cost(self, world):
        X, said, model = world
        found = suggest(model, X, said, 30, costs={"anna": 2.0, "bob": 0.5, "cleo": 1})
        prices = {"anna": 2.0, "bob": 0.5, "cleo": 1.0}
        assert found.cost.tolist() == [prices[name] for name in found.annotator]
        np.testing.assert_allclose(found.per_cost, found.information / found.cost)

    @pytest.mark.parametrize("spread", [True, False])
    def test_who_gets_dearer_is_asked_less(self, world, spread):
        X, said, model = world
        asked = [
            suggest(model, X, said, 40, costs=[price, 1, 1], spread=spread).annotator.tolist().count("anna")
            for price in (0.01, 1, 100)
        ]
        assert asked[0] > asked[1] > asked[2] == 0

    def test_an_array_is_in_the_order_of_annotators(self, world):
        X, said, model = world
        by_name = suggest(model, X, said, 20, costs={"cleo": 3, "bob": 2})
        assert pairs(suggest(model, X, said, 20, costs=[1, 2, 3])) == pairs(by_name)
        series = pd.Series({"cleo": 3, "bob": 2, "anna": 1})
        assert pairs(suggest(model, X, said, 20, costs=series)) == pairs(by_name)

    def test_equal_costs_change_nothing(self, world):
        X, said, model = world
        assert pairs(suggest(model, X, said, 20, costs=[7, 7, 7])) == pairs(suggest(model, X, said, 20))

    def test_only_those_who_may_be_asked_need_a_cost(self, world):
        X, said, model = world
        found = suggest(model, X, said, 20, costs={"bob": 2}, annotators=["bob"])
        assert set(found.annotator) == {"bob"}
        assert set(found.cost) == {2.0}

    def test_it_stops_where_no_label_is_worth_its_cost(self, world):
        X, said, model = world
        found = suggest(model, X, said, 10_000, min_gain=0.2)
        assert len(found) > 0
        assert found.per_cost.min() >= 0.2
        assert "no other label gains min_gain=0.2 bits per cost; the best gains 0." in str(found)


class TestEmpty:
    def test_every_pair_has_been_asked(self, world):
        X, _, model = world
        full = said_in(np.ones((len(X), 3)), annotators=NAMES)
        found = suggest(model, X, full, 5)
        assert len(found) == 0
        assert str(found) == ("No label to ask for: every pair of these items and annotators has been asked.")
        assert found.to_frame("pandas").shape == (0, 5)

    def test_every_pair_of_one_annotator_has_been_asked(self, world):
        X, said, model = world
        y = said.to_matrix()
        y[:, 1] = 1
        assert "has been asked" in suggest(model, X, said_in(y, annotators=NAMES), 5, annotators=["bob"]).why

    def test_what_is_left_is_chosen(self, world):
        X, _, model = world
        y = np.ones((len(X), 3))
        y[3, 0] = y[4, 2] = np.nan
        found = suggest(model, X, said_in(y, annotators=NAMES), 5)
        assert set(pairs(found)) == {(3, "anna"), (4, "cleo")}
        assert found.why == "every other pair of these items and annotators has been asked"

    def test_no_label_is_worth_it(self, world):
        X, said, model = world
        found = suggest(model, X, said, 5, min_gain=1.5)
        assert "No label to ask for: no other label gains min_gain=1.5 bits per cost" in str(found)

    def test_nobody_says_anything(self, world, monkeypatch):
        X, said, model = world
        coin = np.full((len(X), 4, 1), 0.5)
        monkeypatch.setattr(BernoulliAnnotators, "accuracy", lambda self, belief, X: coin[: len(X)])
        found = suggest(model, X, said, 5)
        assert str(found) == "No label to ask for: no other label has information about the truth."


class TestTable:
    def test_ids_are_those_of_the_labels(self, world):
        X, said, model = world
        names = [f"tumour {i}" for i in range(len(X))]
        named = said_in(said.to_matrix(), items=names, annotators=NAMES)
        assert pairs(suggest(model, X, named, 9)) == [(names[i], name) for i, name in pairs(suggest(model, X, said, 9))]

    def test_ids_are_those_of_x_if_labels_have_none(self):
        X, said, _ = sparse_world()
        names = [f"tumour {i}" for i in range(len(X))]
        frame = pd.DataFrame(X, index=names, columns=["a", "b"])
        model = CrowdClassifier(truth="id", map="linear").fit(frame, said.to_matrix())
        found = suggest(model, frame, said.to_matrix(), 9)
        assert set(found.item) <= set(names)
        assert set(found.annotator) <= {0, 1, 2}

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_it_becomes_a_table_of_any_library(self, world, backend):
        X, said, model = world
        table = suggest(model, X, said, 4).to_frame(backend)
        columns = table.column_names if backend == "pyarrow" else list(table.columns)
        assert columns == ["item", "annotator", "information", "cost", "per_cost"]
        assert len(table) == 4

    def test_it_prints_its_first_rows(self, world):
        X, said, model = world
        lines = str(suggest(model, X, said, 12)).splitlines()
        assert lines[0].startswith("12 labels to ask for, ")
        assert lines[1].split() == ["item", "annotator", "information", "cost", "per_cost"]
        assert len(lines) == 13
        assert lines[-1] == "  … and 2 more"
        assert str(suggest(model, X, said, 1)).startswith("1 label to ask for, ")


class TestWhatIsRefused:
    @pytest.mark.parametrize("n", [0, -1, 2.5, True, "3", None])
    def test_counts(self, world, n):
        X, said, model = world
        with pytest.raises(
            ValueError, match=r"n must be an integer of at least 1, the number of labels to ask for; got"
        ):
            suggest(model, X, said, n)

    @pytest.mark.parametrize("min_gain", [-0.1, np.nan, np.inf, "much", None, True])
    def test_gains(self, world, min_gain):
        X, said, model = world
        with pytest.raises(ValueError, match="min_gain must be a number of 0 or more, in bits per cost; got"):
            suggest(model, X, said, 3, min_gain=min_gain)

    @pytest.mark.parametrize("price", [0, -1.0, np.inf, np.nan, "cheap", None])
    def test_prices(self, world, price):
        X, said, model = world
        with pytest.raises(ValueError, match=r"finite numbers above 0; got .* for annotator 'bob'\. To leave"):
            suggest(model, X, said, 3, costs={"anna": 1, "bob": price, "cleo": 1})

    def test_missing_prices(self, world):
        X, said, model = world
        with pytest.raises(ValueError, match=r"costs names 'ana', who is not an annotator.*closest are 'anna'"):
            suggest(model, X, said, 3, costs={"ana": 1})

    @pytest.mark.parametrize("costs", [2.0, "cheap", [1, 2], [[1, 2, 3]]])
    def test_prices_of_no_one(self, world, costs):
        X, said, model = world
        with pytest.raises(ValueError, match=r"such as \{'anna': 1.5\}, or be 3 numbers in the order of ann"):
            suggest(model, X, said, 3, costs=costs)

    def test_annotators_it_does_not_know(self, world):
        X, said, model = world
        with pytest.raises(ValueError, match=r"of the fit; got 'ana'\. The closest are 'anna'"):
            suggest(model, X, said, 3, annotators=["ana"])
        with pytest.raises(ValueError, match=r"of the fit; got 'xyz'\. There are 'anna', 'bob', 'cleo'"):
            suggest(model, X, said, 3, annotators=["bob", "xyz"])

    def test_annotators_who_are_no_list(self, world):
        X, said, model = world
        with pytest.raises(TypeError, match="Expected a list or array for annotators=, got str"):
            suggest(model, X, said, 3, annotators="anna")
        with pytest.raises(ValueError, match="must not repeat ids; 'bob'"):
            suggest(model, X, said, 3, annotators=["bob", "bob"])
        with pytest.raises(ValueError, match="annotators= must name at least one annotator"):
            suggest(model, X, said, 3, annotators=[])

    def test_labels_of_other_items(self, world):
        X, said, model = world
        with pytest.raises(ValueError, match="X has 10 rows and y has 120 items"):
            suggest(model, X[:10], said, 3)

    def test_a_model_without_a_fit(self, world):
        X, said, _ = world
        with pytest.raises(Exception, match="not fitted yet"):
            suggest(CrowdClassifier(), X, said, 3)


@pytest.mark.parametrize("settings", [{"truth": "gp"}, {"map": "spectral"}, {"annotators": "gaussian"}], ids=str)
def test_every_kind_of_model_can_say_whom_to_ask(settings):
    X, said, _ = sparse_world()
    found = suggest(CrowdClassifier(**settings).fit(X, said), X, said, 10)
    assert len(found) == 10
    assert (found.information > 0).all()


def test_what_is_known_of_the_truth_is_what_auto_answers(monkeypatch):
    """Members that see nothing of x have no say on items without labels, nor on whom to ask there."""
    X, y, _ = line_world(60, share_labelled=0.5)
    model = AutoCrowdClassifier(members=[Member("linear", 10.0, False), Member("none", 10.0, False)]).fit(X, y)
    assert model.weights_[1] > 0 == model.selection_.on_truth[1]
    seen = []
    best_gain = module._Crowd.best_gain
    monkeypatch.setattr(
        module._Crowd, "best_gain", lambda crowd, Y, prob: seen.append(prob) or best_gain(crowd, Y, prob)
    )
    suggest(model, X, y, n=3)
    np.testing.assert_allclose(seen[0], model.posterior(X, y))
