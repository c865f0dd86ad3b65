"""Annotators who err together: an effect on the log-odds of being right that the labels of an item share."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, log_expit

from whoknows import Annotations, CrowdClassifier
from whoknows.data.errors import InputError
from whoknows.estimators.persistence.model_file import load
from whoknows.fit.item_effect import with_best_item_effect
from whoknows.fit.items import Items
from whoknows.fit.objective import Model
from whoknows.fit.solve import Solution
from whoknows.io.errors import FileError
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators
from whoknows.model.gaussian import Belief
from whoknows.model.truth import LogisticTruth


def crowd(size, seed=0, n_items=400, n_annotators=9):
    """Return labels whose log-odds of being right share an effect of this size per item, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_items)
    log_odds = 1.4 * np.sqrt(1 + np.pi * size**2 / 8) + size * rng.normal(size=(n_items, 1))
    right = rng.random((n_items, n_annotators)) < expit(log_odds)
    return np.where(right, truth[:, None], 1 - truth[:, None]).astype(float), truth


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_evidence_is_the_integral_over_the_effect(n_classes):
    rng = np.random.default_rng(1)
    model = ConfusionAnnotators(two_coin=False).for_classes(n_classes)
    theta = model.init(1, 4) + 0.3 * rng.normal(size=model.init(1, 4).shape)
    labels = rng.integers(0, n_classes, (6, 4)).astype(float)
    Y, one, size = Annotations.from_matrix(labels, labels=list(range(n_classes))), np.ones((6, 1)), 1.3
    found = model.with_item_effect(size).evidence_at(Belief(theta), one, Y).table
    u = np.linspace(-8, 8, 4001)
    density = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    right = expit(theta[:-1, 0, None] * np.sqrt(1 + np.pi * size**2 / 8) + size * u)
    mistakes = np.exp(model._log_mistakes(theta))
    for i, row in enumerate(labels.astype(int)):
        for z in range(n_classes):
            terms = [right[t] if row[t] == z else (1 - right[t]) * mistakes[t, z, row[t]] for t in range(4)]
            assert found[i, z] == pytest.approx(np.log(np.trapezoid(np.prod(terms, axis=0) * density, u)), abs=5e-3)


def test_the_accuracy_of_each_annotator_stays_the_same():
    model, one = BernoulliAnnotators(), np.ones((1, 1))
    theta, Y = model.init(1, 1), Annotations.from_matrix([[1.0]], labels=[0, 1])
    alone, together = (np.exp(m.evidence_at(Belief(theta), one, Y).table) for m in (model, model.with_item_effect(1.5)))
    np.testing.assert_allclose(together, alone, atol=0.01)


def test_no_effect_is_the_independent_model():
    labels, _ = crowd(0.0, n_items=20)
    model, one, Y = BernoulliAnnotators(), np.ones((20, 1)), Annotations.from_matrix(labels)
    belief = Belief(model.init(1, 9))
    tables = [m.evidence_at(belief, one, Y).table for m in (model, model.with_item_effect(1e-9))]
    np.testing.assert_allclose(*tables, atol=1e-6)


@pytest.mark.parametrize(("size", "least", "most"), [(0.0, 0.0, 0.25), (1.5, 1.0, 2.0)])
def test_the_likelihood_of_the_labels_recovers_the_size(size, least, most):
    labels, _ = crowd(size)
    model = CrowdClassifier("id", map="linear").fit(np.zeros((400, 1)), labels)
    assert least <= model._pair.prepared.model.annotators.item_effect <= most


def test_confidence_is_lower_where_annotators_err_together():
    labels, truth = crowd(1.5)
    model = CrowdClassifier("id", map="linear").fit(np.zeros((400, 1)), labels)
    independent = BernoulliAnnotators().for_classes(2)
    pair = model._pair
    items = pair.prepared.items(np.zeros((400, 1)), model._training_data)
    table = independent.evidence_at(pair.solution.annotators, items.X_annotators, items.Y).table
    sure = 1 / (1 + np.exp(-np.abs(table[:, 1] - table[:, 0])))
    right = np.mean(model.posterior_.argmax(axis=1) == truth)
    assert abs(model.posterior_.max(axis=1).mean() - right) < sure.mean() - right


