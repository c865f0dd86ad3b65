"""Run time and accuracy of graphs: exact neighbours, neighbours by faiss, and anchors.

    python benchmarks/speed/graphs.py [--sizes 5000,20000,100000] [--repeats 10] [--labelled 60]

The first table is about simulated clusters: CPU seconds to build each graph, to compute A of Eq. (10) for 80
features, and to find 80 eigenvectors. Exact neighbours are limited to 20 000 items; --exact changes the
limit. The second table is the accuracy on unlabelled items of LGP, the spectral map and GP, with its standard
error over repeats. The data are scikit-learn's digits, odd or even, labelled by simulated annotators, and, if
WHOKNOWS_DATA names a folder that holds them, `dim` with simulated annotators and LabelMe with its own.
"""

import argparse
import os
import platform
import time
import warnings

import numpy as np
import scipy
from sklearn.datasets import load_digits

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


def worlds(n_labelled):
    """Data sets by name: a function from a seed to X, annotations and truth."""
    digits = load_digits()
    found = {"digits": lambda seed: simulated(digits.data, digits.target % 2, n_labelled, seed)}
    if "WHOKNOWS_DATA" in os.environ:
        dim, labelme = load("dim"), load("labelme")
        found["dim"] = lambda seed: simulated(dim.X, dim.z, n_labelled, seed)
        found["labelme"] = lambda seed: sparse(labelme, seed)
    return found


def sparse(data, seed):
    """Keep the labels of a tenth of the items."""
    rng = np.random.default_rng(seed)
    Y = data.annotations
    kept = rng.random(Y.n_items) < 0.1
    return data.X, Y.only(kept[Y.item]), data.z


def accuracies(world, graph, repeats):
    """Mean accuracy of LGP, spectral map and GP on unlabelled items, and its standard error."""
    scores = []
    for seed in range(repeats):
        X, Y, z = world(seed)
        models = [
            CrowdClassifier(LogisticTruth(graph), random_state=seed),
            CrowdClassifier("id", map=SpectralMap(graph), standardize="units", random_state=seed),
        ]
        if Y.n_classes == 2:
            models.append(CrowdClassifier(GraphTruth(graph), standardize="units", random_state=seed))
        silent = ~Y.labelled & np.isfinite(z)
        answers = [Y.labels[model.fit(X, Y).posterior_.argmax(axis=1)] for model in models]
        scores.append([np.mean(answer[silent] == z[silent]) for answer in answers])
    return np.mean(scores, axis=0), np.std(scores, axis=0) / np.sqrt(max(repeats - 1, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="5000,20000,100000")
    parser.add_argument("--exact", type=int, default=20_000, help="largest number of items for exact neighbours")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--labelled", type=int, default=60)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DidNotConverge)
    print(f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}")
    print("\n  items  graph     build s      A s  basis s")
    for size in filter(None, options.sizes.split(",")):
        for name, graph in GRAPHS.items():
            if name == "exact" and int(size) > options.exact:
                continue
            *seconds, words = costs(int(size), graph)
            print(f"{size:>7}  {name:<8}" + "".join(f"{s:>9.2f}" for s in seconds) + f"  {words}", flush=True)
    print("\ndata     graph             LGP      spectral            GP")
    for data, world in worlds(options.labelled).items():
        for name, graph in GRAPHS.items():
            cells = zip(*accuracies(world, graph, options.repeats), strict=True)
            print(f"{data:<8} {name:<8}" + "".join(f"{m:>8.3f} ±{e:.3f}" for m, e in cells), flush=True)


if __name__ == "__main__":
    main()
