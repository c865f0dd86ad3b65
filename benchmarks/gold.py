"""Judges who err together, and little gold: our models beside what a user would do by hand.

    python -m benchmarks.gold [--quick] [--worlds independent,trap] [--methods vote,CrowdClassifier] [--repeats 4]

Simulated judges label 400 items, of which 40 are gold; 200 more items are to be predicted. Each world has two or
three classes, and features that tell the classes apart, or noise. By hand: the vote, the judge that is best on the
gold, and logistic regressions taught by the gold on the votes or on the features. `CrowdClassifier` is also fitted
without gold. Results: docs/gold.csv, one row per method and draw: the accuracy of the consensus on the items that are
not gold; for our models also that of `predict` on new items, the largest error of an annotator's expertise, and CPU
seconds. docs/llm_judges.md shows the means.
"""

import time
import warnings
from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from benchmarks import doc_tables
from benchmarks.common import cells
from benchmarks.common.command import choice, parser, run_options
from whoknows import AutoCrowdClassifier, CrowdClassifier

KEY = ("world", "classes", "features", "seed", "method")
VALUES = ("consensus", "classifier", "expertise_error", "cpu_seconds")
N_ITEMS, N_NEW, N_GOLD, N_FEATURES = 400, 200, 40, 16
CLASSES, FEATURES = (2, 3), ("noise", "telling")


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
NO_GOLD = "CrowdClassifier without gold"
OURS = {NO_GOLD: CrowdClassifier, "CrowdClassifier": CrowdClassifier, "AutoCrowdClassifier": AutoCrowdClassifier}


def draw(name, n_classes, telling, seed):
    """Return features, labels (n_items, n_judges) and truth of one world."""
    rng = np.random.default_rng([seed, n_classes, telling, sum(map(ord, name))])
    z = rng.integers(n_classes, size=N_ITEMS + N_NEW)
    centres = rng.normal(size=(n_classes, N_FEATURES))
    X = rng.normal(size=(len(z), N_FEATURES)) + telling * centres[z]
    return X, np.column_stack(WORLDS[name](z, n_classes, rng)).astype(float), z


def indicators(labels):
    """Return which class each judge names: (n_items, n_judges, n_classes)."""
    return (labels[:, :, None] == np.unique(labels)).astype(float)


def vote(X, labels, z, gold):
    """The class that most judges name."""
    return indicators(labels).sum(axis=1).argmax(axis=1)


def best_judge(X, labels, z, gold):
    """What the judge says who is best on the gold."""
    return labels[:, np.mean(labels[gold] == z[gold, None], axis=0).argmax()]


def regression_of_votes(X, labels, z, gold):
    """Logistic regression on the votes, taught by the gold."""
    votes = indicators(labels).reshape(len(labels), -1)
    strengths = {"C": [0.003, 0.01, 0.03, 0.1, 0.3, 1]}
    model = GridSearchCV(LogisticRegression(max_iter=500), strengths, scoring="neg_log_loss")
    return model.fit(votes[gold], z[gold]).predict(votes)


def regression_of_features(X, labels, z, gold):
    """Logistic regression on the features, taught by the gold."""
    return LogisticRegression(C=0.1, max_iter=500).fit(X[gold], z[gold]).predict(X)


BY_HAND = {
    "vote": vote,
    "best judge": best_judge,
    "LR of votes": regression_of_votes,
    "LR of x": regression_of_features,
}
METHODS = (*BY_HAND, *OURS)


def ours(method, X, labels, z, gold):
    """Return the consensus of one of our models, accuracy on new items, the largest error of expertise, CPU seconds."""
    known = np.full(N_ITEMS, np.nan)
    known[gold] = z[gold]
    started = time.process_time()
    model = OURS[method]().fit(X[:N_ITEMS], labels[:N_ITEMS], gold=None if method == NO_GOLD else known)
    seconds = time.process_time() - started
    actual = np.mean(labels[:N_ITEMS] == z[:N_ITEMS, None], axis=0)
    error = np.abs(model.expertise(X[:N_ITEMS]).mean(axis=0) - actual).max()
    return model.classes_[model.posterior_.argmax(axis=1)], model.score(X[N_ITEMS:], z[N_ITEMS:]), error, seconds


def work(group, methods):
    """Compute the rows of one draw, (world, classes, features, seed)."""
    warnings.filterwarnings("ignore", "gold contradicts every annotator")
    name, n_classes, features, seed = group
    given = draw(name, n_classes, features == "telling", seed)
    gold, rest = np.split(np.random.default_rng(seed).permutation(N_ITEMS), [N_GOLD])
    return [row(method, *given, gold, rest) for method in methods]


def row(method, X, labels, z, gold, rest):
    """What `VALUES` names, of one method."""
    if method in BY_HAND:
        found, others = BY_HAND[method](X, labels, z, gold), ()
    else:
        found, *others = ours(method, X, labels, z, gold)
    figures = dict(zip(VALUES, (np.mean(found[rest] == z[rest]), *others), strict=False))
    return {"method": method} | figures


def main():
    command = parser(__doc__, ".", repeats=4)
    command.add_argument("--worlds", type=choice(WORLDS), default=list(WORLDS))
    command.add_argument("--methods", type=choice(METHODS), default=list(METHODS))
    options = command.parse_args()
    worlds, repeats = (["trap"], 1) if options.quick else (options.worlds, options.repeats)
    groups = [
        (name, n_classes, features, seed)
        for seed, name, n_classes, features in product(range(repeats), worlds, CLASSES, FEATURES)
    ]
    table = doc_tables.cells("gold", KEY, VALUES, options.out)
    cells.run(table, groups, options.methods, work, **run_options(options))


if __name__ == "__main__":
    main()
