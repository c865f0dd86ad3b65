"""Worlds whose truth is no smooth line: the ensemble beside classifiers that learn from a vote or a posterior.

    python -m benchmarks.capacity [sin,clusters,cells,checker] [--items 20000] [--seeds 3]

Three labels per item by 20 annotators of constant accuracy; 5 000 more items to predict. The rivals are boosted
trees and an RBF support vector machine, taught by the vote, or by the posterior of one-coin Dawid and Skene. The
last row is the trees taught by the truth. Prints CPU seconds and accuracy of consensus and classifier.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from whoknows import Annotations, AutoCrowdClassifier

N_TEST, N_ANNOTATORS, N_LABELS = 5_000, 20, 3
WORLDS = ("sin", "clusters", "cells", "checker")


def world(name, n_items, seed):
    """Return X and the truth of one world."""
    rng = np.random.default_rng(seed)
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


def dawid_skene(who, label):
    """p(z = 1 | labels) of each item, with one accuracy per annotator."""
    accuracy = np.full(N_ANNOTATORS, 0.7)
    for _ in range(60):
        odds = np.log(accuracy / (1 - accuracy))[who]
        q = 1 / (1 + np.exp(-np.where(label == 1, odds, -odds).sum(axis=1)))
        agrees = np.bincount(who.ravel(), np.where(label == 1, q[:, None], 1 - q[:, None]).ravel())
        accuracy = (agrees + 2) / (np.bincount(who.ravel()) + 3)
    return q


def taught_by(q):
    """Return functions that fit a classifier to X and soft labels."""

    def trees(X):
        weight = np.concatenate([q, 1 - q])
        return HistGradientBoostingClassifier(random_state=0).fit(np.vstack([X, X]), np.repeat([1, 0], len(X)), weight)

    def svm(X):
        return make_pipeline(StandardScaler(), SVC()).fit(X, q > 0.5)

    return {"trees": trees, "SVM": svm}


def row(name, seed, method, seconds, consensus, right):
    print(
        f"{name:9}{seed:>3} {method:24}{seconds:8.1f} s   consensus {consensus:.4f}   classifier {right:.4f}",
        flush=True,
    )


def run(name, n_items, seed):
    X, z = world(name, n_items + N_TEST, seed)
    X, z = np.asarray(X, dtype=float), np.asarray(z, dtype=int)
    train, test, known, answer = X[:n_items], X[n_items:], z[:n_items], z[n_items:]
    who, label = crowd(known, np.random.default_rng(seed + 1))
    items = np.repeat(np.arange(n_items), N_LABELS)
    y = Annotations.from_arrays(items, who.ravel(), label.ravel(), items=range(n_items))
    start = time.process_time()
    model = AutoCrowdClassifier().fit(train, y)
    seconds, posterior = time.process_time() - start, model.posterior_.argmax(axis=1)
    row(name, seed, "AutoCrowdClassifier", seconds, np.mean(posterior == known), np.mean(model.predict(test) == answer))
    teachers = {"vote": label.mean(axis=1), "Dawid-Skene": dawid_skene(who, label), "truth": known.astype(float)}
    for teacher, q in teachers.items():
        for kind, fit in taught_by(q).items():
            if teacher == "truth" and kind == "SVM":
                continue
            start = time.process_time()
            right = np.mean(fit(train).predict(test) == answer)
            row(name, seed, f"{teacher} + {kind}", time.process_time() - start, np.mean((q > 0.5) == known), right)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="?", default=",".join(WORLDS))
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="The fit did not converge")
    for name in options.worlds.split(","):
        for seed in range(options.seeds):
            run(name, options.items, seed)


if __name__ == "__main__":
    main()
