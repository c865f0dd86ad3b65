"""Uncertainty of the parameters: Laplace's approximation around a fit.

The information about the parameters is Σ s sᵀ over items, where s is the gradient of an item's
log p(labels | x) with its truth marginalised out (Eq. 6), plus the curvature of the prior. Unlike the
covariances of the variational solver, it accounts for the truth being unobserved; it is positive definite for
any labels, and a sum over items. Blocks of the covariance are computed separately: one per output of the
truth model, and one per annotator, coupled through the population.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whoknows._array import Array, group_by, like, spans, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.objective import Model, Parameters, e_step
from whoknows.model.annotators.population import Population
from whoknows.model.posterior import Posterior
from whoknows.model.protocols import IntervalTruth, MistakeAnnotators, supports
from whoknows.model.truth.logistic import gram

NUMBERS_PER_BLOCK = 4_000_000  # of gradients of single labels: limits memory
# Columns of θ, for covariances of all of them. If the truth were known, how often an annotator is right and which wrong
# labels it gives would be independent; with many classes nearly all columns are of the latter.
MOST_COLUMNS = 150


@dataclass(frozen=True)
class Covariances:
    """Covariances of the parameters.

    Attributes
    ----------
    truth : (n_outputs, n_features, n_features) or None
        Of ξ, one per output; None for a truth model that is not an `IntervalTruth`.
    annotators : (n_annotators + 1, n_columns, n_columns)
        Of θ, the last for an annotator not seen in training. If θ has very many columns, of the first ones,
        which expertise depends on; the others are then taken as estimated.
    """

    truth: Array | None
    annotators: Array


def laplace_covariances(
    model: Model, chunks: Sequence[Items], parameters: Parameters, population: Population | None, engine: Engine
) -> Covariances:
    """Return the covariances of the parameters at the end of a fit.

    ``population`` is the fitted population; None uses the prior in the settings of the annotators.
    """
    truth: Any = model.truth
    of_truth, of_annotators = engine.sum(information, chunks, model, parameters)
    annotators, theta = _with_covariance(model.annotators, parameters.theta)
    if population is not None:
        annotators = copy.copy(annotators)
        annotators.population = population
    return Covariances(
        np.linalg.inv(of_truth + truth.precision) if supports(truth, IntervalTruth) else None,
        _with_population(of_annotators, *_prior_precisions(annotators, theta)),
    )


def information(items: Items, model: Model, parameters: Parameters) -> tuple[Array, Array]:
    """Σ s sᵀ of one chunk: (n_outputs, n_features, n_features), (n_annotators, n_columns, n_columns)."""
    items = items.labels_on_host if getattr(model.truth, "works_on_tensors", False) else items.on_host
    # Weights multiply s sᵀ, not s: an item of weight 2 is two items, and so is a label of confidence 2.
    unweighted = replace(items, weight=None)
    posterior = e_step(unweighted, model, parameters)
    counts = np.ones(len(items.X_truth)) if items.weight is None else items.weight
    return (
        _truth_information(items.X_truth, model.truth, parameters.xi, posterior, counts),
        _annotator_information(unweighted, *_with_covariance(model.annotators, parameters.theta), posterior, counts),
    )


def _truth_information(X: Array, truth: Any, xi: Array, posterior: Posterior, counts: Array) -> Array:
    if not supports(truth, IntervalTruth):
        return np.zeros(0)
    residual = like(counts[:, None] ** 0.5 * truth.residual(xi, X, posterior), X)
    return np.stack([to_numpy(gram(X * r[:, None])) for r in residual.T])


def _with_covariance(annotators: Any, theta: Array) -> tuple[Any, Array]:
    """Return annotators and the columns of θ with a covariance: all, or if these are many those without mistakes."""
    if theta.shape[1] <= MOST_COLUMNS or not supports(annotators, MistakeAnnotators):
        return annotators, theta
    return annotators.without_mistakes(), theta[:, : theta.shape[1] - annotators.n_mistakes]


def _annotator_information(items: Items, annotators: Any, theta: Array, posterior: Posterior, counts: Array) -> Array:
    Y, n_columns = items.Y, theta.shape[1]
    total = np.zeros((Y.n_annotators, n_columns, n_columns))
    order = Y.by_annotator.order
    n_parts = 1 + len(order) * n_columns * Y.n_classes // NUMBERS_PER_BLOCK
    for part in np.array_split(order, min(n_parts, len(order))):
        s = _label_gradients(items, annotators, theta, posterior, part)
        confidence = Y.counts[part]
        weighted = s * (counts[Y.item[part]] / np.where(confidence > 0, confidence, 1.0))[:, None]
        for t, rows in spans(group_by(Y.annotator[part], Y.n_annotators)):
            total[t] += s[rows].T @ weighted[rows]
    return total


def _label_gradients(items: Items, annotators: Any, theta: Array, posterior: Posterior, labels: Any) -> Array:
    """Gradient of each label's part of Q, Eqs. (16), (17), in its annotator's θ: (n_labels, n_columns).

    Each label gets an annotator of its own with the same parameters, so that nothing is summed.
    """
    Y, own = items.Y, np.arange(len(labels), dtype=np.int32)
    confidence = None if Y.confidence is None else Y.confidence[labels]
    alone = Annotations(Y.item[labels], own, Y.label[labels], Y.items, own, Y.labels, confidence)
    rows = np.vstack([theta[Y.annotator[labels]], theta[-1]])
    gradient: Array = annotators.expected_log_lik(rows, items.X_annotators, alone, posterior)[1][:-1]
    return gradient


def _prior_precisions(annotators: Any, theta: Array) -> tuple[Array, Array, Array]:
    """Curvature of log p(θ) by column: of an annotator's row, between it and the population, of the latter.

    log p(θ) is quadratic and the same for all annotators, so one step in one row is enough.
    """
    _, gradient = annotators.log_prior(theta)
    own, shared, population = (np.empty(theta.shape[1]) for _ in range(3))
    for column in range(len(own)):
        step = np.zeros_like(theta)
        step[0, column] = 1.0
        change = annotators.log_prior(theta + step)[1] - gradient
        own[column], shared[column] = -change[0, column], change[-1, column]
        population[column] = -(annotators.log_prior(theta + step[::-1])[1] - gradient)[-1, column]
    return own, shared, population


def _with_population(information: Array, own: Array, shared: Array, population: Array) -> Array:
    """Covariance of each annotator's θ, uncertainty of the population included, and of an unseen annotator.

    [ info + own   −shared    ]⁻¹ over all annotators: their blocks are coupled only through the last row.
    [ −shared       population ]
    """
    alone = np.linalg.inv(information + np.diag(own))
    pulled = alone * shared  # (info + own)⁻¹ shared
    left = np.diag(population) - (shared[:, None] * pulled).sum(axis=0)
    of_population = np.linalg.inv(left)
    seen = alone + pulled @ of_population @ pulled.swapaxes(1, 2)
    unseen = np.diag(1 / own) + (shared / own)[:, None] * of_population * (shared / own)
    return np.concatenate([seen, unseen[None]])
