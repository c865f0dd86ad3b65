"""More than two classes: the prior variance, and a class without labels; ``python -m benchmarks.classes``.

It writes the rows of the tables in docs/sharp_bits.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

from benchmarks.common.command import add_out
from benchmarks.doc_tables import store
from whoknows import Annotations, CrowdClassifier, LogisticTruth
from whoknows.model.graph import AutoGraph

VARIANCES = (10.0, 30.0, 100.0, 300.0)
SETS: list[tuple[str, Callable[..., Any], int, float, int]] = [
    ("digits", load_digits, 60, 0.8, 2),
    ("wine", load_wine, 50, 0.7, 3),
    ("iris", load_iris, 50, 0.7, 3),
]


CONFIDENCE = ("accuracy", "stated", "log_loss", "bound")
EMPTY = [f"{what}_{how}" for how in ("two", "three", "bernoulli") for what in ("new", "consensus")]


def confidence(X: Any, z: Any, n_labelled: int, accuracy: float, variance: float, seed: int) -> list[float]:
    """Return accuracy, mean stated probability and log-loss of unlabelled items, and the last bound."""
    rng, K = np.random.default_rng(seed), z.max() + 1
    labelled = rng.permutation(len(X))[:n_labelled]
    y = np.full((len(X), 4), np.nan)
    for t in range(4):
        wrong = (z[labelled] + rng.integers(1, K, n_labelled)) % K
        y[labelled, t] = np.where(rng.random(n_labelled) < accuracy, z[labelled], wrong)
    model = CrowdClassifier(LogisticTruth(AutoGraph(), variance=variance)).fit(X, y)
    others = np.setdiff1d(np.arange(len(X)), labelled)
    prob = model.predict_proba(X[others])
    loss = -np.log(prob[np.arange(len(others)), z[others]]).mean()
    return [np.mean(prob.argmax(axis=1) == z[others]), prob.max(axis=1).mean(), loss, model.bound_history_[-1]]


def empty_class(seed: int) -> list[float]:
    """Accuracy on new items and of the consensus: two classes, an empty third, and that with one accuracy."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 5))
    z = (X @ rng.normal(size=5) + 0.5 * rng.normal(size=600) > 0).astype(int)
    right = rng.random((600, 5)) < rng.uniform(0.55, 0.9, size=5)
    y = np.where(right, z[:, None], 1 - z[:, None]).astype(float)
    y[150:] = np.nan
    shares = []
    for labels, annotators in (([0, 1], "auto"), ([0, 1, 2], "auto"), ([0, 1, 2], "bernoulli")):
        model = CrowdClassifier(annotators=annotators).fit(X, Annotations.from_matrix(y, labels=labels))
        found = model.predict_proba(X)[150:].argmax(axis=1), model.posterior_[:150].argmax(axis=1)
        shares += [np.mean(found[0] == z[150:]), np.mean(found[1] == z[:150])]
    return shares


def main() -> None:
    """Print the means of both tables, and write their rows."""
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_out(command)
    results = command.parse_args().out
    rows: list[dict[str, Any]] = []
    print("set, labelled, variance: accuracy, mean stated probability, log-loss, held-out log-likelihood")
    for name, load, n_labelled, accuracy, n_draws in SETS:
        X, z = load(return_X_y=True)
        for variance in VARIANCES:
            draws = [confidence(X, z, n_labelled, accuracy, variance, seed) for seed in range(n_draws)]
            what = {"set": name, "labelled": n_labelled, "variance": variance}
            rows += [
                what | {"seed": seed} | dict(zip(CONFIDENCE, each, strict=True)) for seed, each in enumerate(draws)
            ]
            print(name, n_labelled, variance, np.mean(draws, axis=0).round(3), flush=True)
    store("prior_variances", rows, results)
    print("two classes, an empty third, the same with annotators='bernoulli': new items and consensus")
    shares = [empty_class(seed) for seed in range(60)]
    print(np.mean(shares, axis=0).round(3))
    named = ({"seed": seed} | dict(zip(EMPTY, each, strict=True)) for seed, each in enumerate(shares))
    store("empty_class", named, results)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
