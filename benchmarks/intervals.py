"""Coverage of 90 % intervals of p(z | x) and of expertise, for data drawn from the prior of the model.

    python -m benchmarks.intervals [--quick] [--maps linear,rbf] [--repeats 100]

Results: docs/intervals.csv, one row per data set: the share of intervals that hold the true value, of p(z | x), of the
expertise of annotators, of their averages in the ranking, and of an annotator without labels; and whether the
annotators are mostly right. docs/uncertainty.md shows the means, of the data sets where they are and of all.
"""

import time
import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import expit

from benchmarks import doc_tables
from benchmarks.common import cells
from benchmarks.common.command import choice, parser, run_options
from whoknows import Annotations, CrowdClassifier
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.prepared_model import prepare_classifier

KEY = ("labelled", "annotators", "per_item", "seed", "map")
VALUES = ("mostly_right", "truth", "expertise", "ranking", "unseen", "cpu_seconds")
MAPS = ("linear", "rbf")
SETTINGS = [(60, 6, 6), (150, 6, 6), (300, 6, 6), (60, 3, 3), (150, 3, 3), (150, 20, 20), (150, 6, 3)]
SETTINGS += [(150, 20, 3), (300, 20, 3), (300, 6, 1), (300, 20, 1)]


@dataclass(frozen=True)
class Drawn:
    """A world whose p(z | x) and expertise are known; the last annotator says nothing."""

    X: np.ndarray
    said: Annotations
    prob: np.ndarray  # (n_items,)
    expertise: np.ndarray  # (n_items, n_annotators + 1)


def draw(settings, rng, n_labelled=150, n_annotators=6, per_item=6, n_items=400):
    """ξ, the crowd, how far annotators stray, annotators, truth and labels, each from its prior."""
    X = rng.normal(size=(n_items, 4))
    asked = np.zeros((n_items, n_annotators + 1), dtype=bool)
    asked[:n_labelled, :-1] = np.argsort(rng.random((n_labelled, n_annotators)), axis=1) < per_item
    blank = Annotations.from_matrix(np.where(asked, 0.0, np.nan), labels=[0, 1])
    learnt = prepare_classifier(settings, X, blank)
    items = learnt.items(X, TrainingData(blank))
    xi = rng.multivariate_normal(np.zeros(items.X_truth.shape[1]), np.linalg.inv(learnt.model.truth.precision))
    theta = annotators_of(learnt.model.annotators.population, (n_annotators + 1, items.X_annotators.shape[1]), rng)
    prob, expertise = expit(items.X_truth @ xi), expit(items.X_annotators @ theta.T)
    z = rng.random(n_items) < prob
    y = np.where(rng.random(expertise.shape) < expertise, z[:, None], ~z[:, None])
    said = Annotations.from_matrix(np.where(asked, y.astype(float), np.nan), labels=[0, 1])
    return Drawn(X, said, prob, expertise)


def annotators_of(crowd, shape, rng):
    """θ of every annotator: (n_annotators + 1, n_columns)."""
    n_slopes = shape[1] - 1
    middle = rng.normal(0, np.sqrt(crowd.slope_variance), shape[1])
    middle[-1] = rng.normal(crowd.centre, np.sqrt(crowd.centre_variance))
    rate = crowd.precision_rate, crowd.deviation_shape * crowd.deviation_variance
    precision = rng.gamma((crowd.precision_shape, crowd.deviation_shape), np.reciprocal(rate))
    return middle + rng.normal(size=shape) / np.sqrt(np.repeat(precision, [n_slopes, 1]))


def mostly_right(world):
    """Whether on nearly all items the annotators are right more often than not, taken together.

    Where they are not, labels look as if truth and annotators were turned round, and the fit takes them so.
    """
    return np.mean(world.expertise[:, :-1].mean(axis=1) > 0.5) >= 0.95


def held(model, world):
    _, low, high = model.predict_proba(world.X, return_interval=True)
    of_truth = (low[:, 1] <= world.prob) & (world.prob <= high[:, 1])
    _, low, high = model.expertise(world.X, return_interval=True)
    right = (low <= world.expertise) & (world.expertise <= high)
    ranking = model.ranking(world.X)
    average = world.expertise.mean(axis=0)[ranking.annotator]
    ranked = ((ranking.low <= average) & (average <= ranking.high))[ranking.n_labels > 0]
    return of_truth.mean(), right[:, :-1].mean(), ranked.mean(), right[:, -1].mean()


def row(map, n_labelled, n_annotators, per_item, seed):
    """What `VALUES` names, of one data set."""
    started, settings = time.process_time(), CrowdClassifier("id", map=map)
    world = draw(settings, np.random.default_rng(seed), n_labelled, n_annotators, per_item)
    shares = held(settings.fit(world.X, world.said), world)
    found = (int(mostly_right(world)), *shares, time.process_time() - started)
    return {"map": map} | dict(zip(VALUES, found, strict=True))


def work(group, maps):
    """Compute the rows of one setting and seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [row(map, *group) for map in maps]


def main():
    command = parser(__doc__, ".", repeats=100)
    command.add_argument("--maps", type=choice(MAPS), default=list(MAPS))
    options = command.parse_args()
    settings, repeats = (SETTINGS[:1], 2) if options.quick else (SETTINGS, options.repeats)
    groups = [(*setting, seed) for setting, seed in product(settings, range(repeats))]
    table = doc_tables.cells("intervals", KEY, VALUES, options.out)
    cells.run(table, groups, options.maps, work, **run_options(options))


if __name__ == "__main__":
    main()
