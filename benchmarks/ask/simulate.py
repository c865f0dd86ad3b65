"""Buy labels one batch at a time: how many does it take, asked wisely or at random?

    python benchmarks/ask/simulate.py [--seeds 10] [--jobs 2]

scikit-learn's breast cancer data with the paper's labelers: five, each right on one cluster and wrong on
35 % of all other items. A start of 50 random labels, then batches of 25, a fit after each. Truth is used
for the score only: the share of all items whose likeliest class, given x and their labels, is the true one.
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
    """Whom `suggest` would ask."""
    asked = suggest(model, X, Y, BATCH)
    return asked.item, asked.annotator


def at_random(model, X, Y, rng):
    """Any pairs not asked yet."""
    free = np.argwhere(np.isnan(Y.to_matrix()))
    return rng.choice(free, BATCH, replace=False).T


def by_uncertainty(model, X, Y, rng):
    """The least certain items, each asked of anyone who was not asked yet."""
    free = np.isnan(Y.to_matrix())
    certainty = np.where(free.any(axis=1), model.posterior_.max(axis=1), np.inf)
    items = np.argsort(certainty)[:BATCH]
    return items, np.array([rng.choice(np.flatnonzero(free[i])) for i in items])


STRATEGIES = {"suggest": by_information, "random": at_random, "uncertainty": by_uncertainty}


def accuracies(strategy, seed):
    """Accuracy after each purchase, (n_budgets,): the same labelers and the same start for every strategy."""
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
    """Labels at which each curve first reaches its goal, infinite if it does not: (n_seeds,)."""
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
    print(f"\nLabels to the accuracy that random pairs have at {END} ({np.median(goals):.4f}), by seed:")
    for name in ("suggest", "uncertainty"):
        needed = labels_to_reach(curves[name], goals)
        print(f"{name:>14}: median {np.median(needed):g}  ({', '.join(f'{x:g}' for x in needed)})")


if __name__ == "__main__":
    main()
