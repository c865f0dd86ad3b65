"""Ensemble weights by stacking on held-out labels, and the evidence for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from whoknows._array import Array, Mask, Rows, log_softmax, segment_sum
from whoknows.estimators.auto.members import TREES, Member
from whoknows.fit.alternatives import probability_of_gain

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
    gold : (n_items,)
        Known class of items with labels, NaN elsewhere; empty if there is none.
    """

    log_truth: Array
    log_labels: Array
    log_given: Array
    weight: Array
    label_weight: Array
    gold: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def by_member(
        cls, log_truth: Array, log_each: Array, item: Rows, weight: Array | None = None, gold: Array | None = None
    ) -> Self:
        """Return the scores of one member; ``log_each`` is log p(label | x, z), (n_labels, n_classes)."""
        weight = np.ones(len(log_truth)) if weight is None else weight
        known = np.full(len(log_truth), np.nan)
        known[item] = known[item] if gold is None else gold[item]
        log_labels = segment_sum(log_each, item, len(log_truth))
        log_joint = (log_truth + log_labels)[item]
        log_given = logsumexp(log_joint, axis=1) - logsumexp(log_joint - log_each, axis=1)
        return cls(log_truth[:, None], log_labels[:, None], log_given[:, None], weight, weight[item], known)

    @classmethod
    def nothing(cls, n_members: int) -> Self:
        """Return the scores where no item was held out."""
        return cls(*np.zeros((2, 0, n_members, 1)), np.zeros((0, n_members)), *np.zeros((3, 0)))

    @classmethod
    def joined(cls, parts: list[Self], axis: int) -> Self:
        """Concatenate items (axis 0) or members (axis 1)."""
        tables = zip(*((part.log_truth, part.log_labels, part.log_given) for part in parts), strict=True)
        joined = (np.concatenate(table, axis) for table in tables)
        if axis == 1:
            return cls(*joined, parts[0].weight, parts[0].label_weight, parts[0].gold)
        weights = zip(*((part.weight, part.label_weight, part.gold) for part in parts), strict=True)
        return cls(*joined, *map(np.concatenate, weights))

    def of(self, members: Rows) -> Self:
        """Return the scores of some members."""
        tables = (table[:, members] for table in (self.log_truth, self.log_labels, self.log_given))
        return type(self)(*tables, self.weight, self.label_weight, self.gold)

    @property
    def best(self) -> int:
        """The member with the highest held-out log-likelihood."""
        return int((self.weight @ self.log_lik).argmax())

    @property
    def log_lik(self) -> Array:
        """log p(labels | x) of each item under each member: (n_items, n_members)."""
        return np.asarray(logsumexp(self.log_truth + self.log_labels, axis=2))

    @property
    def posterior(self) -> Array:
        """p(z | x, labels) of each item under each member: (n_items, n_members, n_classes)."""
        return np.exp(log_softmax(self.log_truth + self.log_labels))

    @property
    def log_posterior_of_gold(self) -> Array:
        """log p(z | x, labels) of gold items under each member: (n_gold, n_members, n_classes)."""
        known = np.flatnonzero(np.isfinite(self.gold))
        return log_softmax(self.log_truth[known] + self.log_labels[known])

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


def graph_is_worse(log_lik: Array, with_graph: Mask, counts: Array) -> bool:
    """Whether members with a graph are clearly worse than the others, each kind stacked by itself.

    Where unlabelled items carry no information about the classes, held-out labels of a few items do not show in which
    ways these members are worse; where they show it, none of these members counts.

    Parameters
    ----------
    log_lik : (n_items, n_members)
        Held-out log-likelihood of each item's labels under each member.
    with_graph : (n_members,)
    counts : (n_items,)
        As in `stack`.
    """
    if not with_graph.any() or with_graph.all() or len(log_lik) < 2:
        return False
    graph, others = (
        logsumexp(log_lik, axis=1, b=stack_some(log_lik, kind, counts=counts)) for kind in (with_graph, ~with_graph)
    )
    return probability_of_gain(graph - others, counts) < NO_USE


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


