"""Annotators who err together: an effect on the log-odds of being right that the labels of an item share."""

import numpy as np
import pytest
from scipy.special import expit

from whoknows import Annotations, CrowdClassifier
from whoknows.data.errors import InputError
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators
from whoknows.model.gaussian import Belief


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
