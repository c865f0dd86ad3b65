"""Coverage and width of the intervals of `whoknows.insight.rate`: ``python -m benchmarks.rates [STUDIES]`` prints it.

A study has items, judges who err together (some items mislead most of them, and they share a bias), and gold: a
random sample of the items. Sizes, shares, accuracies and correlations are redrawn for each. The share of a class
that is to be covered is that among the items of the study. Beside it, the interval from the gold alone (Agresti and
Coull, with the correction for a finite number of items). docs/llm_judges.md shows the table.

``--fits N`` uses the posterior of a fitted model, cross-fitted over the gold, in N studies per row instead of the
share of votes.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from whoknows import ConfusionAnnotators, CrowdClassifier
from whoknows.estimators.intervals import check_level
from whoknows.insight import Rates, rate, rate_of

LABELS = np.array(["bad", "good"])
GOOD = 0.9  # accuracy of the vote from which judges are called good
REACH = check_level(0.9)


@dataclass(frozen=True)
class Study:
    """Truth, labels of the judges, and which items are gold."""

    truth: np.ndarray
    labels: np.ndarray
    gold: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Truth of the gold items, NaN elsewhere."""
        return np.where(self.gold, self.truth, np.nan)

    @property
    def vote_is_right(self) -> float:
        """Accuracy of the majority vote; ties count half."""
        share = self.labels.mean(axis=1)
        return float(np.mean(np.where(share == 0.5, 0.5, (share > 0.5) == self.truth)))


def draw(rng: np.random.Generator, n_gold: int, sizes: tuple[int, ...] = (300, 1000, 3000)) -> Study:
    """Draw a study; judges depend on each other through the item and through a common bias."""
    n, n_judges, share = int(rng.choice(sizes)), int(rng.integers(3, 12)), rng.uniform(0.1, 0.9)
    truth = (rng.random(n) < share).astype(int)
    skill = rng.normal(rng.choice([0.5, 1.0, 2.0]), 0.7, n_judges)
    difficulty, bias = rng.choice([0.0, 1.0, 2.0]) * rng.normal(size=n), rng.normal(0, 0.5)
    odds = skill + difficulty[:, None] + np.where(truth == 1, bias, -bias)[:, None]
    right = rng.random(odds.shape) < expit(odds)
    gold = np.isin(np.arange(n), rng.permutation(n)[:n_gold])
    return Study(truth, np.where(right, truth[:, None], 1 - truth[:, None]), gold)


def by_vote(study: Study) -> Rates:
    """Rates whose prediction is the share of votes."""
    share = study.labels.mean(axis=1)
    return rate_of(np.column_stack([1 - share, share]), study.known, LABELS)


def by_model(study: Study) -> Rates:
    """Rates whose prediction is the posterior of a model of the labels alone."""
    X, y = np.zeros((len(study.truth), 1)), study.labels.astype(float)
    model = CrowdClassifier("id", ConfusionAnnotators(varies_with_x=False), "linear", max_iter=50, tol=1e-4)
    return rate(model.fit(X, y, gold=study.known), X, y, gold=study.known)


def gold_alone(study: Study) -> float:
    """Width of the interval from the gold alone."""
    n, n_gold = len(study.truth), int(study.gold.sum())
    worth = n_gold + REACH**2
    p = (study.truth[study.gold].sum() + REACH**2 / 2) / worth
    return float(2 * REACH * np.sqrt(p * (1 - p) / worth * (1 - n_gold / n)))


def measure(study: Study, rates: Rates) -> tuple[float, float, float]:
    """Return whether the truth is covered, the width beside that of gold alone, and the accuracy of the vote."""
    covered = rates.low[1] <= study.truth.mean() <= rates.high[1]
    return covered, (rates.high[1] - rates.low[1]) / gold_alone(study), study.vote_is_right


def row(n_gold: int, n_studies: int, estimate=by_vote) -> np.ndarray:
    """Measure studies with this many gold items: (n_studies, 3)."""
    rng = np.random.default_rng(n_gold)
    sizes = (300, 1000, 3000) if estimate is by_vote else (300,)
    studies = [draw(rng, n_gold, sizes) for _ in range(n_studies)]
    return np.array([measure(study, estimate(study)) for study in studies])


def main(n_studies: int, n_fits: int) -> None:
    """Print a row per number of gold items."""
    print("| gold | prediction | covers | good judges | others | width / gold alone | good judges | others |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|")
    for n_gold in (10, 20, 50, 100, 200):
        for name, estimate, n in (("votes", by_vote, n_studies), ("model", by_model, n_fits)):
            if n:
                covers, width, right = row(n_gold, n, estimate).T
                parts = [np.ones(n, dtype=bool), right >= GOOD, right < GOOD]
                cells = [f"{values[part].mean():.2f}" for values in (covers, width) for part in parts]
                print(f"| {n_gold} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", type=int, nargs="?", default=1000, help="studies per row")
    parser.add_argument("--fits", type=int, default=40, help="studies per row with a fitted model")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    main(given.studies, given.fits)