# --- groups of annotators ----------------------------------------------------------------------------

GROUP = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2])


def grouped_crowd(shared, in_group, seed=0, n_items=500):
    """Return labels with an effect per item and one per item and group, and the truth."""
    rng = np.random.default_rng(seed)
    truth, u, v = rng.integers(0, 2, n_items), rng.normal(size=(n_items, 1)), rng.normal(size=(n_items, 3))
    centre = 1.4 * np.sqrt(1 + np.pi * (shared**2 + in_group**2) / 8)
    right = rng.random((n_items, 9)) < expit(centre + shared * u + in_group * v[:, GROUP])
    return np.where(right, truth[:, None], 1 - truth[:, None]).astype(float), truth


def test_the_evidence_of_groups_is_the_integral_over_both_effects():
    rng = np.random.default_rng(1)
    model = BernoulliAnnotators()
    theta = model.init(1, 4) + 0.3 * rng.normal(size=(5, 1))
    labels, one, shared, in_group = rng.integers(0, 2, (6, 4)), np.ones((6, 1)), 0.8, 1.2
    Y, group = Annotations.from_matrix(labels.astype(float), labels=[0, 1]), np.array([0, 0, 1, 1, 2])
    found = model.with_item_effect(shared).with_groups(group, in_group).evidence_at(Belief(theta), one, Y).table
    u = np.linspace(-6, 6, 241)
    density = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    scale = np.sqrt(1 + np.pi * (shared**2 + in_group**2) / 8)
    right = expit(theta[:-1, 0, None, None] * scale + shared * u[:, None] + in_group * u)  # annotator, u, v
    for i, row in enumerate(labels):
        for z in range(2):
            of_label = np.where((row == z)[:, None, None], right, 1 - right)
            of_group = [np.trapezoid(of_label[group[:-1] == g].prod(axis=0) * density, u, axis=1) for g in (0, 1)]
            assert found[i, z] == pytest.approx(np.log(np.trapezoid(of_group[0] * of_group[1] * density, u)), abs=5e-3)


@pytest.mark.parametrize(("shared", "in_group"), [(0.0, 0.0), (0.0, 1.5), (1.0, 1.5)])
def test_the_likelihood_of_the_labels_recovers_the_effect_of_groups(shared, in_group):
    labels, truth = grouped_crowd(shared, in_group)
    groups = {t: f"model {g}" for t, g in enumerate(GROUP.tolist())}
    model = CrowdClassifier("id", map="linear", groups=groups).fit(np.zeros((500, 1)), labels)
    annotators = model._pair.prepared.model.annotators
    assert annotators.item_effect == pytest.approx(shared, abs=0.3)
    assert annotators.group_effect == pytest.approx(in_group, abs=0.3)
    right = np.mean(model.posterior_.argmax(axis=1) == truth)
    assert abs(model.posterior_.max(axis=1).mean() - right) < 0.03


def test_groups_that_name_nobody_are_refused():
    labels, _ = grouped_crowd(0.0, 0.0, n_items=30)
    for groups, words in ({"gpt": "a"}, "names none of the annotators"), ([0, 1], "must map annotator ids"):
        with pytest.raises(InputError, match=words):
            CrowdClassifier("id", map="linear", groups=groups).fit(np.zeros((30, 1)), labels)


def test_new_annotators_of_an_update_are_groups_of_their_own():
    labels, _ = grouped_crowd(0.0, 1.5, n_items=60)
    X, groups = np.random.default_rng(0).normal(size=(60, 1)), dict.fromkeys(range(4), "a")
    model = CrowdClassifier("id", map="linear", groups=groups).fit(X, Annotations.from_matrix(labels[:, :5]))
    new = Annotations.from_matrix(labels[:, 5:6], annotators=["new"], labels=[0, 1])
    model.update(X, new)
    assert model._pair.prepared.model.annotators.group.tolist() == [0, 0, 0, 0, 1, 2, 3]


# --- effects of each annotator ----------------------------------------------------------------------


