"""Cross-validation of the members of an ensemble: fits without the labels of some items, scored on these."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from whoknows._array import Array, Rows
from whoknows._threads import side_by_side
from whoknows.estimators.auto.members import COARSE, MOST_COLUMNS, ROUGH, TREES, Member, kinds
from whoknows.estimators.auto.selection import HeldOutScores
from whoknows.estimators.auto.views import Views
from whoknows.estimators.fitted_pair import FittedPair, fit_pair, typical_rows
from whoknows.estimators.inputs.any_classifier import ClassifierFeatures, ClassifierPreprocessing
from whoknows.estimators.inputs.raw_rows import RawRows
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.prepared_model import PreparedModel, prepare_classifier
from whoknows.estimators.with_classifier import FOLDS, ROUNDS, fit_with_classifier
from whoknows.fit.alternatives import ENOUGH_ITEMS, features_say_nothing, sample_of
from whoknows.fit.engines import Chunks, Engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Callback, Monitor
from whoknows.fit.solve import Solution, for_annotators, guess_of, solve

TOL_OF_MANY = 5e-5  # tolerance of fits to many items: a smaller one changes hardly any answer
MOST_SCORED = 5_000  # items that members are scored on; more would not change the weights
MOST_NUMBERS = 4_000_000  # of X that trees are fitted to: more take long, and add little
# Items that maps are compared on: what flexible ones learn grows with their number. Of embeddings, fewer will do.
MOST_COMPARED = 20_000
ITEMS_OF_A_RACE = 300  # labelled items in a fold that tell which members are hopeless
FEW_FOLDS = 3  # of coarse trees
MANY_ANNOTATORS = 2_000  # each iteration of each fit takes time for each annotator

Progress = Callable[[int, int, float], Any]
Watch = Callable[[Member, int, float, float], Any]


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
        Whether there are many items or annotators, so that fewer fits are made. Of many items, ``rows`` is
        a sample, and fits to all of them dominate the cost.
    in_stages : bool
        Whether kinds of expertise are scored first, and maps with the best of them.
    compared : (n_compared,)
        In stages, the items that maps are compared on: all with labels or gold, or a sample of very many.
    fold : (n_held_out,)
        Positions in ``compared`` of the items whose labels are held out.
    """

    informed: Rows
    rows: Rows
    folds: list[Rows]
    many: bool
    in_stages: bool
    compared: Rows
    fold: Rows

    @property
    def can_race(self) -> bool:
        """Whether one fold has enough items to drop members after it."""
        return len(self.folds) > 1 and len(self.folds[0]) >= ITEMS_OF_A_RACE

    def give_starts(self, n_classes: int) -> bool:
        """Whether fits start where another fit ended; with few items, or labels per annotator, it matters where."""
        return self.can_race or (self.many and n_classes > 2)

    def n_fits(self, members: list[Member], n_classes: int) -> int:
        """Return the largest possible number of fits."""
        n_stages = len(kinds(n_classes, 0)) + 2 * (1 + len({member.map for member in members}))
        return n_stages if self.in_stages else len(members) * (len(self.folds) + 1)


def split_items(settings: Any, data: TrainingData, n_columns: int) -> Splits:
    """Split the items of a fit to so many columns of X, with an estimator's settings."""
    informed, labelled = np.flatnonzero(data.informed), np.flatnonzero(data.annotations.labelled)
    crowded = data.annotations.n_annotators > MANY_ANNOTATORS
    many = settings.selection and (crowded or len(informed) > MOST_SCORED)
    sampled = many and len(informed) > MOST_SCORED
    rows = _sample(informed, labelled, settings.random_state, MOST_SCORED) if sampled else informed
    folds = _folds(settings, data, rows)[: 1 if many else None] if settings.selection else []
    in_stages = many and settings.members is None and (crowded or len(labelled) > MOST_SCORED)
    compared, most = informed, MOST_COMPARED if n_columns <= MOST_COLUMNS else MOST_SCORED
    if len(informed) > most:
        compared = _sample(informed, labelled, settings.random_state, most)
    fold = _folds(settings, data, compared)[0] if in_stages else np.zeros(0, dtype=np.intp)
    return Splits(informed, rows, folds, many, in_stages, compared, fold)


def _folds(settings: Any, data: TrainingData, rows: Rows) -> list[Rows]:
    """Split the items of some rows that have labels into folds, which are positions in ``rows``."""
    order = check_random_state(settings.random_state).permutation(np.flatnonzero(data.annotations[rows].labelled))
    return np.array_split(order, max(min(settings.folds, len(order)), 1))