def stack(log_lik: Array, prior: Array | None = None, counts: Array | None = None) -> Array:
    """Weights that maximise Σ_i c_i log Σ_m w_m l_im, shrunk towards ``prior``: (n_members,).

    The prior, uniform by default, counts as three items. ``counts`` (n_items,) are the c_i, 1 by default.
    """
    n_items, n_members = log_lik.shape
    prior = np.full(n_members, 1 / n_members) if prior is None else prior
    if not n_items:
        return prior
    counts = np.ones(n_items) if counts is None else counts
    weights, pseudo_counts = prior, PRIOR_ITEMS * prior
    lik = np.exp(log_lik - log_lik.max(axis=1, keepdims=True))
    for _ in range(ROUNDS):
        weights = weights * (lik.T @ (counts / (lik @ weights))) + pseudo_counts
        weights /= weights.sum()
    return weights


def stack_some(log_lik: Array, some: Mask, prior: Array | None = None, counts: Array | None = None) -> Array:
    """Return `stack` for some of the members, and zero weight for the others: (n_members,)."""
    weights = np.zeros(len(some))
    weights[some] = stack(log_lik[:, some], prior, counts)
    return weights


WITHOUT_PARTS = 0.2  # sixth eigenvalue of a graph without clusters or curves to follow
FEW = 20  # held-out items: fewer give no evidence
NO_USE = 0.01  # probability that members with a graph improve on the others, below which they are dropped


