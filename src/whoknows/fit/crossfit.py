"""Cross-fitted EM: an item's posterior uses a classifier that did not see its labels.

In plain EM a flexible p(z | x) that has learnt an item's labels confirms them. Here the E-step takes p(z | x)
as it would be without the item, in closed form (approximate leave-one-out): no refits, and what is climbed,
the held-out likelihood of each item's labels, may fall a little on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whoknows._array import Array
from whoknows.fit.em import log_marginal, m_step
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters
from whoknows.model.belief import Belief
from whoknows.model.posterior import CategoricalPosterior, Posterior
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import LogisticTruth

INNER_ITERATIONS = 8  # of L-BFGS in an M-step: posteriors go half way each time, so more would be wasted


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
    covariance: Array | None = None
    while True:
        of_classes = covariance if parameters.xi.ndim == 2 else None
        parameters = m_step(model, chunks, posteriors, parameters, engine, of_classes, INNER_ITERATIONS)
        work = list(zip(chunks, posteriors, strict=True))
        (curvature,) = engine.sum(_curvature, work, truth, parameters.xi)
        covariance = truth.laplace_covariance(curvature)
        posteriors = engine.keep(_expectation, work, model, parameters, covariance)
        (held_out_likelihood,) = engine.sum(log_marginal, posteriors)
        if monitor.add(held_out_likelihood, parameters.theta):
            monitor.finish()
            known = truth.cross_fitted(
                parameters.xi, *engine.sum(_held_out, work, truth, parameters.xi, covariance)
            )
            return Belief(parameters.theta), known


def _expectation(
    work: tuple[Items, Posterior], model: Any, parameters: Parameters, covariance: Array
) -> CategoricalPosterior:
    """E-step of one chunk with p(z | x) as it would be without each item, half way from the last posterior.

    The whole way items that lean on each other would swap their minds for ever. The log marginal is that of
    the whole step.
    """
    items, old = work
    log_prior = model.truth.leave_one_out(parameters.xi, items.Phi, old, covariance)
    evidence = items.complete(model.annotators.evidence(parameters.theta, items.Psi, items.Y))
    new = CategoricalPosterior.from_log_joint(log_prior + evidence.table, evidence.weight)
    return CategoricalPosterior(0.5 * (old.prob + new.prob), new.log_marginal, new.weight)  # type: ignore[union-attr]


def _held_out(
    work: tuple[Items, Posterior], truth: LogisticTruth, xi: Array, covariance: Array
) -> tuple[list[Array], list[Array]]:
    """Features of a chunk's items, and log p(z | x) of each without it."""
    items, posterior = work
    return [items.Phi], [truth.leave_one_out(xi, items.Phi, posterior, covariance)]


def _curvature(work: tuple[Items, Posterior], truth: LogisticTruth, xi: Array) -> tuple[Array]:
    items, posterior = work
    return (truth.curvature(xi, items.Phi, posterior),)
