"""Worlds whose truth is no smooth line: the ensemble beside classifiers that learn from a vote or a posterior.

    python -m benchmarks.capacity [sin,clusters,cells,checker,phoneme] [--items 20000] [--seeds 0,1,2] [--only auto]

Three labels per item by 20 annotators of constant accuracy; 5 000 more items to predict. phoneme has real
features, read from tabular/phoneme.csv in the folder that WHOKNOWS_DATA names, and experts of one cluster each;
three tenths of its items are predicted. The rivals are boosted trees and an RBF support vector machine, taught by
the vote, by the posterior of one-coin Dawid and Skene, or by that of CROWDLAB, whose out-of-sample predictions are
of boosted trees (left out unless cleanlab is installed: pip install 'whoknows[peers]'). The last row is the trees
taught by the truth. ``--only trees`` compares the trees inside `CrowdClassifier` with trees taught by Dawid and
Skene's posterior, for docs/any_classifier.md. Prints CPU seconds, of teacher and classifier, and accuracy of
consensus and classifier.
"""

import argparse
import os
import time
import warnings
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

from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier

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


def row(name, seed, method, seconds, consensus, right):
    print(
        f"{name:9}{seed:>3} {method:24}{seconds:8.1f} s   consensus {consensus:.4f}   classifier {right:.4f}",
        flush=True,
    )


def run(name, n_items, seed, only=None):
    """Fit all methods, or those of one kind, to one world and print their rows."""
    X, z = world(name, n_items + N_TEST, seed)
    n_items = min(n_items, int(0.7 * len(X)))
    X, z = np.asarray(X, dtype=np.float32).astype(float), np.asarray(z, dtype=int)
    rng = np.random.default_rng(seed + 1)
    who, label = experts(X, z, rng) if name == "phoneme" else crowd(z[:n_items], rng)
    train, test, known, answer = X[:n_items], X[n_items:], z[:n_items], z[n_items:]
    who, label = who[:n_items], label[:n_items]
    if only in (None, "auto"):
        _run_ours(AutoCrowdClassifier(), name, seed, train, test, known, answer, who, label)
    if only == "trees":
        boosted = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
        _run_ours(CrowdClassifier(truth=boosted), name, seed, train, test, known, answer, who, label)
        q = dawid_skene(train, who, label)
        right = np.mean(trees(train, q, early_stopping=False).predict(test) == answer)
        row(name, seed, "Dawid-Skene + trees", np.nan, np.mean((q > 0.5) == known), right)
    if only in (None, "rivals"):
        _run_rivals(name, seed, train, test, known, answer, who, label)


def _run_ours(model, name, seed, train, test, known, answer, who, label):
    items = np.repeat(np.arange(len(train)), who.shape[1])
    y = Annotations.from_arrays(items, who.ravel(), label.ravel(), items=range(len(train)))
    start = time.process_time()
    model.fit(train, y)
    seconds, posterior = time.process_time() - start, model.posterior_.argmax(axis=1)
    right = np.mean(model.predict(test) == answer)
    row(name, seed, type(model).__name__, seconds, np.mean(posterior == known), right)


def _run_rivals(name, seed, train, test, known, answer, who, label):
    for teacher, teach in TEACHERS.items():
        if teacher == "CROWDLAB" and find_spec("cleanlab") is None:
            continue
        start = time.process_time()
        q = teach(train, who, label)
        taught = time.process_time() - start
        for kind, fit in CLASSIFIERS.items():
            start = time.process_time()
            right = np.mean(fit(train, q).predict(test) == answer)
            seconds = taught + time.process_time() - start
            row(name, seed, f"{teacher} + {kind}", seconds, np.mean((q > 0.5) == known), right)
    start = time.process_time()
    right = np.mean(trees(train, known.astype(float)).predict(test) == answer)
    row(name, seed, "truth + trees", time.process_time() - start, 1.0, right)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="?", default=",".join(SIMULATED))
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--only", choices=["auto", "rivals", "trees"])
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="The fit did not converge")
    for name in options.worlds.split(","):
        for seed in map(int, options.seeds.split(",")):
            run(name, options.items, seed, options.only)


if __name__ == "__main__":
    main()
