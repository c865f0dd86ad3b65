"""AutoCrowdClassifier: nothing to tune. Members averaged by how well each foretells held-out annotations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, check_random_state

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.estimators.checks import (
    check_annotations,
    check_classes,
    check_features,
    check_weight,
    row_ids,
)
from whoknows.estimators.crowd import CrowdClassifier
from whoknows.estimators.gold import check_gold
from whoknows.estimators.seen import Seen
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators
from whoknows.model.maps import LinearMap, Map, RbfMap, SpectralMap
from whoknows.model.truth import LogisticTruth

PRIOR_LABELS = 3.0  # items' worth of weight spread evenly over the members: few labels cannot tell them apart
ROUNDS = 500  # of EM on the weights


@dataclass(frozen=True)
class Member:
    """One model among those averaged.

    Attributes
    ----------
    map : str
        "linear", "rbf 0.5", "rbf 2", "spectral" or "spectral, raw units".
    variance : float
        Prior variance of the classifier's weights.
    varies_with_x : bool
        Whether expertise may depend on the item.
    """

    map: str
    variance: float
    varies_with_x: bool

    def build(self, settings: AutoCrowdClassifier, n_classes: int) -> CrowdClassifier:
        """Return the estimator, not fitted yet."""
        chosen, standardize = MAPS[self.map]
        one_coin = n_classes == 2 and self.varies_with_x
        kind = BernoulliAnnotators if one_coin else ConfusionAnnotators
        return CrowdClassifier(
            LogisticTruth(variance=self.variance),
            kind(varies_with_x=self.varies_with_x),
            chosen,
            max_iter=settings.max_iter,
            tol=settings.tol,
            standardize=standardize,
            random_state=settings.random_state,
        )


MAPS: dict[str, tuple[Map, bool]] = {
    "linear": (LinearMap(), True),
    "rbf 0.5": (RbfMap(0.5), True),
    "rbf 2": (RbfMap(2.0), True),
    "spectral": (SpectralMap(), True),
    "spectral, raw units": (SpectralMap(), False),
}


def default_members(n_classes: int) -> list[Member]:
    """Maps × prior variances, with expertise that varies with x and that does not."""
    if n_classes == 2:
        grid = [*product(MAPS, (3.0, 10.0, 30.0), (True,)), *product(MAPS, (10.0,), (False,))]
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
    held_out : (n_members,)
        Mean log-likelihood of a held-out item's labels under each member; NaN where nothing was held out.
    n_items : int
        Items the weights rest on.
    """

    members: list[Member]
    weights: Array
    held_out: Array
    n_items: int

    def share(self, **wanted: Any) -> float:
        """Weight of the members with these settings, e.g. ``share(varies_with_x=True)``."""
        return float(sum(w for w, m in zip(self.weights, self.members, strict=True) if _is(m, wanted)))

    def __str__(self) -> str:
        """Say in words and numbers what carries the weight."""
        return "\n".join([*self._sentences(), "", *self._table()])

    def _sentences(self) -> Iterator[str]:
        if np.isnan(self.held_out).all():
            yield "No selection: every member has the same weight."
            return
        yield f"Weights rest on the labels of {self.n_items} items, each held out once; no truth was used."
        graph = self.share(map="spectral") + self.share(map="spectral, raw units")
        even = np.mean([m.map.startswith("spectral") for m in self.members])
        if np.ptp(self.weights) < 0.5 / len(self.weights):
            yield "Not enough labels to tell the members apart: they count alike."
        elif graph > even:
            yield f"The graph carries {graph:.0%}: unlabelled items matter here."
        else:
            yield f"The graph carries {graph:.0%}: unlabelled items add little here."
        varies, even = self.share(varies_with_x=True), np.mean([m.varies_with_x for m in self.members])
        finding = "expertise varies with x" if varies > even else "no sign that expertise varies with x"
        yield f"Members whose expertise varies with x carry {varies:.0%} ({even:.0%} if alike): {finding}."

    def _table(self) -> Iterator[str]:
        yield f"{'weight':>7}{'held out':>10}  member"
        for i in np.argsort(-self.weights)[:8]:
            m = self.members[i]
            expertise = "varies with x" if m.varies_with_x else "constant"
            member = f"{m.map}, variance {m.variance:g}, expertise {expertise}"
            yield f"{self.weights[i]:>7.1%}{self.held_out[i]:>10.3f}  {member}"


def _is(member: Member, wanted: dict[str, Any]) -> bool:
    return all(getattr(member, name) == value for name, value in wanted.items())


