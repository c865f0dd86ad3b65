"""Simpler models of the same labels: without features, and with annotators who all count alike.

A flexible p(z | x) can follow noise: posterior and classifier then confirm each other, and the consensus is worse than
that of the labels alone. Whether features say anything is asked of the posterior given the labels alone, which no
feature has touched: one Newton step from ξ = 0 towards it, without the item's own term, must make the item's labels
more likely than the shares of the classes do.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from whoknows._array import Array, Rows, log_softmax, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.fit.engines import Chunks
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import Solution, as_chunks, solve
from whoknows.model.annotators import BernoulliAnnotators, Population
from whoknows.model.gaussian import moderated
from whoknows.model.truth import LogisticTruth

ENOUGH_ITEMS = 5_000  # to compare models
ITERATIONS, TOL = 100, 1e-5  # of fits to the labels alone
STRENGTHS = (0.2, 0.5, 1.0, 2.0, 4.0)  # by which the log-odds of the Newton step are multiplied
INFORMATIVE = 0.05  # prior probability that features say something about the truth: noise must not cost anything
FEWEST_ITEMS = 50  # with fewer, labels cannot tell whether features say anything, and features count
ALIKE = Population(deviation_variance=1e-6, deviation_shape=1e6)  # all annotators have one accuracy
# Prior precision of the log-odds of the classes in a model without features. If it is low, accuracies that differ by
# class explain the labels almost as well with all items in one class.
SHARES = 1.0
EVEN = 1e6  # the same for classes of equal shares


def without_features(model: Model, items: Items | Chunks) -> tuple[Model, Solution]:
    """Fit p(z), the same for all items, in place of p(z | x).

    Expertise depends on x only if that probably makes the labels of every other item more likely, in a fit to the rest.
    """
    annotators: Any = model.annotators
    sample, kind = sample_of(items), _constant(annotators)
    if annotators.varies_with_x and len(sample.X_truth) > 1:
        gain = _held_out_log_lik(annotators, sample) - _held_out_log_lik(kind, sample)
        counts = np.ones(len(gain)) if sample.weight is None else sample.weight[1::2]
        kind = annotators if probability_of_gain(gain, counts, INFORMATIVE) > 0.5 else kind
    return _fitted(kind, SHARES, items)


def all_alike(items: Items | Chunks, group: Rows | None = None) -> tuple[Model, Solution]:
    """Fit one accuracy for all annotators and classes: without ``group``, the consensus is the vote."""
    annotators = BernoulliAnnotators(varies_with_x=False, population=ALIKE).for_classes(sample_of(items).Y.n_classes)
    return _fitted(annotators if group is None else annotators.with_groups(group), EVEN, items)


def fit_labels_alone(annotators: Any, items: Items) -> tuple[Model, Solution]:
    """Fit the labels without features, neither of the truth nor of expertise."""
    return _fitted(_constant(annotators), SHARES, items)


def _constant(annotators: Any) -> Any:
    """Return the annotators, prepared as they are, with expertise that does not depend on x."""
    constant = copy.copy(annotators)
    constant.varies_with_x = False
    return constant


def _fitted(annotators: Any, precision: float, items: Items | Chunks) -> tuple[Model, Solution]:
    truth = LogisticTruth().for_classes(annotators._n_classes).with_precision(np.array([[precision]]))
    model, data = Model(annotators, truth), as_chunks(items)
    alone = Chunks(data.engine.keep(as_one, data.chunks), data.engine)
    return model, solve(model, alone, None, Monitor(ITERATIONS, TOL, warn=False))


def _held_out_log_lik(annotators: Any, items: Items) -> Array:
    """log p(labels | x) of every other item, under a fit to the rest: (n_items // 2,)."""
    model, solution = _fitted(annotators, SHARES, items[::2])
    truth: Any = model.truth
    rest = as_one(items[1::2])
    table = annotators.predictive(solution.annotators, rest.X_annotators, rest.Y).table
    return np.asarray(np.logaddexp.reduce(truth.log_predict(solution.truth, rest.X_truth) + to_numpy(table), axis=1))


def as_one(items: Items) -> Items:
    """Return items of which p(z | x) sees nothing but the constant."""
    return replace(items, X_truth=items.X_truth[:, -1:])


def sample_of(items: Items | Chunks) -> Items:
    """Return the labelled items, thinned out if they are many, without gold, on the host."""
    data = as_chunks(items)
    (n_labelled,) = data.engine.sum(_n_labelled, data.chunks)
    (parts,) = data.engine.sum(_sample, data.chunks, max(-(-n_labelled // ENOUGH_ITEMS), 1))
    if len(parts) == 1:
        return parts[0]
    weight = None if parts[0].weight is None else np.concatenate([part.weight for part in parts])
    X_truth, X_annotators = (np.vstack([getattr(p, name) for p in parts]) for name in ("X_truth", "X_annotators"))
    return Items(X_truth, X_annotators, joined([part.Y for part in parts]), weight=weight)


def _n_labelled(items: Items) -> tuple[int]:
    return (int(items.Y.labelled.sum()),)


def _sample(items: Items, step: int) -> tuple[list[Items]]:
    return ([replace(items[np.flatnonzero(items.Y.labelled)[::step]], gold=None).on_host],)


def joined(parts: list[Annotations]) -> Annotations:
    """Return the labels of all chunks together."""
    first = np.cumsum([0, *(part.n_items for part in parts)])
    item = np.concatenate([part.item + start for part, start in zip(parts, first[:-1], strict=True)])
    annotator, label, counts = (
        np.concatenate([getattr(p, name) for p in parts]) for name in ("annotator", "label", "counts")
    )
    return Annotations(item, annotator, label, np.arange(first[-1]), parts[0].annotators, parts[0].labels, counts)


def features_say_nothing(model: Model, items: Items) -> bool:
    """Whether features probably say nothing about the truth."""
    return weight_of_features(model, items) < 0.5


def weight_of_features(model: Model, items: Items) -> float:
    """Probability that features make the labels of other items more likely than the class shares do.

    Expertise is constant here: one that depends on x could explain labels in place of the truth. Few items cannot tell.
    """
    if len(items.X_truth) < FEWEST_ITEMS:
        return 1.0
    alone, solution = fit_labels_alone(model.annotators, items)
    pieces: Any = alone
    evidence = to_numpy(pieces.annotators.evidence_at(solution.annotators, items.X_annotators, items.Y).table)
    log_shares = to_numpy(pieces.truth.log_predict(solution.truth, items.X_truth[:, -1:]))
    counts = np.ones(len(evidence)) if items.weight is None else items.weight
    f = first_step(model.truth, items.X_truth, np.exp(log_softmax(log_shares + evidence)), counts)
    return probability_of_gain(gain_of_features(f, log_shares, evidence), counts, INFORMATIVE)


def probability_of_gain(gain: Array, counts: Array, prior: float = 0.5) -> float:
    """Probability that one model is better than another, by its gain in held-out log-likelihood of each item.

    The odds are multiplied by exp(sum of gains), averaged over a sum that is normal around the observed one
    (pseudo-BMA+; Yao, Vehtari, Simpson and Gelman, Bayesian Analysis 2018). Items have the weights ``counts``.
    """
    variance = counts @ (gain - np.average(gain, weights=counts)) ** 2
    return float(expit(moderated(logit(prior) + counts @ gain, variance)))


def first_step(truth: Any, X: Array, prob: Array, counts: Array) -> Array:
    """Log-odds ξᵀx after a Newton step from ξ = 0 towards p̃, without the item's own term: (n_items, n_classes).

    With w = (1 − 1/K) / K the cavity is (m − v (p̃ − 1/K)) / (1 − w v), where m = xᵀS Σ (p̃ − 1/K) x,
    v = xᵀSx and S = (w Σ x xᵀ + R)⁻¹.
    """
    K = prob.shape[1]
    w, target = (1 - 1 / K) / K, counts[:, None] * (prob - 1 / K)
    S = np.linalg.inv(w * (X.T * counts) @ X + truth.precision)
    XS = X @ S
    v = (XS * X).sum(axis=1)
    left = (1 - w * counts * v).clip(min=1e-2)
    return np.asarray((XS @ (X.T @ target) - v[:, None] * target) / left[:, None])


def gain_of_features(f: Array, log_shares: Array, evidence: Array) -> Array:
    """log p(labels | x) of each item under shares tilted by t f, less that under the shares: (n_items,).

    t is the one of a few under which all labels are most likely.
    """
    f = f - f.mean(axis=0)
    before = np.logaddexp.reduce(log_shares + evidence, axis=1)
    tilted = (log_softmax(log_shares + t * f) + evidence for t in STRENGTHS)
    gains = [np.logaddexp.reduce(table, axis=1) - before for table in tilted]
    return max(gains, key=np.sum)
