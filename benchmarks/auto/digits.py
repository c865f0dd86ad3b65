"""What unlabelled items are worth: scikit-learn's digits, five annotators who are right 70 % of the time.

    python benchmarks/auto/digits.py [--seeds 5] [--labelled 30,60,120]

30 % of the 1 797 images are for the test; of the other 1 257 only a few are labelled, the rest unlabelled.
Draws are stratified by the true class; truth is used for nothing else but the score.
"""

import argparse
import os
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.semi_supervised import LabelSpreading

from whoknows import AutoCrowdClassifier, DidNotConverge
from whoknows.data.simulate import constant_accuracies

METHODS = ["majority-vote LR", "label spreading", "auto", "weight of spectral members"]


def one_run(seed, n_labelled):
    """Test accuracy of each method, and the weight of the spectral members."""
    warnings.simplefilter("ignore", DidNotConverge)
    X, z = load_digits(return_X_y=True)
    X, X_test, z, z_test = train_test_split(X, z, test_size=0.3, stratify=z, random_state=seed)
    seen, _ = train_test_split(np.arange(len(X)), train_size=n_labelled, stratify=z, random_state=seed)
    labels = constant_accuracies(z, [0.7] * 5, random_state=seed)
    y = np.full(labels.shape, np.nan)
    y[seen] = labels[seen]
    vote = np.array([np.bincount(row, minlength=10).argmax() for row in labels[seen]])
    lr = LogisticRegression(max_iter=2000).fit(X[seen] / 16, vote)
    partly = np.full(len(X), -1)
    partly[seen] = vote
    spreading = LabelSpreading(kernel="knn", n_neighbors=7, max_iter=100).fit(X, partly)
    model = AutoCrowdClassifier().fit(X, y)
    spectral = model.selection_.share(map="spectral")
    scores = [lr.score(X_test / 16, z_test), spreading.score(X_test, z_test), model.score(X_test, z_test)]
    return [*scores, spectral]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--labelled", default="30,60,120")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print(f"{'labelled':>10}" + "".join(f"{name:>28}" for name in METHODS))
    for n_labelled in map(int, options.labelled.split(",")):
        runs = Parallel(options.jobs)(delayed(one_run)(seed, n_labelled) for seed in range(options.seeds))
        print(f"{n_labelled:>10}" + "".join(f"{value:>28.4f}" for value in np.mean(runs, axis=0)), flush=True)


if __name__ == "__main__":
    main()
