"""Time saved by `update` compared with a new fit when new labels arrive, and how far the results differ.

    python -m benchmarks.speed.update [--quick] [--repeats 1] [--tol 1e-6]

Items have ten features, and half of them have three labels each by some of twenty annotators, whose accuracy
depends on x. A share of the labels arrives later: one model is fitted to the rest and updated, another is
fitted to all labels. Results: docs/update.csv, one row per comparison. ``largest_difference`` is between the
posteriors of the two models, ``turned`` the share of items whose most probable class differs. Time is wall-clock
time: leave the machine idle. docs/update.md shows the means.
"""

import time
import warnings
from itertools import product

import numpy as np
from scipy.special import expit

from benchmarks import doc_tables
from benchmarks.common import cells
from benchmarks.common.command import parser, run_options
from whoknows import Annotations, CrowdClassifier, DidNotConverge

KEY = ("items", "share", "seed", "tol", "model")
VALUES = ("labels", "fit_seconds", "fit_iterations", "update_seconds", "update_iterations")
VALUES += ("ratio", "largest_difference", "turned")
SIZES, SHARES = (500, 8000), (0.01, 0.1)
N_FEATURES, N_ANNOTATORS, PER_ITEM = 10, 20, 3
MODELS = {
    "default": {},
    "linear": {"truth": "id", "map": "linear"},
    "linear, Algorithm 1": {"truth": "id", "map": "linear", "solver": "em"},
    "linear, three classes": {"truth": "id", "map": "linear"},
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
    """What `VALUES` names, of one fit and one update."""
    later = rng.random(Y.n_annotations) < share
    model = CrowdClassifier(**settings).fit(X, Y.only(~later))
    whole, seconds_fit = timed(CrowdClassifier(**settings).fit, X, Y)
    model, seconds = timed(model.update, X, Y.only(later))
    apart = np.abs(model.posterior_ - whole.posterior_).max()
    turned = np.mean(model.posterior_.argmax(axis=1) != whole.posterior_.argmax(axis=1))
    costs = (seconds_fit, whole.n_iter_, seconds, model.n_iter_, seconds_fit / seconds)
    return dict(zip(VALUES, (Y.n_annotations, *costs, apart, turned), strict=True))


def work(group, models):
    """Compute the rows of one size, share and seed."""
    warnings.simplefilter("ignore", DidNotConverge)
    size, share, seed, tol = group
    rows = []
    for name in models:
        X, Y = world(size, 3 if "three" in name else 2, np.random.default_rng(seed))
        settings = MODELS[name] | {"tol": tol, "max_iter": 2000}
        rows.append({"model": name} | compare(settings, X, Y, share, np.random.default_rng(seed + 1)))
    return rows


def main():
    command = parser(__doc__, ".", repeats=1)
    command.set_defaults(jobs=1)  # it measures time
    command.add_argument("--tol", type=float, default=1e-6)
    options = command.parse_args()
    sizes = SIZES[:1] if options.quick else SIZES
    groups = [
        (size, share, seed, options.tol) for seed in range(options.repeats) for size, share in product(sizes, SHARES)
    ]
    table = doc_tables.cells("update", KEY, VALUES, options.out)
    cells.run(table, groups, list(MODELS), work, **run_options(options))


if __name__ == "__main__":
    main()
