"""AutoCrowdClassifier: nothing to tune. Members averaged by how well each foretells held-out annotations."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from whoknows._array import Array
from whoknows.estimators.answers import Answers
from whoknows.estimators.checks import (
    check_annotations,
    check_classes,
    check_features,
    check_weight,
    row_ids,
)
from whoknows.estimators.crowd import CrowdClassifier
from whoknows.estimators.given import Given, fingerprint
from whoknows.estimators.gold import gold_codes, with_classes_of
from whoknows.estimators.intervals import mixture
from whoknows.estimators.learnt import directions_of
from whoknows.estimators.ranking import Ranking
from whoknows.estimators.seen import Seen
from whoknows.estimators.stacking import weigh
from whoknows.estimators.suggest import Voice
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators
from whoknows.model.maps import LinearMap, Map, RbfMap, SpectralMap
from whoknows.model.truth import LogisticTruth

# Of more than two classes members are point estimates, each as sure of itself as its prior variance makes it:
# what then foretells labels best need not be right most often, and the average over members usually is.
EVEN_OF_POINTS = 0.25
LEAST_VOICE = 0.01  # weight of a member whose word on whom to ask is taken


@dataclass(frozen=True)
class Member:
    """One model among those averaged.

    Attributes
    ----------
    map : str
        "linear", "rbf 0.5", "rbf 2" or "spectral".
    variance : float
        Prior variance of the classifier's weights.
    varies_with_x : bool
        Whether expertise may depend on the item.
    two_coin : bool
        Whether it may differ from class to class; of more than two classes it always may.
    """

    map: str
    variance: float
    varies_with_x: bool
    two_coin: bool = True

    def build(
        self, settings: AutoCrowdClassifier, n_classes: int, standardize: bool = True
    ) -> CrowdClassifier:
        """Return the estimator, not fitted yet."""
        kind = ConfusionAnnotators if n_classes > 2 or self.two_coin else BernoulliAnnotators
        return CrowdClassifier(
            LogisticTruth(variance=self.variance),
            kind(varies_with_x=self.varies_with_x),
            MAPS[self.map],
            max_iter=settings.max_iter,
            tol=settings.tol,
            standardize=standardize,
            random_state=settings.random_state,
        )


MAPS: dict[str, Map] = {
    "linear": LinearMap(),
    "rbf 0.5": RbfMap(0.5),
    "rbf 2": RbfMap(2.0),
    "spectral": SpectralMap(),
}
WITHOUT_PARTS = 0.2  # sixth eigenvalue of a graph that has no clusters or thread to follow
ALIKE = 5.0  # ratio of the ninth to the first tenth of features' ranges, up to which they share one unit


def share_one_unit(X: Array) -> bool:
    """Whether features have ranges alike, as pixels and embeddings do: then raw distances mean something."""
    ranges = np.ptp(X, axis=0)
    ranges = ranges[ranges > 0]
    return len(ranges) > 0 and bool(np.quantile(ranges, 0.9) <= ALIKE * np.quantile(ranges, 0.1))


def default_members(n_classes: int) -> list[Member]:
    """Maps × prior variances, with expertise that varies with x and that does not."""
    if n_classes == 2:
        grid = [*product(MAPS, (3.0, 30.0), (True,), (False,)), *product(MAPS, (10.0,), (True, False))]
    else:
        grid = [*product(MAPS, (3.0, 30.0, 100.0), (False,)), *product(MAPS, (30.0,), (True,))]
    return [Member(*cell) for cell in grid]


@dataclass(frozen=True)
class Selection:
    """What was chosen, and on what evidence; print it.

    Attributes
    ----------
    members : list of Member
    weights : (n_members,)
    log_lik : (n_items, n_members)
        Log-likelihood of each held-out item's labels under each member; no rows where nothing was held out.
    varying : (gain, error)
        How much better members whose expertise varies with x foretell a held-out item's labels than the same
        members without, in log-likelihood, and the standard error of that; NaN where it cannot be told.
    parts : float
        Sixth smallest eigenvalue of the graph over all items: near zero where they fall into parts.
    """

    members: list[Member]
    weights: Array
    log_lik: Array
    varying: tuple[float, float] = (np.nan, np.nan)
    parts: float = np.nan

    @property
    def held_out(self) -> Array:
        """Mean log-likelihood of a held-out item's labels under each member, or NaN: (n_members,)."""
        return self.log_lik.mean(axis=0) if len(self.log_lik) else np.full(len(self.weights), np.nan)

    def share(self, **wanted: Any) -> float:
        """Weight of the members with these settings, e.g. ``share(varies_with_x=True)``."""
        return float(sum(w for w, m in zip(self.weights, self.members, strict=True) if _is(m, wanted)))

    def __str__(self) -> str:
        """Say in words and numbers what carries the weight."""
        return "\n".join([*self._sentences(), "", *self._table()])

    def _sentences(self) -> Iterator[str]:
        if not len(self.log_lik):
            yield "No selection: every member has the same weight."
            return
        n_items = len(self.log_lik)
        yield f"Weights rest on the labels of {n_items} items, each held out once; no truth was used."
        graph, even = self.share(map="spectral"), np.mean([m.map == "spectral" for m in self.members])
        if self.parts >= WITHOUT_PARTS:
            yield f"The items fall into no parts (graph eigenvalue {self.parts:.2f}): no graph was tried."
        elif np.ptp(self.weights) < 0.5 / len(self.weights):
            yield "Not enough labels to tell the members apart: they count alike."
        elif graph > even:
            yield f"The graph carries {graph:.0%}: unlabelled items matter here."
        else:
            yield f"The graph carries {graph:.0%}: unlabelled items add little here."
        gain, error = self.varying
        if np.isfinite(gain):
            finding = (
                "expertise varies with x" if gain > 2 * error else "no sign that expertise varies with x"
            )
            better = f"{abs(gain):.3f} {'better' if gain > 0 else 'worse'} (standard error {error:.3f})"
            yield f"With expertise that varies with x an item's labels are foretold {better}: {finding}."

    def _table(self) -> Iterator[str]:
        yield f"{'weight':>7}{'held out':>10}  member"
        held_out = self.held_out
        for i in np.argsort(-self.weights)[:8]:
            m = self.members[i]
            expertise = "varies with x" if m.varies_with_x else "constant"
            member = f"{m.map}, variance {m.variance:g}, expertise {expertise}"
            yield f"{self.weights[i]:>7.1%}{held_out[i]:>10.3f}  {member}"


