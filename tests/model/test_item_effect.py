"""Annotators who err together: an effect on the log-odds of being right that the labels of an item share."""

import numpy as np
import pytest
from scipy.special import expit

from whoknows import Annotations, CrowdClassifier
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