def _sample(informed: Rows, labelled: Rows, random_state: Any, n: int) -> Rows:
    """Draw some items; those with labels come first."""
    rng, others = check_random_state(random_state), np.setdiff1d(informed, labelled)
    few = rng.choice(labelled, min(n, len(labelled)), replace=False)
    return np.sort(np.append(few, rng.choice(others, n - len(few), replace=False)))


# --- one member -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A member's settings, its prepared model, and the items it is fitted to."""

    settings: Any
    prepared: PreparedModel
    items: Items | Chunks
    typical: Items
    callback: Callback | None = None

    def fit(self, step: Any, before: Solution | None = None, start: Array | None = None) -> FittedPair:
        """Fit to all labels; ``before`` is what it learned from some of them, ``start`` a guess at the posterior."""
        given: dict[str, Any] = {"callback": self.callback, "before": before, "start": start, "step": step}
        return fit_pair(self.settings, self.prepared, self.items, self.typical, is_member=True, **given)

    def score(self, rest: Any, fold: Any, step: Any, start: Array | None = None) -> tuple[HeldOutScores, Solution]:
        """Fit without the labels of a fold, and score these labels; return the scores and the fit."""
        if step is None:
            return self._score(rest, fold, None, start)
        return step.remember(lambda: self._score(rest, fold, step, start))

    def _score(self, rest: Any, fold: Any, step: Any, start: Array | None) -> tuple[HeldOutScores, Solution]:
        rough = roughly(self.settings)
        monitor = Monitor(rough.max_iter, rough.tol, rough.stop, self.callback, keeper=step)
        solution = solve(self.prepared.model, self.items[rest], start, monitor, rough.solver)
        pair = FittedPair(self.prepared, solution, None, self.typical, [])
        return held_out_scores(pair, self.items[fold]), solution

    def guess(self, rows: Any, found: Solution) -> Array:
        """Posterior of some rows under a solution, to start another fit from: (n_rows, n_classes)."""
        return guess_of(self.prepared.model, self.items[rows], found)


@dataclass(frozen=True)
class TreeCandidate:
    """The same for a member with trees, which are grown again in every fit."""

    settings: Any
    prepared: PreparedModel
    X: RawRows
    data: TrainingData
    typical: Items
    engine: Engine
    n_folds: int
    callback: Callback | None = None

    def fit(self, step: Any, before: FittedPair | None = None, start: Array | None = None) -> FittedPair:
        """Fit to all labels, from these alone: what trees said before, they would confirm."""
        return self._grown(ROUNDS)

    def score(self, rest: Rows, fold: Rows, step: Any, start: Array | None = None) -> tuple[HeldOutScores, FittedPair]:
        """Fit without the labels of a fold, and score these labels; return the scores and the fit."""
        rough = replace(self, X=self.X[rest], data=self.data[rest], settings=roughly(self.settings))
        pair = rough._grown(1)  # more rounds change the scores little
        return held_out_scores(pair, pair.prepared.items(self.X[fold], self.data[fold])), pair

    def guess(self, rows: Rows, found: FittedPair) -> Array:
        """Posterior of some rows under a fitted pair, to start another fit from: (n_rows, n_classes)."""
        return found.posterior(found.prepared.items(self.X[rows], self.data[rows])).prob

    def _grown(self, most_rounds: int) -> FittedPair:
        given = self.settings, self.X, self.data, self.engine, self.callback, self.prepared
        pair = fit_with_classifier(*given, most_rounds=most_rounds, n_folds=self.n_folds, is_member=True)
        return replace(pair, typical=self.typical)


