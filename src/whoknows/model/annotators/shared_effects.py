"""Effects that the labels of an item share, integrated out: annotators who err together.

Given the truth z, annotator t is right with log-odds s_t η_tz + λ_t u + κ_t v, where u ~ N(0, 1) is shared by all
labels of the item, and v ~ N(0, 1) by those of one group of annotators. s_t² = 1 + π (λ_t² + κ_t²) / 8 keeps the mean
probability of being right at σ(η_tz), in MacKay's approximation.

Both integrals are sums over evenly spaced nodes, which converge exponentially for smooth functions that vanish at the
ends. The more labels share an effect, and the larger it is, the narrower is the integrand: then there are more nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from whoknows._array import Array, Mask, Rows

END = 4.0  # standard deviations of an effect up to which nodes reach
DENSITY = 2.7  # pairs of nodes, if the integrand is as wide as N(0, 1)
NUMBERS_AT_ONCE = 50_000  # what fits in a processor's cache
LARGEST_LOG_ODDS = 300.0  # its exponential is finite


@dataclass(frozen=True)
class LabelOdds:
    """Labels, and the log-odds that they are right apart from shared effects.

    Attributes
    ----------
    item, annotator, label, counts : (n_labels,)
    group : (n_labels,)
        Of each label's annotator; all 0 if there are no effects of groups.
    log_odds : (n_labels, n_classes), or one column for all classes
    log_wrong : (n_labels, n_classes)
        log p(label | z, wrong); not used where z is the label.
    n_items : int
    """

    item: Rows
    annotator: Rows
    label: Rows
    counts: Array
    group: Rows
    log_odds: Array
    log_wrong: Array
    n_items: int

    def __getitem__(self, labels: Rows | slice) -> LabelOdds:
        """Return some of the labels."""
        names = ("item", "annotator", "label", "counts", "group", "log_odds", "log_wrong")
        return replace(self, **{name: getattr(self, name)[labels] for name in names})

    def evidence(self, effects: Array) -> Array:
        """log p(labels | z), effects integrated out: (n_items, n_classes).

        ``effects`` (n_annotators + 1, 2) are λ and κ of each row of θ.
        """
        table = np.zeros((self.n_items, self.log_wrong.shape[1]))
        for block in self.blocks(effects):
            table[block.items] = block.evidence(effects)
        return table

    def blocks(self, effects: Array) -> list[LabelBlock]:
        """Labels of items with as many nodes for effects of this size, a few items at a time."""
        n_u, n_v = self._n_nodes(effects)
        size = np.bincount(self.item, minlength=self.n_items)
        items = np.lexsort((n_v, n_u))
        items = items[size[items] > 0]
        n_u, n_v, size = n_u[items], n_v[items], size[items]
        place = np.zeros(self.n_items, dtype=np.intp)
        place[items] = np.arange(len(items))
        labels = self[np.lexsort((self.group, place[self.item]))]
        ends = np.concatenate([[0], np.cumsum(size)])
        full = np.cumsum(n_u * n_v * size * self.log_odds.shape[1]) // NUMBERS_AT_ONCE
        changes = (np.diff(values, prepend=-1) != 0 for values in (n_u, n_v, full))
        starts = np.flatnonzero(np.any(list(changes), axis=0))
        return [
            LabelBlock(items[first:end], labels[slice(ends[first], ends[end])], int(n_u[first]), int(n_v[first]))
            for first, end in pairwise([*starts, len(items)])
        ]

    def _n_nodes(self, effects: Array) -> tuple[Rows, Rows]:
        """Number of nodes of both effects for each item: two (n_items,).

        A label has precision κ² p (1 − p) about v, p the probability of being right; κ² / (4 + 3 |κ|) is typical. v
        integrated out, labels of precision a and b about u and v have precision a / (1 + b) about u.
        """
        n_groups = int(self.group.max(initial=0)) + 1
        about_u, about_v = (
            np.bincount(self.item * n_groups + self.group, precision, self.n_items * n_groups).reshape(-1, n_groups)
            for precision in self.counts * (effects**2 / (4 + 3 * np.abs(effects)))[self.annotator].T
        )
        return _n_nodes((about_u / (1 + about_v)).sum(axis=1)), _n_nodes(about_v.max(axis=1))


def _n_nodes(precision: Array) -> Rows:
    """Return odd numbers of nodes; one where labels say nothing about the effect."""
    return np.where(precision > 0, 2 * np.ceil(DENSITY * np.sqrt(1 + precision)).astype(np.intp) + 1, 1)


@dataclass(frozen=True)
class LabelBlock:
    """Labels of some items, sorted by item and group: those of one item and group are a cell.

    Attributes
    ----------
    items : (n_items,)
    labels : LabelOdds
    n_u, n_v : int
        Number of nodes of both effects; a single one is at 0.
    """

    items: Rows
    labels: LabelOdds
    n_u: int
    n_v: int

    def evidence(self, effects: Array) -> Array:
        """log p(labels | z), effects integrated out: (n_items, n_classes)."""
        given_v, odds = self._given_effects(effects)
        given_v -= self._of_all(np.log1p(odds, out=odds))
        return _log_mean(self._given_u(given_v), self._u[1])

    def gradient(self, effects: Array, log_prior: Array) -> tuple[Array, Array]:
        """log p(labels) of each item, (n_items,), and its derivatives in λ and κ of each label, (n_labels, 2).

        ``log_prior`` (n_items, n_classes) is log p(z).
        """
        labels, own = self.labels, effects[self.labels.annotator]
        given_v, odds = self._given_effects(effects)
        given_v -= self._of_all(np.log1p(odds))
        joint = self._given_u(given_v) + log_prior[:, :, None] + np.log(self._u[1])
        log_lik = np.logaddexp.reduce(_flat(joint), axis=1)
        prob = given_v * self._v[1]  # p(z, u, v | labels), once it is normalised
        prob *= (np.exp(joint - log_lik[:, None, None])[self._item_of_cell] / prob.sum(axis=-1))[..., None]
        prob = prob.reshape(*prob.shape[:2], -1)
        said = (prob @ self._moments)[self._cell, labels.label]  # where z is the label: (n_labels, 3)
        if odds.shape[1] == 1:
            prob = prob.sum(axis=1, keepdims=True)
        odds /= 1 + odds
        odds *= prob[self._cell]
        excess = -odds @ self._moments  # (n_labels, 1 or K, 3)
        excess[np.arange(len(said)), labels.label if excess.shape[1] > 1 else 0] += said
        of_scale = (excess[:, :, 0] * labels.log_odds).sum(axis=1)[:, None] * np.pi / 8 * own / _scale(own)[:, None]
        return log_lik, labels.counts[:, None] * (of_scale + excess[:, :, 1:].sum(axis=1))

    def _given_effects(self, effects: Array) -> tuple[Array, Array]:
        """Σ of e over right labels, (n_cells, n_classes, n_u, n_v), and exp(e), (n_labels, 1 or n_classes, n_u n_v).

        log σ(e) = e − log(1 + exp(e)) if a label is right, and log σ(−e) = −log(1 + exp(e)) if it is wrong.
        """
        own = effects[self.labels.annotator]
        base = np.clip(_scale(own)[:, None] * self.labels.log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        of_u, of_v = (np.exp(np.outer(own[:, k], nodes)) for k, (nodes, _) in enumerate((self._u, self._v)))
        odds = (np.exp(base)[:, :, None] * of_u[:, None])[..., None] * of_v[:, None, None]
        linear = np.empty((*self._is_right.shape, 3))  # times 1, u and v it is e
        linear[:, :, 0], linear[:, :, 1:] = base, own[:, None]
        linear *= self._is_right[:, :, None]
        of_right = (self._by_cell @ _flat(linear)).reshape(len(self._cells), -1, 3)
        of_right[:, :, 0] += self._of_wrong
        table = (of_right.reshape(-1, 3) @ self._moments.T).reshape(*of_right.shape[:2], self.n_u, self.n_v)
        return table, odds.reshape(*odds.shape[:2], -1)

    def _of_all(self, terms: Array) -> Array:
        """Sum terms of labels within cells: (n_cells, 1 or n_classes, n_u, n_v)."""
        return (self._by_cell @ _flat(terms)).reshape(len(self._cells), -1, self.n_u, self.n_v)

    def _given_u(self, given_v: Array) -> Array:
        """log p(labels | z, u), (n_items, n_classes, n_u), from those of cells given v, which become probabilities."""
        of_cell = _log_mean(given_v, self._v[1])
        return (self._by_item @ _flat(of_cell)).reshape(len(self.items), -1, self.n_u)

    # --- what does not depend on the effects -------------------------------------------------------

    @cached_property
    def _u(self) -> tuple[Array, Array]:
        return _nodes(self.n_u)

    @cached_property
    def _v(self) -> tuple[Array, Array]:
        return _nodes(self.n_v)

    @cached_property
    def _moments(self) -> Array:
        """1, u and v of all pairs of nodes: (n_u n_v, 3)."""
        u, v = np.repeat(self._u[0], self.n_v), np.tile(self._v[0], self.n_u)
        return np.column_stack([np.ones_like(u), u, v])

    @cached_property
    def _cells(self) -> Rows:
        """First label of each cell."""
        item, group = self.labels.item, self.labels.group
        return np.flatnonzero((np.diff(item, prepend=-1) != 0) | (np.diff(group, prepend=-1) != 0))

    @cached_property
    def _cell(self) -> Rows:
        """Cell of each label."""
        return np.repeat(np.arange(len(self._cells)), np.diff([*self._cells, len(self.labels.item)]))

    @cached_property
    def _item_of_cell(self) -> Rows:
        """Place of each cell's item in ``items``."""
        return np.cumsum(np.diff(self.labels.item[self._cells], prepend=-1) != 0) - 1

    @cached_property
    def _by_cell(self) -> sp.csr_array:
        return _sums(self._cells, self.labels.counts)

    @cached_property
    def _by_item(self) -> sp.csr_array:
        return _sums(np.flatnonzero(np.diff(self._item_of_cell, prepend=-1)), np.ones(len(self._cells)))

    @cached_property
    def _is_right(self) -> Mask:
        """Whether each label is right, for every truth: (n_labels, n_classes)."""
        return self.labels.label[:, None] == np.arange(self.labels.log_wrong.shape[1])

    @cached_property
    def _of_wrong(self) -> Array:
        """Σ log p(label | z, wrong) over the labels that differ from z: (n_cells, n_classes)."""
        return np.asarray(self._by_cell @ np.where(self._is_right, 0.0, self.labels.log_wrong))


def _nodes(n: int) -> tuple[Array, Array]:
    """n evenly spaced nodes, and their shares of N(0, 1)."""
    nodes = np.linspace(-END, END, n) if n > 1 else np.zeros(1)
    density = np.exp(-0.5 * nodes**2)
    return nodes, density / density.sum()


def _sums(starts: Rows, values: Array) -> sp.csr_array:
    """Return the matrix that sums weighted entries from each start to the next."""
    n = len(values)
    return sp.csr_array((values, np.arange(n), np.append(starts, n)), shape=(len(starts), n))


def _scale(own: Array) -> Array:
    """s of each label: (n_labels,)."""
    return np.asarray(np.sqrt(1 + np.pi / 8 * (own**2).sum(axis=1)))


def _flat(values: Array) -> Array:
    return values.reshape(len(values), -1)


def _log_mean(values: Array, shares: Array) -> Array:
    """log Σ share · exp(value) over the last axis; ``values`` become the exponentials, up to a factor."""
    top = values.max(axis=-1, keepdims=True)
    values -= top
    np.exp(values, out=values)
    return np.asarray(top[..., 0] + np.log(values @ shares))