def by_brute_force(odds, effects, n_groups):
    """Return the evidence by a sum over 321 × 321 nodes, one item, class and group after the other."""
    u = np.linspace(-8, 8, 321)
    log_share = -0.5 * u**2 - np.logaddexp.reduce(-0.5 * u**2)
    scale = np.sqrt(1 + np.pi / 8 * (effects**2).sum(axis=1))
    table = np.zeros((odds.n_items, odds.log_wrong.shape[1]))
    for i, z in np.ndindex(table.shape):
        given_u = np.zeros(len(u))
        for group in range(n_groups):
            given_both = np.zeros((len(u), len(u)))
            for j in np.flatnonzero((odds.item == i) & (odds.group == group)):
                t, eta = odds.annotator[j], odds.log_odds[j, z if odds.log_odds.shape[1] > 1 else 0]
                e = scale[t] * eta + effects[t, 0] * u[:, None] + effects[t, 1] * u
                given_both += log_expit(e) if odds.label[j] == z else log_expit(-e) + odds.log_wrong[j, z]
            given_u += np.logaddexp.reduce(given_both + log_share, axis=1)
        table[i, z] = np.logaddexp.reduce(given_u + log_share)
    return table


def some_annotators(n_classes, two_coin, in_groups, n_annotators=5, n_items=6):
    """Return annotators with effects of their own, their belief and some labels, of which a few are missing."""
    rng = np.random.default_rng(n_classes + 2 * two_coin + 4 * in_groups)
    model = ConfusionAnnotators(two_coin=two_coin).for_classes(n_classes)
    theta = model.init(1, n_annotators)
    theta = theta + 0.5 * rng.normal(size=theta.shape)
    labels = rng.integers(0, n_classes, (n_items, n_annotators)).astype(float)
    labels[rng.random(labels.shape) < 0.2] = np.nan
    labels[0] = np.nan
    model = model.with_item_effect(rng.normal(0.7, 0.7, n_annotators + 1))
    if in_groups:
        model = model.with_groups(np.array([0, 0, 1, 1, 2, 3]), rng.normal(0.7, 0.7, n_annotators + 1))
    return model, Belief(theta), Annotations.from_matrix(labels, labels=list(range(n_classes)))


KINDS = [(2, False, False), (2, True, True), (3, False, True), (3, True, False)]


@pytest.mark.parametrize(("n_classes", "two_coin", "in_groups"), KINDS)
def test_the_evidence_is_the_integral_over_effects_of_each_annotator(n_classes, two_coin, in_groups):
    model, belief, Y = some_annotators(n_classes, two_coin, in_groups)
    one = np.ones((Y.n_items, 1))
    expected = by_brute_force(model.label_odds(belief, one, Y), model.effects(6), 3 if in_groups else 1)
    np.testing.assert_allclose(model.evidence_at(belief, one, Y).table, expected, atol=0.01)


def test_many_labels_of_one_item_are_integrated_as_well():
    labels, _ = crowd(1.5, n_items=10, n_annotators=40)
    model, belief = BernoulliAnnotators(), Belief(BernoulliAnnotators().init(1, 40))
    Y, one = Annotations.from_matrix(labels), np.ones((10, 1))
    model = model.with_item_effect(1.5)
    expected = by_brute_force(model.label_odds(belief, one, Y), model.effects(41), 1)
    np.testing.assert_allclose(np.diff(model.evidence_at(belief, one, Y).table), np.diff(expected), atol=0.05)


@pytest.mark.parametrize(("n_classes", "two_coin", "in_groups"), KINDS)
def test_the_gradient_is_that_of_the_log_likelihood(n_classes, two_coin, in_groups):
    model, belief, Y = some_annotators(n_classes, two_coin, in_groups)
    odds, effects = model.label_odds(belief, np.ones((Y.n_items, 1)), Y), model.effects(6)
    blocks = odds.blocks(effects)
    log_prior = np.log(np.random.default_rng(0).dirichlet(np.ones(n_classes), Y.n_items))

    def log_lik(effects):
        return sum(block.gradient(effects, log_prior[block.items])[0].sum() for block in blocks)

    found = np.zeros((6, 2))
    for block in blocks:
        np.add.at(found, block.labels.annotator, block.gradient(effects, log_prior[block.items])[1])
    for t, k in np.ndindex(6, 1 + in_groups):
        step = np.zeros((6, 2))
        step[t, k] = 1e-5
        slope = (log_lik(effects + step) - log_lik(effects - step)) / 2e-5
        assert found[t, k] == pytest.approx(slope, abs=1e-6)


