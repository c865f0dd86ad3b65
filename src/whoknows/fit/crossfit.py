"""Cross-fitted EM: the posterior of an item uses a classifier fitted without its labels.

In plain EM a flexible p(z | x) that has fitted an item's labels confirms them. Here the E-step uses p(z | x)
as fitted without the item, in closed form (approximate leave-one-out), so that no refits are needed. The
objective, the held-out likelihood of each item's labels, may decrease slightly between iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.fit.em import log_marginal, m_step
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, evidence_of
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior, Posterior
from whoknows.model.protocols import LeaveOneOutTruth, require

INNER_ITERATIONS = 8  # of L-BFGS per M-step: posteriors move half way each time, so more would be wasted
REFRESH = 3  # with many items, the covariance of ξ is recomputed every 3 iterations (expensive)
MANY_PER_FEATURE = 20  # items per feature that count as many; with fewer, each one changes the covariance


def fit_crossfit(
    model: Model,
    chunks: Sequence[Items],
    posteriors: Sequence[Posterior],
    start: Parameters,
    monitor: Monitor,
    engine: Engine,
) -> tuple[Belief, Any]:
    """Return θ, and the state of the truth model with leave-one-out predictions of the items."""
    truth = require(model.truth, LeaveOneOutTruth, "solver='crossfit'", "Use solver='em' or 'lbfgs'.")
    parameters, monitor.exact = start, False
    n_items, (n_features, *_) = engine.sum(_shape, chunks)
    every = REFRESH if n_items > MANY_PER_FEATURE * n_features else 1
    root: Array | None = None
    for iteration in count():
        parameters = m_step(model, chunks, posteriors, parameters, engine, root, INNER_ITERATIONS)
        if iteration % every == 0:
            (curvature,) = engine.sum(_curvature, _paired(chunks, posteriors), truth, parameters.xi)
            covariance = truth.laplace_covariance(curvature)
            root = np.asarray(np.linalg.cholesky(covariance)) if len(covariance) > 1 else None
            variances = engine.keep(_variances, chunks, truth, covariance)
        work = _paired(chunks, posteriors, variances)
        posteriors = engine.keep(_expectation, work, model, parameters)
        (held_out_likelihood,) = engine.sum(log_marginal, posteriors)
        if monitor.add(held_out_likelihood, parameters.theta):
            break
    monitor.finish()
    state = truth.cross_fitted(parameters.xi, *engine.sum(_held_out, work, model, parameters))
    return Belief(parameters.theta), state


def _paired(*parts: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the parts of each chunk together."""
    return list(zip(*parts, strict=True))


def _expectation(work: tuple[Items, Posterior, Array], model: Any, parameters: Parameters) -> CategoricalPosterior:
    """E-step of one chunk with leave-one-out p(z | x), averaged with the previous posterior.

    A full step would let items that depend on each other oscillate. The log marginal is that of the full
    step.
    """
    items, old, variances = work
    log_prior = model.truth.leave_one_out(parameters.xi, items.X_truth, old, variances)
    evidence = evidence_of(items, model, parameters)
    new = CategoricalPosterior.from_log_joint(log_prior + evidence.table, evidence.weight)
    return CategoricalPosterior(0.5 * (old.prob + new.prob), new.log_marginal, new.weight)  # type: ignore[union-attr]


def _held_out(
    work: tuple[Items, Posterior, Array], model: Any, parameters: Parameters
) -> tuple[list[Array], list[Array], list[Array]]:
    """Features of a chunk's items, their leave-one-out log p(z | x), and the evidence of their labels."""
    items, posterior, variances = work
    held_out = model.truth.leave_one_out(parameters.xi, items.X_truth, posterior, variances)
    return [items.X_truth], [held_out], [evidence_of(items, model, parameters).table]


def _curvature(work: tuple[Items, Posterior], truth: LeaveOneOutTruth, xi: Array) -> tuple[Array]:
    items, posterior = work
    return (truth.curvature(xi, items.X_truth, posterior),)


def _shape(items: Items) -> tuple[int, list[int]]:
    return len(items.X_truth), [items.X_truth.shape[1]]


def _variances(items: Items, truth: LeaveOneOutTruth, covariance: Array) -> Array:
    return truth.variances(items.X_truth, covariance)
