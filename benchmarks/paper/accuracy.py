"""Accuracy on the paper's seven sets with its simulated labelers, against majority-vote logistic regression.

    WHOKNOWS_DATA=folder python benchmarks/paper/accuracy.py [--repeats 5] [--sets ionosphere,pima]

Stratified 5-fold; of the training items the first 10 %, 30 % or all are labelled, by all five annotators;
every method sees the same folds and labels. Truth is used for the folds and the score only.
"""

import argparse
import os
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier, DidNotConverge
from whoknows.data import sets
from whoknows.data.simulate import cluster_experts

PROPORTIONS = [0.1, 0.3, 1.0]
N_ANNOTATORS = 5


def majority_vote_lr(X, said, X_new):
    """The paper's first baseline, at scikit-learn's defaults."""
    seen = said.labelled
    vote = (said.to_matrix()[seen].mean(axis=1) > 0.5).astype(int)
    if len(set(vote)) == 1:
        return np.full(len(X_new), vote[0])
    scaler = StandardScaler().fit(X)
    lr = LogisticRegression(max_iter=1000).fit(scaler.transform(X[seen]), vote)
    return lr.predict(scaler.transform(X_new))


def crowd(**settings):
    """Return a method that fits a CrowdClassifier."""
    return lambda X, said, X_new: CrowdClassifier(**settings).fit(X, said).predict(X_new)


METHODS = {
    "majority vote": majority_vote_lr,
    "default": crowd(),
    "rbf ID": crowd(truth="id", map="rbf"),
    "linear LGP": crowd(truth="lgp", map="linear"),
    "linear ID": crowd(truth="id", map="linear"),
    "spectral ID": crowd(truth="id", map="spectral"),
    "constant": crowd(truth="id", map="linear", annotators=BernoulliAnnotators(varies_with_x=False)),
    "Gaussian LGP": crowd(truth="lgp", map="linear", annotators="gaussian"),
}


def one_repeat(name, repeat):
    """Accuracies (n_folds, n_proportions, n_methods) of one draw of labelers and folds."""
    warnings.simplefilter("ignore", DidNotConverge)
    data = sets.load(name)
    X, z = data.X, data.z
    labels = cluster_experts(X, z, N_ANNOTATORS, random_state=repeat)
    rng = np.random.default_rng(repeat)
    folds = StratifiedKFold(5, shuffle=True, random_state=repeat).split(X, z)
    return np.array([one_fold(X, z, labels, train, test, rng) for train, test in folds])


def one_fold(X, z, labels, train, test, rng):
    order = rng.permutation(len(train))
    rows = []
    for proportion in PROPORTIONS:
        seen = order[: max(2, round(proportion * len(train)))]
        y = np.full((len(train), N_ANNOTATORS), np.nan)
        y[seen] = labels[train][seen]
        said = Annotations.from_matrix(y, labels=[0, 1])
        rows.append([np.mean(m(X[train], said, X[test]) == z[test]) for m in METHODS.values()])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sets", default=",".join(sets.PAPER))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    names = options.sets.split(",")

    print("".join(f"{word:>14}" for word in ["set", "labelled", *METHODS]))
    means = []
    for name in names:
        runs = Parallel(options.jobs)(delayed(one_repeat)(name, r) for r in range(options.repeats))
        mean = np.mean(runs, axis=(0, 1))
        means.append(mean)
        for proportion, row in zip(PROPORTIONS, mean, strict=True):
            print(f"{name:>14}{proportion:>14.0%}" + "".join(f"{a:>14.4f}" for a in row), flush=True)
    overall = np.mean(means, axis=(0, 1))
    print(f"{'mean':>14}{'':>14}" + "".join(f"{a:>14.4f}" for a in overall))
    print(f"{'over vote':>14}{'points':>14}" + "".join(f"{100 * (a - overall[0]):>+14.2f}" for a in overall))


if __name__ == "__main__":
    main()
