"""Cross-fitted EM: the posterior of an item uses a classifier fitted without its labels.

In plain EM a flexible p(z | x) that has fitted an item's labels confirms them. Here the E-step uses p(z | x)
as fitted without the item, in closed form (approximate leave-one-out), so that no refits are needed. The
objective, the held-out likelihood of each item's labels, may decrease slightly between iterations.

It runs in a basis (`principal_basis`) in which the prior of ξ is N(0, I) and XᵀX is diagonal, with entries
s_j. If log p(z | x) had the same curvature h at all items, all covariances would be diagonal there, and the
variances of ξᵀx_i in the fit to all items, and in the fit without item i, would be

    v_i = Σ_j x_ij² / (1 + h s_j),    a_i = v_i / (1 − h v_i).

Curvatures w_i = p_i (1 − p_i) differ between items. The h that stands for all of them satisfies

    Σ_i h / (1 + h a_i) = Σ_i w_i / (1 + w_i a_i),

as for large random matrices (a deterministic equivalent). No iteration has to decompose a matrix.

Features of the truth may be tensors, and products with them are computed on their device. What has one number per
item and class (posteriors, evidence), or per feature and class, is small and stays on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whoknows._array import Array, like, to_numpy
from whoknows.fit.em import log_marginal, m_step
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, evidence_of
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior, Posterior

INNER_ITERATIONS = 5  # of L-BFGS per M-step: posteriors move half way each time, so more would be wasted
STEP = 0.5  # of the way to the new posteriors
PATIENCE, SHORTER = 40, 0.8  # iterations after which each decrease makes steps shorter, by this factor
FIRST_STEPS = 3  # towards the first h; later, one per iteration of EM is enough


def fit_crossfit(
    model: Model,
    chunks: Sequence[Items],
    posteriors: Sequence[Posterior],
    start: Parameters,
    monitor: Monitor,
    engine: Engine,
) -> tuple[Belief, Any]:
    """Return θ, and the state of the truth model with leave-one-out predictions of the items."""
    truth: Any = model.truth
    (spectrum,) = engine.sum(_spectrum, chunks)
    parameters, monitor.exact, h = start, False, np.zeros(truth.weights(start.xi).shape[1])
    step, before = STEP, -np.inf
    for _ in range(FIRST_STEPS):
        h = _next_curvature(truth, parameters.xi, h, spectrum, _paired(chunks, posteriors), engine)
    while True:
        scale = np.ones_like(parameters.xi)
        scale[: len(spectrum)] = _posterior_variance(spectrum, h) ** 0.5
        parameters = m_step(model, chunks, posteriors, parameters, engine, scale, INNER_ITERATIONS)
        work = _paired(chunks, posteriors)
        h = _next_curvature(truth, parameters.xi, h, spectrum, work, engine)
        posteriors = engine.keep(_expectation, work, model, parameters, h, spectrum, step)
        (held_out_likelihood,) = engine.sum(log_marginal, posteriors)
        if monitor.add(held_out_likelihood, parameters.theta):
            break
        if monitor.n_iter > PATIENCE and held_out_likelihood < before:  # it oscillates
            step *= SHORTER
        before = held_out_likelihood
    monitor.finish()
    state = truth.cross_fitted(parameters.xi, *engine.sum(_held_out, work, model, parameters, h, spectrum))
    return Belief(parameters.theta), state


def _paired(*parts: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the parts of each chunk together."""
    return list(zip(*parts, strict=True))


# --- the variance of ξᵀx without an item -------------------------------------------------------------------


def _spectrum(items: Items) -> tuple[Array]:
    """Return s, the diagonal of XᵀX, the items weighted."""
    squares = items.X_truth**2
    return (to_numpy(squares.sum(axis=0) if items.weight is None else like(items.weight, squares) @ squares),)


def _posterior_variance(spectrum: Array, h: Array) -> Array:
    """1 / (1 + h s), for each feature and output: (n_features, n_outputs)."""
    return 1 / (1 + spectrum[:, None] * h)


def _next_curvature(
    truth: Any, xi: Array, h: Array, spectrum: Array, work: list[tuple[Any, ...]], engine: Engine
) -> Array:
    """Take one step of the fixed-point iteration for h: (n_outputs,)."""
    found, expected = engine.sum(_curvature_sums, work, truth, xi, h, spectrum)
    return np.asarray(found / expected)


def _curvature_sums(
    work: tuple[Items, Posterior], truth: Any, xi: Array, h: Array, spectrum: Array
) -> tuple[Array, Array]:
    """Σ w / (1 + w a) and Σ 1 / (1 + h a), over the items of a chunk: two (n_outputs,)."""
    items, posterior = work
    counts = like(posterior.counts[:, None], items.X_truth)
    a = _variance_without_item(items.X_truth, posterior, h, spectrum)
    w = truth.curvature(xi, items.X_truth, posterior)
    found, expected = counts * w / (1 + counts * w * a), counts / (1 + counts * like(h, a) * a)
    return to_numpy(found.sum(axis=0)), to_numpy(expected.sum(axis=0))


def _variance_without_item(X: Array, posterior: Posterior, h: Array, spectrum: Array) -> Array:
    """Return a, the variance of ξᵀx in the fit without the item, all its copies: (n_items, n_outputs)."""
    v = X**2 @ like(_posterior_variance(spectrum, h), X)
    return v / (1 - like(posterior.counts[:, None], X) * like(h, X) * v)


# --- the E-step --------------------------------------------------------------------------------------------


def _expectation(
    work: tuple[Items, Posterior], model: Any, parameters: Parameters, h: Array, spectrum: Array, step: float
) -> CategoricalPosterior:
    """E-step of one chunk with leave-one-out p(z | x): a part of the way from the previous posterior.

    A full step would let items that depend on each other oscillate. The log marginal is that of the full
    step.
    """
    items, old = work
    log_prior = _leave_one_out(items, old, model.truth, parameters.xi, h, spectrum)
    evidence = evidence_of(items, model, parameters)
    new = CategoricalPosterior.from_log_joint(log_prior + evidence.table, evidence.weight)
    prob = (1 - step) * old.prob + step * new.prob  # type: ignore[union-attr]
    return CategoricalPosterior(prob, new.log_marginal, new.weight)


def _leave_one_out(items: Items, posterior: Posterior, truth: Any, xi: Array, h: Array, spectrum: Array) -> Array:
    a = _variance_without_item(items.X_truth, posterior, h, spectrum)
    return np.asarray(to_numpy(truth.leave_one_out(xi, items.X_truth, posterior, a)))


def _held_out(
    work: tuple[Items, Posterior], model: Any, parameters: Parameters, h: Array, spectrum: Array
) -> tuple[list[Array], ...]:
    """Features of a chunk's items, their leave-one-out log p(z | x), the evidence of their labels, weights."""
    items, posterior = work
    held_out = _leave_one_out(items, posterior, model.truth, parameters.xi, h, spectrum)
    found = items.X_truth, held_out, evidence_of(items, model, parameters).table, posterior.counts
    return tuple([to_numpy(part)] for part in found)
