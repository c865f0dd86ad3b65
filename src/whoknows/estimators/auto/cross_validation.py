"""Cross-validation of the members of an ensemble: fits without the labels of some items, scored on these."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from whoknows._array import Array, Rows
from whoknows._threads import side_by_side
from whoknows.estimators.auto.members import ROUGH, Member, kinds
from whoknows.estimators.auto.selection import HeldOutScores
from whoknows.estimators.fitted_pair import FittedPair, fit_pair, monitor_of, run_solver
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.prepared_model import PreparedModel
from whoknows.fit.engines import Chunks
from whoknows.fit.items import Items
from whoknows.fit.solve import Solution, guess_of

MOST_SCORED = 5_000  # items that members are scored on; more would not change the weights

Progress = Callable[[int, int, float], Any]
Build = Callable[[list[Member]], "list[Candidate]"]


# --- which items ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Splits:
    """Which items members are scored on.

    Attributes
    ----------
    informed : (n,)
        Items with labels or gold.
    rows : (n_scored,)
        Those of them that members are scored on.
    folds : list of (n_held_out,)
        Positions in ``rows`` of the items whose labels are held out together.
    many : bool
        Whether ``rows`` is a sample. Then fits to all items dominate the cost.
    in_stages : bool
        Whether kinds of expertise are scored first, and maps with the best of them.
    """

    informed: Rows
    rows: Rows
    folds: list[Rows]
    many: bool
    in_stages: bool

    def n_fits(self, members: list[Member], n_classes: int) -> int:
        """Return the largest possible number of fits."""
        if self.in_stages:
            return len(kinds(n_classes)) + 2 * len({member.map for member in members}) - 1
        return len(members) * (len(self.folds) + 1)


def split_items(settings: Any, data: TrainingData) -> Splits:
    """Split the items of a fit, with an estimator's settings."""
    informed, labelled = np.flatnonzero(data.informed), np.flatnonzero(data.annotations.labelled)
    many = settings.selection and len(informed) > MOST_SCORED
    rows = _sample(informed, labelled, settings.random_state) if many else informed
    folds = []
    if settings.selection:
        order = check_random_state(settings.random_state).permutation(
            np.flatnonzero(data.annotations[rows].labelled)
        )
        folds = np.array_split(order, max(min(settings.folds, len(order)), 1))[: 1 if many else None]
    in_stages = many and settings.members is None and len(labelled) > MOST_SCORED
    return Splits(informed, rows, folds, many, in_stages)


def _sample(informed: Rows, labelled: Rows, random_state: Any) -> Rows:
    """Draw the items that members are scored on; those with labels come first."""
    rng, others = check_random_state(random_state), np.setdiff1d(informed, labelled)
    few = rng.choice(labelled, min(MOST_SCORED, len(labelled)), replace=False)
    return np.sort(np.append(few, rng.choice(others, MOST_SCORED - len(few), replace=False)))


# --- one member -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A member's settings, its prepared model, and the items it is fitted to."""

    settings: Any
    prepared: PreparedModel
    items: Items | Chunks
    typical: Items

    def fit(self, step: Any, before: Solution | None = None) -> FittedPair:
        """Fit to all labels; ``before`` is what it learned from some of them."""
        return fit_pair(self.settings, self.prepared, self.items, self.typical, before=before, step=step)

    def score(
        self, rest: Any, fold: Any, step: Any, start: Array | None = None
    ) -> tuple[HeldOutScores, Solution]:
        """Fit without the labels of a fold, and score these labels; return the scores and the fit."""
        if step is None:
            return self._score(rest, fold, None, start)
        return step.remember(lambda: self._score(rest, fold, step, start))

    def _score(self, rest: Any, fold: Any, step: Any, start: Array | None) -> tuple[HeldOutScores, Solution]:
        rough = copy.copy(self.settings)
        rough.tol = max(rough.tol, ROUGH)
        monitor = monitor_of(rough, keeper=step)
        solution = run_solver(rough, self.prepared, self.items[rest], monitor, start)
        pair, items = FittedPair(self.prepared, solution, None, self.typical, []), self.items[fold]
        log_truth, log_each = pair.log_prob(items), pair.log_each_label(items)
        return HeldOutScores.by_member(log_truth, log_each, items.Y.item, items.weight), solution


# --- all members ------------------------------------------------------------------------------------


class CrossValidation:
    """Fits of members to all but one fold of the items, fold by fold.

    Parameters
    ----------
    build : callable(members) → list of Candidate
    splits : Splits
    chained : bool
        Every fit to the same items starts where the first one ended: point estimates of many items converge
        faster that way.
    counter : FitCounter
    checkpoint : Checkpoint, optional

    Attributes
    ----------
    solutions : dict of Member → Solution
        What members learned without the last fold.
    """

    def __init__(
        self, build: Build, splits: Splits, chained: bool, counter: FitCounter, checkpoint: Any
    ) -> None:
        self.build, self.splits, self.chained = build, splits, chained
        self.counter, self.checkpoint = counter, checkpoint
        self.solutions: dict[Member, Solution] = {}
        self._starts: dict[int, Array] = {}

    def scores(self, members: list[Member]) -> HeldOutScores:
        """Score the labels of held-out items under each member."""
        found, candidates, everything = [], self.build(members), np.arange(len(self.splits.rows))
        n_before, latest = len(self.solutions), {}
        for number, fold in enumerate(self.splits.folds):
            rest = np.setdiff1d(everything, fold)
            if candidates[0].items.Y[rest].n_annotations:  # type: ignore[union-attr]
                names = [f"fold-{number}-{n_before + m}" for m in range(len(members))]
                steps = [None if self.checkpoint is None else self.checkpoint.step(name) for name in names]
                scored = list(self._fold(list(zip(candidates, steps, strict=True)), number, rest, fold))
                found.append(HeldOutScores.joined([scores for scores, _ in scored], axis=1))
                latest = dict(zip(members, (solution for _, solution in scored), strict=True))
        self.solutions |= latest
        return HeldOutScores.joined(found, axis=0) if found else HeldOutScores.nothing(len(members))

    def _fold(
        self, work: list[tuple[Candidate, Any]], number: int, rest: Rows, fold: Rows
    ) -> Iterator[tuple[HeldOutScores, Solution]]:
        if self.chained and number not in self._starts:
            (first, step), *work = work
            (scored,) = self.counter.run([partial(first.score, rest, fold, step)])
            self._starts[number] = guess_of(first.prepared.model, first.items[rest], scored[1])
            yield scored
        start = self._starts.get(number)
        yield from self.counter.run([partial(c.score, rest, fold, step, start) for c, step in work])


class FitCounter:
    """Runs and counts fits, and reports each to a callback: fits done, fits in total, seconds.

    ``in_parallel``: for long fits, which run in parallel threads.
    """

    def __init__(self, callback: Progress | None, total: int, in_parallel: bool) -> None:
        self.callback, self.total, self.done, self.in_parallel = callback, total, 0, in_parallel
        self._started = time.perf_counter()

    def run(self, fits: list[Callable[[], Any]]) -> Iterator[Any]:
        """Run fits, and yield their results in order."""
        for result in side_by_side(fits) if self.in_parallel else (fit() for fit in fits):
            self.done += 1
            if self.callback is not None:
                self.callback(self.done, self.total, time.perf_counter() - self._started)
            yield result
