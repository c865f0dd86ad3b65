"""How sure a fit is of its parameters: Laplace's approximation around what it learnt.

The information about parameters is Σ s sᵀ over items, s being the gradient of an item's log p(labels | x)
with its truth summed out (Eq. 6), plus the curvature of the prior. It knows that the truth was not seen,
which the covariances of the variational solver do not; it is positive whatever the labels, and a sum over
items. Truth and annotators are taken one at a time: class by class, annotator by annotator, each with the
crowd behind them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whoknows._array import Array, Groups
from whoknows.data.annotations import Annotations
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.objective import Model, Parameters, e_step
from whoknows.model.annotators.population import Population
from whoknows.model.posterior import Posterior

AT_ONCE = 4_000_000  # numbers held at once while labels are looked at one by one


@dataclass(frozen=True)
class Covariances:
    """Covariances of the parameters.

    Attributes
    ----------
    truth : (n_outputs, n_features, n_features) or None
        Of ξ, one log-odds or class after the other; None where the truth has no ξ.
    annotators : (n_annotators + 1, n_columns, n_columns)
        Of θ, the last for an annotator never seen.
    """

    truth: Array | None
    annotators: Array


def spread(
    model: Model,
    chunks: Sequence[Items],
    parameters: Parameters,
    population: Population | None,
    engine: Engine,
) -> Covariances:
    """Return how sure a fit that ended at ``parameters`` is of them.

    ``population`` is the crowd as the fit learnt it; None for the one in the annotators' settings.
    """
    truth: Any = model.truth
    of_truth, of_annotators = engine.sum(information, chunks, model, parameters)
    annotators: Any = copy.copy(model.annotators)
    if population is not None:
        annotators.population = population
    return Covariances(
        np.linalg.inv(of_truth + truth.precision) if parameters.xi.size else None,
        _with_crowd(of_annotators, *_prior_precisions(annotators, parameters.theta)),
    )


def information(items: Items, model: Model, parameters: Parameters) -> tuple[Array, Array]:
    """Σ s sᵀ of one chunk: (n_outputs, n_features, n_features), (n_annotators, n_columns, n_columns)."""
    truth: Any = model.truth
    items = items.here
    # An item that counts twice is the same gradient, twice; so is a label, whose gradient is twice as long.
    once = replace(items, weight=None)
    posterior = e_step(once, model, parameters)
    counts = np.ones(len(items.X_truth)) if items.weight is None else items.weight
    of_truth = np.zeros(0)
    if parameters.xi.size:
        residual = truth.residual(parameters.xi, items.X_truth, posterior)
        of_truth = np.stack(
            [items.X_truth.T @ (items.X_truth * (counts * r**2)[:, None]) for r in residual.T]
        )
    n_columns = parameters.theta.shape[1]
    of_annotators = np.zeros((items.Y.n_annotators, n_columns, n_columns))
    order = items.Y.by_annotator.order
    for part in np.array_split(order, 1 + len(order) * n_columns * items.Y.n_classes // AT_ONCE):
        s = _label_gradients(once, model, parameters.theta, posterior, part)
        sure = items.Y.counts[part]
        weighted = s * (counts[items.Y.item[part]] / np.where(sure > 0, sure, 1.0))[:, None]
        for t, rows in Groups.of(items.Y.annotator[part], items.Y.n_annotators):
            of_annotators[t] += s[rows].T @ weighted[rows]
    return of_truth, of_annotators


def _label_gradients(items: Items, model: Model, theta: Array, posterior: Posterior, labels: Any) -> Array:
    """Gradient of each label's share of Q, Eqs. (16), (17), in its annotator's θ: (n_labels, n_columns).

    Each label is given to an annotator of its own, with the same parameters, so that no sum is taken.
    """
    Y, own = items.Y, np.arange(len(labels), dtype=np.int32)
    sure = None if Y.confidence is None else Y.confidence[labels]
    alone = Annotations(Y.item[labels], own, Y.label[labels], Y.items, own, Y.labels, sure)
    rows = np.vstack([theta[Y.annotator[labels]], theta[-1]])
    return model.annotators.expected_log_lik(rows, items.X_annotators, alone, posterior)[1][:-1]


def _prior_precisions(annotators: Any, theta: Array) -> tuple[Array, Array, Array]:
    """Curvature of log p(θ), column by column: of an annotator's own row, with the crowd, of the crowd alone.

    log p(θ) is quadratic and treats annotators alike, so one step in one row says it all.
    """
    _, here = annotators.log_prior(theta)
    own, shared, crowd = (np.empty(theta.shape[1]) for _ in range(3))
    for column in range(theta.shape[1]):
        step = np.zeros_like(theta)
        step[0, column] = 1.0
        moved = annotators.log_prior(theta + step)[1] - here
        own[column], shared[column] = -moved[0, column], moved[-1, column]
        crowd[column] = -(annotators.log_prior(theta + step[::-1])[1] - here)[-1, column]
    return own, shared, crowd


def _with_crowd(information: Array, own: Array, shared: Array, crowd: Array) -> Array:
    """Covariance of each annotator's θ, the crowd's uncertainty included, and of one never seen.

    [ info + own   −shared ]⁻¹ over all annotators at once: their blocks meet only in the crowd's row.
    [ −shared       crowd  ]
    """
    alone = np.linalg.inv(information + np.diag(own))
    pulled = alone * shared  # (info + own)⁻¹ shared
    left = np.diag(crowd) - (shared[:, None] * pulled).sum(axis=0)
    of_crowd = np.linalg.inv(left)
    known = alone + pulled @ of_crowd @ pulled.swapaxes(1, 2)
    stranger = np.diag(1 / own) + (shared / own)[:, None] * of_crowd * (shared / own)
    return np.concatenate([known, stranger[None]])
