"""Models of every kind, fitted to small data, and all they have to say."""

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import scipy.sparse as sp

from whoknows import (
    AnchorGraph,
    Annotations,
    AutoCrowdClassifier,
    BernoulliAnnotators,
    CrowdClassifier,
    CrowdRegressor,
    GaussianGraph,
    GraphTruth,
    KnnGraph,
    LogisticTruth,
    NotCompatible,
    PrecomputedGraph,
    RbfMap,
    SpectralMap,
)
from whoknows.estimators.auto.members import Member
from whoknows.model.maps import ClusterMap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1, 10, 0.1] + [0, 5, 0]
NEW_X = RNG.normal(size=(20, 3)) * [1, 10, 0.1] + [0, 5, 0]
PEOPLE = ["anna", "bob", "cleo"]
ITEMS = [f"item {i}" for i in range(60)]


def said(n_levels, names=None):
    """Labels of three people, the first the best, on two items in three."""
    truth = np.digitize(X[:, 0], np.linspace(-1, 1, n_levels + 1)[1:-1])
    right = RNG.random((60, 3)) < [0.95, 0.8, 0.6]
    code = np.where(right, truth[:, None], RNG.integers(n_levels, size=(60, 3)))
    labels = code if names is None else np.array(names, dtype=object)[code]
    y = np.where(RNG.random((60, 3)) < 0.67, labels, None)
    return Annotations.from_matrix(y, annotators=PEOPLE, items=ITEMS, labels=names or range(n_levels))


TWO, THREE = said(2, ["cat", "dog"]), said(3)
REAL = Annotations.from_matrix(
    np.where(RNG.random((60, 3)) < 0.67, 4 * X[:, [0]] + RNG.normal(size=(60, 3)) * [0.1, 1, 2], np.nan),
    annotators=PEOPLE,
    items=ITEMS,
)
UNSURE = replace(TWO, confidence=np.linspace(0.1, 1, TWO.n_annotations))
LATER = Annotations.from_arrays(ITEMS[:9], ["dora"] * 9, ["cat", "dog", "cat"] * 3, items=ITEMS)
GOLD = {"item 3": "cat", "item 8": "dog"}
COSTS = {"anna": 3, "bob": 2, "cleo": 1, "dora": 2}
WEIGHT = np.linspace(0.5, 2, 60)
NEAR = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
FEW = [
    *(Member("linear", 3.0, True), Member("rbf 2", 10.0, False), Member("spectral", 10.0, True)),
    *(Member("linear", 3.0, True, False, clusters=4), Member("none", 3.0, False, far_apart=True)),
]

