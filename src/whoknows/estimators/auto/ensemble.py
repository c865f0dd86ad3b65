"""AutoCrowdClassifier: nothing to tune. An ensemble weighted by held-out annotations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, check_random_state

from whoknows._array import Array, Rows
from whoknows.estimators.auto.cross_validation import MOST_SCORED, TOL_OF_MANY, MemberFits, Progress, Watch, split_items
from whoknows.estimators.auto.members import (
    TREES,
    Member,
    default_members,
    kinds,
    on_all_maps,
    trees_can_learn,
    with_trees,
)
from whoknows.estimators.auto.reading import corrected, labels_of, most_telling, read_ensemble
from whoknows.estimators.auto.selection import WITHOUT_PARTS, HeldOutScores, Selection, gain_of_varying
from whoknows.estimators.auto.views import Views
from whoknows.estimators.base import CrowdClassifierMixin, checkpoint_of
from whoknows.estimators.classifier import CrowdClassifier, start_of_update
from whoknows.estimators.fitted_pair import FittedPair, typical_rows
from whoknows.estimators.inputs.resolve import one_accuracy_is_enough
from whoknows.estimators.inputs.rows import with_cache
from whoknows.estimators.inputs.training_data import TrainingData, check_training_input
from whoknows.estimators.inputs.validation import FeatureRows, Gold, Labels, RandomState, Unknown, all_or_nothing
from whoknows.estimators.reading import Reading, Source
from whoknows.fit.engines import Engine, Serial, opened
from whoknows.fit.items import Items
from whoknows.model.settings import NOT_NEGATIVE, YES_OR_NO, Rules, at_least, check_values

LEAST_WEIGHT = 0.75  # relative to the largest, of a member worth a fit to many items
LEAST_SHARE = 0.02  # of the weight, for a member that has been fitted to many items
MANY_ITEMS = 100_000  # labelled or not, from which their features take most of the time of a fit

Select = Callable[[list[Member], HeldOutScores], Selection]


def _are_members(members: Any) -> bool:
    is_list = isinstance(members, (list, tuple)) and len(members) > 0
    return members is None or (is_list and all(isinstance(each, Member) for each in members))


RULES: Rules = {
    "selection": YES_OR_NO,
    "folds": at_least(2),
    "tol": NOT_NEGATIVE,
    "members": ("a list of Member, one at least, or None", _are_members),
}


@dataclass(eq=False, repr=False)
class AutoCrowdClassifier(CrowdClassifierMixin):
    """Like `CrowdClassifier`, with nothing to choose: several maps, priors and annotator models, averaged.

    Each member is fitted without the labels of one third of the labelled items, three times, and scored by
    the held-out log-likelihood of those labels. (With more than 5 000 items, or 2 000 annotators, once, on
    5 000 of the items; fewer members are tried, and those with little weight are dropped.) The scores
    determine the ensemble weights; no truth is needed. ``selection_`` says what was selected and on what
    evidence.

    Parameters
    ----------
    selection : bool
        False: no label is held out, and all members keep their prior weights; in a quarter of the time.
    folds : int
        Number of folds of the labelled items.
    members : list of Member, optional
        Models to average; None takes maps × prior variances × kinds of expertise.
    max_iter, tol, random_state, groups, engine, device
        As in `CrowdClassifier`; members stop at the latest at a ``tol`` of 1e-4 for more than two classes,
        and of 5e-5 if a fold has 300 items or more.

    Attributes
    ----------
    classes_, annotators_, posterior_, worse_than_chance_
        As in `CrowdClassifier`.
    members_ : list of CrowdClassifier
        The fitted members, in the order of ``selection_.members``; their pairs are in ``pairs_``.
    weights_ : (n_members,)
        Ensemble weights for expertise; those for the truth are ``selection_.on_labelled`` (items with labels)
        and ``selection_.on_truth`` (items without).
    selection_ : Selection
        Print it.
    n_iter_ : int
        Largest number of iterations of a member.
    """

    selection: bool = True
    folds: int = 3
    members: list[Member] | None = None
    _: KW_ONLY
    max_iter: int = 200
    tol: float = 1e-6
    random_state: RandomState = 0
    groups: Mapping[Hashable, Hashable] | None = None
    engine: object = None
    device: str | None = None

    @all_or_nothing
    def fit(
        self,
        X: FeatureRows,
        y: Labels,
        callback: Progress | None = None,
        *,
        gold: Gold | None = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | PathLike[str] | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Learn from features and annotations; parameters as in `CrowdClassifier.fit`.

        ``callback`` (fits done, fits in total, seconds) is called after the fit of each member in each fold,
        including those read from a ``checkpoint``; ``watch`` (member, iteration, bound, seconds) after each
        iteration of these fits; with many items, from several threads.
        """
        check_values(self, RULES)
        X, data = check_training_input(self, X, y, gold, sample_weight)
        data = data.without_zero_weights()
        with opened(self.engine) as engine:
            return self._fit(X, data, engine, checkpoint_of(self, checkpoint, data), callback=callback, watch=watch)

    def _fit(self, X: Array, data: TrainingData, engine: Engine, checkpoint: Any, **told: Any) -> Self:
        """Weight the members, and fit them to validated input."""
        n_classes, settings = data.annotations.n_classes, _with_one_seed(self)
        splits = split_items(settings, data, X.shape[1])
        if isinstance(engine, Serial):
            X = with_cache(X, np.union1d(splits.informed, typical_rows(len(X))))
        members = _default_members(data) if self.members is None else list(self.members)
        views = Views(settings, X, data, checkpoint)
        parts = _parts(views, members)
        if self.members is None and parts >= WITHOUT_PARTS:
            members = [member for member in members if not member.has_graph]
        n_fits = splits.n_fits(members, n_classes)
        fits = MemberFits(settings, X, data, views, splits, engine, checkpoint, n_fits, **told)
        on_host = not getattr(X, "is_cuda", False)
        trees = self.members is None and on_host and trees_can_learn(len(splits.informed), X.shape[1])
        selection = _select(members, fits, trees, parts)
        self.pairs_ = fits.fit(selection.members)
        self._seed, self.selection_, self._training_data = settings.random_state, selection, data
        self._set_attributes()
        self._read(X, fits.scored_rows, engine)
        self.posterior_ = self._consensus(X, data, checkpoint)
        self._find_worse_than_chance(X)
        return self

    def _read(self, X: Array, scored: Rows, engine: Engine) -> None:
        """Find how the average posterior of the members is read; members are fitted to what gold corrects."""

        def posterior(rows: Rows, data: TrainingData) -> Array:
            return self._average_posterior(X[rows], data)

        def expertise(rows: Rows) -> Array:
            right = partial(FittedPair.expertise, rows=np.arange(len(self.annotators_)))
            return self._average(right, X[rows], self.weights_)

        def features(rows: Rows) -> Array:
            return self._features(X[rows])

        def chance(rows: Rows) -> float:
            pair = self.pairs_[int(np.argmax(self.selection_.on_labelled))]
            items = pair.prepared.items(X[rows], replace(data, gold=None)[rows])
            return Source(pair.prepared.model, pair.solution).chance_of_item_effect(items.on_host)

        data = self._training_data
        about = posterior, expertise, features, chance
        self._reading = read_ensemble(data, self.pairs_, self.selection_, scored, *about)
        if self._reading.correction is not None:
            rows = np.flatnonzero(data.informed)
            prob = self._consensus(X[rows], data[rows])
            self.pairs_ = [
                self._corrected(member, pair, X, rows, prob, engine)
                for member, pair in zip(self.selection_.members, self.pairs_, strict=True)
            ]

    def _corrected(
        self, member: Member, pair: FittedPair, X: Array, rows: Rows, prob: Array, engine: Engine
    ) -> FittedPair:
        """Return a member fitted to the posterior of rows of X; trees would have to be grown again."""
        if member.map == TREES:
            return pair
        items = pair.prepared.chunks(X, rows, self._training_data, engine)
        return corrected(pair, items, prob, member.build(self, prob.shape[1]))

    def _features(self, X: Array) -> Array:
        """Features of the member that says most about the truth of new items."""
        return self.pairs_[most_telling(self.selection_)].prepared.items(X).on_host.X_truth

    def _set_attributes(self) -> None:
        """Set the attributes that follow from the selection, the fitted pairs and the training data."""
        annotations, pairs = self._training_data.annotations, self.pairs_
        self.weights_ = self.selection_.weights
        self.n_features_in_ = pairs[0].prepared.preprocessing.n_features
        self.n_iter_ = max(len(pair.history) for pair in pairs)
        self.classes_, self.annotators_ = annotations.labels, annotations.annotators

    @property
    def _truth_weights(self) -> Array:  # type: ignore[override]
        return self.selection_.on_truth

    @property
    def members_(self) -> list[CrowdClassifier]:
        """The fitted members as estimators of their own; they have no ``posterior_``."""
        check_is_fitted(self)
        members = [member.build(self, len(self.classes_)) for member in self.selection_.members]
        for member, pair in zip(members, self.pairs_, strict=True):
            member._pair, member._training_data = pair, self._training_data
            member._set_attributes()
        return members

    def update(self, X: FeatureRows, y: Labels) -> Self:
        """Learn from labels that came in since the fit, as `CrowdClassifier.update` does.

        Members keep their weights; fit again to select once more.
        """
        X, data = self._updated_data(X, y)
        with opened(self.engine) as engine:
            pairs = [
                self._updated(member, pair, X, data, engine)
                for member, pair in zip(self.selection_.members, self.pairs_, strict=True)
            ]
            self.pairs_, self._training_data = pairs, data
            self._set_attributes()
            self._read(X, np.arange(0), engine)
        self.posterior_ = self._consensus(X, data)
        self._find_worse_than_chance(X)
        return self

    def _updated(self, member: Member, pair: FittedPair, X: Array, data: TrainingData, engine: Engine) -> FittedPair:
        settings = member.build(self, data.annotations.n_classes)
        settings.random_state = self._seed
        if self.selection and data.informed.sum() > MOST_SCORED:
            settings.tol = max(settings.tol, TOL_OF_MANY)
        prepared, before = start_of_update(settings, pair, self._training_data, data)
        return settings._fit_pair(X, data, engine, prepared=prepared, before=before, is_member=True)

    def posterior(self, X: FeatureRows, y: Labels, unknown: Unknown = "error") -> Array:
        """p(z | x, labels) of each item: (n_items, n_classes)."""
        annotations = self._known_annotations(X, y, unknown)
        data = TrainingData(annotations.only(annotations.counts > 0))
        return self._consensus(self._checked(X), data)

    # --- inside, on validated input ----------------------------------------------------------------

    def _items(self, X: Array, data: TrainingData | None = None, asked: Rows | None = None) -> list[Items]:
        """Items with the features of each member that is asked; features that members share are computed once."""
        by_map: dict[tuple[str, int], Items] = {}
        by_view: dict[tuple[str, int], Items] = {}
        found = []
        for m in self._numbers(asked):
            member, pair = self.selection_.members[m], self.pairs_[m]
            # After an update, members with the same map may have different numbers of directions.
            directions = pair.prepared.preprocessing.directions
            map, view = (member.map, directions), (member.view, directions)
            if view not in by_view:
                by_view[view] = pair.prepared.items(X, data, by_map.get(map))
                by_map.setdefault(map, by_view[view])
            found.append(by_view[view])
        return found

    def _consensus(self, X: Array, data: TrainingData, checkpoint: Any = None) -> Array:
        """p(z | x, labels), or p(z | x) where there are none."""
        rows, reading = np.flatnonzero(data.informed), self._reading or Reading()
        found = np.zeros((len(X), data.annotations.n_classes))
        if len(rows) < len(X):

            def ask(X: Array, _: Any = None) -> Array:
                return self._average(FittedPair.prob, X, self.selection_.on_truth)

            found = reading.doubted(ask(X) if checkpoint is None else checkpoint.in_pieces("consensus", ask, X))
        if len(rows):
            average = self._average_posterior(X[rows], data[rows])
            X_truth = None if reading.classifier is None else self._features(X[rows])
            found[rows] = reading.posterior(average, labels_of(data[rows], X_truth))
        return found

    def _average_posterior(self, X: Array, data: TrainingData) -> Array:
        """p(z | x, labels), averaged over members."""
        return self._average(lambda pair, items: pair.posterior(items).prob, X, self.selection_.on_labelled, data)


