"""p(z | x) without an item's own labels, in closed form, against fits without these labels."""

import numpy as np
import pytest

from whoknows._array import with_constant
from whoknows.data.annotations import Annotations
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import leave_one_out, solve
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


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_close_to_a_fit_without_the_labels(monkeypatch, n_classes):
    monkeypatch.setattr(logistic, "SHARPNESS_DEVIATION", 1e-3)  # the factor of the fit without an item is another one
    model, items = world(n_classes)
    solution = solve(model, items, None, Monitor(300, 1e-9, "bound"))
    found = np.exp(leave_one_out(model, items, solution))
    with_labels = np.exp(model.truth.log_predict(solution.truth, items.X_truth))
    rows, exact = np.arange(0, 120, 12), []
    for i in rows:
        without = solve(model, items[np.arange(120) != i], None, Monitor(300, 1e-9, "bound"), before=solution)
        exact.append(np.exp(model.truth.log_predict(without.truth, items.X_truth[[i]]))[0])
    off, off_with_labels = (np.abs(p[rows] - exact).max(axis=1) for p in (found, with_labels))
    assert off.max() < 0.05
    assert off.mean() < 0.7 * off_with_labels.mean()
