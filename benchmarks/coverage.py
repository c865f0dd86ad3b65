"""Coverage of 90 % intervals, which docs/uncertainty.md shows.

    python -m benchmarks.coverage real [--worlds 40]
    python -m benchmarks.coverage classifiers [--worlds 6]

``real``: intervals of `CrowdRegressor`. Each world has items with four features, a linear truth plus noise, and
annotators with a bias and a spread each, drawn from the prior of the model. With one label per item, nothing separates
the noise of the truth from that of the annotators. ``classifiers``: intervals of p(z | x) with a classifier as truth.
Each world has 1 000 items with four features, log-odds that are a random sum of squares and products of these, and
three labels per item by six annotators. Prints the means, and writes the rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.common.command import add_out
from benchmarks.common.tables import markdown
from benchmarks.doc_tables import TABLES, store
from whoknows import CrowdClassifier, CrowdRegressor

HALF = norm.ppf(0.95)
CROWDS = [
    *({"n_items": 300, "n_annotators": 8, "per_item": k} for k in (1, 2, 3)),
    *({"n_items": 300, "n_annotators": 20, "per_item": k} for k in (1, 3, 5)),
    *({"n_items": 100, "n_annotators": 5, "per_item": k} for k in (1, 3)),
]


def draw(seed: int, n_items: int, n_annotators: int, per_item: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, truth, and labels (n_items, n_annotators) with NaN."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 4))
    z = X @ rng.normal(size=4) / 2 + 0.5 * rng.normal(size=n_items)
    bias, spread = 0.5 * rng.normal(size=n_annotators), np.exp(rng.normal(-1.0, 0.5, size=n_annotators))
    y = z[:, None] + bias + spread * rng.normal(size=(n_items, n_annotators))
    asked = rng.random(y.shape).argsort(axis=1) < per_item
    return X, z, np.where(asked, y, np.nan)


def held(seed: int, **crowd: int) -> tuple[float, float]:
    """Return the shares of truths inside the intervals of `posterior_`, and of `predict` for new items."""
    n_items = crowd.pop("n_items")
    X, z, y = draw(seed, n_items=2 * n_items, **crowd)
    model = CrowdRegressor(map="linear").fit(X[:n_items], y[:n_items])
    mean, std = model.predict(X[n_items:], return_std=True)
    labelled = np.abs(z[:n_items] - model.posterior_mean_) < HALF * model.posterior_std_
    return float(np.mean(labelled)), float(np.mean(np.abs(z[n_items:] - mean) < HALF * std))


def real(n_worlds: int) -> Iterator[dict[str, Any]]:
    """One row per crowd and world."""
    for crowd in CROWDS:
        for seed in range(n_worlds):
            labelled, new = held(seed, **crowd)
            yield crowd | {"seed": seed, "labelled": labelled, "new": new}


N_ITEMS, N_FEATURES, N_ANNOTATORS, PER_ITEM = 1000, 4, 6, 3
SQUARES = PolynomialFeatures(2, include_bias=False)
CLASSIFIERS = {
    "logistic regression on squares and products, where they are the truth": make_pipeline(
        SQUARES, LogisticRegression(max_iter=1000)
    ),
    "`HistGradientBoostingClassifier(early_stopping=False)`": HistGradientBoostingClassifier(early_stopping=False),
    "the same, 50 trees of 8 leaves": HistGradientBoostingClassifier(
        early_stopping=False, max_iter=50, max_leaf_nodes=8
    ),
    "`RandomForestClassifier(min_samples_leaf=10)`": RandomForestClassifier(min_samples_leaf=10),
}


def crowd_of_classes(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, p(z = 1 | x), and labels (n_items, n_annotators) with NaN."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ITEMS, N_FEATURES))
    features = SQUARES.fit_transform(X)
    prob = expit(features @ rng.normal(size=features.shape[1]) / 2)
    z = rng.random(N_ITEMS) < prob
    right = rng.random((N_ITEMS, N_ANNOTATORS)) < rng.uniform(0.65, 0.95, N_ANNOTATORS)
    asked = rng.random(right.shape).argsort(axis=1) < PER_ITEM
    return X, prob, np.where(asked, np.where(right, z[:, None], ~z[:, None]), np.nan)


def classifiers(n_worlds: int) -> Iterator[dict[str, Any]]:
    """One row per classifier and world."""
    for name, classifier in CLASSIFIERS.items():
        for seed in range(n_worlds):
            X, prob, y = crowd_of_classes(seed)
            found, low, high = CrowdClassifier(classifier).fit(X, y).predict_proba(X, return_interval=True)
            covered = (low[:, 1] <= prob) & (prob <= high[:, 1])
            width, error = np.mean(high[:, 1] - low[:, 1]), np.mean(np.abs(found[:, 1] - prob))
            yield {"classifier": name, "seed": seed, "covered": covered.mean(), "width": width, "error": error}


KINDS = {"real": (real, 40, "intervals_of_real_values"), "classifiers": (classifiers, 6, "intervals_of_classifiers")}


def main() -> None:
    """Print the means, and write the rows."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("kind", choices=KINDS)
    command.add_argument("--worlds", type=int)
    add_out(command)
    options = command.parse_args()
    measure, n_worlds, name = KINDS[options.kind]
    warnings.simplefilter("ignore")
    rows = list(measure(options.worlds or n_worlds))
    print(markdown(TABLES[name].table(pd.DataFrame(rows))))
    store(name, rows, options.out)


if __name__ == "__main__":
    main()
