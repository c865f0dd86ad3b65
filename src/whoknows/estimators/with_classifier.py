"""EM with any classifier as the truth: its cross-fitted log-probabilities are features that labels temper.

Each round fits the classifier, fold by fold, to the posterior of all other folds, and then a pair of
annotators and truth to the held-out log-probabilities. No item is classified by a classifier that saw its
labels, so a flexible one cannot confirm its own posterior. Rounds end when the held-out log-likelihood of the
labels no longer clearly increases.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whoknows._array import Array, Rows, with_constant
from whoknows.data.errors import InputError
from whoknows.estimators.boosted_trees import averaged
from whoknows.estimators.fitted_pair import FittedPair, fit_pair, typical_rows
from whoknows.estimators.inputs.any_classifier import (
    ClassifierFeatures,
    ClassifierPreprocessing,
    cross_fit,
    fit_to_posterior,
    with_seed,
)
from whoknows.estimators.inputs.raw_rows import Keys, RawRows, row_keys
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.prepared_model import PreparedModel, prepare_classifier
from whoknows.fit import engines
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Callback
from whoknows.fit.solve import split_into_chunks

FOLDS = 5
ROUNDS = 3
FEW_ROWS = 50  # distinct rows: with fewer, leaving some out would change what the classifier can know
# Of the held-out log-likelihood per label, for a round to count. From the second round on it is too high by a
# few thousandths: classifiers without an item learn from the posterior of its neighbours, which saw its labels.
LEAST_GAIN = 5e-3
ROUGH = 1e-5  # tolerance of the solver: another round changes the bound by far more


def fit_with_classifier(
    settings: Any,
    X: RawRows,
    data: TrainingData,
    engine: Engine,
    callback: Callback | None = None,
    prepared: PreparedModel | None = None,
    start: Array | None = None,
    most_rounds: int = ROUNDS,
    n_folds: int = FOLDS,
    is_member: bool = False,
) -> FittedPair:
    """Fit a pair whose truth is the classifier ``settings.truth``.

    ``prepared`` is that of an earlier fit to the same items; ``start`` is a first guess at the posterior of
    the items with labels or known truth; ``most_rounds`` is how often the classifier is fitted at most, to all but
    one of ``n_folds`` folds. The posterior of a member of an ensemble is left as it is: the ensemble reads the average.
    """
    prepared = prepare_classifier(settings, X, data.annotations) if prepared is None else untaught(prepared)
    rows = np.flatnonzero(data.informed)
    keys = row_keys(X[rows])
    if len(np.unique(keys)) < 2:
        raise InputError("A classifier as truth needs labels of two different items or more, to hold some out.")
    order = np.argsort(keys, kind="stable")  # the fit does not depend on the order of the rows
    items = prepared.items(X[rows[order]], data[rows[order]])
    settings = replace(settings, tol=max(settings.tol, ROUGH))
    folds = fold_of(keys[order], prepared.preprocessing.seed, n_folds)
    rounds = _Rounds(settings, prepared, X[rows[order]], items, keys[order], folds, engine, callback, is_member)
    best = rounds.run(None if start is None else start[order], most_rounds)
    typical = best.prepared.some(X, typical_rows(len(X)))
    return replace(best, typical=replace(typical, raw=None))


def untaught(prepared: PreparedModel) -> PreparedModel:
    """Return a prepared model without what its classifier learned."""
    before = prepared.preprocessing
    learned = ClassifierFeatures(before.learned.n_classes)
    return replace(prepared, preprocessing=replace(before, learned=learned))


def fitted_classifier(pair: FittedPair) -> dict[str, Any]:
    """Return the classifier that was fitted to all items with labels."""
    preprocessing = pair.prepared.preprocessing
    if not isinstance(preprocessing, ClassifierPreprocessing):
        return {}
    return {"truth_classifier_": preprocessing.learned.classifier}


@dataclass(frozen=True)
class _Rounds:
    """The fit to items with labels or known truth, sorted by key."""

    settings: Any
    prepared: PreparedModel
    X: RawRows
    items: Items
    keys: Keys
    folds: Rows
    engine: Engine
    callback: Callback | None
    is_member: bool
    stops: list[bool] = field(default_factory=list)  # what the callback answered

    def run(self, start: Array | None, most_rounds: int) -> FittedPair:
        """Alternate between classifier and pair until labels are predicted no better."""
        classifier, best_score = with_seed(self.settings.truth, self.prepared.preprocessing.seed), -np.inf
        posterior = self.of_labels_alone() if start is None else with_gold(start, self.items.gold)
        for _ in range(most_rounds):
            pair, items = self.fit(classifier, posterior)
            score = held_out_score(pair, items)
            if score < best_score + LEAST_GAIN:
                break
            best, teacher, best_score = pair, posterior, score
            if any(self.stops):
                break
            posterior = pair.posterior(items).prob
        return self.with_final(best, classifier, teacher)

    def of_labels_alone(self) -> Array:
        """Return the posterior without the classifier, and with constant expertise."""
        no_features = with_constant(np.zeros_like(self.items.X_annotators[:, :-1]))
        items = replace(self.items, X_annotators=no_features)
        return self.solve(self.prepared, items).posterior(items).prob

    def fit(self, classifier: Any, posterior: Array) -> tuple[FittedPair, Items]:
        """Fit the classifier without each fold, then annotators, temperature and bias to its log-odds."""
        held_out, fitted = cross_fit(classifier, self.X, posterior, self.items.weight, self.folds)
        learned = ClassifierFeatures(posterior.shape[1], None, fitted, self.keys, held_out)
        preprocessing = replace(self.prepared.preprocessing, learned=learned)
        items = replace(self.items, X_truth=with_constant(held_out))
        return self.solve(replace(self.prepared, preprocessing=preprocessing), items, posterior), items

    def solve(self, prepared: PreparedModel, items: Items, start: Array | None = None) -> FittedPair:
        """Fit a pair, in an engine's chunks if the items are many."""
        n_chunks = -(-len(self.X) // engines.ITEMS_A_CHUNK)
        chunks = items if n_chunks <= 1 else split_into_chunks(items, n_chunks, self.engine)
        given: dict[str, Any] = {"callback": self.report, "start": start, "is_member": self.is_member}
        return fit_pair(self.settings, prepared, chunks, items, **given)

    def report(self, *about: Any) -> bool:
        """Call the callback, if there is one; where it stops a fit, rounds end too."""
        self.stops.append(self.callback is not None and bool(self.callback(*about)))
        return self.stops[-1]

    def with_final(self, pair: FittedPair, classifier: Any, posterior: Array) -> FittedPair:
        """Return the pair with the classifier for new items: fitted to all, or an average over the folds."""
        before = pair.prepared.preprocessing
        final = averaged(before.learned.without_fold)
        if final is None:
            final = fit_to_posterior(classifier, self.X, posterior, self.items.weight)
        preprocessing = replace(before, learned=replace(before.learned, classifier=final))
        return replace(pair, prepared=replace(pair.prepared, preprocessing=preprocessing))


def fold_of(keys: Keys, seed: int, n_folds: int = FOLDS) -> Rows:
    """Return the fold of each item, 0 to ``n_folds`` − 1, for sorted keys.

    Duplicates share a fold, so that they have one held-out prediction. Of few distinct rows, such as
    combinations of categories, every fold needs all: there duplicates are spread over the folds.
    """
    distinct, place = np.unique(keys, return_inverse=True)
    if len(distinct) < FEW_ROWS:
        return np.arange(len(keys)) % min(n_folds, len(keys))
    return np.random.default_rng(seed).permutation(np.arange(len(distinct)) % n_folds)[place]


def held_out_score(pair: FittedPair, items: Items) -> float:
    """Mean log-likelihood of the labels, given features of classifiers that did not see them."""
    weight = np.ones(len(items.X_truth)) if items.weight is None else items.weight
    counts = np.bincount(items.Y.item, items.Y.counts, items.Y.n_items)
    return float((weight * pair.log_predictive(items)).sum() / (weight * counts).sum())


def with_gold(prob: Array, gold: Array | None) -> Array:
    """Return a posterior in which known truths are certain."""
    if gold is None:
        return prob
    known = np.isfinite(gold)
    certain = np.eye(prob.shape[1])[np.where(known, gold, 0).astype(int)]
    return np.where(known[:, None], certain, prob)
