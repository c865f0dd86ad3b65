"""Worlds whose truth is no smooth line: the ensemble beside classifiers that learn from a vote or a posterior.

    WHOKNOWS_DATA=folder python -m benchmarks.capacity [--quick] [--worlds sin,phoneme] [--items 20000] [--repeats 3]

Three labels per item by 20 annotators of constant accuracy; 5 000 more items to predict. phoneme has real
features, read from tabular/phoneme.csv in the folder that WHOKNOWS_DATA names, and experts of one cluster each;
three tenths of its items are predicted. The rivals are boosted trees and an RBF support vector machine, taught by
the vote, by the posterior of one-coin Dawid and Skene, or by that of CROWDLAB, whose out-of-sample predictions are
of boosted trees (left out unless cleanlab is installed: pip install 'whoknows[peers]'); and trees taught by the
truth. The trees inside `CrowdClassifier` do not stop early, so trees that do not are taught by Dawid and Skene's
posterior as well. Results: docs/capacity.csv, one row per method and draw: CPU seconds, of teacher and classifier,
and accuracy of consensus and classifier. Tables of docs/auto.md and docs/any_classifier.md show them.
"""

import os
import time
import warnings
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks import doc_tables
from benchmarks.common import cells
from benchmarks.common.command import choice, parser, run_options
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier

KEY, VALUES = ("world", "items", "seed", "method"), ("consensus", "classifier", "cpu_seconds")
N_TEST, N_ANNOTATORS, N_LABELS = 5_000, 20, 3
N_EXPERTS, N_LABELS_OF_EXPERTS = 6, 4
SIMULATED = ("sin", "clusters", "cells", "checker")
WORLDS = (*SIMULATED, "phoneme")


def world(name, n_items, seed):
    """Return X and the truth of one world."""
    rng = np.random.default_rng(seed)
    if name == "phoneme":
        data = np.loadtxt(Path(os.environ["WHOKNOWS_DATA"]) / "tabular" / "phoneme.csv", delimiter=",")
        data = data[rng.permutation(len(data))]
        return data[:, :-1], data[:, -1] > 0
    if name == "sin":  # waves, products, steps
        X = rng.normal(size=(n_items, 10))
        return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 2 * (X[:, 3] > 0.5) * (X[:, 4] > 0) > 0.5
    if name == "clusters":  # 32 per class
        sizes = {"n_informative": 10, "n_redundant": 0, "n_clusters_per_class": 32}
        return make_classification(n_items, 20, **sizes, class_sep=1.5, flip_y=0, random_state=seed)
    if name == "cells":  # 200 clusters far apart, of either class in turn
        cell = rng.integers(200, size=n_items)
        return rng.normal(size=(200, 64))[cell] + rng.normal(size=(n_items, 64)), cell % 2
    X = rng.uniform(size=(n_items, 6))  # a board of 5 × 5 in two of six columns
    return X, (5 * X[:, :2]).astype(int).sum(axis=1) % 2


def crowd(z, rng):
    """Return who labelled each item, and the labels: two (n_items, 3)."""
    who = (rng.integers(N_ANNOTATORS, size=len(z))[:, None] + 7 * np.arange(N_LABELS)) % N_ANNOTATORS
    right = rng.random(who.shape) < rng.uniform(0.55, 0.9, N_ANNOTATORS)[who]
    return who, np.where(right, z[:, None], 1 - z[:, None])


def experts(X, z, rng):
    """Return the same for experts of one cluster of items each: two (n_items, 4)."""
    part = KMeans(N_EXPERTS, n_init=3, random_state=0).fit_predict(StandardScaler().fit_transform(X))
    who = np.array([rng.choice(N_EXPERTS, N_LABELS_OF_EXPERTS, replace=False) for _ in z])
    right = rng.random(who.shape) < np.where(part[:, None] == who, 0.95, 0.65)
    return who, np.where(right, z[:, None], 1 - z[:, None])


# --- teachers: p(z = 1) of each item ------------------------------------------------------------------


def vote(X, who, label):
    """Share of labels 1."""
    return label.mean(axis=1)


def dawid_skene(X, who, label):
    """p(z = 1 | labels), with one accuracy per annotator."""
    accuracy = np.full(who.max() + 1, 0.7)
    for _ in range(60):
        odds = np.log(accuracy / (1 - accuracy))[who]
        q = 1 / (1 + np.exp(-np.where(label == 1, odds, -odds).sum(axis=1)))
        agrees = np.bincount(who.ravel(), np.where(label == 1, q[:, None], 1 - q[:, None]).ravel())
        accuracy = (agrees + 2) / (np.bincount(who.ravel()) + 3)
    return q


