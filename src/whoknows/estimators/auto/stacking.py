"""Stacking: ensemble weights from the held-out log-likelihood of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logsumexp

from whoknows._array import Array, Mask, Rows, segment_sum

PRIOR_ITEMS = 3.0  # items' worth of prior weight: few labels cannot compare members
ROUNDS = 500  # of EM


@dataclass(frozen=True)
class HeldOutScores:
    """Scores of members on items whose labels were held out.

    Attributes
    ----------
    log_truth : (n_items, n_members, n_classes)
        log p(z | x).
    log_labels : (n_items, n_members, n_classes)
        log p(labels | x, z).
    log_given : (n_labels, n_members)
        log p(label | x, other labels of the item) of each label.
    weight : (n_items,)
    label_weight : (n_labels,)
        The weight of the label's item.
    """

    log_truth: Array
    log_labels: Array
    log_given: Array
    weight: Array
    label_weight: Array

    @classmethod
    def by_member(cls, log_truth: Array, log_each: Array, item: Rows, weight: Array | None = None) -> Self:
        """Return the scores of one member; ``log_each`` is log p(label | x, z), (n_labels, n_classes)."""
        weight = np.ones(len(log_truth)) if weight is None else weight
        log_labels = segment_sum(log_each, item, len(log_truth))
        log_joint = (log_truth + log_labels)[item]
        log_given = logsumexp(log_joint, axis=1) - logsumexp(log_joint - log_each, axis=1)
        return cls(log_truth[:, None], log_labels[:, None], log_given[:, None], weight, weight[item])

    @classmethod
    def nothing(cls, n_members: int) -> Self:
        """Return the scores where no item was held out."""
        return cls(*np.zeros((2, 0, n_members, 1)), np.zeros((0, n_members)), *np.zeros((2, 0)))

    @classmethod
    def joined(cls, parts: list[Self], axis: int) -> Self:
        """Concatenate items (axis 0) or members (axis 1)."""
        tables = zip(*((part.log_truth, part.log_labels, part.log_given) for part in parts), strict=True)
        told = (np.concatenate(table, axis) for table in tables)
        if axis == 1:
            return cls(*told, parts[0].weight, parts[0].label_weight)
        weights = zip(*((part.weight, part.label_weight) for part in parts), strict=True)
        return cls(*told, *map(np.concatenate, weights))

    def of(self, member: int) -> Self:
        """Return the scores of one member."""
        told = (table[:, [member]] for table in (self.log_truth, self.log_labels, self.log_given))
        return type(self)(*told, self.weight, self.label_weight)

    @property
    def log_lik(self) -> Array:
        """log p(labels | x) of each item under each member: (n_items, n_members)."""
        return np.asarray(logsumexp(self.log_truth + self.log_labels, axis=2))

    def log_lik_of_truth(self, weights: Array) -> Array:
        """Return the same with one p(labels | x, z) for all members, a weighted average of theirs.

        Then members differ in p(z | x) alone.
        """
        meant = np.einsum("m,imk->ik", weights, self.log_labels)
        return np.asarray(logsumexp(self.log_truth + meant[:, None], axis=2))

    def log_lik_of_labels(self, weights: Array) -> Array:
        """Return the same with one p(z | x) for all members, a weighted average of theirs.

        Then members differ in p(labels | x, z) alone.
        """
        seen = logsumexp(self.log_truth, axis=1, b=weights[:, None], keepdims=True)
        return np.asarray(logsumexp(seen + self.log_labels, axis=2))


def weigh(log_lik: Array, spectral: Mask, even: float = 0.0, counts: Array | None = None) -> Array:
    """Weights of the members, (n_members,); zero for members with a graph unless they improve on the others.

    Where unlabelled items carry no information about the classes, members with a graph are worse than the
    others in ways that few held-out labels do not show. So they count only if, stacked by themselves, they
    have a higher held-out log-likelihood than the others.

    Parameters
    ----------
    log_lik : (n_items, n_members)
        Held-out log-likelihood of each item's labels under each member.
    spectral : (n_members,)
        Which members have a graph.
    even, counts
        As in `stack`.
    """
    if not spectral.any() or spectral.all() or len(log_lik) < 2:
        return stack(log_lik, even, counts=counts)
    graph, without = np.zeros((2, len(spectral)))
    graph[spectral] = stack(log_lik[:, spectral], even, counts=counts)
    without[~spectral] = stack(log_lik[:, ~spectral], even, counts=counts)
    gain = logsumexp(log_lik, axis=1, b=graph) - logsumexp(log_lik, axis=1, b=without)
    return stack(log_lik, even, counts=counts) if np.average(gain, weights=counts) > 0 else without


def stacked(log_lik: Array, counts: Array) -> Array:
    """Log-likelihood of each item's labels under the stacked members: (n_items,).

    Each half of the items has its weights from the other half, so that many members have no advantage.
    """
    halves = np.array_split(np.arange(len(log_lik)), 2)
    weights = [stack(log_lik[half], counts=counts[half]) for half in reversed(halves)]
    found = [logsumexp(log_lik[half], axis=1, b=w) for half, w in zip(halves, weights, strict=True)]
    return np.concatenate(found)


def half_and_half(one_kind: Mask) -> Array:
    """Return weights, (n_members,): one half for members of a kind, one half for the others."""
    sizes = np.where(one_kind, one_kind.sum(), (~one_kind).sum())
    return 1 / sizes / (1 / sizes).sum()


def stack(
    log_lik: Array, even: float = 0.0, prior: Array | None = None, counts: Array | None = None
) -> Array:
    """Weights that maximise Σ_i c_i log Σ_m w_m l_im, shrunk towards ``prior``: (n_members,).

    The prior, uniform by default, counts as three items. ``even``, a fraction of the items, shrinks further
    towards uniform weights. ``counts`` (n_items,) are the c_i, 1 by default.
    """
    n_items, n_members = log_lik.shape
    uniform = np.full(n_members, 1 / n_members)
    prior = uniform if prior is None else prior
    if not n_items:
        return prior
    counts = np.ones(n_items) if counts is None else counts
    pseudo_counts = PRIOR_ITEMS * prior + even * counts.sum() * uniform
    weights = pseudo_counts / pseudo_counts.sum()
    lik = np.exp(log_lik - log_lik.max(axis=1, keepdims=True))
    for _ in range(ROUNDS):
        weights = weights * (lik.T @ (counts / (lik @ weights))) + pseudo_counts
        weights /= weights.sum()
    return weights
