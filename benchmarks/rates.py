"""Coverage and width of the intervals of `whoknows.insight.rate`.

    python -m benchmarks.rates [--quick] [--repeats 1000] [--fits 40]

A study has items, judges who err together (some items mislead most of them, and they share a bias), and gold: a
random sample of the items. Sizes, shares, accuracies and correlations are redrawn for each. The share of a class
that is to be covered is that among the items of the study. Beside it, the interval from the gold alone (Agresti and
Coull, with the correction for a finite number of items). Predictions are the shares of the votes and, in ``--fits``
of the studies, the posterior of a fitted model, cross-fitted over the gold. Results: docs/rates.csv, one row per
study; docs/llm_judges.md shows their means.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks import doc_tables
from benchmarks.common import cells
from benchmarks.common.command import parser, run_options
from whoknows import ConfusionAnnotators, CrowdClassifier
from whoknows.estimators.intervals import check_level
from whoknows.insight import Rates, rate, rate_of

GOLD = (10, 20, 50, 100, 200)
KEY, VALUES = ("gold", "study", "prediction"), ("covers", "width", "vote_is_right")
LABELS = np.array(["bad", "good"])
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


def measure(study: Study, rates: Rates) -> dict[str, float]:
    """Return whether the truth is covered, the width beside that of gold alone, and the accuracy of the vote."""
    covered = rates.low[1] <= study.truth.mean() <= rates.high[1]
    width = (rates.high[1] - rates.low[1]) / gold_alone(study)
    return {"covers": int(covered), "width": width, "vote_is_right": study.vote_is_right}


PREDICTIONS = {"votes": (by_vote, (300, 1000, 3000)), "model": (by_model, (300,))}  # and numbers of items


def work(group: tuple[int, int], predictions: tuple[str, ...]) -> list[dict[str, Any]]:
    """Compute the rows of one study, (gold, study); the two predictions have studies of their own."""
    rows = []
    for prediction in predictions:
        estimate, sizes = PREDICTIONS[prediction]
        study = draw(np.random.default_rng(group), group[0], sizes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.append({"prediction": prediction} | measure(study, estimate(study)))
    return rows


def main() -> None:
    command = parser(__doc__, ".", repeats=1000)
    command.add_argument("--fits", type=int, default=40, help="studies with a fitted model; default 40")
    options = command.parse_args()
    n_gold, repeats, fits = ((10,), 20, 2) if options.quick else (GOLD, options.repeats, options.fits)
    table = doc_tables.cells("rates", KEY, VALUES, options.out)
    for prediction, n_studies in (("model", fits), ("votes", repeats)):
        groups = [(n, study) for n in n_gold for study in range(n_studies)]
        cells.run(table, groups, [prediction], work, **run_options(options))


if __name__ == "__main__":
    main()
