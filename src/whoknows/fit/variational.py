"""Pólya-Gamma variational EM: Algorithm 1 with beliefs instead of point estimates.

q(z) q(ξ) q(θ) maximises one bound on log p(Y_L | X). Every step is linear algebra on sums over items, the
bound never decreases, and the covariances are used for predictions and intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows._array import Array, Rows, to_numpy
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.model.annotators.population import CrowdBelief
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import Posterior
from whoknows.model.protocols import VariationalAnnotators, VariationalTruth, require, supports
from whoknows.model.truth.logistic import item_keys, shares

INSTEAD = (
    "Use solver='em' or 'lbfgs', or BernoulliAnnotators with LogisticTruth (truth='id' or 'lgp', "
    "annotators='bernoulli') and two classes."
)

Sums = tuple[Array, ...]  # over items: what determines q(θ) and q(ξ), see `_statistics`


def has_bound(model: Model) -> bool:
    """Whether both pieces have the quadratic bound that this solver needs."""
    return supports(model.annotators, VariationalAnnotators) and supports(model.truth, VariationalTruth)


@dataclass(frozen=True)
class _Iteration:
    """q(θ) and q(ξ) from sums over items, the bound, and the sums of the next E-step."""

    crowd: CrowdBelief
    xi: Belief
    bound: float
    sums: Sums


def fit_variational(
    model: Model,
    chunks: Sequence[Items],
    start: Sequence[Posterior],
    monitor: Monitor,
    engine: Engine,
    before: tuple[CrowdBelief, Belief] | None = None,
    state: Any = None,
) -> tuple[CrowdBelief, Belief]:
    """Return q(θ) and q(ξ), from the posterior of each chunk in ``start``, or from the beliefs ``before``.

    ``state`` is the saved state of an interrupted fit, which is then continued.
    """
    require(model.annotators, VariationalAnnotators, "solver='vb'", INSTEAD)
    require(model.truth, VariationalTruth, "solver='vb'", INSTEAD)
    last: list[Sums] = []  # of successive iterations, up to three
    sums, crowd, last = state or (*_initial(model, chunks, start, engine, before), last)
    while True:
        monitor.keep((sums, crowd, last))
        now = _iterate(sums, crowd, model, chunks, engine)
        if monitor.add(now.bound, now.crowd.mean):
            break
        last = [*last, sums][-3:]
        sums, crowd = now.sums, now.crowd
        target = extrapolate(last) if len(last) == 3 else None
        if target is not None:
            last = []
            ahead = _iterate(target, crowd, model, chunks, engine)
            if ahead.bound > now.bound:
                sums, crowd, now = ahead.sums, ahead.crowd, ahead
                # A small gain from extrapolation does not mean convergence.
                monitor.add(ahead.bound, ahead.crowd.mean)
                if monitor.stopped or monitor.n_iter >= monitor.max_iter:
                    break
    monitor.finish()
    return now.crowd, now.xi


def _initial(
    model: Any,
    chunks: Sequence[Items],
    start: Sequence[Posterior],
    engine: Engine,
    before: tuple[CrowdBelief, Belief] | None,
) -> tuple[Sums, CrowdBelief]:
    """Return the first sums, from posteriors and the prior or from beliefs, and q(θ)."""
    if before is not None:
        crowd, xi = before
        return engine.sum(expectation, chunks, model, crowd.belief(), xi)[1:], crowd
    labels_per_annotator, n_features = engine.sum(_size, chunks)
    crowd = model.annotators.prior_belief(n_features[0], labels_per_annotator > 0)
    work = list(zip(chunks, start, strict=True))
    return engine.sum(_start, work, model, crowd.belief(), model.truth.prior_belief()), crowd


def _iterate(sums: Sums, crowd: CrowdBelief, model: Any, chunks: Sequence[Items], engine: Engine) -> _Iteration:
    crowd, xi = crowd.update(*sums[:2]), model.truth.update(*sums[2:])
    local, *after = engine.sum(expectation, chunks, model, crowd.belief(), xi)
    return _Iteration(crowd, xi, local - crowd.divergence() - model.truth.divergence(xi), tuple(after))


def extrapolate(last: Sequence[Sums]) -> Sums | None:
    """Sums that three successive iterations converge to, or None if they cannot be extrapolated.

    The error decreases by about the same factor per iteration, so two steps predict the limit (SQUAREM;
    Varadhan and Roland, Scand. J. Stat. 2008): s₀ − 2a r + a² v, with r = s₁ − s₀, v = s₂ − s₁ − r,
    a = −|r| / |v|. Gram matrices must stay positive definite.
    """
    first, second, third = last
    r = tuple(b - a for a, b in zip(first, second, strict=True))
    v = tuple(c - b - step for b, c, step in zip(second, third, r, strict=True))
    length = _length(v)
    if length == 0:
        return None
    a = min(-_length(r) / length, -1.0)
    target = tuple(s - 2 * a * step + a * a * bend for s, step, bend in zip(first, r, v, strict=True))
    return target if _are_positive(target[0]) and _are_positive(target[2]) else None


def _length(sums: Sums) -> float:
    return float(np.sqrt(sum((part**2).sum() for part in sums)))


def _are_positive(gram: Array) -> bool:
    """Whether all Gram matrices are positive semi-definite, up to rounding."""
    rounding = 1e-10 * np.trace(gram, axis1=-2, axis2=-1) + np.finfo(float).tiny
    try:
        np.linalg.cholesky(gram + rounding[..., None, None] * np.eye(gram.shape[-1]))
    except np.linalg.LinAlgError:
        return False
    return True


def _size(items: Items) -> tuple[Rows, list[int]]:
    return items.Y.labels_per_annotator, [items.X_annotators.shape[1]]


def variational_posterior(items: Items, model: Any, theta: Belief, xi: Belief) -> Any:
    """Return the best q(z) of one chunk given q(θ) and q(ξ)."""
    eta, f = model.annotators.moments(theta, items.pairs), model.truth.moments(xi, items.X_truth)
    evidence = items.complete(model.annotators.bounded_evidence(eta, items.pairs))
    return model.truth.bounded_posterior(f, evidence)


def expectation(items: Items, model: Any, theta: Belief, xi: Belief) -> tuple[Any, ...]:
    """E-step of one chunk: its part of the bound and of the sums that determine q(θ) and q(ξ)."""
    eta, f = model.annotators.moments(theta, items.pairs), model.truth.moments(xi, items.X_truth)
    evidence = items.complete(model.annotators.bounded_evidence(eta, items.pairs))
    posterior = model.truth.bounded_posterior(f, evidence)
    return posterior.log_marginal, *_statistics(items, model, posterior, eta, f)


def held_out(items: Items, model: Any, theta: Belief, xi: Belief) -> tuple[list[Array], ...]:
    """Return keys of a chunk's items, log p(z | x) of each without its labels, and what these say."""
    eta, f = model.annotators.moments(theta, items.pairs), model.truth.moments(xi, items.X_truth)
    evidence = items.complete(model.annotators.bounded_evidence(eta, items.pairs))
    posterior = model.truth.bounded_posterior(f, evidence)
    labels = items.complete(model.annotators.evidence_at(theta, items.X_annotators, items.Y))
    log_prob, table = (to_numpy(part) for part in (model.truth.without_own_labels(f, posterior), labels.table))
    return [item_keys(items.X_truth)], [log_prob], [shares(table)]


def _start(work: tuple[Items, Posterior], model: Any, theta: Belief, xi: Belief) -> tuple[Array, ...]:
    items, posterior = work
    eta, f = model.annotators.moments(theta, items.pairs), model.truth.moments(xi, items.X_truth)
    return _statistics(items, model, posterior, eta, f)


def _statistics(items: Items, model: Any, posterior: Posterior, eta: Any, f: Any) -> tuple[Array, ...]:
    return (
        *model.annotators.statistics(eta, items.pairs, posterior),
        *model.truth.statistics(f, items.X_truth, posterior),
    )