@dataclass(frozen=True)
class Selection:
    """Ensemble weights of the members, and the evidence for them; print it.

    Attributes
    ----------
    members : list of Member
    weights : (n_members,)
        For expertise, by the held-out log-likelihood of the labels. With more than two classes members are
        compared by p(labels | x, z) alone: all of them have the ensemble's average of p(z | x).
    on_truth : (n_members,)
        For the truth of items without labels. Members are compared by p(z | x) alone: all of them read
        labels with the ensemble's average. The prior gives one half to linear boundaries. Members that do not
        use x have zero weight.
    on_labelled : (n_members,)
        For the truth of items with labels, by the log-likelihood of a held-out label given the item's other
        labels, and with these weights as the prior by the log-likelihood of held-out gold. With enough labels per
        item, members that do not use x may be the best.
    log_lik : (n_items, n_members)
        Log-likelihood of each held-out item's labels under each member; no rows if nothing was held out.
    counts : (n_items,)
        Weight of each held-out item.
    varying : (gain, standard error)
        Gain in held-out log-likelihood per item from expertise that depends on x, everything else equal;
        NaN if it could not be measured.
    parts : float
        Sixth smallest eigenvalue of the graph over all items: near zero if they form clusters.
    graph : float
        Prior weight on truth of members with a graph; NaN if none was tried, or no other.
    left_out : int
        Members that were tried and not fitted: with zero weight, or not worth a fit to very many items.
    of_gold : (n_gold, n_classes)
        Posterior of the gold items with labels, held out like all others, by the weights on labelled items.
    """

    members: list[Member]
    weights: Array
    on_truth: Array
    on_labelled: Array
    log_lik: Array
    counts: Array
    varying: tuple[float, float] = (np.nan, np.nan)
    parts: float = np.nan
    graph: float = np.nan
    left_out: int = 0
    of_gold: Array = field(default_factory=lambda: np.zeros((0, 2)))

    @classmethod
    def of(
        cls, members: list[Member], scores: HeldOutScores, n_classes: int, parts: float, say_nothing: bool = False
    ) -> Selection:
        """Compute the weights from held-out scores.

        Where features say nothing through any map, maps do not count on labelled items; trees may see more.
        """
        maps, counts = np.array([member.map for member in members]), scores.weight
        with_graph = np.array([member.has_graph for member in members])
        counted = ~with_graph | (not graph_is_worse(scores.log_lik, with_graph, counts))
        sees, blind = counted & (maps != "none"), counted & (maps == "none")
        judged = sees if sees.any() else counted
        overall = weights = stack_some(scores.log_lik, counted, counts=counts)
        if n_classes > 2:  # their point estimates of p(z | x) differ more than what they say of annotators
            weights = stack_some(scores.log_lik_of_labels(overall), counted, counts=counts)
        prior = half_and_half(maps[judged] == "linear")
        on_truth = stack_some(scores.log_lik_of_truth(overall), judged, prior, counts)
        reads = blind | (counted & (maps == TREES)) if say_nothing and blind.any() else counted
        on_labelled = stack_some(scores.log_given, reads, counts=scores.label_weight)
        on_labelled, of_gold = _weighed_by_gold(on_labelled, scores)
        varying, graph = gain_of_varying(members, scores), _graph_prior(maps, with_graph)
        evidence = scores.log_lik, counts, varying, parts, graph
        return cls(members, weights, on_truth, on_labelled, *evidence, of_gold=of_gold)

    @property
    def held_out(self) -> Array:
        """Mean held-out log-likelihood per item of each member, or NaN: (n_members,)."""
        if not len(self.log_lik):
            return np.full(len(self.weights), np.nan)
        return np.average(self.log_lik, axis=0, weights=self.counts)

    @property
    def varies(self) -> bool | None:
        """Whether held-out labels show that expertise depends on x; None if there are too few."""
        gain, error = self.varying
        return bool(gain > 2 * error) if np.isfinite(gain) else None

    @property
    def promising(self) -> Rows:
        """Members with a share worth another fold: more than an even one, for one purpose at least."""
        return np.flatnonzero((self._table_of_weights > 1 / len(self.members)).any(axis=0))

    def with_weight(self, least: float = 0.0) -> Selection:
        """Return the selection without weights of at most ``least``, and without members that have no other.

        A member without weight for a purpose is not asked about it. Trees are expensive: they need weight for the
        truth of new items.
        """
        table = self._table_of_weights
        table = np.where(table > np.minimum(least, table.max(axis=1, keepdims=True) / 2), table, 0.0)
        trees = np.array([member.map == TREES for member in self.members])
        needed = np.where(trees, table[1] > 0, table.any(axis=0))
        counted = np.flatnonzero(needed)
        return self._only(counted, table[:, counted], len(self.members) - len(counted))

    def _only(self, rows: Any, table: Array, left_out: int) -> Selection:
        """Return the selection of some members, with weights in proportion to a table, (3, n_rows)."""
        # Sums over contiguous arrays round as after a reload.
        of_labels, on_truth, on_labelled = np.ascontiguousarray(table / table.sum(axis=1, keepdims=True))
        return replace(
            self,
            members=[self.members[i] for i in rows],
            weights=of_labels,
            on_truth=on_truth,
            on_labelled=on_labelled,
            log_lik=self.log_lik[:, rows],
            left_out=self.left_out + left_out,
        )

    @property
    def _table_of_weights(self) -> Array:
        return np.array([self.weights, self.on_truth, self.on_labelled])

    def without_costly_maps(self) -> Selection:
        """Return the selection without maps that are not clearly better than the linear one, which takes least time."""
        maps, table = np.array([member.map for member in self.members]), self._table_of_weights
        gains = self.log_lik - self.log_lik[:, maps == "linear"]
        clear = [probability_of_gain(gain, self.counts) > 1 - NO_USE for gain in gains.T]
        kept = np.flatnonzero(clear | np.isin(maps, ["linear", "none"]))
        return self._only(kept, table[:, kept], len(maps) - len(kept))

    def condensed(self, least: float) -> Selection:
        """Return the selection with only the members worth a fit to very many items.

        A member needs ``least`` times the largest weight, for expertise or for the truth: with more than two classes
        the best at one need not be good at the other. One that does not use x, and so is cheap, may also have that
        weight on labelled items. With so many labels the prior hardly matters: of members that differ in variance
        alone, the best takes all weight.
        """
        kinds: dict[Member, list[int]] = {}
        sees = np.array([member.map != "none" for member in self.members])
        worth = self.weights >= least * self.weights.max()
        worth |= self.on_truth >= least * self.on_truth.max()
        worth |= ~sees & (self.on_labelled >= least * self.on_labelled.max())
        for i in np.flatnonzero(worth):
            kinds.setdefault(replace(self.members[i], variance=1.0), []).append(i)
        best = [max(alike, key=self.weights.__getitem__) for alike in kinds.values()]
        table = np.array([self._table_of_weights[:, alike].sum(axis=1) for alike in kinds.values()]).T
        return self._only(best, table, int(np.sum(~worth)))

    def share(self, **wanted: Any) -> float:
        """Weight of the members with these settings, e.g. ``share(varies_with_x=True)``."""
        return float(sum(compress(self.weights, (wanted.items() <= vars(m).items() for m in self.members))))

    def __str__(self) -> str:
        """Describe the weights in sentences and a table."""
        return "\n".join([*self.sentences(), "", *self._table()])

    def sentences(self) -> Iterator[str]:
        """Say what the held-out labels showed."""
        if not len(self.log_lik):
            yield "No selection: no label was held out, and all members have the same weight."
            return
        n_items = f"{len(self.log_lik):,}".replace(",", " ")
        yield f"The weights are based on the labels of {n_items} held-out items; no truth was used."
        if self.left_out:
            yield f"Members tried and dropped: {self.left_out}."
        if len(self.log_lik) < FEW:
            yield "There are too few labels to compare the members: the weights may be due to chance."
            return
        yield from self._graph()
        trees = sum(w for w, m in zip(self.on_truth, self.members, strict=True) if m.map == TREES)
        if trees:
            yield f"Boosted trees have {trees:.0%} of the weight on the truth."
        if self.varies is not None:
            gain, error = self.varying
            signs = "some signs" if gain > error else "no clear evidence"
            finding = "it does depend on x" if self.varies else f"{signs} that it depends on x"
            change = f"{'gains' if gain > 0 else 'loses'} {abs(gain):.3f} (standard error {error:.3f})"
            yield f"Expertise that depends on x {change} in held-out log-likelihood per item: {finding}."

    def _graph(self) -> Iterator[str]:
        """Say what the graph adds, if one was tried or ruled out."""
        carries = sum(w for w, m in zip(self.on_truth, self.members, strict=True) if m.has_graph)
        if np.isfinite(self.graph):
            finding = "help" if carries > self.graph else "add little"
            yield f"Members with a graph have {carries:.0%} of the weight: unlabelled items {finding} here."
        elif not carries and self.parts >= WITHOUT_PARTS:
            yield f"The items form no clusters (graph eigenvalue {self.parts:.2f}): no graph was tried."

    def _table(self) -> Iterator[str]:
        yield f"{'weight':>7}{'on truth':>10}{'on labelled':>13}{'held out':>10}  member"
        held_out, differ = self.held_out, len({m.two_coin for m in self.members}) > 1
        table = self._table_of_weights
        largest = np.argsort(-table.max(axis=0), kind="stable")[:8]
        for i in sorted(largest, key=lambda i: -self.weights[i]):
            m = self.members[i]
            coins = ", one accuracy per class" if m.two_coin and differ else ""
            truth = m.map if m.map == TREES else f"{m.map}, variance {m.variance:g}"
            member = f"{truth}, expertise {m.expertise}{coins}"
            weight, on_truth, on_labelled = table[:, i]
            yield f"{weight:>7.1%}{on_truth:>10.1%}{on_labelled:>13.1%}{held_out[i]:>10.3f}  {member}"


