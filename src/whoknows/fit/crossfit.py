"""Cross-fitted EM: an item's posterior uses a classifier that did not see its labels.

In plain EM a flexible p(z | x) that has learnt an item's labels confirms them. Here the E-step takes p(z | x)
as it would be without the item, in closed form (approximate leave-one-out): no refits, and what is climbed,
the held-out likelihood of each item's labels, may fall a little on the way.
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
from whoknows.model.belief import Belief
from whoknows.model.posterior import CategoricalPosterior, Posterior
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import LogisticTruth

INNER_ITERATIONS = 8  # of L-BFGS in an M-step: posteriors go half way each time, so more would be wasted
REFRESH = 3  # iterations after which it is computed anew, which is dear, how sure many items make ξ
ITEMS_A_FEATURE = 20  # that are many; of fewer, each has a say in it, and it is computed in every iteration


def fit_crossfit(
    model: Model,
    chunks: Sequence[Items],
    posteriors: Sequence[Posterior],
    start: Parameters,
    monitor: Monitor,
    engine: Engine,
) -> tuple[Belief, Any]:
    """Return θ, and ξ with what it would be to each item without its labels."""
    truth = model.truth
    if not isinstance(truth, LogisticTruth):
        raise NotCompatible(
            f"solver='crossfit' needs LogisticTruth; got {type(truth).__name__}. Use solver='em'."
        )
    parameters, monitor.exact = start, False
    n_items, (n_features, *_) = engine.sum(_shape, chunks)
    every = REFRESH if n_items > ITEMS_A_FEATURE * n_features else 1
    root: Array | None = None
    for iteration in count():
        parameters = m_step(model, chunks, posteriors, parameters, engine, root, INNER_ITERATIONS)
        if iteration % every == 0:
            (curvature,) = engine.sum(_curvature, _paired(chunks, posteriors), truth, parameters.xi)
            covariance = truth.laplace_covariance(curvature)
            root = np.asarray(np.linalg.cholesky(covariance)) if parameters.xi.ndim == 2 else None
            variances = engine.keep(_variances, chunks, truth, covariance)
        work = _paired(chunks, posteriors, variances)
        posteriors = engine.keep(_expectation, work, model, parameters)
        (held_out_likelihood,) = engine.sum(log_marginal, posteriors)
        if monitor.add(held_out_likelihood, parameters.theta):
            break
    monitor.finish()
    known = truth.cross_fitted(parameters.xi, *engine.sum(_held_out, work, model, parameters))
    return Belief(parameters.theta), known


def _paired(*parts: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return what belongs to the same chunk, together."""
    return list(zip(*parts, strict=True))


def _expectation(
    work: tuple[Items, Posterior, Array], model: Any, parameters: Parameters
) -> CategoricalPosterior:
    """E-step of one chunk with p(z | x) as it would be without each item, half way from the last posterior.

    The whole way items that lean on each other would swap their minds for ever. The log marginal is that of
    the whole step.
    """
    items, old, variances = work
    log_prior = model.truth.leave_one_out(parameters.xi, items.X_truth, old, variances)
    evidence = evidence_of(items, model, parameters)
    new = CategoricalPosterior.from_log_joint(log_prior + evidence.table, evidence.weight)
    return CategoricalPosterior(0.5 * (old.prob + new.prob), new.log_marginal, new.weight)  # type: ignore[union-attr]


def _held_out(
    work: tuple[Items, Posterior, Array], model: Any, parameters: Parameters
) -> tuple[list[Array], list[Array], list[Array]]:
    """Features of a chunk's items, log p(z | x) of each without it, and what its labels say."""
    items, posterior, variances = work
    held_out = model.truth.leave_one_out(parameters.xi, items.X_truth, posterior, variances)
    return [items.X_truth], [held_out], [evidence_of(items, model, parameters).table]


def _curvature(work: tuple[Items, Posterior], truth: LogisticTruth, xi: Array) -> tuple[Array]:
    items, posterior = work
    return (truth.curvature(xi, items.X_truth, posterior),)


def _shape(items: Items) -> tuple[int, list[int]]:
    return len(items.X_truth), [items.X_truth.shape[1]]


def _variances(items: Items, truth: LogisticTruth, covariance: Array) -> Array:
    return truth.variances(items.X_truth, covariance)
