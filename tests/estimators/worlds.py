"""Small worlds whose truth is known."""

import copy
from dataclasses import replace

import numpy as np

from whoknows import Annotations, CrowdClassifier


def line_world(n_items=120, accuracies=(0.9, 0.8, 0.7), share_labelled=0.6, seed=0):
    """Items in the plane, truth by the sign of a linear function, annotators of constant accuracy."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2)) * [1.0, 10.0] + [3.0, -50.0]
    z = ((X - [3.0, -50.0]) @ [1.0, 0.1] > 0).astype(int)
    right = rng.random((n_items, len(accuracies))) < accuracies
    y = np.where(right, z[:, None], 1 - z[:, None]).astype(float)
    y[rng.random(n_items) >= share_labelled] = np.nan
    return X, y, z


def said_in(y, **kwargs):
    return Annotations.from_matrix(y, labels=[0, 1], **kwargs)


def without_doubt(model):
    """Return a copy whose p(z | x) is that of the model as it was fitted."""
    other = copy.copy(model)
    if isinstance(model, CrowdClassifier):
        other._pair = replace(model._pair, reading=None)
    else:
        other._reading = None
    return other


def not_ours(estimator):
    """Checks of scikit-learn that ask for something else than we promise, and why."""
    weights = "weights are of labels; map and graph are of the items, where a row given twice is two items"
    order = "the check's classes have no order"
    ordered = {"check_classifiers_classes": order, "check_classifiers_train": order}
    expected = {f"check_sample_weight_equivalence_on_{kind}_data": weights for kind in ("dense", "sparse")}
    return expected | (ordered if getattr(estimator, "truth", None) == "ordered" else {})