def _with_one_seed(settings: AutoCrowdClassifier) -> AutoCrowdClassifier:
    """Return the settings with an integer ``random_state``, so that members with one map share features."""
    if isinstance(settings.random_state, Integral):
        return settings
    seeded = copy.copy(settings)
    seeded.random_state = int(check_random_state(settings.random_state).randint(2**31 - 1))
    return seeded


def _default_members(data: TrainingData) -> list[Member]:
    n_classes = data.annotations.n_classes
    return default_members(n_classes, n_classes == 2 or not one_accuracy_is_enough(data.annotations))


def _select(members: list[Member], fits: MemberFits, trees: bool, parts: float) -> Selection:
    """Weight members by their held-out scores, and drop those not worth a fit."""
    n_classes, say_nothing = fits.data.annotations.n_classes, fits.features_say_nothing(members)

    def select(members: list[Member], scores: HeldOutScores) -> Selection:
        return Selection.of(members, scores, n_classes, parts, say_nothing)

    if fits.splits.in_stages:
        return _in_stages(members, fits, trees, select)
    if fits.splits.can_race:
        members, scores = fits.race(members, lambda first: select(members, first).promising)
    else:
        scores = fits.scores(members)
    if trees:
        members, scores = _with_trees(members[scores.best], members, scores, fits.scores, select)
    selection = select(members, scores)
    if fits.splits.many:
        return selection.condensed(LEAST_WEIGHT)
    return selection.with_weight(LEAST_SHARE if fits.splits.can_race else 0.0)