def test_what_else_the_likelihood_is_made_of_is_the_evidence():
    model, belief, Y = some_annotators(3, True, True)
    one, log_prior = np.ones((Y.n_items, 1)), np.log(np.full((Y.n_items, 3), 1 / 3))
    blocks = model.label_odds(belief, one, Y).blocks(model.effects(6))
    found = sum(block.gradient(model.effects(6), log_prior[block.items])[0].sum() for block in blocks)
    expected = np.logaddexp.reduce(log_prior + model.evidence_at(belief, one, Y).table, axis=1)
    assert found == pytest.approx(expected.sum())


def uneven_crowd(effects, n_classes, seed=0, n_items=800):
    """Return labels of annotators with these item effects, right with probability logistic(1.4) on average."""
    rng, effects = np.random.default_rng(seed), np.asarray(effects, dtype=float)
    truth, u = rng.integers(0, n_classes, n_items), rng.normal(size=(n_items, 1))
    right = rng.random((n_items, len(effects))) < expit(1.4 * np.sqrt(1 + np.pi * effects**2 / 8) + effects * u)
    wrong = (truth[:, None] + rng.integers(1, n_classes, right.shape)) % n_classes
    return np.where(right, truth[:, None], wrong).astype(float), truth


def effects_given_accuracies(labels, n_classes):
    """Return the item effect of each row of θ if it is known that all annotators are right with log-odds 1.4."""
    n_items, n_annotators = labels.shape
    annotators = BernoulliAnnotators(varies_with_x=False).for_classes(n_classes)
    truth, one = LogisticTruth().for_classes(n_classes), np.ones((n_items, 1))
    belief = Belief(np.full((n_annotators + 1, 1), 1.4))
    solution = Solution(belief, Belief(np.zeros((1, 1 if n_classes == 2 else n_classes))), "em")
    items = Items(one, one, Annotations.from_matrix(labels, labels=list(range(n_classes))))
    found = with_best_item_effect(Model(annotators, truth), items, solution).annotators
    return found.effects(n_annotators + 1)[:, 0]


@pytest.mark.parametrize(
    "effects", [[1.5] * 10, [2.0] * 5 + [0.0] * 5, [1.5] * 7 + [-1.5] * 3], ids=["alike", "half", "opposite"]
)
def test_effects_of_each_annotator_are_recovered_given_accuracies(effects):
    labels, _ = uneven_crowd(effects, 3)
    found = effects_given_accuracies(labels, 3)[:-1]
    assert np.abs(found - effects).mean() < 0.25
    assert np.abs(found - effects).max() < 0.75


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_of_three_classes_finds_who_errs_together(seed):
    labels, _ = uneven_crowd([2.0] * 5 + [0.0] * 5, 3, seed)
    model = CrowdClassifier("id", map="linear").fit(np.zeros((800, 1)), labels)
    assert np.abs(model.item_effect_ - np.repeat([2.0, 0.0], 5)).mean() < 0.3


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_independent_annotators_have_no_effect(n_classes, seed):
    labels, _ = uneven_crowd([0.0] * 10, n_classes, seed)
    np.testing.assert_array_equal(effects_given_accuracies(labels, n_classes), 0)


def test_annotators_alike_have_one_effect():
    found = effects_given_accuracies(uneven_crowd([1.0] * 8, 2)[0], 2)
    assert np.ptp(found) == 0
    assert found[0] == pytest.approx(1.0, abs=0.15)


def test_with_two_classes_all_annotators_share_one_effect():
    found = effects_given_accuracies(uneven_crowd([2.0] * 5 + [0.0] * 5, 2)[0], 2)
    assert np.ptp(found) == 0
    assert found[0] > 0.5


