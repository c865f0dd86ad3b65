"""Run time and accuracy of graphs: exact neighbours, neighbours by faiss, and anchors.

    WHOKNOWS_DATA=folder python -m benchmarks.speed.graphs [--quick] [--repeats 6] [--jobs 2]
    python -m benchmarks.speed.graphs --costs 5000,20000,100000

Accuracy on unlabelled items of LGP, the spectral map and GP: scikit-learn's digits, odd or even, and `dim`, both with
60 items labelled by simulated annotators, and LabelMe with its own annotators and a tenth of its labels. Results:
docs/graphs.csv, one row per graph and draw; docs/how_it_works.md shows the means. ``--costs`` prints, for simulated
clusters of so many items, CPU seconds to build each graph, to compute A of Eq. (10) for 80 features, and to find 80
eigenvectors; exact neighbours are limited to 20 000 items.
"""

import time
import warnings

import numpy as np
from sklearn.datasets import load_digits

from benchmarks import doc_tables
from benchmarks.common import cells
from benchmarks.common.command import parser, run_options
from benchmarks.common.sets import load
from whoknows import (
    AnchorGraph,
    Annotations,
    CrowdClassifier,
    DidNotConverge,
    GraphTruth,
    KnnGraph,
    LogisticTruth,
    SpectralMap,
)

KEY, VALUES = ("set", "seed", "graph"), ("lgp", "spectral", "gp", "cpu_seconds")
SETS, N_LABELLED = ("digits", "dim", "labelme"), 60
LARGEST_EXACT = 20_000  # items
GRAPHS = {"exact": KnnGraph(), "faiss": KnnGraph(search="faiss"), "anchors": AnchorGraph()}
ACCURACIES = (0.9, 0.8, 0.7, 0.7, 0.6)  # of the simulated annotators


def clusters(n_items, n_features=64, seed=0):
    """Fifty clusters in twenty dimensions, mapped nonlinearly to more."""
    rng = np.random.default_rng(seed)
    inside = 2 * rng.normal(size=(50, 20))[rng.integers(50, size=n_items)] + rng.normal(size=(n_items, 20))
    bent = np.tanh(inside @ rng.normal(size=(20, n_features)) / 4)
    return bent + 0.05 * rng.normal(size=(n_items, n_features))


def timed(function, *arguments):
    """Return the result of a function, and its CPU seconds."""
    started = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - started


def costs(n_items, graph):
    """Seconds to build the graph, to compute A and to find eigenvectors; and its description."""
    X = clusters(n_items)
    features = np.random.default_rng(1).normal(size=(n_items, 80))
    built, to_build = timed(graph.build, X)
    _, to_sum = timed(built.smoothness, X, features)
    _, to_solve = timed(built.basis, 80, 0.005)
    return to_build, to_sum, to_solve, built.chosen


def simulated(X, z, n_labelled, seed):
    """Give some items three labels each, by annotators of unequal accuracy."""
    rng = np.random.default_rng(seed)
    y = np.full((len(z), len(ACCURACIES)), np.nan)
    for i in rng.choice(len(z), n_labelled, replace=False):
        for t in rng.choice(len(ACCURACIES), 3, replace=False):
            y[i, t] = z[i] if rng.random() < ACCURACIES[t] else 1 - z[i]
    return X, Annotations.from_matrix(y), z


def world(name, seed):
    """Return X, annotations and truth of one draw of a data set."""
    if name == "labelme":
        return sparse(load(name), seed)
    if name == "dim":
        data = load(name)
        return simulated(data.X, data.z, N_LABELLED, seed)
    digits = load_digits()
    return simulated(digits.data, digits.target % 2, N_LABELLED, seed)


def sparse(data, seed):
    """Keep the labels of a tenth of the items."""
    rng = np.random.default_rng(seed)
    Y = data.annotations
    kept = rng.random(Y.n_items) < 0.1
    return data.X, Y.only(kept[Y.item]), data.z


def row(graph, seed, X, Y, z):
    """Accuracy of LGP, spectral map and, for two classes, GP on unlabelled items, and CPU seconds."""
    started, pieces = time.process_time(), GRAPHS[graph]
    models = {
        "lgp": CrowdClassifier(LogisticTruth(pieces), random_state=seed),
        "spectral": CrowdClassifier("id", map=SpectralMap(pieces), standardize="units", random_state=seed),
    }
    if Y.n_classes == 2:
        models["gp"] = CrowdClassifier(GraphTruth(pieces), standardize="units", random_state=seed)
    silent = ~Y.labelled & np.isfinite(z)
    answers = {what: Y.labels[model.fit(X, Y).posterior_.argmax(axis=1)] for what, model in models.items()}
    found = {what: np.mean(answer[silent] == z[silent]) for what, answer in answers.items()}
    return {"graph": graph, "cpu_seconds": time.process_time() - started} | found


def work(group, graphs):
    """Compute the rows of one draw of a data set."""
    warnings.simplefilter("ignore", DidNotConverge)
    name, seed = group
    drawn = world(name, seed)
    return [row(graph, seed, *drawn) for graph in graphs]


def print_costs(sizes):
    """Print the seconds that each graph takes for each number of items."""
    print("  items  graph     build s      A s  basis s")
    for size in sizes:
        for name, graph in GRAPHS.items():
            if name != "exact" or size <= LARGEST_EXACT:
                *seconds, words = costs(size, graph)
                print(f"{size:>7}  {name:<8}" + "".join(f"{s:>9.2f}" for s in seconds) + f"  {words}", flush=True)


def main():
    command = parser(__doc__, ".", repeats=6)
    command.add_argument("--costs", type=lambda text: list(map(int, text.split(","))), help="numbers of items")
    options = command.parse_args()
    if options.costs:
        return print_costs(options.costs)
    names, repeats = (SETS[:1], 1) if options.quick else (SETS, options.repeats)
    groups = [(name, seed) for seed in range(repeats) for name in names]
    table = doc_tables.cells("graphs", KEY, VALUES, options.out)
    cells.run(table, groups, list(GRAPHS), work, **run_options(options))
    return None


if __name__ == "__main__":
    main()