def _weighed_by_gold(weights: Array, scores: HeldOutScores) -> tuple[Array, Array]:
    """Return weights that held-out gold corrects, (n_members,), and the posterior of gold, (n_gold, n_classes)."""
    log_p, known = scores.log_posterior_of_gold, np.flatnonzero(np.isfinite(scores.gold))
    truth = scores.gold[known].astype(np.intp)
    of_truth = log_p[np.arange(len(truth)), :, truth]
    weights = stack(of_truth, weights, scores.weight[known])
    return weights, np.einsum("m,imk->ik", weights, np.exp(log_p))


def gain_of_varying(members: list[Member], scores: HeldOutScores) -> tuple[float, float]:
    """Return the gain in held-out log-likelihood per item from x-dependent expertise, and its standard error.

    NaN for few items. Nothing else differs: all members use the ensemble's p(z | x), and kinds of annotators
    that only one side has (accuracies per class, far apart) are left out.
    """
    kinds = {i: (m.two_coin, m.far_apart) for i, m in enumerate(members) if m.map != "none"}
    varying, constant = (
        {i: kind for i, kind in kinds.items() if members[i].varies_with_x == varies} for varies in (True, False)
    )
    both = set(varying.values()) & set(constant.values())
    if not both or len(scores.log_truth) < FEW:
        return np.nan, np.nan
    counts = scores.weight
    log_lik = scores.log_lik_of_labels(stack(scores.log_lik, counts=counts))
    x, one = ([i for i, kind in side.items() if kind in both] for side in (varying, constant))
    gain = stacked(log_lik[:, x], counts) - stacked(log_lik[:, one], counts)
    mean, share = np.average(gain, weights=counts), counts / counts.sum()
    n = len(gain)
    return float(mean), float(np.sqrt(n / (n - 1) * np.sum((share * (gain - mean)) ** 2)))


def _graph_prior(maps: Array, with_graph: Mask) -> float:
    """Return the prior weight on truth of members with a graph; NaN if it is 0 or 1."""
    sees = maps != "none"
    share = half_and_half(maps[sees] == "linear")[with_graph[sees]].sum() if sees.any() else 0.0
    return float(share) if 0 < share < 1 else np.nan