def crowdlab(X, who, label):
    """Posterior of CROWDLAB, with out-of-sample predictions of trees taught by the vote."""
    from cleanlab.multiannotator import get_label_quality_multiannotator, get_majority_vote_label

    table = np.full((len(X), who.max() + 1), np.nan)
    np.put_along_axis(table, who, label, axis=1)
    consensus = get_majority_vote_label(table, verbose=False)
    prob = cross_val_predict(HistGradientBoostingClassifier(random_state=0), X, consensus, method="predict_proba")
    found = get_label_quality_multiannotator(table, prob, verbose=False)["label_quality"]
    sure = found["consensus_quality_score"].to_numpy()
    return np.where(found["consensus_label"].to_numpy() == 1, sure, 1 - sure)


TEACHERS = {"vote": vote, "Dawid-Skene": dawid_skene, "CROWDLAB": crowdlab}


# --- classifiers that learn from them -----------------------------------------------------------------


def trees(X, q, early_stopping="auto"):
    """Boosted trees that see each item as both classes, weighted."""
    X, z, weight = np.vstack([X, X]), np.repeat([1, 0], len(X)), np.concatenate([q, 1 - q])
    return HistGradientBoostingClassifier(early_stopping=early_stopping, random_state=0).fit(X, z, weight)


def svm(X, q):
    """Support vector machine on the more probable class."""
    return make_pipeline(StandardScaler(), SVC()).fit(X, q > 0.5)


CLASSIFIERS = {"trees": trees, "SVM": svm}


@dataclass(frozen=True)
class Draw:
    """Items with labels (n_items, n_labels) and their annotators, items to predict, and the truth of both."""

    X: np.ndarray
    who: np.ndarray
    label: np.ndarray
    truth: np.ndarray
    X_new: np.ndarray
    truth_new: np.ndarray


def draw(name, n_items, seed):
    """Draw one world."""
    X, z = world(name, n_items + N_TEST, seed)
    if name == "phoneme":  # has no more
        n_items = min(n_items, int(0.7 * len(X)))
    X, z = np.asarray(X, dtype=np.float32).astype(float), np.asarray(z, dtype=int)
    rng = np.random.default_rng(seed + 1)
    who, label = experts(X, z, rng) if name == "phoneme" else crowd(z[:n_items], rng)
    return Draw(X[:n_items], who[:n_items], label[:n_items], z[:n_items], X[n_items:], z[n_items:])


# --- methods: consensus and classes of new items ------------------------------------------------------


def ours(build, given):
    """Fit one of our models to the labels."""
    items = np.repeat(np.arange(len(given.X)), given.who.shape[1])
    y = Annotations.from_arrays(items, given.who.ravel(), given.label.ravel(), items=range(len(given.X)))
    model = build().fit(given.X, y)
    return model.posterior_.argmax(axis=1), model.predict(given.X_new)


def taught(teach, fit, given):
    """Fit a classifier to what a teacher says of each item."""
    q = teach(given.X, given.who, given.label)
    return q > 0.5, fit(given.X, q).predict(given.X_new)


def by_truth(given):
    """Fit trees to the truth."""
    return given.truth, trees(given.X, given.truth.astype(float)).predict(given.X_new)


def with_trees():
    """Return our model with trees as the truth."""
    return CrowdClassifier(truth=HistGradientBoostingClassifier(early_stopping=False, random_state=0))


METHODS = {
    "AutoCrowdClassifier": partial(ours, AutoCrowdClassifier),
    **{
        f"{teacher} + {kind}": partial(taught, teach, fit)
        for teacher, teach in TEACHERS.items()
        for kind, fit in CLASSIFIERS.items()
    },
    "truth + trees": by_truth,
    "CrowdClassifier(truth=trees)": partial(ours, with_trees),
    "Dawid-Skene + trees without early stopping": partial(taught, dawid_skene, partial(trees, early_stopping=False)),
}


def work(group, methods):
    """Compute the rows of one draw, (world, items, seed)."""
    warnings.filterwarnings("ignore", message="The fit did not converge")
    given = draw(*group)
    return [row(method, given) for method in methods]


def row(method, given):
    """CPU seconds of one method, and how often consensus and classifier are right."""
    started = time.process_time()
    consensus, found = METHODS[method](given)
    seconds = time.process_time() - started
    right = {"consensus": np.mean(consensus == given.truth), "classifier": np.mean(found == given.truth_new)}
    return {"method": method, "cpu_seconds": seconds, **right}


def installed():
    """Methods whose packages are installed."""
    return [method for method in METHODS if "CROWDLAB" not in method or find_spec("cleanlab")]


def main():
    command = parser(__doc__, ".", repeats=3)
    command.add_argument("--worlds", type=choice(WORLDS), default=list(WORLDS))
    command.add_argument("--methods", type=choice(METHODS), default=installed())
    command.add_argument("--items", type=int, default=20_000)
    options = command.parse_args()
    worlds, n_items, repeats = options.worlds, options.items, options.repeats
    if options.quick:
        worlds, n_items, repeats = SIMULATED[:1], 300, 1
    groups = [(name, n_items, seed) for seed in range(repeats) for name in worlds]
    table = doc_tables.cells("capacity", KEY, VALUES, options.out)
    cells.run(table, groups, options.methods, work, **run_options(options))


if __name__ == "__main__":
    main()
