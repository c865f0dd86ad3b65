"""AutoCrowdClassifier: nothing to tune. Members averaged by how well each foretells held-out annotations."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from whoknows._array import Array, Rows, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.estimators.answers import Answers
from whoknows.estimators.ask.batch import Voice
from whoknows.estimators.auto.cross_validation import Candidate, Clock, Progress, Trials
from whoknows.estimators.auto.members import Member, default_members, kinds, on_other_maps
from whoknows.estimators.auto.selection import WITHOUT_PARTS, Selection, gain_of_varying
from whoknows.estimators.auto.splits import Plan
from whoknows.estimators.auto.stacking import HeldOutScores
from whoknows.estimators.inputs.gold import by_row, gold_codes, with_classes_of
from whoknows.estimators.inputs.preprocessing import Preprocessing
from whoknows.estimators.inputs.row_cache import RowCache
from whoknows.estimators.inputs.training_data import TrainingData, fingerprint
from whoknows.estimators.inputs.validation import (
    all_or_nothing,
    check_annotations,
    check_classes,
    check_features,
    check_setting,
    check_weight,
    row_ids,
)
from whoknows.estimators.intervals import mixture
from whoknows.estimators.one_model import typical_rows
from whoknows.estimators.persistence.checkpoint import NO_CHECKPOINT, Checkpoint
from whoknows.estimators.prepared_model import PreparedModel, directions_of
from whoknows.estimators.ranking import Ranking
from whoknows.fit.engines import Engine, Serial, opened
from whoknows.fit.items import Items
from whoknows.fit.solve import MANY, Solution, for_annotators
from whoknows.model.distances import block_by_block, enough_of
from whoknows.model.settings import NOT_NEGATIVE, YES_OR_NO, at_least

TOL_OF_MANY = 3e-5  # for members' fits to so many: what the bound could still gain changes no answer
LEAST_WEIGHT = 0.75  # of the heaviest member's, to be worth what a fit to all of many items costs
LEAST_VOICE = 0.01  # weight of a member whose word on whom to ask is taken


class AutoCrowdClassifier(Answers, BaseEstimator):
    """Like `CrowdClassifier`, with nothing to choose: several maps, priors and annotator models, averaged.

    Each member is fitted without the labels of a third of the labelled items, three times over, and asked for
    the probability of the labels it did not see. (Of more than 5 000 items, once, to 5 000 of them; fewer
    members are tried, and those that hardly count left out.) Members that foretell labels well get the
    weight; no truth is needed. ``selection_`` says what was chosen and on what evidence.

    Parameters
    ----------
    selection : bool
        False: no label is held out, and members keep the say they have beforehand; in a quarter of the time.
    folds : int
        Parts the labelled items are cut into.
    members : list of Member, optional
        Models to average; None takes maps × prior variances × kinds of expertise.
    max_iter, tol, random_state, engine, device
        As in `CrowdClassifier`; of more than two classes members stop at a ``tol`` of 1e-4, of many items at
        3e-5, if not before.

    Attributes
    ----------
    classes_, annotators_, posterior_
        As in `CrowdClassifier`.
    members_ : list of CrowdClassifier
    weights_ : (n_members,)
        Their say on annotators; that on items is ``selection_.on_labelled`` and ``selection_.on_truth``.
    selection_ : Selection
        Print it.
    n_iter_ : int
        Iterations of the slowest member.
    """

    def __init__(
        self,
        selection: bool = True,
        folds: int = 3,
        members: list[Member] | None = None,
        *,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = 0,
        engine: Any = None,
        device: Any = None,
    ) -> None:
        self.selection = selection
        self.folds = folds
        self.members = members
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.engine = engine
        self.device = device

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        callback: Progress | None = None,
        *,
        gold: Any = None,
        sample_weight: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Learn from features and who said what; everything as in `CrowdClassifier.fit`.

        ``callback`` (fits done, fits in all, seconds) is called after the fit of each member in each fold;
        those that a ``checkpoint`` remembers count.
        """
        check_setting(self, "selection", YES_OR_NO)
        check_setting(self, "folds", at_least(2))
        check_setting(self, "tol", NOT_NEGATIVE)
        check_setting(self, "members", ("a list of Member, one at least, or None", _may_be_averaged))
        index = row_ids(X)
        X = check_features(self, X, reset=True)
        gold = by_row(gold, index, y)
        said = with_classes_of(gold, check_annotations(y, len(X), index=index))
        check_classes(said)
        weight = check_weight(sample_weight, X)
        given = TrainingData(said, gold_codes(gold, said), weight, fingerprint(X)).counting()
        with opened(self.engine) as engine:
            return self._fit(X, given, callback, engine, Checkpoint.of(checkpoint, self, given))

    def _fit(
        self, X: Array, given: TrainingData, callback: Progress | None, engine: Engine, checkpoint: Checkpoint
    ) -> Self:
        """Weigh members and fit them to checked input."""
        n_classes, settings = given.said.n_classes, self._with_one_seed()
        plan = Plan.of(settings, given)
        if isinstance(engine, Serial):
            X = RowCache.of(X, np.union1d(plan.informed, typical_rows(len(X))))
        chosen = default_members(n_classes) if self.members is None else list(self.members)
        views = settings._views(chosen, X, given, checkpoint)
        parts = _parts(views)
        if self.members is None and parts >= WITHOUT_PARTS:
            chosen = [member for member in chosen if member.map != "spectral"]
        build = partial(settings._candidates, X=X, given=given, views=views, engine=engine)
        at_once = plan.many and not getattr(X, "is_cuda", False)  # a GPU is busy with one
        clock = Clock(callback, plan.n_fits(chosen, n_classes), at_once)
        in_line = plan.many and n_classes > 2
        trials = Trials(
            partial(build, rows=plan.rows), plan.folds, len(plan.rows), in_line, clock, checkpoint
        )
        selection = _weighed(chosen, trials, plan, n_classes, parts)
        before = _starts(trials, plan, given.said)
        candidates = build(selection.members, rows=plan.informed)
        if plan.many:
            for candidate in candidates:
                candidate.estimator.tol = max(candidate.estimator.tol, TOL_OF_MANY)
        clock.total = clock.done + len(candidates)
        fits = [
            partial(candidate.fit, given, checkpoint.step(f"fit-{m}"), before.get(member))
            for m, (member, candidate) in enumerate(zip(selection.members, candidates, strict=True))
        ]
        self.members_ = list(clock.each(fits))
        self.selection_, self.weights_ = selection, selection.weights
        self._set_answers(X, given, checkpoint)
        return self

    def _with_one_seed(self) -> Self:
        """Return the same with a number as ``random_state``, so that members with one map see items alike."""
        settings = copy.copy(self)
        if not isinstance(self.random_state, Integral):
            settings.random_state = int(check_random_state(self.random_state).randint(2**31 - 1))
        return settings

    def _set_answers(self, X: Array, given: TrainingData, checkpoint: Checkpoint = NO_CHECKPOINT) -> None:
        first = self.members_[0]
        self.n_iter_ = max(member.n_iter_ for member in self.members_)
        self.classes_, self.annotators_ = first.classes_, first.annotators_
        self.posterior_ = self._consensus(X, given, checkpoint)

    def update(self, X: Any, y: Any) -> Self:
        """Learn from labels that came in since the fit, as `CrowdClassifier.update` does.

        Members keep their weights: to weigh them anew, fit.
        """
        check_is_fitted(self)
        index = row_ids(X)
        X = check_features(self, X, reset=False)
        new = self._new_labels(y, len(X), index)
        # Copies, so that an update that fails at one member leaves all of them as they were.
        with opened(self.engine) as engine:
            self.members_ = [copy.copy(member)._update(X, new, None, engine) for member in self.members_]
        self._set_answers(X, self.members_[0]._given)
        return self

    def predict_proba(self, X: Any, return_interval: bool = False, level: float = 0.9) -> Any:
        """p(z | x) of each item, (n_items, n_classes); with limits if asked, see `CrowdClassifier`."""
        X = self._checked(X)
        if return_interval:
            return self._mixture("_class_interval", X, self.selection_.on_truth, level)
        return self._ask("_prob", X, self.selection_.on_truth)

    def posterior(self, X: Any, y: Any, unknown: str = "error") -> Array:
        """p(z | x, labels) of each item: (n_items, n_classes)."""
        said = self._known_labels(X, y, unknown)
        return self._consensus(self._checked(X), TrainingData.labels(said.only(said.counts > 0)))

    def expertise(
        self, X: Any, annotators: Any = None, return_interval: bool = False, level: float = 0.9
    ) -> Any:
        """Probability that each annotator is right on each item, see `CrowdClassifier.expertise`."""
        X = self._checked(X)
        rows = self.members_[0]._rows_of(annotators)
        if return_interval:
            return self._mixture("_expertise_interval", X, self.weights_, level, rows)
        return self._ask("_expertise", X, self.weights_, rows)

    def ranking(self, X: Any = None, level: float = 0.9) -> Ranking:
        """Rank annotators by expertise averaged over items, see `CrowdClassifier.ranking`."""
        check_is_fitted(self)
        X = None if X is None else self._checked(X)
        answers = [member._average_expertise(member._some_items(X), level) for member in self.members_]
        n_labels = self.members_[0]._given.said.labels_per_annotator
        return Ranking.of(self.annotators_, mixture(self.weights_, answers, level), n_labels, level)

    def confusion(self, annotator: Any) -> Array:
        """p(label | truth) of one annotator: (n_classes, n_classes)."""
        check_is_fitted(self)
        answers = np.array([member.confusion(annotator) for member in self.members_])
        return np.tensordot(self.weights_, answers, axes=1)

    def log_predictive(self, X: Any, y: Any) -> Array:
        """log p(labels | x) of each item under the average of the members: (n_items,)."""
        said = self._known_labels(X, y, "population")
        parts = [
            logsumexp(answers, axis=0, b=self.weights_[:, None])
            for answers in self._answers("_log_predictive", self._checked(X), TrainingData.labels(said))
        ]
        return np.concatenate(parts)

    # --- inside, on checked input ------------------------------------------------------------------

    def _voices(self, X: Any, said: Any) -> list[Voice]:
        """Members that count, the heaviest first."""
        order = [m for m in np.argsort(-self.weights_) if self.weights_[m] >= LEAST_VOICE] or [0]
        total = self.weights_[order].sum()
        given = TrainingData.labels(self._known_labels(X, said, "population"))
        items = [seen.on_host for seen in self._seen_by(self._checked(X), given)]
        return [Voice(float(self.weights_[m] / total), self.members_[m], items[m]) for m in order]

    def _seen_by(self, X: Array, given: TrainingData | None) -> list[Items]:
        """Items as each member sees them; what truths with the same map see is made once.

        After an update members with the same map may see other directions: some were fitted anew.
        """
        of_map: dict[tuple[str, int], Items] = {}
        of_view: dict[tuple[str, int], Items] = {}
        found = []
        for member, model in zip(self.selection_.members, self.members_, strict=True):
            directions = model._learnt.seen.directions
            of_truth, of_both = (member.map, directions), (member.view, directions)
            if of_both not in of_view:
                of_view[of_both] = model._learnt.items(X, given, of_map.get(of_truth))
                of_map.setdefault(of_truth, of_view[of_both])
            found.append(of_view[of_both])
        return found

    def _answers(
        self, method: str, X: Array, given: TrainingData | None = None, *args: Any
    ) -> Iterator[Array]:
        """What each member answers, (n_members, …), a block of items after the other."""

        def of_block(rows: slice) -> Array:
            seen = self._seen_by(X[rows], None if given is None else given[rows])
            return np.array(
                [getattr(m, method)(items, *args) for m, items in zip(self.members_, seen, strict=True)]
            )

        return block_by_block(of_block, X)

    def _ask(self, method: str, X: Array, weights: Array, *args: Any) -> Array:
        """Average what the members that count answer; on a GPU, there."""

        def of_block(rows: slice) -> Array:
            asked = zip(weights, self.members_, self._seen_by(X[rows], None), strict=True)
            return to_numpy(sum(w * getattr(m, method)(items, *args) for w, m, items in asked if w > 0))

        return np.concatenate(list(block_by_block(of_block, X)))

    def _mixture(self, method: str, X: Array, weights: Array, level: float, *args: Any) -> Any:
        parts = self._answers(method, X, None, level, *args)
        limits = [mixture(weights, list(answers), level) for answers in parts]
        return tuple(np.concatenate(part) for part in zip(*limits, strict=True))

    def _consensus(self, X: Array, given: TrainingData, checkpoint: Checkpoint = NO_CHECKPOINT) -> Array:
        """p(z | x, labels), or p(z | x) where there are none."""
        rows = np.flatnonzero(given.informed)
        if len(rows) < len(X):
            on_truth = self.selection_.on_truth
            found = checkpoint.in_pieces("consensus", lambda X, _: self._ask("_prob", X, on_truth), X)
        else:
            found = np.zeros((len(X), given.said.n_classes))
        if len(rows):
            answers = self._answers("_posterior", X[rows], given[rows])
            on_labelled = self.selection_.on_labelled
            found[rows] = np.concatenate([np.tensordot(on_labelled, part, axes=1) for part in answers])
        return found

    def _views(
        self, chosen: list[Member], X: Array, given: TrainingData, checkpoint: Checkpoint
    ) -> dict[str, Preprocessing]:
        """What members make of the items, learnt once for all that see them alike, and for all folds.

        Before any label is held out: expertise sees of x what all labels allow.
        """
        views: dict[str, Preprocessing] = {}
        sample = cache(partial(enough_of, X, 0))

        def view(member: Member) -> Preprocessing:
            model = member.build(self, given.said.n_classes)
            if member.map in views:
                return views[member.map].for_annotators(model.annotator_map, X, sample())
            return Preprocessing.of_items(model, X, directions_of(model.annotators, given.said), sample())

        for member in sorted(chosen, key=lambda member: member.clusters):
            if member.view not in views:
                views[member.view] = checkpoint.remember(f"view-{member.view}", partial(view, member))
        return views

    def _candidates(
        self,
        chosen: list[Member],
        X: Array,
        given: TrainingData,
        views: dict[str, Preprocessing],
        rows: Rows,
        engine: Engine,
    ) -> list[Candidate]:
        """Members ready to be fitted to some of the items; those with the same view share it."""
        candidates, seen = [], {}
        for member in chosen:
            model = member.build(self, given.said.n_classes)
            learnt = PreparedModel.of_items(model, X, given.said, views[member.view])
            if member.view not in seen:
                seen[member.view] = (
                    learnt.kept(X, rows, given, engine),
                    learnt.items(X[typical_rows(len(X))]).on_host,
                )
            candidates.append(Candidate(model, learnt, *seen[member.view]))
        return candidates


