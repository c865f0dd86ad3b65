"""Active learning curves: labels chosen by `suggest`, at random, or by uncertainty.

    python benchmarks/ask/simulate.py [--seeds 10] [--jobs 2]

scikit-learn's breast cancer data with the paper's five labelers, each right on one cluster and wrong on 35 %
of all other items. Starts with 50 random labels and adds batches of 25, with a fit after each. The truth is
used for the score only: the accuracy over all items of the most probable class given x and the labels.
"""

import argparse
import os
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer

from whoknows import Annotations, CrowdClassifier, DidNotConverge
from whoknows.data.simulate import cluster_experts
from whoknows.estimators.ask.batch import suggest

START, BATCH, END = 50, 25, 1000
BUDGETS = np.arange(START, END + 1, BATCH)


def by_information(model, X, Y, rng):
    """The pairs that `suggest` proposes."""
    asked = suggest(model, X, Y, BATCH)
    return asked.item, asked.annotator


def at_random(model, X, Y, rng):
    """Random pairs that were not asked yet."""
    free = np.argwhere(np.isnan(Y.to_matrix()))
    return rng.choice(free, BATCH, replace=False).T


def by_uncertainty(model, X, Y, rng):
    """The least certain items, each with a random annotator who was not asked yet."""
    free = np.isnan(Y.to_matrix())
    certainty = np.where(free.any(axis=1), model.posterior_.max(axis=1), np.inf)
    items = np.argsort(certainty)[:BATCH]
    return items, np.array([rng.choice(np.flatnonzero(free[i])) for i in items])


STRATEGIES = {"suggest": by_information, "random": at_random, "uncertainty": by_uncertainty}


def accuracies(strategy, seed):
    """Accuracy after each batch, (n_budgets,); labelers and start are the same for every strategy."""
    warnings.simplefilter("ignore", DidNotConverge)
    X, z = load_breast_cancer(return_X_y=True)
    answers = cluster_experts(X, z, random_state=seed).astype(float)
    rng = np.random.default_rng(seed)
    y = np.full(answers.shape, np.nan)
    buy(y, answers, np.unravel_index(rng.permutation(y.size)[:START], y.shape))
    model, curve = CrowdClassifier(warm_start=True), []
    while True:
        Y = Annotations.from_matrix(y, labels=[0, 1])
        model.fit(X, Y)
        curve.append(np.mean(model.posterior_.argmax(axis=1) == z))
        if len(curve) == len(BUDGETS):
            return curve
        buy(y, answers, STRATEGIES[strategy](model, X, Y, rng))


def buy(y, answers, pairs):
    items, annotators = pairs
    y[items, annotators] = answers[items, annotators]


def labels_to_reach(curves, goals):
    """Number of labels at which each curve first reaches its goal, or infinity: (n_seeds,)."""
    reached = curves >= goals[:, None]
    return np.where(reached.any(axis=1), BUDGETS[reached.argmax(axis=1)], np.inf)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    tasks = [(name, seed) for name in STRATEGIES for seed in range(options.seeds)]
    runs = Parallel(options.jobs)(delayed(accuracies)(*task) for task in tasks)
    curves = dict(zip(STRATEGIES, np.reshape(runs, (len(STRATEGIES), options.seeds, -1)), strict=True))

    print(f"Accuracy over all items, median of {options.seeds} seeds")
    print("".join(f"{word:>14}" for word in ["labels", *STRATEGIES]))
    for column in range(0, len(BUDGETS), 2):
        medians = [np.median(curve[:, column]) for curve in curves.values()]
        print(f"{BUDGETS[column]:>14}" + "".join(f"{a:>14.4f}" for a in medians))
    goals = curves["random"][:, -1]
    print(f"\nLabels needed for the accuracy of random pairs at {END} ({np.median(goals):.4f}), per seed:")
    for name in ("suggest", "uncertainty"):
        needed = labels_to_reach(curves[name], goals)
        print(f"{name:>14}: median {np.median(needed):g}  ({', '.join(f'{x:g}' for x in needed)})")


if __name__ == "__main__":
    main()
