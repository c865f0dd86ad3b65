"""Small worlds with an answer, for the tests of summaries and reports."""

from functools import cache

import numpy as np

from whoknows import Annotations, AutoCrowdClassifier, BernoulliAnnotators, CrowdClassifier, CrowdRegressor
from whoknows.data.simulate import class_experts, constant_accuracies, hide, ordered_scores, real_values
from whoknows.insight.summary import Summary, summarize

NAMES = ["anna", "bruno", "chloe"]
FEATURES = ["depth", "width"]


def split_crowd(n=240, seed=0):
    """anna knows items of depth > 0, bruno the others, chloe is right on nine of ten."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = X[:, 1] + 0.5 * X[:, 0] > 0
    right = np.column_stack([np.where(X[:, 0] > 0, 0.97, 0.55), np.where(X[:, 0] > 0, 0.55, 0.97), np.full(n, 0.9)])
    said = (rng.random(right.shape) < right) == truth[:, None]
    return X, hide(Annotations.from_matrix(np.where(said, "yes", "no"), annotators=NAMES), items=0.8, seen=0.85)


@cache
def fitted(kind):
    """Return a model, X and labels of one kind of world."""
    if kind in ("classes", "gp", "auto"):
        X, said = split_crowd()
        model = {"classes": CrowdClassifier(), "gp": CrowdClassifier("gp")}.get(kind)
        return (model or AutoCrowdClassifier(selection=False, tol=1e-2)).fit(X, said), X, said
    rng = np.random.default_rng(1)
    X = rng.normal(size=(160, 2))
    if kind == "alone":
        said = hide(constant_accuracies(X[:, 0] > 0, [0.9]), items=0.5)
        return CrowdClassifier("id", BernoulliAnnotators(varies_with_x=False), "linear").fit(X, said), X, said
    if kind == "many classes":
        z = np.digitize(X[:, 0], np.linspace(-1.5, 1.5, 11))
        said = hide(class_experts(z, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]), items=0.7)
        return CrowdClassifier("id", map="linear", tol=1e-2).fit(X, said), X, said
    if kind == "levels":
        z = np.clip(np.rint(3 + X[:, 0]), 1, 5)
        said = hide(ordered_scores(z, [0, 0.6, -0.6], [0.3, 0.5, 1.2]), items=0.7)
        return CrowdClassifier("ordered", tol=1e-3).fit(X, said), X, said
    spread = np.column_stack([np.full(160, 0.5), np.full(160, 1.0), np.where(X[:, 0] > 0, 0.4, 4.0)])
    said = hide(real_values(20 + 5 * X[:, 1], [2, -1, 0], spread), items=0.7, seen=0.9)
    return CrowdRegressor(map="linear").fit(X, said), X, said


KINDS = ("classes", "gp", "auto", "alone", "many classes", "levels", "numbers")


@cache
def summary_of(kind) -> Summary:
    model, X, said = fitted(kind)
    return summarize(model, X, said, features=FEATURES)
