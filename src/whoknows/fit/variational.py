"""Pólya-Gamma variational EM: Algorithm 1 with beliefs in place of point estimates.

q(z) q(ξ) q(θ) maximises one bound on log p(Y_L | X). Every step is linear algebra on sums over items, the
bound never falls, and the covariances stay for intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from whoknows._array import Array, Rows
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

Sums = tuple[Array, ...]  # over items: what q(θ) and q(ξ) need, see `_statistics`


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
    state: Any = None,
) -> tuple[CrowdBelief, Belief]:
    """Return q(θ) and q(ξ), from the posterior of each chunk in ``start``, or from beliefs of ``before``.

    ``state`` is what an interrupted fit kept; then it goes on from there.
    """
    _refuse_without_bound(model)
    annotators, truth = cast(BoundedAnnotators, model.annotators), cast(BoundedTruth, model.truth)
    last: list[Sums] = []  # of successive iterations, up to three
    if state is not None:
        sums, crowd, last = state
    elif before is None:
        labels_per_annotator, n_features = engine.sum(_given, chunks)
        crowd = annotators.prior_belief(n_features[0], labels_per_annotator > 0)
        xi = truth.prior_belief()
        work = list(zip(chunks, start, strict=True))
        sums = engine.sum(_start, work, model, crowd.belief(), xi)
    else:
        crowd, xi = before
        sums = engine.sum(expectation, chunks, model, crowd.belief(), xi)[1:]
    while True:
        monitor.keep((sums, crowd, last))
        here = _Iteration.of(sums, crowd, model, chunks, engine)
        if monitor.add(here.bound, here.crowd.mean):
            break
        last = [*last, sums][-3:]
        sums, crowd = here.sums, here.crowd
        target = leap(last) if len(last) == 3 else None
        if target is not None:
            last = []
            far = _Iteration.of(target, crowd, model, chunks, engine)
            if far.bound > here.bound:
                sums, crowd, here = far.sums, far.crowd, far
                # That a leap gained little does not mean that there is little to gain.
                monitor.add(far.bound, far.crowd.mean)
                if monitor.stopped or monitor.n_iter >= monitor.max_iter:
                    break
    monitor.finish()
    return here.crowd, here.xi


@dataclass(frozen=True)
class _Iteration:
    """q(θ) and q(ξ) from the sums over items, the bound there, and the sums they lead to."""

    crowd: CrowdBelief
    xi: Belief
    bound: float
    sums: Sums

    @classmethod
    def of(
        cls, sums: Sums, crowd: CrowdBelief, model: Model, chunks: Sequence[Items], engine: Engine
    ) -> _Iteration:
        truth = cast(BoundedTruth, model.truth)
        crowd, xi = crowd.update(*sums[:2]), truth.update(*sums[2:])
        local, *after = engine.sum(expectation, chunks, model, crowd.belief(), xi)
        return cls(crowd, xi, local - crowd.divergence() - truth.divergence(xi), tuple(after))


def leap(last: Sequence[Sums]) -> Sums | None:
    """Sums that three successive iterations seem to head for, or None where there is no telling.

    Each iteration comes nearer by about the same factor, so two steps show where they end (SQUAREM; Varadhan
    and Roland, Scand. J. Stat. 2008): s₀ − 2a r + a² v, with r = s₁ − s₀, v = s₂ − s₁ − r, a = −|r| / |v|.
    Gram matrices must stay positive definite for the leap to be one.
    """
    first, second, third = last
    r = tuple(b - a for a, b in zip(first, second, strict=True))
    v = tuple(c - b - step for b, c, step in zip(second, third, r, strict=True))
    turn = _length(v)
    if turn == 0:
        return None
    a = min(-_length(r) / turn, -1.0)
    target = tuple(s - 2 * a * step + a * a * bend for s, step, bend in zip(first, r, v, strict=True))
    return target if _are_positive(target[0]) and _are_positive(target[2]) else None


def _length(sums: Sums) -> float:
    return float(np.sqrt(sum((part**2).sum() for part in sums)))


def _are_positive(gram: Array) -> bool:
    """Whether no Gram matrix has a negative eigenvalue but by rounding: then it has a square root."""
    rounding = 1e-10 * np.trace(gram, axis1=-2, axis2=-1) + np.finfo(float).tiny
    try:
        np.linalg.cholesky(gram + rounding[..., None, None] * np.eye(gram.shape[-1]))
    except np.linalg.LinAlgError:
        return False
    return True


def _given(items: Items) -> tuple[Rows, list[int]]:
    return items.Y.labels_per_annotator, [items.X_annotators.shape[1]]


def expectation(items: Items, model: Any, theta: Belief, xi: Belief) -> tuple[Any, ...]:
    """E-step of one chunk: its share of the bound, and of the sums that q(θ) and q(ξ) need."""
    eta, f = model.annotators.moments(theta, items.pairs), model.truth.moments(xi, items.X_truth)
    evidence = items.complete(model.annotators.bounded_evidence(eta, items.pairs))
    posterior = model.truth.bounded_posterior(f, evidence)
    return posterior.log_marginal, *_statistics(items, model, posterior, eta, f)


def _start(work: tuple[Items, Posterior], model: Any, theta: Belief, xi: Belief) -> tuple[Array, ...]:
    items, posterior = work
    eta, f = model.annotators.moments(theta, items.pairs), model.truth.moments(xi, items.X_truth)
    return _statistics(items, model, posterior, eta, f)


def _statistics(items: Items, model: Any, posterior: Posterior, eta: Any, f: Any) -> tuple[Array, ...]:
    return (
        *model.annotators.statistics(eta, items.pairs, posterior),
        *model.truth.statistics(f, items.X_truth, posterior),
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