MODELS = {
    **{f"{truth}, {map}": (CrowdClassifier(truth, map=map), TWO, {}) for truth in ("id", "lgp", "gp")
       for map in ("linear", "rbf", "spectral")},
    **{solver: (CrowdClassifier("id", solver=solver), TWO, {}) for solver in ("em", "lbfgs", "crossfit")},
    **{kind: (CrowdClassifier("id", kind), TWO, {}) for kind in ("bernoulli", "confusion", "gaussian")},
    "two coins": (CrowdClassifier("id", BernoulliAnnotators(two_coin=True, directions=2)), TWO, {}),
    "constant": (CrowdClassifier("id", BernoulliAnnotators(varies_with_x=False)), TWO, {}),
    "three classes": (CrowdClassifier(), THREE, {}),
    "ordered": (CrowdClassifier("ordered"), THREE, {}),
    "levels": (CrowdClassifier("ordered", map="linear", levels=("dog", "cat")), TWO, {}),
    "gold, weights": (CrowdClassifier(), TWO, {"gold": GOLD, "sample_weight": WEIGHT}),
    "gold, weights, gp": (CrowdClassifier("gp"), TWO, {"gold": GOLD, "sample_weight": WEIGHT}),
    "confidences": (CrowdClassifier("id"), UNSURE, {}),
    "gaussian graph": (CrowdClassifier("id", map=SpectralMap(GaussianGraph(metric=np.eye(3)))), TWO, {}),
    "knn graph": (CrowdClassifier(LogisticTruth(KnnGraph(4)), map=SpectralMap(KnnGraph(5), rank=9)), TWO, {}),
    "anchors, gp": (CrowdClassifier(GraphTruth(AnchorGraph(20, 3))), TWO, {}),
    "dense, gp": (CrowdClassifier(GraphTruth(GaussianGraph())), TWO, {}),
    "brought, gp": (CrowdClassifier(GraphTruth(PrecomputedGraph(sp.csr_matrix(NEAR)))), TWO, {}),
    "as it is": (CrowdClassifier(map=RbfMap(1.0, rank=np.int64(7)), standardize=False, tol=np.float32(1e-3)),
                 TWO, {}),
    "clusters": (CrowdClassifier("id", map="linear", annotator_map=ClusterMap(3)), TWO, {}),
    "auto": (AutoCrowdClassifier(members=FEW), TWO, {}),
    "auto, three classes": (AutoCrowdClassifier(members=FEW, tol=0.01), THREE, {}),
    "real": (CrowdRegressor(), REAL, {}),
    "real, graph": (CrowdRegressor("lgp", map="spectral"), REAL, {"sample_weight": WEIGHT}),
    "real, lbfgs": (CrowdRegressor(map="linear", solver="lbfgs"), REAL, {"gold": {"item 2": 1.5}}),
}  # fmt: skip


@cache
def fitted(name="id, linear"):
    model, labels, more = MODELS[name]
    return copy.deepcopy(model).fit(X, labels, **more)


@cache
def expected(name="id, linear"):
    return answers(fitted(name), name)


def costs_of(model):
    """Costs of the annotators whom a model knows; others are an error."""
    return {name: cost for name, cost in COSTS.items() if name in model.annotators_}


def answers(model, name="id, linear"):
    """All a model has to say, by name; what it refuses to say is the refusal's words."""
    labels = MODELS[name][1]
    asked = {
        "known": lambda: {key: value for key, value in vars(model).items() if isinstance(value, np.ndarray)},
        "predict": lambda: model.predict(NEW_X),
        "posterior": lambda: model.posterior(X, labels),
        "score": lambda: model.score(X, labels),
    }
    if isinstance(model, CrowdRegressor):
        asked |= {
            "predict": lambda: model.predict(NEW_X, return_std=True),
            "scale": lambda: model.annotator_scale(NEW_X),
        }
    else:
        asked |= {
            "probability": lambda: model.predict_proba(X),
            "interval": lambda: model.predict_proba(NEW_X, return_interval=True),
            "expertise": lambda: model.expertise(NEW_X, return_interval=True),
            "stranger": lambda: model.expertise(NEW_X, ["bob", "zoe"], unknown="population"),
            "ranking": lambda: vars(model.ranking()),
            "confusion": lambda: model.confusion("bob"),
            "suggest": lambda: vars(model.suggest(X, labels, n=5, costs=costs_of(model))),
            "selection": lambda: str(getattr(model, "selection_", "")),
        }
    return {f"{key}{place}": value for key, ask in asked.items() for place, value in said_by(ask)}


def said_by(ask):
    """Parts of an answer, as arrays."""
    try:
        answer = ask()
    except NotCompatible as refusal:
        answer = str(refusal)
    if isinstance(answer, tuple):
        answer = dict(enumerate(answer))
    parts = answer if isinstance(answer, dict) else {"": answer}
    return [(f" {place}", np.asarray(part)) for place, part in parts.items()]


def assert_same(mine, theirs):
    assert mine.keys() == theirs.keys()
    for key in mine:
        numbers = mine[key].dtype.kind == "f"
        assert np.array_equal(mine[key], theirs[key], equal_nan=numbers), key
        assert mine[key].dtype == theirs[key].dtype, key
