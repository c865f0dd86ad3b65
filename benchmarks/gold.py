"""Judges who err together, and little gold: our models beside what a user would do by hand.

    python -m benchmarks.gold [independent,trap,blocks,hard,groups] [--gold 40] [--draws 4] [--classes 2,3] [--auto]

Simulated judges label 400 items, some of which are gold; 200 more items are to be predicted. Each world has features
that tell the classes apart, or noise. By hand: the vote, the judge that is best on the gold, and logistic regressions
taught by the gold on the votes or on the features. Prints the mean accuracy of the consensus on the other items; for
our models also that of `predict` on new items, the largest error of an annotator's expertise, and CPU seconds.
"""

import argparse
import time
import warnings
from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from benchmarks.common.command import choice
from whoknows import AutoCrowdClassifier, CrowdClassifier

N_ITEMS, N_NEW, N_FEATURES = 400, 200, 16


def said(z, accuracy, n_classes, rng):
    """Return labels that are right this often; wrong ones are uniform."""
    wrong = (z + rng.integers(1, n_classes, size=len(z))) % n_classes
    return np.where(rng.random(len(z)) < accuracy, z, wrong)


def independent(z, K, rng):
    """Eight judges who err independently."""
    return [said(z, accuracy, K, rng) for accuracy in rng.uniform(0.55, 0.85, 8)]


def trap(z, K, rng):
    """One good judge; eight follow something that is right in 55 % of the items."""
    follows = said(z, 0.55, K, rng)
    return [said(z, 0.88, K, rng), *(said(follows, 0.85, K, rng) for _ in range(8))]


def blocks(z, K, rng):
    """Four judges follow the truth, five something that is right in half of the items."""
    follows = said(z, 0.5, K, rng)
    return [*(said(z, 0.8, K, rng) for _ in range(4)), *(said(follows, 0.9, K, rng) for _ in range(5))]


def hard(z, K, rng):
    """A quarter of the items misleads most of ten good judges."""
    fools, wrong = rng.random(len(z)) < 0.25, (z + rng.integers(1, K, size=len(z))) % K
    judges = (said(z, accuracy, K, rng) for accuracy in rng.uniform(0.7, 0.95, 10))
    return [np.where(fools & (rng.random(len(z)) < 0.8), wrong, labels) for labels in judges]


def groups(z, K, rng):
    """Five models, five prompts of each: prompts of one model mostly agree."""
    models = (said(z, accuracy, K, rng) for accuracy in rng.uniform(0.55, 0.85, 5))
    return [said(model, 0.88, K, rng) for model in models for _ in range(5)]


WORLDS = {world.__name__: world for world in (independent, trap, blocks, hard, groups)}
OURS = (CrowdClassifier, AutoCrowdClassifier)


def draw(name, n_classes, telling, seed):
    """Return features, labels (n_items, n_judges) and truth of one world."""
    rng = np.random.default_rng([seed, n_classes, telling, sum(map(ord, name))])
    z = rng.integers(n_classes, size=N_ITEMS + N_NEW)
    centres = rng.normal(size=(n_classes, N_FEATURES))
    X = rng.normal(size=(len(z), N_FEATURES)) + telling * centres[z]
    return X, np.column_stack(WORLDS[name](z, n_classes, rng)).astype(float), z


def by_hand(X, labels, z, gold, n_classes):
    """Return what each way by hand says of all items."""
    votes = (labels[:, :, None] == np.arange(n_classes)).reshape(len(labels), -1).astype(float)
    best = np.mean(labels[gold] == z[gold, None], axis=0).argmax()
    strengths = {"C": [0.003, 0.01, 0.03, 0.1, 0.3, 1]}
    of_votes = GridSearchCV(LogisticRegression(max_iter=500), strengths, scoring="neg_log_loss")
    return {
        "vote": votes.reshape(len(labels), -1, n_classes).sum(axis=1).argmax(axis=1),
        "best judge": labels[:, best],
        "LR of votes": of_votes.fit(votes[gold], z[gold]).predict(votes),
        "LR of x": LogisticRegression(C=0.1, max_iter=500).fit(X[gold], z[gold]).predict(X),
    }


def ours(kind, X, labels, z, gold):
    """Return the consensus of one of our models, accuracy on new items, the largest error of expertise, CPU seconds."""
    known = np.full(N_ITEMS, np.nan)
    known[gold] = z[gold]
    started = time.process_time()
    model = kind().fit(X[:N_ITEMS], labels[:N_ITEMS], gold=known)
    seconds = time.process_time() - started
    actual = np.mean(labels[:N_ITEMS] == z[:N_ITEMS, None], axis=0)
    error = np.abs(model.expertise(X[:N_ITEMS]).mean(axis=0) - actual).max()
    return model.classes_[model.posterior_.argmax(axis=1)], model.score(X[N_ITEMS:], z[N_ITEMS:]), error, seconds


def run(name, n_classes, telling, n_gold, draws, kinds):
    """Return the mean results of one world: by method, accuracy of the consensus, and for ours three numbers more."""
    results = {}
    for seed in range(draws):
        X, labels, z = draw(name, n_classes, telling, seed)
        gold, rest = np.split(np.random.default_rng(seed).permutation(N_ITEMS), [n_gold])
        for method, found in by_hand(X, labels, z, gold, n_classes).items():
            results.setdefault(method, []).append([np.mean(found[rest] == z[rest])])
        for kind in kinds:
            found, *others = ours(kind, X, labels, z, gold)
            results.setdefault(kind.__name__, []).append([np.mean(found[rest] == z[rest]), *others])
    return {method: np.mean(rows, axis=0) for method, rows in results.items()}


def main():
    """Print the results of each world."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="?", type=choice(WORLDS), default=list(WORLDS))
    parser.add_argument("--gold", type=int, default=40)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--classes", type=lambda text: list(map(int, text.split(","))), default=[2, 3])
    parser.add_argument("--auto", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "gold contradicts every annotator")
    kinds = OURS if options.auto else OURS[:1]
    for name, n_classes, telling in product(options.worlds, options.classes, (False, True)):
        results = run(name, n_classes, telling, options.gold, options.draws, kinds)
        columns = [f"{method} " + " ".join(f"{number:.3f}" for number in row) for method, row in results.items()]
        print(f"{name}, {n_classes} classes, x {'tells' if telling else 'is noise'}:", *columns, sep="  ", flush=True)


if __name__ == "__main__":
    main()
