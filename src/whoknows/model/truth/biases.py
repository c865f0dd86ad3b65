"""Posterior of a real-valued truth with the annotators' biases integrated out, besides the weights ω.

A label of annotator t is about z + b_t, and z = ωᵀx + ε. Given the variances of ε and of the labels, ω and
all biases are jointly Gaussian.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from whoknows._array import Array, Mask, Rows
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.gaussian import Belief

SAME_LABELS = 1e-9  # relative difference that is rounding
MOST_BIASES = 2_000  # annotators: with more, their biases are taken as estimated


def covariance_with_biases(X: Array, precision: Array, noise: float, evidence: QuadraticEvidence) -> Array | None:
    """Covariance of ω and of all biases b given the labels, (n_features + n_annotators)²; or None.

    There is none for very many annotators, or more of them than labels: biases are then taken as estimated.

    With L (n_items, n_annotators) the precisions of labels, λ their sums over annotators and
    g = 1 / (1 + s²λ), the precision is that of the prior plus, for ω, ω and b, and b,

        Xᵀ diag(gλ) X,   Xᵀ diag(g) L,   diag(Lᵀ1) − s² Lᵀ diag(g) L.
    """
    labels, g = evidence.by_annotator, 1 / (1 + noise * evidence.precision)
    if labels is None or labels.precision.shape[1] > min(MOST_BIASES, labels.precision.nnz):
        return None
    counts = np.ones(len(g)) if evidence.weight is None else evidence.weight
    L = labels.precision.toarray()
    of_weights = precision + X.T @ (X * (counts * g * evidence.precision)[:, None])
    shared = X.T @ (L * (counts * g)[:, None])
    of_biases = np.diag(labels.bias_precision + counts @ L) - noise * L.T @ (L * (counts * g)[:, None])
    return np.asarray(scipy.linalg.inv(np.block([[of_weights, shared], [shared.T, of_biases]])))


def posterior_in_training(
    weights: Belief, joint: Array, noise: float, X: Array, evidence: QuadraticEvidence, item: Rows, with_labels: Mask
) -> tuple[Array, Array]:
    """Mean and variance of z of items, which are training items with their labels, or have none.

    Given ω and the biases, z = g (ωᵀx + s² (p − Σ λ_t b_t)) ± √(g s²), with λ_t and p of its labels.
    """
    labels: Any = evidence.by_annotator
    g = 1 / (1 + noise * with_labels * evidence.precision[item])
    L = labels.precision[item].toarray() * with_labels[:, None]
    along = np.hstack([X, -noise * L]) * g[:, None]
    mean = g * (X @ weights.mean + noise * with_labels * evidence.pull[item])
    return mean, g * noise + np.einsum("ij,ij->i", along @ joint, along)


def has_same_labels(one: QuadraticEvidence, other: QuadraticEvidence, item: Rows) -> Mask:
    """Whether rows ``item`` of one evidence are the labels of the other, each counted once: (n_items,)."""
    mine, theirs = one.by_annotator, other.by_annotator
    assert mine is not None
    assert theirs is not None
    apart = abs(mine.precision[item] - theirs.precision).sum(axis=1)
    apart += abs(mine.pull[item] - theirs.pull).sum(axis=1)
    apart += np.abs(one.precision[item] - other.precision) + np.abs(one.pull[item] - other.pull)
    once = True if one.weight is None else one.weight[item] == 1
    return np.asarray(once & (apart <= SAME_LABELS * (1 + other.precision)))


@dataclass(frozen=True)
class Labels:
    """Labels of one item: −½ precision (z + b_t)² + pull (z + b_t) for each t in ``who``.

    The last one, whose bias is 0, is what belongs to no annotator: gold, and labels of annotators not seen
    in training.
    """

    who: Rows
    precision: Array
    pull: Array


def labels_of(evidence: QuadraticEvidence, item: int) -> Labels:
    """Return the labels of one item."""
    each: Any = evidence.by_annotator
    here = slice(each.precision.indptr[item], each.precision.indptr[item + 1])
    d, q = each.precision.data[here], each.pull.data[here]
    rest = evidence.precision[item] - d.sum(), evidence.pull[item] - q.sum()
    who = np.append(each.precision.indices[here], each.precision.shape[1])
    return Labels(who, np.append(d, rest[0]), np.append(q, rest[1]))


def posterior_of_items(
    weights: Belief, joint: Array, noise: float, X: Array, old: list[tuple[Labels, float]], new: list[Labels]
) -> Iterator[tuple[float, float, float]]:
    """Give mean and variance of z, and log p(labels | x) up to its constant, of each item.

    ``old`` are labels of the item that ``joint`` includes, with their sample weight: they are removed.
    """
    n = X.shape[1]
    shared, biases = X @ joint[:n], np.pad(joint[n:, n:], ((0, 1), (0, 1)))
    f, v = X @ weights.mean, np.einsum("ij,ij->i", shared[:, :n], X)
    with_biases = np.pad(shared[:, n:], ((0, 0), (0, 1)))
    for i, ((before, count), now) in enumerate(zip(old, new, strict=True)):
        t = np.union1d(before.who, now.who)
        covariance = np.block([[v[i], with_biases[i, t][None]], [with_biases[i, t][:, None], biases[np.ix_(t, t)]]])
        mean = np.append(f[i], np.zeros(len(t)))
        mean, covariance = _without(mean, covariance, noise, before, count, np.searchsorted(t, before.who))
        covariance[0, 0] += noise  # from ωᵀx to z
        yield _observe(mean, covariance, now, np.searchsorted(t, now.who))


def _without(
    mean: Array, covariance: Array, noise: float, labels: Labels, count: float, place: Rows
) -> tuple[Array, Array]:
    """Remove labels of an item from the distribution of ωᵀx and biases; its ε is integrated out."""
    d, q = labels.precision, labels.pull
    E = np.zeros((len(d), len(mean)))
    E[:, 0], E[np.arange(len(d)), 1 + place] = 1.0, 1.0
    g = 1 / (1 + noise * d.sum())
    information = count * E.T @ (np.diag(d) - noise * g * np.outer(d, d)) @ E
    pull = count * E.T @ (q - noise * g * q.sum() * d)
    left = np.eye(len(mean)) - covariance @ information
    return np.linalg.solve(left, mean - covariance @ pull), np.linalg.solve(left, covariance)


def _observe(mean: Array, covariance: Array, labels: Labels, place: Rows) -> tuple[float, float, float]:
    """Mean and variance of z given labels, and the log of their mean likelihood; z is before the biases."""
    d, q, c = labels.precision, labels.pull, covariance[0, 1 + place]
    k, at = covariance[0, 0] + c, mean[0] + mean[1 + place]  # covariance of z with z + b_t, and its mean
    V, r = k[:, None] + c + covariance[np.ix_(1 + place, 1 + place)], q - d * at
    A = np.eye(len(d)) + d[:, None] * V
    gain = np.linalg.solve(A, np.column_stack([r, d * k]))
    up, down = k @ gain
    log_mean = q @ at - 0.5 * d @ at**2 + 0.5 * r @ V @ gain[:, 0] - 0.5 * np.linalg.slogdet(A)[1]
    return float(mean[0] + up), float(covariance[0, 0] - down), float(log_mean)
