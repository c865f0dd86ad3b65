"""Intervals of probabilities, from the covariances of the parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, logit, logsumexp, softmax
from scipy.stats import norm

from whoknows._array import Array, Rows
from whoknows.data.errors import InputError
from whoknows.fit.laplace import Covariances
from whoknows.model.gaussian import Belief
from whoknows.model.protocols import IntervalTruth, require

Interval = tuple[Array, Array, Array]  # the estimate, its lower and its upper limit

GRID = np.linspace(-1, 1, 9)  # points of the interval of the log-odds at which the probability is evaluated
AT_ONCE = 4_000_000  # numbers in memory at once


def check_level(level: Any) -> float:
    """Return the half-width of an interval of this level in standard deviations."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.9; got {level!r}.")
    return float(norm.ppf(0.5 + level / 2))


def class_interval(
    truth: Any, xi: Array, spread: Covariances, X: Array, prob: Array, level: float
) -> Interval:
    """p(z | x) with limits: three (n_items, n_classes).

    With one log-odds f per item, the range of p(z | f) over f ± k · sd. With one per class, the log-odds of a
    class against all others, log p_k / (1 − p_k), have the variance v_k + Σ_{j ≠ k} (p_j / (1 − p_k))² v_j.
    """
    require(
        truth,
        IntervalTruth,
        "An interval of p(z | x)",
        "Use truth='id' or 'lgp' (map='spectral' is the same prior as 'gp').",
    )
    reach, of_truth = check_level(level), spread.truth
    assert of_truth is not None
    variance = np.stack([np.einsum("ij,ij->i", X @ S, X) for S in of_truth], axis=1)
    f = truth.log_odds(xi, X)
    if f.shape[1] == 1:
        sd = np.sqrt(variance)
        around = np.array([truth.log_prob(xi, f + step * reach * sd) for step in GRID])
        return _around(prob, np.exp(around.min(axis=0)), np.exp(around.max(axis=0)))
    centre, sd = np.empty_like(f), np.empty_like(f)
    for k in range(f.shape[1]):
        rest, others = np.delete(f, k, axis=1), np.delete(variance, k, axis=1)
        centre[:, k] = f[:, k] - logsumexp(rest, axis=1)
        sd[:, k] = np.sqrt(variance[:, k] + (softmax(rest, axis=1) ** 2 * others).sum(axis=1))
    return _around(prob, expit(centre - reach * sd), expit(centre + reach * sd))


def expertise_interval(
    annotators: Any,
    theta: Array,
    spread: Covariances,
    rows: Rows,
    X_annotators: Array,
    prob: Array,
    value: Array,
    level: float,
) -> Interval:
    """Expertise of some annotators with limits: three (n_items, n_rows); ``value`` is the estimate."""
    reach = check_level(level)
    size = 1 + X_annotators.shape[0] * theta.shape[1] * prob.shape[1] // AT_ONCE
    low, high = np.empty_like(value), np.empty_like(value)
    for part in np.array_split(np.arange(len(X_annotators)), size):

        def expertise(points: Array, part: Rows = part) -> Array:
            return np.asarray(annotators.expertise(Belief(points), X_annotators[part], prob[part]))

        for column, row in enumerate(rows):
            centre, sd = sigma_points(expertise, theta[row], spread.annotators[row])
            low[part, column], high[part, column] = expit(centre - reach * sd), expit(centre + reach * sd)
    return _around(value, low, high)


def average_interval(
    annotators: Any,
    theta: Array,
    spread: Covariances,
    X_annotators: Array,
    prob: Array,
    value: Array,
    level: float,
) -> Interval:
    """Expertise averaged over items, with limits: three (n_annotators,); ``value`` is the estimate."""
    reach = check_level(level)

    def average(points: Array) -> Array:
        return np.asarray(annotators.expertise(Belief(points), X_annotators, prob)).mean(axis=0)

    odds = [sigma_points(average, theta[t], spread.annotators[t]) for t in range(len(value))]
    centre, sd = np.array(odds).reshape(-1, 2).T
    return _around(value, expit(centre - reach * sd), expit(centre + reach * sd))


def sigma_points(
    probability: Callable[[Array], Array], mean: Array, covariance: Array
) -> tuple[Array, Array]:
    """Return log-odds of a probability that depends on θ ~ N(mean, covariance), and their standard deviation.

    ``probability`` takes points (n_points, n_columns) and returns (…, n_points). It is evaluated one standard
    deviation to either side along each axis of the covariance: exact if the log-odds are linear in θ.
    """
    axes = np.linalg.cholesky(covariance).T
    odds = logit(np.clip(probability(np.vstack([mean, mean + axes, mean - axes])), 1e-12, 1 - 1e-12))
    n = len(mean)
    half = 0.5 * (odds[..., 1 : n + 1] - odds[..., n + 1 : 2 * n + 1])
    return odds[..., 0], np.sqrt((half**2).sum(axis=-1))


def mixture(weights: Array, answers: list[Interval], level: float) -> Interval:
    """Interval of a weighted average of members, on log-odds: variance within and between members."""
    reach = check_level(level)
    value = np.tensordot(weights, np.array([a[0] for a in answers]), axes=1)
    low, high = (logit(np.clip(np.array([a[i] for a in answers]), 1e-12, 1 - 1e-12)) for i in (1, 2))
    centre, variance = 0.5 * (low + high), ((high - low) / (2 * reach)) ** 2
    mean = np.tensordot(weights, centre, axes=1)
    sd = np.sqrt(np.tensordot(weights, variance + (centre - mean) ** 2, axes=1))
    return _around(value, expit(mean - reach * sd), expit(mean + reach * sd))


def _around(value: Array, low: Array, high: Array) -> Interval:
    """Return estimate and limits; the estimate, an average over the parameters, is never outside them."""
    return value, np.minimum(low, value), np.maximum(high, value)
