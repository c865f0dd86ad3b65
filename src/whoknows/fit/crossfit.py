"""Cross-fitted EM: an item's posterior uses a classifier that did not see its labels.

In plain EM a flexible p(z | x) that has learnt an item's labels confirms them. Here the E-step takes p(z | x)
as it would be without the item, in closed form (approximate leave-one-out): no refits, and what is climbed,
the held-out likelihood of each item's labels, may fall a little on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whoknows._array import Array
from whoknows.fit.em import m_step
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters
from whoknows.model.belief import Belief
from whoknows.model.posterior import CategoricalPosterior, Posterior
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import LogisticTruth


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
    while True:
        parameters = m_step(model, chunks, posteriors, parameters, engine)
        work = list(zip(chunks, posteriors, strict=True))
        (curvature,) = engine.sum(_curvature, work, truth, parameters.xi)
        covariance = truth.laplace_covariance(curvature)
        held_out = [
            truth.leave_one_out(parameters.xi, items.Phi, posterior, covariance) for items, posterior in work
        ]
        fresh = [
            _posterior(items, model, parameters, log_prior)
            for items, log_prior in zip(chunks, held_out, strict=True)
        ]
        posteriors = [_half_way(old, new) for old, new in zip(posteriors, fresh, strict=True)]
        if monitor.add(sum(p.log_marginal for p in fresh), parameters.theta):
            monitor.finish()
            known = truth.cross_fitted(parameters.xi, [items.Phi for items in chunks], held_out)
            return Belief(parameters.theta), known


def _posterior(items: Items, model: Model, parameters: Parameters, log_prior: Array) -> CategoricalPosterior:
    """E-step with a given log p(z | x), (n_items, n_classes)."""
    evidence = items.complete(model.annotators.evidence(parameters.theta, items.Psi, items.Y))
    return CategoricalPosterior.from_log_joint(log_prior + evidence.table, evidence.weight)


def _half_way(old: Posterior, new: CategoricalPosterior) -> CategoricalPosterior:
    """Damp the step: items that lean on each other would otherwise swap their minds for ever."""
    return CategoricalPosterior(0.5 * (old.prob + new.prob), weight=new.weight)  # type: ignore[union-attr]


def _curvature(work: tuple[Items, Posterior], truth: LogisticTruth, xi: Array) -> tuple[Array]:
    items, posterior = work
    return (truth.curvature(xi, items.Phi, posterior),)