def spread(rows: Rows, most: int) -> Rows:
    """Return at most so many of the rows, evenly spaced."""
    return rows[:: -(-len(rows) // most)]


def roughly(settings: Any) -> Any:
    """Return settings for fits that only compare members."""
    return replace(settings, tol=max(settings.tol, ROUGH))


def held_out_scores(pair: FittedPair, items: Items) -> HeldOutScores:
    """Score the labels of items that were not in the fit."""
    log_truth, log_each = pair.log_prob(items), pair.log_each_label(items)
    return HeldOutScores.by_member(log_truth, log_each, items.Y.item, items.weight, items.gold)


# --- all members ------------------------------------------------------------------------------------


@dataclass
class MemberFits:
    """Fits of the members of an ensemble: without each fold, to score them, and to all labels.

    Attributes
    ----------
    settings : AutoCrowdClassifier
    X, data
        Validated input.
    views : Views
    splits : Splits
    engine : Engine
    checkpoint : Checkpoint, optional
    total, done : int
        Number of fits.
    callback : callable, optional
        Called after each fit: fits done, fits in total, seconds.
    watch : callable, optional
        Called after each iteration of each fit: member, iteration, bound, seconds.
    solutions : dict of Member → Solution
        What members learned without the last fold; those with trees, the fitted pair.
    held_out : dict of Member → (n_scored, n_classes)
        What they said of each item while its labels were held out; NaN for items in no fold.
    """

    settings: Any
    X: Any
    data: TrainingData
    views: Views
    splits: Splits
    engine: Engine
    checkpoint: Any
    total: int
    callback: Progress | None = None
    watch: Watch | None = None
    done: int = 0
    solutions: dict[Member, Any] = field(default_factory=dict)
    held_out: dict[Member, Array] = field(default_factory=dict)
    _guesses: dict[str, Array] = field(default_factory=dict)
    _started: float = field(default_factory=time.perf_counter)

    @property
    def scored_rows(self) -> Rows:
        """Rows of X that members are scored on, in the order of the scores: (n_scored,)."""
        if self.splits.in_stages:
            return self.splits.compared[self.splits.fold]
        return self.splits.rows[np.concatenate([np.zeros(0, np.intp), *self.splits.folds])]

    def features_say_nothing(self, members: list[Member]) -> bool:
        """Whether no map of the members says anything about the truth; see `whoknows.fit.alternatives`."""
        of_maps = {member.map: member for member in members if member.map not in ("none", TREES)}
        rows = spread(np.flatnonzero(self.data.annotations.labelled), ENOUGH_ITEMS)
        candidates: Any = (self._candidates([member], rows)[0] for member in of_maps.values())
        return all(features_say_nothing(each.prepared.model, sample_of(each.items)) for each in candidates)

    def race(
        self, members: list[Member], promising: Callable[[HeldOutScores], Rows]
    ) -> tuple[list[Member], HeldOutScores]:
        """Score members on the first fold, and those that are promising on the others too."""
        first = self.scores(members, slice(1))
        kept = promising(first)
        members = [members[m] for m in kept]
        self.total = self.done + len(kept) * len(self.splits.folds)
        return members, HeldOutScores.joined([first.of(kept), self.scores(members, slice(1, None))], axis=0)

    def scores(self, members: list[Member], folds: slice = slice(None), coarse: bool = False) -> HeldOutScores:
        """Score the labels of held-out items under each member, in all or some of the folds.

        Trees may be ``coarse``: these tell in a small part of the time whether trees can help at all.
        """
        numbered = list(enumerate(self.splits.folds))[folds]
        return self._scores(members, self.splits.rows, numbered, "fold", coarse)

    def compare(self, members: list[Member], name: str = "compare", coarse: bool = False) -> HeldOutScores:
        """Score maps with the kind of expertise that was selected.

        Refits are needed: closed-form leave-one-out overrates flexible maps, since an item's labels are also
        in the posterior of its neighbours. A checkpoint has them under this name.
        """
        return self._scores(members, self.splits.compared, [(0, self.splits.fold)], name, coarse)

    def _scores(
        self, members: list[Member], rows: Rows, folds: list[tuple[int, Rows]], name: str, coarse: bool
    ) -> HeldOutScores:
        """Score members in numbered folds, which are positions in ``rows``."""
        self.total = max(self.total, self.done + (len(folds) + 1) * len(members))
        found, latest, n_before = [], {}, len(self.solutions)
        candidates, everything = self._candidates(members, rows, coarse), np.arange(len(rows))
        for number, fold in folds:
            rest = np.setdiff1d(everything, fold)
            if self.data.annotations[rows[rest]].n_annotations:
                steps = [self._step(f"{name}-{number}-{n_before + m}") for m in range(len(members))]
                scored = list(self._fold(list(zip(candidates, steps, strict=True)), f"{name}-{number}", rest, fold))
                found.append(HeldOutScores.joined([scores for scores, _ in scored], axis=1))
                latest = dict(zip(members, (solution for _, solution in scored), strict=True))
                self._remember(members, [scores.posterior[:, 0] for scores, _ in scored], fold)
        self.solutions |= latest
        return HeldOutScores.joined(found, axis=0) if found else HeldOutScores.nothing(len(members))

    def _remember(self, members: list[Member], posteriors: list[Array], fold: Rows) -> None:
        """Keep what members said of held-out items, where the final fits are to the same few items."""
        if self.splits.many:
            return
        for member, posterior in zip(members, posteriors, strict=True):
            empty = np.full((len(self.splits.rows), posterior.shape[1]), np.nan)
            self.held_out.setdefault(member, empty)[fold] = posterior

    def fit(self, members: list[Member]) -> list[FittedPair]:
        """Fit the selected members to all labels."""
        self.total = self.done + len(members)
        candidates, known = self._candidates(members, self.splits.informed), self._starts()
        if self.splits.many or self.splits.can_race:
            for candidate in candidates:
                candidate.settings.tol = max(candidate.settings.tol, TOL_OF_MANY)
        work = enumerate(zip(members, candidates, strict=True))
        fits = [
            partial(each.fit, self._step(f"fit-{m}"), known.get(member), self._guess(member))
            for m, (member, each) in work
        ]
        return list(self._run(fits))

    def _fold(
        self, work: list[tuple[Any, Any]], name: str, rest: Rows, fold: Rows
    ) -> Iterator[tuple[HeldOutScores, Solution]]:
        # EM converges faster from where the first fit to the same items ended.
        if self.splits.give_starts(self.data.annotations.n_classes) and name not in self._guesses:
            (first, step), *work = work
            (scored,) = self._run([partial(first.score, rest, fold, step)])
            self._guesses[name] = first.guess(rest, scored[1])
            yield scored
        yield from self._run([partial(each.score, rest, fold, step, self._guesses.get(name)) for each, step in work])

    def _starts(self) -> dict[Member, Solution]:
        """Return where fits to many items start: at the cross-validated fits; trees are always grown again."""
        if not self.splits.many:
            return {}
        n_labels = self.data.annotations.labels_per_annotator
        everybody, active = np.arange(len(n_labels)), n_labels > 0
        known = ((member, found) for member, found in self.solutions.items() if member.map != TREES)
        return {member: for_annotators(solution, everybody, active) for member, solution in known}

    def _guess(self, member: Member) -> Array | None:
        """Return what a member said of the items while they were held out, to start from; None for the vote."""
        if not self.splits.give_starts(self.data.annotations.n_classes) or member not in self.held_out:
            return None
        guess, gold = self.held_out[member].copy(), self.data.gold
        if gold is not None:
            known = np.isfinite(gold[self.splits.rows])
            guess[known] = np.eye(guess.shape[1])[gold[self.splits.rows][known].astype(np.intp)]
        return guess

    def _candidates(self, members: list[Member], rows: Rows, coarse: bool = False) -> list[Candidate | TreeCandidate]:
        """Return members ready to be fitted to some of the items; those with the same view share features."""
        X, annotations, shared = self.X, self.data.annotations, {}
        candidates: list[Candidate | TreeCandidate] = []
        for member in members:
            model = member.build(self.settings, annotations.n_classes)
            watch = None if self.watch is None else partial(self.watch, member)
            if member.map == TREES:
                candidates.append(replace(self._with_trees(member, model, rows, coarse), callback=watch))
                continue
            prepared = prepare_classifier(model, X, annotations, self.views.of(member))
            if member.view not in shared:
                typical = prepared.items(X[typical_rows(len(X))]).on_host
                shared[member.view] = prepared.chunks(X, rows, self.data, self.engine), typical
            candidates.append(Candidate(model, prepared, *shared[member.view], watch))
        return candidates

    def _with_trees(self, member: Member, model: Any, rows: Rows, coarse: bool) -> TreeCandidate:
        """Return the same for a member with trees; its expertise has the features of the linear map."""
        model, n_folds = (replace(model, truth=COARSE), FEW_FOLDS) if coarse else (model, FOLDS)
        X, annotations = self.X, self.data.annotations
        linear = self.views.of(replace(member, map="linear"))
        known = ClassifierPreprocessing(**vars(linear), learned=ClassifierFeatures(annotations.n_classes))
        prepared = prepare_classifier(model, X, annotations, known)
        typical = replace(prepared.items(X[typical_rows(len(X))]), raw=None)
        rows = spread(rows, MOST_NUMBERS // X.shape[1])
        return TreeCandidate(model, prepared, RawRows(X[rows]), self.data[rows], typical, self.engine, n_folds)

    def _step(self, name: str) -> Any:
        return None if self.checkpoint is None else self.checkpoint.step(name)

    def _run(self, fits: list[Callable[[], Any]]) -> Iterator[Any]:
        """Run fits and yield their results in order; long ones in parallel threads, except on a GPU."""
        in_parallel = self.splits.many and not getattr(self.X, "is_cuda", False)
        for result in side_by_side(fits) if in_parallel else (fit() for fit in fits):
            self.done += 1
            if self.callback is not None:
                self.callback(self.done, self.total, time.perf_counter() - self._started)
            yield result
