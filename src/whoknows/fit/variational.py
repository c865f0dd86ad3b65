"""Pólya-Gamma variational EM: Algorithm 1 with beliefs in place of point estimates.

q(z) q(ξ) q(θ) maximises one bound on log p(Y_L | X). Every step is linear algebra on sums over items, the
bound never falls, and the covariances stay for intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from whoknows._array import Array
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.model.annotators import BoundedAnnotators
from whoknows.model.annotators.population import CrowdBelief
from whoknows.model.belief import Belief
from whoknows.model.posterior import Posterior
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import BoundedTruth


def has_bound(model: Model) -> bool:
    """Whether both pieces have the quadratic bound this solver needs."""
    return not _without_bound(model)


def fit_variational(
    model: Model,
    chunks: Sequence[Items],
    start: Sequence[Posterior],
    monitor: Monitor,
    engine: Engine,
    before: tuple[CrowdBelief, Belief] | None = None,
) -> tuple[CrowdBelief, Belief]:
    """Return q(θ) and q(ξ), from the posterior of each chunk in ``start``, or from beliefs of ``before``."""
    _refuse_without_bound(model)
    annotators, truth = cast(BoundedAnnotators, model.annotators), cast(BoundedTruth, model.truth)
    if before is None:
        (labels_per_annotator,) = engine.sum(lambda items: (items.Y.labels_per_annotator,), chunks)
        crowd = annotators.prior_belief(chunks[0].Psi.shape[1], labels_per_annotator > 0)
        xi = truth.prior_belief()
        work = list(zip(chunks, start, strict=True))
        sums = engine.sum(_start, work, model, crowd.belief(), xi)
    else:
        crowd, xi = before
        sums = engine.sum(expectation, chunks, model, crowd.belief(), xi)[1:]
    while True:
        crowd, xi = crowd.update(*sums[:2]), truth.update(*sums[2:])
        local, *rest = engine.sum(expectation, chunks, model, crowd.belief(), xi)
        sums = tuple(rest)
        bound = local - crowd.divergence() - truth.divergence(xi)
        if monitor.add(bound, crowd.mean):
            monitor.finish()
            return crowd, xi


def expectation(items: Items, model: Any, theta: Belief, xi: Belief) -> tuple[Any, ...]:
    """E-step of one chunk: its share of the bound, and of the sums that q(θ) and q(ξ) need."""
    eta, f = model.annotators.moments(theta, items.Psi, items.Y), model.truth.moments(xi, items.Phi)
    evidence = items.complete(model.annotators.bounded_evidence(eta, items.Y))
    posterior = model.truth.bounded_posterior(f, evidence)
    return posterior.log_marginal, *_statistics(items, model, posterior, eta, f)


def _start(work: tuple[Items, Posterior], model: Any, theta: Belief, xi: Belief) -> tuple[Array, ...]:
    items, posterior = work
    eta, f = model.annotators.moments(theta, items.Psi, items.Y), model.truth.moments(xi, items.Phi)
    return _statistics(items, model, posterior, eta, f)


def _statistics(items: Items, model: Any, posterior: Posterior, eta: Any, f: Any) -> tuple[Array, ...]:
    return (
        *model.annotators.statistics(eta, items.Psi, items.Y, posterior),
        *model.truth.statistics(f, items.Phi, posterior),
    )


def _refuse_without_bound(model: Model) -> None:
    missing = _without_bound(model)
    if missing:
        raise NotCompatible(
            f"solver='vb' has no bound for {' and '.join(missing)}. Use solver='em' or 'lbfgs', or "
            "BernoulliAnnotators with LogisticTruth (truth='id' or 'lgp', annotators='bernoulli') and two "
            "classes."
        )


def _without_bound(model: Model) -> list[str]:
    """Names of the pieces this solver cannot take."""
    pieces: tuple[tuple[Any, Any], ...] = ((model.annotators, BoundedAnnotators), (model.truth, BoundedTruth))
    return [
        type(piece).__name__
        for piece, protocol in pieces
        if not (isinstance(piece, protocol) and piece.has_bound)
    ]
