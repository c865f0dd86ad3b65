"""Gain from unlabelled items: the same model fitted with and without them.

    WHOKNOWS_DATA=folder python -m benchmarks.paper.unlabelled [--quick] [--sets digits,two-moons]

Without them, the unlabelled rows of X are dropped before the fit, so scaling, map and graph do not see them.

- digits: scikit-learn's 1 797 images, ten classes, 30 % test items; five annotators right 70 % of the time.
- two-moons: 300 training items, 1 000 test items; the same annotators.
- labelme: 1 000 images labelled by a real crowd, eight classes, of which a few keep their labels; 500 more
  training images without labels; 1 188 test images.
- the paper's seven data sets and labelers, 10 % and 30 % of the training items labelled; one fold per repeat.

Results: unlabelled.csv, one row per cell.
"""

from functools import lru_cache
from itertools import product

import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split

from benchmarks.common import machine, sets
from benchmarks.common.cells import Table, run
from benchmarks.common.command import choice, parser, run_options
from benchmarks.paper import figure3, unlabelled
from benchmarks.paper.protocol import FOLDS, SEED, VALUES, Draw, evaluate
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier
from whoknows.data.simulate import constant_accuracies, hide

KEY = ("set", "repeat", "labelled", "unlabelled", "method")
MODELS = {
    "auto": AutoCrowdClassifier,
    "default": CrowdClassifier,
    "linear": lambda: CrowdClassifier(map="linear"),
    "spectral": lambda: CrowdClassifier("id", map="spectral"),
}
NAMES = {
    "auto": "whoknows (auto)",
    "default": "CrowdClassifier()",
    "linear": "LGP, linear map",
    "spectral": "ID, spectral map",
}
LABELLED = {"two-moons": (10, 20, 40), **{name: ("10%", "30%") for name in figure3.CHEAP_FIRST}}
LABELLED |= {"digits": (30, 60, 120), "labelme": (100, 300)}
COSTS = {"digits": 8.0, "dim": 5.0, "labelme": 80.0}  # rough run time of a group; 1 for the others
REPEATS = 10
MOST_REPEATS = {"labelme": 5}  # 59 annotators, 8 classes, 512 features: a minute per fit
QUICK = ("two-moons", "wpbc60", "ionosphere")
RIGHT = [0.7] * 5  # accuracies of the simulated annotators of digits and two moons


def table(folder):
    return Table(folder / "unlabelled.csv", KEY, VALUES)


def draw(name, repeat, labelled):
    """Return training items with few labels, and test items."""
    if name == "labelme":
        return labelme(repeat, labelled)
    if name in figure3.CHEAP_FIRST:
        return figure3.draw(name, repeat, repeat % FOLDS, float(labelled.rstrip("%")) / 100)
    return with_simulated_labels(*(digits if name == "digits" else two_moons)(repeat), repeat, labelled)


def digits(repeat):
    """X, X_test, z, z_test."""
    X, z = load_digits(return_X_y=True)
    return train_test_split(X, z, test_size=0.3, stratify=z, random_state=SEED + repeat)


def two_moons(repeat):
    """X, X_test, z, z_test."""
    X, z = make_moons(1300, noise=0.15, random_state=SEED + repeat)
    return X[:300], X[300:], z[:300], z[300:]


def with_simulated_labels(X, X_test, z, z_test, repeat, labelled):
    """Label a stratified sample of the items by five annotators who are right 70 % of the time."""
    seed = SEED + repeat
    seen, _ = train_test_split(np.arange(len(X)), train_size=labelled, stratify=z, random_state=seed)
    y = np.full((len(X), len(RIGHT)), np.nan)
    y[seen] = constant_accuracies(z, RIGHT, random_state=seed)[seen]
    return Draw(X, Annotations.from_matrix(y, labels=np.unique(z)), X_test, z_test)


@lru_cache(maxsize=1)
def labelme_data():
    return sets.load("labelme")


def labelme(repeat, labelled):
    """Keep the labels of ``labelled`` images; the training and validation parts are the training items."""
    data = labelme_data()
    test = data.columns["split"] == "test"
    Y = data.annotations[np.flatnonzero(~test)]
    Y = hide(Y, items=labelled / Y.labelled.sum(), random_state=SEED + repeat)
    return Draw(data.X[~test], Y, data.X[test], data.z[test])


def without_unlabelled(draw):
    """Return the same draw with only the labelled training items."""
    seen = np.flatnonzero(draw.Y.labelled)
    return Draw(draw.X[seen], draw.Y[seen], draw.X_test, draw.z_test)


def work(group, methods):
    """Compute the rows of one group, (set, repeat, labelled, unlabelled)."""
    name, repeat, labelled, with_them = group
    given = draw(name, repeat, labelled)
    builders = {method: (lambda Y, build=MODELS[method]: build()) for method in methods}
    return evaluate(given if with_them == "with" else without_unlabelled(given), builders)


def groups(names, repeats):
    """List the groups, with the first repeat of all data sets before the second."""
    return [
        (name, repeat, labelled, with_them)
        for repeat, name in product(range(repeats), names)
        if repeat < MOST_REPEATS.get(name, repeats)
        for labelled, with_them in product(LABELLED[name], ("with", "without"))
    ]


def main():
    command = parser(__doc__, "paper", repeats=REPEATS)
    command.add_argument("--sets", type=choice(LABELLED), default=list(LABELLED))
    command.add_argument("--methods", type=choice(MODELS), default=list(MODELS))
    options = command.parse_args()
    names, repeats = (QUICK, 2) if options.quick else (options.sets, options.repeats)
    for name in names:
        draw(name, 0, LABELLED[name][0])  # fail early if the data are missing
    machine.record(options.out / "unlabelled.machine.json")
    run(
        table(options.out),
        groups(names, repeats),
        options.methods,
        unlabelled.work,  # by its module's name, so that worker processes can import it
        cost=lambda group: COSTS.get(group[0], 1.0),
        **run_options(options),
    )


if __name__ == "__main__":
    main()
