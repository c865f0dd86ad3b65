"""Time saved by `update` compared with a new fit when new labels arrive, and how far the results differ.

    python benchmarks/speed/update.py [--sizes 1000,5000,20000] [--shares 0.01,0.1] [--tol 1e-6]

Items have ten features, and half of them have three labels each by some of twenty annotators, whose accuracy
depends on x. A share of the labels arrives later: one model is fitted to the rest and updated, another is
fitted to all labels. `differ` is the largest difference between the posteriors of the two models, `turned`
the share of items whose most probable class differs.
"""

import argparse
import platform
import time
import warnings

import numpy as np
import sklearn
from scipy.special import expit

from whoknows import Annotations, CrowdClassifier, DidNotConverge

N_FEATURES, N_ANNOTATORS, PER_ITEM = 10, 20, 3
MODELS = {
    "default": {},
    "id, linear": {"truth": "id", "map": "linear"},
    "id, linear, em": {"truth": "id", "map": "linear", "solver": "em"},
    "three classes": {"truth": "id", "map": "linear"},
}


def world(n_items, n_classes, rng):
    """Return X and annotations; half of the items have three labels each."""
    X = rng.normal(size=(n_items, N_FEATURES))
    z = (X @ rng.normal(size=(N_FEATURES, n_classes)) + rng.gumbel(size=(n_items, n_classes))).argmax(axis=1)
    asked = np.argsort(rng.random((n_items, N_ANNOTATORS)), axis=1) < PER_ITEM
    asked[rng.permutation(n_items)[n_items // 2 :]] = False
    accuracy = expit(1.2 + rng.normal(size=N_ANNOTATORS) + 0.3 * X @ rng.normal(size=(N_FEATURES, N_ANNOTATORS)))
    wrong = (z[:, None] + rng.integers(1, n_classes, size=asked.shape)) % n_classes
    y = np.where(rng.random(asked.shape) < accuracy, z[:, None], wrong)
    return X, Annotations.from_matrix(np.where(asked, y, np.nan), labels=range(n_classes))


def timed(fit, *data):
    started = time.perf_counter()
    model = fit(*data)
    return model, time.perf_counter() - started


def compare(settings, X, Y, share, rng):
    """One row: seconds and iterations of both, their ratio, and the differences of the posteriors."""
    later = rng.random(Y.n_annotations) < share
    model = CrowdClassifier(**settings).fit(X, Y.only(~later))
    whole, seconds_fit = timed(CrowdClassifier(**settings).fit, X, Y)
    model, seconds = timed(model.update, X, Y.only(later))
    apart = np.abs(model.posterior_ - whole.posterior_).max()
    turned = np.mean(model.posterior_.argmax(axis=1) != whole.posterior_.argmax(axis=1))
    return seconds_fit, whole.n_iter_, seconds, model.n_iter_, seconds_fit / seconds, apart, turned


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1000,5000,20000")
    parser.add_argument("--shares", default="0.01,0.1")
    parser.add_argument("--models", default=";".join(MODELS), help="a subset, separated by semicolons")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DidNotConverge)
    print(f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn {sklearn.__version__}")
    print(f"{platform.machine()}, {PER_ITEM} labels on half of the items, {N_ANNOTATORS} annotators")
    print("model             items   labels    new |  fit s  iter | update s  iter |  ratio   differ  turned")
    for name in arguments.models.split(";"):
        for size in map(int, arguments.sizes.split(",")):
            X, Y = world(size, 3 if name == "three classes" else 2, np.random.default_rng(arguments.seed))
            for share in map(float, arguments.shares.split(",")):
                settings = MODELS[name] | {"tol": arguments.tol, "max_iter": 2000}
                row = compare(settings, X, Y, share, np.random.default_rng(arguments.seed + 1))
                cells = "{:<15}{:>8}{:>9}{:>7.0%} |{:>7.2f}{:>6} |{:>9.2f}{:>6} |{:>7.1f}{:>9.4f}{:>8.2%}"
                print(cells.format(name, size, Y.n_annotations, share, *row), flush=True)


if __name__ == "__main__":
    main()