def test_an_annotator_with_three_labels_has_the_effect_of_the_population():
    labels, _ = uneven_crowd([2.0] * 5 + [0.0] * 5, 3)
    labels[3:, [0, 9]] = np.nan
    *found, population = effects_given_accuracies(labels, 3)
    assert 0.5 < population < 1.5
    assert found[0] == pytest.approx(population, abs=0.6)
    assert found[9] == pytest.approx(population, abs=0.6)
    assert min(found[1:5]) > 1.2 > 0.8 > max(found[5:9])


def test_gold_shows_effects_that_all_share():
    labels, truth = crowd(2.0, n_items=300)
    model, X = CrowdClassifier("id", map="linear"), np.zeros((300, 1))
    without = model.fit(X, labels).item_effect_.mean()
    with pytest.warns(UserWarning, match="gold contradicts every annotator"):
        with_gold = model.fit(X, labels, gold=truth).item_effect_.mean()
    assert without < with_gold
    assert with_gold == pytest.approx(2.0, abs=0.4)


def test_sample_weights_count_items():
    labels, _ = uneven_crowd([1.5] * 4 + [0.0] * 4, 3, n_items=300)
    X, weight = np.zeros((300, 1)), np.arange(300) % 3
    weighted = CrowdClassifier("id", map="linear").fit(X, labels, sample_weight=weight)
    repeated = CrowdClassifier("id", map="linear").fit(np.zeros((weight.sum(), 1)), np.repeat(labels, weight, axis=0))
    assert weighted.item_effect_ == pytest.approx(repeated.item_effect_, abs=0.02)


def test_an_update_with_a_new_annotator_is_a_new_fit():
    labels, _ = uneven_crowd([2.0] * 4 + [0.0] * 4, 3, n_items=200)
    X = np.random.default_rng(0).normal(size=(200, 1))
    everything, known = (Annotations.from_matrix(labels[:, :n], labels=[0, 1, 2]) for n in (8, 7))
    new = everything.only(everything.annotator == 7)
    updated = CrowdClassifier("id", map="linear", solver="em").fit(X, known)
    assert np.ptp(updated.item_effect_) > 0.5
    updated.update(X, new)
    again = CrowdClassifier("id", map="linear", solver="em").fit(X, everything)
    np.testing.assert_allclose(updated.item_effect_, again.item_effect_, atol=0.05)


# --- files -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uneven():
    labels, _ = uneven_crowd([2.0] * 4 + [0.0] * 4, 3, n_items=300)
    model = CrowdClassifier("id", map="linear", groups={0: "a", 1: "a"}).fit(np.zeros((300, 1)), labels)
    assert np.ptp(model.item_effect_) > 0.5
    return model, labels


def with_effect(model, size):
    """Return a fitted model with another item effect."""
    changed, pair = copy.copy(model), model._pair
    pieces = replace(pair.prepared.model, annotators=pair.prepared.model.annotators.with_item_effect(size))
    changed._pair = replace(pair, prepared=replace(pair.prepared, model=pieces))
    return changed


def test_effects_of_each_annotator_are_saved(uneven, tmp_path):
    model, labels = uneven
    model.save(tmp_path / "model.whoknows")
    loaded = load(tmp_path / "model.whoknows")
    np.testing.assert_array_equal(loaded.item_effect_, model.item_effect_)
    np.testing.assert_array_equal(*(m.posterior(np.zeros((300, 1)), labels) for m in (model, loaded)))


def test_a_file_with_one_effect_for_all_is_read_as_before(uneven, tmp_path):
    with_effect(uneven[0], 0.75).save(tmp_path / "model.whoknows")
    np.testing.assert_array_equal(load(tmp_path / "model.whoknows").item_effect_, 0.75)


@pytest.mark.parametrize("size", [np.ones(4), np.full(9, np.nan), np.full(9, 1e6), 1e6, np.ones((9, 2)), "much"])
def test_a_file_with_other_effects_is_refused(size, uneven, tmp_path):
    with_effect(uneven[0], size).save(tmp_path / "model.whoknows")
    with pytest.raises(FileError):
        load(tmp_path / "model.whoknows")
