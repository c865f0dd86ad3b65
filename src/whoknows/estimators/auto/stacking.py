"""Weights of several models, by how well each foretells labels it did not see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logsumexp

from whoknows._array import Array, Mask, Rows, segment_sum

PRIOR_ITEMS = 3.0  # rows' worth of weight that is given beforehand: few labels cannot tell members apart
ROUNDS = 500  # of EM


@dataclass(frozen=True)
class HeldOutScores:
    """What members say of items whose labels they did not see.

    Attributes
    ----------
    log_truth : (n_items, n_members, n_classes)
        log p(z | x).
    log_labels : (n_items, n_members, n_classes)
        log p(labels | x, z).
    log_given : (n_labels, n_members)
        log p(label | x, other labels of the item) of each label.
    weight : (n_items,)
        How much each item counts.
    label_weight : (n_labels,)
        The same of each label: as its item.
    """

    log_truth: Array
    log_labels: Array
    log_given: Array
    weight: Array
    label_weight: Array

    @classmethod
    def by_member(cls, log_truth: Array, log_each: Array, item: Rows, weight: Array | None = None) -> Self:
        """What one member says: ``log_each`` (n_labels, n_classes) is of each label, of the item it is on."""
        weight = np.ones(len(log_truth)) if weight is None else weight
        log_labels = segment_sum(log_each, item, len(log_truth))
        log_joint = (log_truth + log_labels)[item]
        log_given = logsumexp(log_joint, axis=1) - logsumexp(log_joint - log_each, axis=1)
        return cls(log_truth[:, None], log_labels[:, None], log_given[:, None], weight, weight[item])

    @classmethod
    def nothing(cls, n_members: int) -> Self:
        """No item was held out."""
        return cls(*np.zeros((2, 0, n_members, 1)), np.zeros((0, n_members)), *np.zeros((2, 0)))

    @classmethod
    def joined(cls, parts: list[Self], axis: int) -> Self:
        """Items one after the other (axis 0), or members side by side (axis 1)."""
        tables = zip(*((part.log_truth, part.log_labels, part.log_given) for part in parts), strict=True)
        told = (np.concatenate(table, axis) for table in tables)
        if axis == 1:
            return cls(*told, parts[0].weight, parts[0].label_weight)
        weights = zip(*((part.weight, part.label_weight) for part in parts), strict=True)
        return cls(*told, *map(np.concatenate, weights))

    def of(self, member: int) -> Self:
        """Return what one member says."""
        told = (table[:, [member]] for table in (self.log_truth, self.log_labels, self.log_given))
        return type(self)(*told, self.weight, self.label_weight)

    @property
    def log_lik(self) -> Array:
        """log p(labels | x) of each item under each member: (n_items, n_members)."""
        return np.asarray(logsumexp(self.log_truth + self.log_labels, axis=2))

    def log_lik_of_truth(self, weights: Array) -> Array:
        """Return the same with labels taken alike for all members: by the average of what they mean to each.

        Then members differ in what they say of the truth, and in nothing else.
        """
        meant = np.einsum("m,imk->ik", weights, self.log_labels)
        return np.asarray(logsumexp(self.log_truth + meant[:, None], axis=2))

    def log_lik_of_labels(self, weights: Array) -> Array:
        """Return the same with the truth seen alike by all members: as their average sees it.

        Then members differ in what labels mean to them, and in nothing else.
        """
        seen = logsumexp(self.log_truth, axis=1, b=weights[:, None], keepdims=True)
        return np.asarray(logsumexp(seen + self.log_labels, axis=2))


def weigh(log_lik: Array, spectral: Mask, even: float = 0.0, counts: Array | None = None) -> Array:
    """Weights of the members, (n_members,); those with a graph have to earn theirs.

    They look at unlabelled items, too, and where these say nothing of the classes they are worse than the
    others in ways that few held-out labels do not show. So they count only where, stacked by themselves, they
    foretell held-out labels better than the others do.

    Parameters
    ----------
    log_lik : (n_items, n_members)
        Log-likelihood of each item's labels under each member, which did not see them.
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
    """Log-likelihood of each item's labels under the members, weighed by `stack` on others: (n_items,).

    Each half of the items has its weights from the other: many members are not better than few by chance.
    """
    halves = np.array_split(np.arange(len(log_lik)), 2)
    weights = [stack(log_lik[half], counts=counts[half]) for half in reversed(halves)]
    found = [logsumexp(log_lik[half], axis=1, b=w) for half, w in zip(halves, weights, strict=True)]
    return np.concatenate(found)


def half_and_half(one_kind: Mask) -> Array:
    """Weights of the members, (n_members,): one half each for those of a kind and for the others."""
    sizes = np.where(one_kind, one_kind.sum(), (~one_kind).sum())
    return 1 / sizes / (1 / sizes).sum()


def stack(
    log_lik: Array, even: float = 0.0, prior: Array | None = None, counts: Array | None = None
) -> Array:
    """Weights that maximise Σ_i c_i log Σ_m w_m l_im, drawn to ``prior``, or an even share: (n_members,).

    The draw is worth three items; so many more as ``even``, a share of the items, or labels, draw towards an
    even share. ``counts`` (n_items,) are the c_i, how much each counts: 1 by default.
    """
    n_items, n_members = log_lik.shape
    alike = np.full(n_members, 1 / n_members)
    prior = alike if prior is None else prior
    if not n_items:
        return prior
    counts = np.ones(n_items) if counts is None else counts
    drawn = PRIOR_ITEMS * prior + even * counts.sum() * alike
    weights = drawn / drawn.sum()
    lik = np.exp(log_lik - log_lik.max(axis=1, keepdims=True))
    for _ in range(ROUNDS):
        weights = weights * (lik.T @ (counts / (lik @ weights))) + drawn
        weights /= weights.sum()
    return weights
