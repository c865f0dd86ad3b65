"""Members on trial: fitted without the labels of some items, and asked for the probability of these."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows._threads import side_by_side
from whoknows.estimators.auto.members import ROUGH, Member
from whoknows.estimators.auto.stacking import HeldOutScores
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.persistence.checkpoint import Checkpoint, Step
from whoknows.estimators.prepared_model import PreparedModel
from whoknows.fit.engines import Chunks
from whoknows.fit.items import Items
from whoknows.fit.solve import Solution, guess_of

Progress = Callable[[int, int, float], Any]
Build = Callable[[list[Member]], "list[Candidate]"]


@dataclass(frozen=True)
class Candidate:
    """A member as an estimator, and what it sees of items that say something, and of typical ones."""

    estimator: CrowdClassifier
    learnt: PreparedModel
    items: Items | Chunks
    typical: Items

    def fit(self, given: TrainingData, step: Step, before: Solution | None = None) -> CrowdClassifier:
        """Return the estimator, fitted; ``before`` is what it learnt from some of the labels."""
        return self.estimator._learn(self.learnt, self.items, self.typical, given, before=before, step=step)

    def foretell(
        self, rest: Any, fold: Any, step: Step, start: Array | None = None
    ) -> tuple[HeldOutScores, Solution]:
        """What it says of the items of a fold, and what that rests on: a fit to the others."""

        def found() -> tuple[HeldOutScores, Solution]:
            rough = copy.copy(self.estimator)
            rough.tol = max(rough.tol, ROUGH)
            monitor = rough._monitor(self.learnt, keeper=step)
            fitted = rough._solve(self.learnt, self.items[rest], monitor, start)
            items = self.items[fold]
            log_truth = self.learnt.log_predict(fitted, items)
            log_each = self.learnt.log_each_label(fitted, items)
            return HeldOutScores.by_member(log_truth, log_each, items.Y.item, items.weight), fitted

        return step.remember(found)


class Trials:
    """Fits of members to all but a fold of the items, one fold after the other.

    Parameters
    ----------
    build : callable(members) → list of Candidate
    folds : list of (n,)
        Items whose labels are held out together.
    n_items : int
    in_line : bool
        Every fit to the same items starts where the first one ended: for point estimates of many items, which
        lose no time on how sure they are.

    Attributes
    ----------
    fitted : dict of Member → Solution
        What members tried so far learnt without the last fold.
    """

    def __init__(
        self,
        build: Build,
        folds: list[Rows],
        n_items: int,
        in_line: bool,
        clock: Clock,
        checkpoint: Checkpoint,
    ) -> None:
        self.build, self.folds, self.in_line = build, folds, in_line
        self.clock, self.checkpoint = clock, checkpoint
        self.fitted: dict[Member, Solution] = {}
        self._everybody = np.arange(n_items)
        self._starts: dict[int, Array] = {}

    def foretold(self, members: list[Member]) -> HeldOutScores:
        """What each member, fitted without them, says of the items held out."""
        found, candidates = [], self.build(members)
        n_tried, known = len(self.fitted), {}
        for number, fold in enumerate(self.folds):
            rest = np.setdiff1d(self._everybody, fold)
            if candidates[0].items.Y[rest].n_annotations:  # type: ignore[union-attr]
                steps = [self.checkpoint.step(f"fold-{number}-{n_tried + m}") for m in range(len(members))]
                told = list(self._of_fold(list(zip(candidates, steps, strict=True)), number, rest, fold))
                found.append(HeldOutScores.joined([each for each, _ in told], axis=1))
                known = dict(zip(members, (fitted for _, fitted in told), strict=True))
        self.fitted |= known
        return HeldOutScores.joined(found, axis=0) if found else HeldOutScores.nothing(len(members))

    def _of_fold(
        self, work: list[tuple[Candidate, Step]], number: int, rest: Rows, fold: Rows
    ) -> Iterator[tuple[HeldOutScores, Solution]]:
        if self.in_line and number not in self._starts:
            (first, step), *work = work
            (told,) = self.clock.each([partial(first.foretell, rest, fold, step)])
            self._starts[number] = guess_of(first.learnt.model, first.items[rest], told[1])
            yield told
        start = self._starts.get(number)
        yield from self.clock.each([partial(c.foretell, rest, fold, step, start) for c, step in work])


class Clock:
    """Counts fits, and tells a callback after each: fits done, fits in all, seconds.

    ``at_once``: long fits, best carried out side by side.
    """

    def __init__(self, callback: Progress | None, total: int, at_once: bool) -> None:
        self.callback, self.total, self.done, self.at_once = callback, total, 0, at_once
        self._started = time.perf_counter()

    def each(self, fits: list[Callable[[], Any]]) -> Iterator[Any]:
        """Carry out fits, and give what they answer."""
        for answer in side_by_side(fits) if self.at_once else (fit() for fit in fits):
            self.done += 1
            if self.callback is not None:
                self.callback(self.done, self.total, time.perf_counter() - self._started)
            yield answer
