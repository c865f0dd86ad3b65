"""Worlds to fit, and fits of them, without the estimator in between."""

import numpy as np

from tests.reference.worlds import world
from whoknows.fit.engines import Serial
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve, split_into_chunks
from whoknows.model.annotators import BernoulliAnnotators, GaussianAnnotators
from whoknows.model.graph import AnchorGraph, KnnGraph
from whoknows.model.truth import GraphTruth, LogisticTruth

WORLD = world(n_items=30, n_annotators=4, n_features=2, unlabelled=8, accuracy=0.75, seed=11)

ANNOTATORS = {
    "gaussian": GaussianAnnotators(),
    "gaussian, low floor": GaussianAnnotators(sigma_floor=0.05),
    "gaussian, constant": GaussianAnnotators(varies_with_x=False),
    "bernoulli": BernoulliAnnotators(),
    "bernoulli, constant": BernoulliAnnotators(varies_with_x=False),
    "two-coin": BernoulliAnnotators(two_coin=True),
}
TRUTHS = {
    "id": LogisticTruth(),
    "lgp, knn": LogisticTruth(KnnGraph(k=5), strength=5.0),
    "lgp, anchors": LogisticTruth(AnchorGraph(anchors=8, nearest=3)),
    "gp": GraphTruth(),
    "gp, knn": GraphTruth(KnnGraph(k=5), lam=2.0),
}


def is_pair(annotators, truth):
    return not (truth.accepts == "quadratic" and annotators.gives == "table")


def solvers_of(annotators, truth):
    bounded = isinstance(annotators, BernoulliAnnotators) and isinstance(truth, LogisticTruth)
    return ["em", "lbfgs", *(["vb"] if bounded else [])]


PAIRS = {
    f"{a} + {t}": (annotators, truth)
    for a, annotators in ANNOTATORS.items()
    for t, truth in TRUTHS.items()
    if is_pair(annotators, truth)
}
FITS = {f"{name}, {solver}": (*pair, solver) for name, pair in PAIRS.items() for solver in solvers_of(*pair)}


def prepare(annotators, truth, w=WORLD):
    """Return the model with its truth prepared on every item, and the items a solver gets."""
    model = Model(annotators, truth.prepare(w.X, w.features))
    items = Items(w.X if truth.couples_items else w.features, w.features, w.Y)
    return model, items if truth.couples_items else items.labelled()


def fit(annotators, truth, solver, w=WORLD, *, tol=1e-9, max_iter=3000, start=None, n_chunks=1, **monitor):
    """Return what was learnt and the monitor that watched."""
    model, items = prepare(annotators, truth, w)
    watch = Monitor(max_iter, tol, **monitor)
    return solve(model, split_into_chunks(items, n_chunks, Serial()), start, watch, solver), watch


def crowd(z, accuracies, rng, asked=1.0):
    """Labels of annotators with these accuracies, each asked about a share of the items."""
    right = rng.random((len(z), len(accuracies))) < np.asarray(accuracies)
    matrix = np.where(right, z[:, None], 1 - z[:, None]).astype(float)
    matrix[rng.random(matrix.shape) > asked] = np.nan
    return matrix