class AutoCrowdClassifier(ClassifierMixin, BaseEstimator):
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
        said, gold = check_gold(gold, check_annotations(y, len(X), index=index))
        check_classes(said)
        task = _Task(X, said, gold, check_weight(sample_weight, X))
        chosen = default_members(said.n_classes) if self.members is None else list(self.members)
        views: dict[str, Seen] = {}  # what each map makes of the items, learnt once for all members and folds
        held_out = self._held_out(chosen, task, views) if self.selection else np.zeros((0, len(chosen)))
        self.weights_ = stack(held_out)
        self.members_ = [self._fit_member(m, task, views) for m in chosen]
        self.n_iter_ = max(member.n_iter_ for member in self.members_)
        self.classes_, self.annotators_ = said.labels, said.annotators
        means = held_out.mean(axis=0) if len(held_out) else np.full(len(chosen), np.nan)
        self.selection_ = Selection(chosen, self.weights_, means, len(held_out))
        self.posterior_ = self._average([m.posterior_ for m in self.members_])
        return self

    def predict_proba(self, X: Any) -> Array:
        """p(z | x) of each item: (n_items, n_classes)."""
        return self._ask("predict_proba", X)

    def predict(self, X: Any) -> Any:
        """Return the likeliest class of each item: (n_items,)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def posterior(self, X: Any, y: Any, unknown: str = "error") -> Array:
        """p(z | x, labels) of each item: (n_items, n_classes)."""
        return self._ask("posterior", X, self._check_labels(X, y), unknown)

    def expertise(self, X: Any) -> Array:
        """Probability that each annotator is right on each item: (n_items, n_annotators)."""
        return self._ask("expertise", X)

    def confusion(self, annotator: Any) -> Array:
        """p(label | truth) of one annotator: (n_classes, n_classes)."""
        check_is_fitted(self)
        return self._average([member.confusion(annotator) for member in self.members_])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on a truth vector; on annotations, the weighted mean of the members' `score`."""
        if not isinstance(y, Annotations) and np.ndim(y) == 1:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        return float(self._ask("score", X, self._check_labels(X, y), sample_weight))

    def _check_labels(self, X: Any, y: Any) -> Annotations:
        check_is_fitted(self)
        return check_annotations(y, len(X), self.annotators_, row_ids(X))

    def _ask(self, method: str, X: Any, *args: Any) -> Array:
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        return self._average([getattr(member, method)(X, *args) for member in self.members_])

    def _average(self, answers: list[Any]) -> Array:
        return np.tensordot(self.weights_, np.array(answers), axes=1)

    def _fit_member(self, member: Member, task: _Task, views: dict[str, Seen]) -> CrowdClassifier:
        model = member.build(self, task.said.n_classes)
        if member.map not in views:
            views[member.map] = Seen.of_items(model, task.X, model.annotators.directions)
        return model._fit(task.X, task.said, seen=views[member.map], gold=task.gold, weight=task.weight)

    def _held_out(self, chosen: list[Member], task: _Task, views: dict[str, Seen]) -> Array:
        """log p(labels of i | x_i) under each member fitted without them: (n_labelled, n_members)."""
        labelled = np.flatnonzero(task.said.labelled)
        order = check_random_state(self.random_state).permutation(labelled)
        parts = []
        for fold in np.array_split(order, min(self.folds, len(order))):
            without = task.without(fold)
            if without.said.n_annotations == 0:
                continue
            fits = (self._fit_member(m, without, views) for m in chosen)
            parts.append(np.column_stack([fit.log_predictive(task.X[fold], task.said[fold]) for fit in fits]))
        return np.vstack(parts) if parts else np.zeros((0, len(chosen)))


@dataclass(frozen=True)
class _Task:
    """What a member is fitted to: checked input."""

    X: Array
    said: Annotations
    gold: Array | None
    weight: Array | None

    def without(self, items: Any) -> _Task:
        """Return the same with nothing known of some items; the items stay."""
        gold = None if self.gold is None else self.gold.copy()
        if gold is not None:
            gold[items] = np.nan
        return replace(self, said=self.said.only(~np.isin(self.said.item, items)), gold=gold)


def stack(log_lik: Array) -> Array:
    """Weights that maximise Σ_i log Σ_m w_m l_im, with a few items' worth of even weight: (n_members,)."""
    n_members = log_lik.shape[1]
    weights = np.full(n_members, 1 / n_members)
    lik = np.exp(log_lik - log_lik.max(axis=1, keepdims=True)) if len(log_lik) else log_lik
    for _ in range(ROUNDS if len(log_lik) else 0):
        share = weights * lik
        weights = (share / share.sum(axis=1, keepdims=True)).sum(axis=0) + PRIOR_LABELS / n_members
        weights /= weights.sum()
    return weights
