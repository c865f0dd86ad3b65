"""Features and labels with odd numbers, types and shapes, given to every estimator: no NaN comes out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier, CrowdRegressor, load
from whoknows.data.errors import InputError

CLASSIFIERS = (
    *({"truth": name} for name in ("id", "lgp", "gp", "ordered")),
    *({"truth": "id", "solver": solver} for solver in ("em", "lbfgs", "crossfit")),
)
SCALES = (1e300, 1e150, 1e100, 1e12, 1.0, 1e-100, 1e-300, 5e-324)
DTYPES = ("float64", "float32", "float16", "int8", "uint64", "bool", ">f8", "object", "str", "longdouble")


def draw_X(rng: random.Random, n: int) -> Any:
    """Return features of some scale, type and order, perhaps with something odd in them."""
    draws = np.random.default_rng(rng.randrange(2**32))
    X = draws.normal(size=(n, rng.choice([1, 2, 3, 30])))
    chance = rng.random()
    if chance < 0.3:
        X = X * rng.choice(SCALES)
    elif chance < 0.4:
        X = X * 10.0 ** draws.integers(-200, 100, X.shape[1])
    elif chance < 0.5:
        X[rng.randrange(n), 0] = rng.choice([1e12, 1e100, np.nan, np.inf])
    elif chance < 0.6:
        X[:, rng.randrange(X.shape[1])] = 7.0
    elif chance < 0.7:
        X = X[draws.integers(max(n // 5, 1), size=n)]
    elif chance < 0.75:
        X = X + 1e15
    with np.errstate(all="ignore"):
        X = X.astype(rng.choice(DTYPES)) if rng.random() < 0.3 else X
    return rng.choice([X, X, np.asfortranarray(X), X[:, ::-1], X.tolist()])


def draw_y(rng: random.Random, n: int, most: int = 60) -> Any:
    """Return labels of some annotators, of at most so many classes, perhaps with something odd in them."""
    draws = np.random.default_rng(rng.randrange(2**32))
    n_annotators, n_classes = rng.choice([1, 2, 4, 40]), min(rng.choice([1, 2, 2, 2, 3, 6, n]), most)
    y = draws.integers(n_classes, size=(n, n_annotators)).astype(float)
    y[draws.random(y.shape) > rng.choice([0.1, 0.5, 1.0])] = np.nan
    chance = rng.random()
    if chance < 0.1:
        y[:, 0] = np.nan
    elif chance < 0.2:
        y = y * rng.choice([1e300, 1e-300, 0.5, -1.0])
    elif chance < 0.25:
        y[0, 0] = np.inf
    elif chance < 0.35:
        confidence = np.where(draws.random(y.shape) < 0.5, 0.0, 1.0)
        return Annotations.from_matrix(y, confidence=confidence)
    return y


def classifier(rng: random.Random, folder: Path) -> None:
    """Fit a classifier; probabilities are probabilities."""
    n = rng.choice([1, 2, 3, 20, 60])
    _check(CrowdClassifier(**rng.choice(CLASSIFIERS), max_iter=20), draw_X(rng, n), draw_y(rng, n))


def ensemble(rng: random.Random, folder: Path) -> None:
    """Fit the ensemble."""
    n = rng.choice([3, 20, 30])
    _check(AutoCrowdClassifier(folds=2, max_iter=5), draw_X(rng, n), draw_y(rng, n, most=6))


def regressor(rng: random.Random, folder: Path) -> None:
    """Fit a regressor; values and spreads are finite, and its file is one that we read."""
    n = rng.choice([1, 2, 20, 60])
    X, model = draw_X(rng, n), CrowdRegressor(max_iter=20)
    _fit(model, X, draw_y(rng, n))
    values, spread = model.predict(X, return_std=True)
    assert np.isfinite([values, spread]).all(), "values that are not finite"
    model.save(path := folder / "model.whoknows")
    try:
        load(path)
    except InputError as error:
        raise AssertionError("our own file is refused") from error


def _check(model: Any, X: Any, y: Any) -> None:
    _fit(model, X, y)
    for q in (model.predict_proba(X), model.posterior_):
        assert np.allclose(q.sum(axis=1), 1), "not probabilities"
    assert np.isfinite(model.expertise(X)).all(), "expertise that is not finite"


def _fit(model: Any, X: Any, y: Any) -> None:
    """Fit; input that scikit-learn or Python's own types refuse is refused."""
    try:
        model.fit(X, y)
    except (ValueError, TypeError, FloatingPointError) as error:
        raise InputError(str(error)) from None


TARGETS = {run.__name__: run for run in (classifier, ensemble, regressor)}