def _may_be_averaged(members: Any) -> bool:
    is_list = isinstance(members, (list, tuple)) and len(members) > 0
    return members is None or (is_list and all(isinstance(each, Member) for each in members))


def _weighed(chosen: list[Member], trials: Trials, plan: Plan, n_classes: int, parts: float) -> Selection:
    """Weigh members, and leave out those not worth a fit."""
    if plan.in_stages:
        return _in_stages(chosen, trials, n_classes, parts).condensed(LEAST_WEIGHT)
    selection = Selection.of(chosen, trials.foretold(chosen), n_classes, parts)
    return selection.condensed(LEAST_WEIGHT) if plan.many else selection.with_a_say()


def _in_stages(chosen: list[Member], trials: Trials, n_classes: int, parts: float) -> Selection:
    """Weigh members of many items: which kind of expertise first, then which maps, with that kind."""
    first = kinds(n_classes)
    told = trials.foretold(first)
    best = int((told.weight @ told.log_lik).argmax())
    maps = {member.map for member in chosen}
    others = [member for member in on_other_maps(first[best], n_classes) if member.map in maps]
    on_maps = HeldOutScores.joined([told.of(best), trials.foretold(others)], axis=1)
    selection = Selection.of([first[best], *others], on_maps, n_classes, parts)
    return replace(selection, varying=gain_of_varying(first, told), left_out=len(first) - 1)


def _starts(trials: Trials, plan: Plan, said: Annotations) -> dict[Member, Solution]:
    """Return where members' fits to all of many items start: from their trials.

    Of few items they start anew, and of very many they find a better start by themselves.
    """
    if not plan.many or len(plan.informed) > MANY:
        return {}
    labels = said.labels_per_annotator
    return {
        member: for_annotators(fitted, np.arange(len(labels)), labels > 0)
        for member, fitted in trials.fitted.items()
    }


def _parts(views: dict[str, Preprocessing]) -> float:
    """Sixth smallest eigenvalue of the graph, or NaN where no member has one."""
    if "spectral" not in views:
        return np.nan
    eigenvalues = views["spectral"].features.eigenvalues
    return float(eigenvalues[min(5, len(eigenvalues) - 1)])