def _is(member: Member, wanted: dict[str, Any]) -> bool:
    return all(getattr(member, name) == value for name, value in wanted.items())


class AutoCrowdClassifier(Answers, BaseEstimator):
    """Like `CrowdClassifier`, with nothing to choose: several maps, priors and annotator models, averaged.

    Each member is fitted without the labels of a third of the labelled items, three times over, and asked
    for the probability of the labels it did not see. Members that foretell them well get the weight; no
    truth is needed. ``selection_`` says what was chosen and on what evidence.

    Parameters
    ----------
    selection : bool
        False: every member counts alike, in a quarter of the time.
    folds : int
        Parts the labelled items are cut into.
    members : list of Member, optional
        Models to average; None takes maps × prior variances × kinds of expertise.
    max_iter, tol, random_state
        As in `CrowdClassifier`.

    Attributes
    ----------
    classes_, annotators_, posterior_
        As in `CrowdClassifier`.
    members_ : list of CrowdClassifier
    weights_ : (n_members,)
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
        tol: float = 1e-4,
        random_state: Any = 0,
    ) -> None:
        self.selection = selection
        self.folds = folds
        self.members = members
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, gold: Any = None, sample_weight: Any = None) -> Self:
        """Learn from features and who said what; everything as in `CrowdClassifier.fit`."""
        index = row_ids(X)
        X = check_features(self, X, reset=True)
        said = with_classes_of(gold, check_annotations(y, len(X), index=index))
        check_classes(said)
        weight = check_weight(sample_weight, X)
        given = Given(said, gold_codes(gold, said), weight, fingerprint(X)).counting()
        chosen = default_members(said.n_classes) if self.members is None else list(self.members)
        views = self._views(chosen, X, given)
        parts = _parts(views)
        if self.members is None and parts >= WITHOUT_PARTS:
            chosen = [member for member in chosen if member.map != "spectral"]
        held_out = self._held_out(chosen, X, given, views) if self.selection else np.zeros((0, len(chosen)))
        spectral = np.array([member.map == "spectral" for member in chosen])
        weights = weigh(held_out, spectral, EVEN_OF_POINTS if said.n_classes > 2 else 0.0)
        members = [self._fit_member(m, X, given, views) for m in chosen]
        self.weights_, self.members_ = weights, members
        varying = _gain_of_varying(chosen, held_out)
        self.selection_ = Selection(chosen, self.weights_, held_out, varying, parts)
        self._set_answers()
        return self

    def _set_answers(self) -> None:
        first = self.members_[0]
        self.n_iter_ = max(member.n_iter_ for member in self.members_)
        self.classes_, self.annotators_ = first.classes_, first.annotators_
        self.posterior_ = self._average([m.posterior_ for m in self.members_])

    def update(self, X: Any, y: Any) -> Self:
        """Learn from labels that came in since the fit, as `CrowdClassifier.update` does.

        Members keep their weights: to weigh them anew, fit.
        """
        check_is_fitted(self)
        index = row_ids(X)
        X = check_features(self, X, reset=False)
        new = self._new_labels(y, len(X), index)
        # Copies, so that an update that fails at one member leaves all of them as they were.
        self.members_ = [copy.copy(member)._update(X, new) for member in self.members_]
        self._set_answers()
        return self

    def predict_proba(self, X: Any, return_interval: bool = False, level: float = 0.9) -> Any:
        """p(z | x) of each item, (n_items, n_classes); with limits if asked, see `CrowdClassifier`."""
        if return_interval:
            answers = self._answers("predict_proba", X, True, level)
            return mixture(self.weights_, answers, level)
        return self._ask("predict_proba", X)

    def posterior(self, X: Any, y: Any, unknown: str = "error") -> Array:
        """p(z | x, labels) of each item: (n_items, n_classes)."""
        return self._ask("posterior", X, self._labels_of(X, y), unknown)

    def expertise(
        self, X: Any, annotators: Any = None, return_interval: bool = False, level: float = 0.9
    ) -> Any:
        """Probability that each annotator is right on each item, see `CrowdClassifier.expertise`."""
        if return_interval:
            answers = self._answers("expertise", X, annotators, True, level)
            return mixture(self.weights_, answers, level)
        return self._ask("expertise", X, annotators)

    def ranking(self, X: Any = None, level: float = 0.9) -> Ranking:
        """Rank annotators by expertise averaged over items, see `CrowdClassifier.ranking`."""
        check_is_fitted(self)
        X = None if X is None else check_features(self, X, reset=False)
        answers = [member._average_expertise(member._some_items(X), level) for member in self.members_]
        n_labels = self.members_[0]._given.said.labels_per_annotator
        return Ranking.of(self.annotators_, mixture(self.weights_, answers, level), n_labels, level)

    def confusion(self, annotator: Any) -> Array:
        """p(label | truth) of one annotator: (n_classes, n_classes)."""
        check_is_fitted(self)
        return self._average([member.confusion(annotator) for member in self.members_])

    def log_predictive(self, X: Any, y: Any) -> Array:
        """log p(labels | x) of each item under the average of the members: (n_items,)."""
        answers = np.array(self._answers("log_predictive", X, self._labels_of(X, y)))
        return np.asarray(logsumexp(answers, axis=0, b=self.weights_[:, None]))

    def _voices(self, X: Any, said: Any) -> list[Voice]:
        """Members that count, the heaviest first."""
        order = [m for m in np.argsort(-self.weights_) if self.weights_[m] >= LEAST_VOICE] or [0]
        total = self.weights_[order].sum()
        return [
            Voice(
                float(self.weights_[m] / total), self.members_[m], self.members_[m]._voices(X, said)[0].items
            )
            for m in order
        ]

    def _answers(self, method: str, X: Any, *args: Any) -> list[Any]:
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        return [getattr(member, method)(X, *args) for member in self.members_]

    def _ask(self, method: str, X: Any, *args: Any) -> Array:
        return self._average(self._answers(method, X, *args))

    def _average(self, answers: list[Any]) -> Array:
        return np.tensordot(self.weights_, np.array(answers), axes=1)

    def _fit_member(
        self, member: Member, X: Array, given: Given, views: dict[str, Seen], spread_too: bool = True
    ) -> CrowdClassifier:
        seen = views[member.map]
        model = member.build(self, given.said.n_classes, seen.scaler.with_std)
        return model._fit(X, given, seen=seen, spread_too=spread_too)

    def _views(self, chosen: list[Member], X: Array, given: Given) -> dict[str, Seen]:
        """What each map makes of the items, learnt once for all members and folds.

        Before any label is held out: expertise sees of x what all labels allow.
        """
        views: dict[str, Seen] = {}
        for member in {m.map: m for m in chosen}.values():
            standardize = not (member.map == "spectral" and share_one_unit(X))
            model = member.build(self, given.said.n_classes, standardize)
            views[member.map] = Seen.of_items(model, X, directions_of(model.annotators, given.said))
        return views

    def _held_out(self, chosen: list[Member], X: Array, given: Given, views: dict[str, Seen]) -> Array:
        """log p(labels of i | x_i) under each member fitted without them: (n_labelled, n_members)."""
        said = given.said
        labelled = np.flatnonzero(said.labelled)
        order = check_random_state(self.random_state).permutation(labelled)
        parts = []
        for fold in np.array_split(order, min(self.folds, len(order))):
            without = given.without(fold)
            if without.said.n_annotations == 0:
                continue
            fits = (self._fit_member(m, X, without, views, spread_too=False) for m in chosen)
            parts.append(np.column_stack([fit.log_predictive(X[fold], said[fold]) for fit in fits]))
        return np.vstack(parts) if parts else np.zeros((0, len(chosen)))


def _parts(views: dict[str, Seen]) -> float:
    """Sixth smallest eigenvalue of the graph, or NaN where no member has one."""
    if "spectral" not in views:
        return np.nan
    eigenvalues = views["spectral"].features.eigenvalues
    return float(eigenvalues[min(5, len(eigenvalues) - 1)])


def _gain_of_varying(members: list[Member], log_lik: Array) -> tuple[float, float]:
    """Mean over items, and its standard error, of what x-dependent expertise adds, twin against twin."""
    varying = {(m.map, m.variance): i for i, m in enumerate(members) if m.varies_with_x}
    constant = {(m.map, m.variance): i for i, m in enumerate(members) if not m.varies_with_x}
    twins = sorted(varying.keys() & constant.keys())
    if not twins or len(log_lik) < 2:
        return np.nan, np.nan
    of = {
        name: log_lik[:, [table[key] for key in twins]] for name, table in (("x", varying), ("1", constant))
    }
    gain = logsumexp(of["x"], axis=1) - logsumexp(of["1"], axis=1)
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))