def _in_stages(members: list[Member], fits: MemberFits, trees: bool, select: Select) -> Selection:
    """Select for many items: the kind of expertise first, then the maps with that kind."""
    first = kinds(fits.data.annotations.n_classes, fits.X.shape[1], members[0].two_coin)
    scores = fits.scores(first)
    kind, maps = first[scores.best], {member.map for member in members}
    second = [member for member in on_all_maps(kind) if member.map in maps]
    compared = fits.compare(second)
    if trees:
        second, compared = _with_trees(kind, second, compared, fits.compare, select)
    if second[compared.best].map == "spectral":  # then more of its eigenvectors may help, too
        finest = [replace(second[compared.best], map="finest")]
        second, compared = second + finest, HeldOutScores.joined([compared, fits.compare(finest, "finest")], axis=1)
    selection = select(second, compared)
    few = len(fits.splits.compared) == len(fits.splits.informed) and len(fits.X) <= MANY_ITEMS
    selection = selection.with_weight(LEAST_SHARE) if few else selection.without_costly_maps().condensed(LEAST_WEIGHT)
    return replace(selection, varying=gain_of_varying(first, scores), left_out=selection.left_out + len(first) - 1)


def _with_trees(
    kind: Member, members: list[Member], scores: HeldOutScores, score: Callable[..., HeldOutScores], select: Select
) -> tuple[list[Member], HeldOutScores]:
    """Add trees with this kind of expertise, if coarse ones have more than an even share of the weight on truth."""
    grown = [with_trees(kind)]
    coarse = select(members + grown, HeldOutScores.joined([scores, score(grown, coarse=True)], axis=1))
    if coarse.on_truth[-1] <= 1 / len(coarse.members):
        return members, scores
    return members + grown, HeldOutScores.joined([scores, score(grown)], axis=1)


def _parts(views: Views, members: list[Member]) -> float:
    """Return the sixth smallest eigenvalue of the graph, or NaN if no member has one."""
    with_graph = [member for member in members if member.has_graph]
    if not with_graph:
        return np.nan
    features: Any = views.of(with_graph[0]).features
    return float(features.eigenvalues[min(5, len(features.eigenvalues) - 1)])
