"""What choosing without truth costs: AutoCrowdClassifier on the paper's sets, member by member.

    WHOKNOWS_DATA=folder python benchmarks/auto/selection.py [--repeats 2] [--sets ionosphere,pima]

The paper's labelers, stratified 5-fold, 10 %, 30 % and all training items labelled. Each fold is fitted once;
from its members come the accuracy of the stack, of the stack without spectral members, of the plain average,
and of every member alone. Regret is what the best single member, picked for each set by the truth of the
test folds, has over the stack.
"""

import argparse
import os
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from whoknows import Annotations, AutoCrowdClassifier, DidNotConverge
from whoknows.data import sets
from whoknows.data.simulate import cluster_experts
from whoknows.estimators.members import default_members
from whoknows.estimators.stacking import stack

PROPORTIONS = [0.1, 0.3, 1.0]
N_ANNOTATORS = 5
WAYS = ("stack", "without spectral", "plain average")


def one_repeat(name, repeat):
    """Accuracies (n_folds, n_proportions, n_ways + n_members) of one draw of labelers and folds."""
    warnings.simplefilter("ignore", DidNotConverge)
    data = sets.load(name)
    labels = cluster_experts(data.X, data.z, N_ANNOTATORS, random_state=repeat)
    rng = np.random.default_rng(repeat)
    folds = StratifiedKFold(5, shuffle=True, random_state=repeat).split(data.X, data.z)
    return np.array([one_fold(data, labels, train, test, rng) for train, test in folds])


def one_fold(data, labels, train, test, rng):
    order = rng.permutation(len(train))
    rows = []
    for proportion in PROPORTIONS:
        y = np.full((len(train), N_ANNOTATORS), np.nan)
        seen = order[: max(2, round(proportion * len(train)))]
        y[seen] = labels[train][seen]
        said = Annotations.from_matrix(y, labels=[0, 1])
        rows.append(accuracies(AutoCrowdClassifier().fit(data.X[train], said), data.X[test], data.z[test]))
    return rows


def accuracies(model, X, z):
    """Of each way of combining the members, then of each member; NaN for one that was left out."""
    alone = np.array([member.predict_proba(X)[:, 1] for member in model.members_])
    spectral = np.array([member.map == "spectral" for member in model.selection_.members])
    without = np.zeros(len(alone))
    without[~spectral] = stack(model.selection_.log_lik[:, ~spectral])
    ways = np.array([model.weights_, without, np.full(len(alone), 1 / len(alone))])
    blind = [member.map == "none" for member in model.selection_.members]  # they tell nothing of new items
    ways[:, blind] = 0
    ways /= ways.sum(axis=1, keepdims=True)
    right = ((np.vstack([ways @ alone, alone]) > 0.5) == z).mean(axis=1)
    by_member = dict(zip(model.selection_.members, right[len(WAYS) :], strict=True))
    return [*right[: len(WAYS)], *(by_member.get(member, np.nan) for member in default_members(2))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--sets", default=",".join(sets.PAPER))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print("".join(f"{word:>18}" for word in ["set", "labelled", *WAYS]))
    table, regret = [], []
    for name in options.sets.split(","):
        runs = Parallel(options.jobs)(delayed(one_repeat)(name, r) for r in range(options.repeats))
        mean = np.mean(runs, axis=(0, 1))  # a member left out in some fold is not among the best
        for proportion, row in zip(PROPORTIONS, mean, strict=True):
            cells = "".join(f"{a:>18.4f}" for a in row[: len(WAYS)])
            print(f"{name:>18}{proportion:>18.0%}{cells}", flush=True)
        table.append(mean[:, : len(WAYS)].mean(axis=0))
        regret.append(100 * (np.nanmax(mean[:, len(WAYS) :].mean(axis=0)) - table[-1][0]))
        print(f"{name:>18}  best member by truth: {regret[-1]:+.2f} points over the stack", flush=True)
    overall = np.mean(table, axis=0)
    print(f"{'mean':>18}{'':>18}" + "".join(f"{a:>18.4f}" for a in overall))
    print(f"Spectral members change the stack by {100 * (overall[0] - overall[1]):+.2f} points.")
    print(f"Mean regret over the sets: {np.mean(regret):.2f} points.")


if __name__ == "__main__":
    main()
