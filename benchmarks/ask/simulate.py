"""Active learning curves: labels chosen by `suggest`, at random, or by uncertainty.

    python -m benchmarks.ask.simulate [--quick] [--repeats 10] [--jobs 2]

scikit-learn's breast cancer data with the paper's five labelers, each right on one cluster and wrong on 35 %
of all other items. Starts with 50 random labels and adds batches of 25, with a fit after each. The truth is
used for the score only: the accuracy over all items of the most probable class given x and the labels.
Results: docs/ask.csv, one row per strategy and repeat, with the accuracy after each batch.
"""

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks import doc_tables
from benchmarks.common import cells
from benchmarks.common.command import parser, run_options
from whoknows import Annotations, CrowdClassifier, DidNotConverge
from whoknows.data.simulate import cluster_experts
from whoknows.estimators.ask.batch import suggest

START, BATCH, END = 50, 25, 1000
BUDGETS = range(START, END + 1, BATCH)
KEY, VALUES = ("seed", "strategy"), ("cpu_seconds", *map(str, BUDGETS))


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


def work(group, strategies):
    """Compute the rows of one seed."""
    return [row(strategy, *group) for strategy in strategies]


def row(strategy, seed):
    """Accuracy after each batch, and CPU seconds."""
    started = time.process_time()
    curve = dict(zip(map(str, BUDGETS), accuracies(strategy, seed), strict=True))
    return {"strategy": strategy, "cpu_seconds": time.process_time() - started} | curve


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


def main():
    command = parser(__doc__, ".", repeats=10)
    options = command.parse_args()
    groups = [(seed,) for seed in range(1 if options.quick else options.repeats)]
    strategies = ["random"] if options.quick else STRATEGIES
    table = doc_tables.cells("ask", KEY, VALUES, options.out)
    cells.run(table, groups, list(strategies), work, **run_options(options))


if __name__ == "__main__":
    main()
