"""How often held-out labels choose the better of two settings, for docs/choose_settings.md.

    python -m benchmarks.choice [--crowds 20]

For a ring, the map rbf is better than linear. For experts, each on one half of the items, expertise should vary
with x; for annotators who are equally good everywhere, it should not. For annotators who are better on one class
than on the other, and items whose x is uninformative, two accuracies per annotator are better than one. Prints the
number of crowds in which each way to hold labels out gives the better setting the higher score, and writes the rows.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import cross_validate

from benchmarks.common.command import add_out
from benchmarks.common.tables import markdown
from benchmarks.doc_summary import of_choice
from benchmarks.doc_tables import store
from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier, LogisticTruth
from whoknows.insight import AnnotationFolds, ItemFolds, label_log_lik, label_log_lik_given_others

Crowd = tuple[np.ndarray, Annotations]


class Question(NamedTuple):
    """A simulated crowd of so many items, and two settings of which the first is better for it."""

    draw: Callable[[int, np.random.Generator], Crowd]
    items: tuple[int, ...]
    better: CrowdClassifier
    worse: CrowdClassifier


def labelled(truth: np.ndarray, right: np.ndarray, share: float, rng: np.random.Generator) -> Annotations:
    """Labels that are right with the given probabilities, (n_items, n_annotators); a share of them is kept."""
    labels = np.where(rng.random(right.shape) < right, truth[:, None], 1 - truth[:, None]).astype(float)
    labels[rng.random(right.shape) >= share] = np.nan
    return Annotations.from_matrix(labels, labels=[0, 1])


def ring(n_items: int, rng: np.random.Generator) -> Crowd:
    X = rng.uniform(-1, 1, size=(n_items, 2))
    truth = ((X**2).sum(axis=1) < 0.6).astype(int)
    return X, labelled(truth, np.tile([0.9, 0.8, 0.7, 0.6], (n_items, 1)), 0.7, rng)


def experts(n_items: int, rng: np.random.Generator) -> Crowd:
    X = rng.normal(size=(n_items, 2))
    left = X[:, :1] < 0
    right = np.where(np.hstack([left, ~left, left]), 0.95, 0.6)
    return X, labelled((X[:, 1] > 0).astype(int), right, 0.5, rng)


def equally_good(n_items: int, rng: np.random.Generator) -> Crowd:
    X = rng.normal(size=(n_items, 2))
    return X, labelled((X[:, 1] > 0).astype(int), np.tile([0.9, 0.8, 0.7, 0.6], (n_items, 1)), 0.7, rng)


def two_coins(n_items: int, rng: np.random.Generator) -> Crowd:
    X, truth = rng.normal(size=(n_items, 2)), rng.integers(2, size=n_items)
    return X, labelled(truth, np.where(truth[:, None], [0.9, 0.6, 0.9, 0.6, 0.9], [0.6, 0.9, 0.6, 0.9, 0.9]), 0.6, rng)


def model(map: str = "linear", **settings: bool) -> CrowdClassifier:
    return CrowdClassifier(LogisticTruth(), BernoulliAnnotators(**settings), map)


QUESTIONS = {
    "ring": Question(ring, (40, 70, 100), model("rbf"), model("linear")),
    "experts": Question(experts, (60, 120, 300), model(varies_with_x=True), model(varies_with_x=False)),
    "equally good everywhere": Question(equally_good, (40, 200), model(varies_with_x=False), model(varies_with_x=True)),
    "two coins": Question(two_coins, (60, 150, 400), model(two_coin=True), model(two_coin=False)),
}
BOTH = {"items": label_log_lik, "items, given others": label_log_lik_given_others}
WAYS = ("by_item", "given_others", "by_label")  # to hold out labels


def scores(settings: CrowdClassifier, X: np.ndarray, y: Annotations) -> np.ndarray:
    """Held-out scores: by items, by items given the other labels, by single labels."""
    items = cross_validate(settings, X, y, cv=ItemFolds(3), scoring=BOTH)
    single = cross_validate(settings, X, y, cv=AnnotationFolds(3), scoring=label_log_lik)
    return np.array([items[f"test_{name}"].mean() for name in BOTH] + [single["test_score"].mean()])


def rows(n_crowds: int) -> Iterator[dict[str, Any]]:
    """Whether the better settings were chosen, for each crowd of each question and number of items."""
    for name, question in QUESTIONS.items():
        for n_items in question.items:
            for seed in range(n_crowds):
                X, y = question.draw(n_items, np.random.default_rng(seed))
                found = scores(question.better, X, y) > scores(question.worse, X, y)
                what = {"question": name, "items": n_items, "seed": seed, "n_labels": y.n_annotations}
                yield what | dict(zip(WAYS, found.tolist(), strict=True))


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--crowds", type=int, default=20, help="simulated crowds per row; default 20")
    add_out(command)
    options = command.parse_args()
    warnings.filterwarnings("ignore", message="The fit did not converge")
    found = list(rows(options.crowds))
    store("choice", found, options.out)
    print(markdown(of_choice(pd.DataFrame(found))))


if __name__ == "__main__":
    main()
