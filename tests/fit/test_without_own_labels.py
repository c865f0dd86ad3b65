"""p(z | x) without an item's own labels, in closed form, against fits without these labels."""

from dataclasses import replace

import numpy as np
import pytest

from whoknows._array import log_softmax, with_constant
from whoknows.data.annotations import Annotations
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve, without_own_labels
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators
from whoknows.model.truth import LogisticTruth, logistic


def world(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    z = np.clip(np.round(1.2 * X[:, 0] + 0.5), 0, n_classes - 1).astype(int)
    y = np.where(rng.random((120, 3)) < 0.8, z[:, None], rng.integers(n_classes, size=(120, 3))).astype(float)
    features = with_constant(X / np.sqrt(3))
    items = Items(features, features, Annotations.from_matrix(y, labels=np.arange(n_classes)))
    annotators = BernoulliAnnotators() if n_classes == 2 else ConfusionAnnotators(varies_with_x=False)
    truth = LogisticTruth().for_classes(n_classes).prepare(X, features)
    return Model(annotators.for_classes(n_classes), truth), items


def evidence_of(model, solution, items):
    return model.annotators.evidence_at(solution.annotators, items.X_annotators, items.Y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_close_to_a_fit_without_the_labels(monkeypatch, n_classes):
    monkeypatch.setattr(logistic, "SHARPNESS_DEVIATION", 1e-3)  # the factor of the fit without an item is another one
    model, items = world(n_classes)
    solution = without_own_labels(model, items, solve(model, items, None, Monitor(300, 1e-9, "bound")))
    found = np.exp(solution.truth.held_out)
    with_labels = np.exp(model.truth.log_predict(solution.truth, items.X_truth))
    rows, exact = np.arange(0, 120, 12), []
    for i in rows:
        without = solve(model, items[np.arange(120) != i], None, Monitor(300, 1e-9, "bound"), before=solution)
        exact.append(np.exp(model.truth.log_predict(without.truth, items.X_truth[[i]]))[0])
    off, off_with_labels = (np.abs(p[rows] - exact).max(axis=1) for p in (found, with_labels))
    assert off.max() < 0.05
    assert off.mean() < 0.7 * off_with_labels.mean()


def test_the_labels_of_an_item_of_the_fit_count_once():
    model, items = world(2)
    solution = without_own_labels(model, items, solve(model, items, None, Monitor(300, 1e-9, "bound")))
    evidence = evidence_of(model, solution, items)
    found = model.truth.posterior_at(solution.truth, items.X_truth, evidence)
    np.testing.assert_allclose(found, np.exp(log_softmax(solution.truth.held_out + evidence.table)), atol=1e-12)
    # Asked item by item, and about other labels of the same item, it still leaves out those of the fit.
    flipped = replace(evidence, table=evidence.table[7:8, ::-1])
    found = model.truth.posterior_at(solution.truth, items.X_truth[7:8], flipped)
    np.testing.assert_allclose(found, np.exp(log_softmax(solution.truth.held_out[7:8] + flipped.table)), atol=1e-12)


def test_new_items_are_read_with_all_labels_of_the_fit():
    model, items = world(2)
    plain = solve(model, items, None, Monitor(300, 1e-9, "bound"))
    solution = without_own_labels(model, items, plain)
    new = replace(items, X_truth=items.X_truth + np.array([1e-3, 0, 0, 0]))
    found, wanted = (
        model.truth.posterior_at(each.truth, new.X_truth, evidence_of(model, plain, new)) for each in (solution, plain)
    )
    np.testing.assert_array_equal(found, wanted)


def test_items_with_the_same_features_are_told_apart_by_their_labels():
    model, items = world(2)
    same = np.repeat(items.X_truth[:1], 120, axis=0)
    items = replace(items, X_truth=same, X_annotators=same)
    solution = without_own_labels(model, items, solve(model, items, None, Monitor(300, 1e-9, "bound")))
    found = model.truth.posterior_at(solution.truth, items.X_truth, evidence_of(model, solution, items))
    wanted = np.exp(log_softmax(solution.truth.held_out + evidence_of(model, solution, items).table))
    np.testing.assert_allclose(found, wanted, atol=1e-9)
