"""What `AutoCrowdClassifier` chose, and on what evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.estimators.auto.members import Member
from whoknows.estimators.auto.stacking import HeldOutScores, half_and_half, stack, stacked, weigh

# Of more than two classes members are point estimates, each as sure of itself as its prior variance makes it:
# what then foretells labels best need not be right most often, and the average over members usually is.
EVEN_OF_POINTS = 0.15
WITHOUT_PARTS = 0.2  # sixth eigenvalue of a graph that has no clusters or thread to follow
FEW = 20  # items: labels of fewer show nothing that could not be chance


@dataclass(frozen=True)
class Selection:
    """What was chosen, and on what evidence; print it.

    Attributes
    ----------
    members : list of Member
    weights : (n_members,)
        By how well each foretells labels: their say on who knows what.
    on_truth : (n_members,)
        Their say on the truth of items without labels: by how well p(z | x) of each agrees with labels, which
        are taken to mean the same for all; until labels tell, half of it goes to straight boundaries. Members
        that see nothing of x have none.
    on_labelled : (n_members,)
        Their say on the truth of items with labels: by how well each foretells a label once it knows the
        item's others. Where these say enough, members that see nothing of x may be the best.
    log_lik : (n_items, n_members)
        Log-likelihood of each held-out item's labels under each member; no rows where nothing was held out.
    counts : (n_items,)
        How much each held-out item counts.
    varying : (gain, error)
        How much better members whose expertise varies with x, weighed among themselves, foretell a held-out
        item's labels than those in which it does not, the truth seen alike by all; in log-likelihood, and the
        standard error of that; NaN where it cannot be told.
    parts : float
        Sixth smallest eigenvalue of the graph over all items: near zero where they fall into parts.
    graph : float
        What members with a graph had on truth beforehand; NaN where none was tried, or no other.
    left_out : int
        Members that were tried and are not fitted: without a say, or not worth a fit to very many items.
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

    @classmethod
    def of(cls, members: list[Member], foretold: HeldOutScores, n_classes: int, parts: float) -> Selection:
        """Weigh members by what they say of items whose labels they did not see."""
        log_lik, even = foretold.log_lik, EVEN_OF_POINTS if n_classes > 2 else 0.0
        maps = np.array([member.map for member in members])
        weights = weigh(log_lik, maps == "spectral", even, foretold.weight)
        has_say = weights > 0
        sees = has_say & (maps != "none")
        judged = sees if sees.any() else has_say
        on_truth, on_labelled = np.zeros((2, len(members)))
        log_lik_of_truth = foretold.log_lik_of_truth(weights)[:, judged]
        beforehand = half_and_half(maps[judged] == "linear")
        on_truth[judged] = stack(log_lik_of_truth, even, beforehand, foretold.weight)
        on_labelled[has_say] = stack(foretold.log_given[:, has_say], even, counts=foretold.label_weight)
        varying, graph = gain_of_varying(members, foretold), _graph_beforehand(maps)
        return cls(members, weights, on_truth, on_labelled, log_lik, foretold.weight, varying, parts, graph)

    @property
    def held_out(self) -> Array:
        """Mean log-likelihood of a held-out item's labels under each member, or NaN: (n_members,)."""
        if not len(self.log_lik):
            return np.full(len(self.weights), np.nan)
        return np.average(self.log_lik, axis=0, weights=self.counts)

    @property
    def varies(self) -> bool | None:
        """Whether held-out labels show that expertise varies with x; None if they cannot tell."""
        gain, error = self.varying
        return bool(gain > 2 * error) if np.isfinite(gain) else None

    def with_a_say(self) -> Selection:
        """Return the members that count: a graph that has not earned its place need not be fitted."""
        has_say = self.weights > 0
        return replace(
            self,
            members=[member for member, says in zip(self.members, has_say, strict=True) if says],
            weights=self.weights[has_say],
            on_truth=self.on_truth[has_say],
            on_labelled=self.on_labelled[has_say],
            log_lik=self.log_lik[:, has_say],
            left_out=self.left_out + int(np.sum(~has_say)),
        )

    def condensed(self, least: float) -> Selection:
        """Return the members worth a fit to very many items.

        Those with less than ``least`` times the weight of the heaviest are left out, unless nobody else could
        tell the truth, or they see nothing of x, which costs little, and have much to say on labelled items.
        With so many labels a prior hardly matters: of members that differ in variance alone the best has the
        weight of all.
        """
        kinds: dict[Member, list[int]] = {}
        sees = np.array([member.map != "none" for member in self.members])
        worth = self.weights >= least * self.weights.max()
        worth |= ~sees & (self.on_labelled >= least * self.on_labelled.max())
        if not self.on_truth[worth].any():
            worth[self.on_truth.argmax()] = True
        says = np.array([self.weights, self.on_truth, self.on_labelled])
        for i in np.flatnonzero(worth):
            kinds.setdefault(replace(self.members[i], variance=1.0), []).append(i)
        best = [max(alike, key=self.weights.__getitem__) for alike in kinds.values()]
        says = np.array([says[:, alike].sum(axis=1) for alike in kinds.values()]).T
        weights, on_truth, on_labelled = says / says.sum(axis=1, keepdims=True)
        return replace(
            self,
            members=[self.members[i] for i in best],
            weights=weights,
            on_truth=on_truth,
            on_labelled=on_labelled,
            log_lik=self.log_lik[:, best],
            left_out=self.left_out + int(np.sum(~worth)),
        )

    def share(self, **wanted: Any) -> float:
        """Weight of the members with these settings, e.g. ``share(varies_with_x=True)``."""
        return float(sum(w for w, m in zip(self.weights, self.members, strict=True) if _is(m, wanted)))

    def __str__(self) -> str:
        """Say in words and numbers what carries the weight."""
        return "\n".join([*self._sentences(), "", *self._table()])

    def _sentences(self) -> Iterator[str]:
        if not len(self.log_lik):
            yield "No selection: no label was held out, and every member has the same weight."
            return
        n_items = f"{len(self.log_lik):,}".replace(",", " ")
        yield f"Weights rest on the labels of {n_items} held-out items; no truth was used."
        if self.left_out:
            yield f"Members tried that add too little to be worth a fit: {self.left_out}."
        if len(self.log_lik) < FEW:
            yield "Not enough labels to tell the members apart: what carries the weight may be chance."
            return
        yield from self._graph()
        if self.varies is not None:
            gain, error = self.varying
            finding = "expertise varies with x" if self.varies else "no sign that expertise varies with x"
            better = f"{abs(gain):.3f} {'better' if gain > 0 else 'worse'} (standard error {error:.3f})"
            yield f"With expertise that varies with x an item's labels are foretold {better}: {finding}."

    def _graph(self) -> Iterator[str]:
        """What the graph adds; nothing where there is none, and nobody looked whether one could help."""
        carries = sum(w for w, m in zip(self.on_truth, self.members, strict=True) if m.map == "spectral")
        if np.isfinite(self.graph):
            finding = "matter" if carries > self.graph else "add little"
            yield f"The graph carries {carries:.0%}: unlabelled items {finding} here."
        elif not carries and self.parts >= WITHOUT_PARTS:
            yield f"The items fall into no parts (graph eigenvalue {self.parts:.2f}): no graph was tried."

    def _table(self) -> Iterator[str]:
        yield f"{'weight':>7}{'on truth':>10}{'on labelled':>13}{'held out':>10}  member"
        held_out, differ = self.held_out, len({m.two_coin for m in self.members}) > 1
        says = np.array([self.weights, self.on_truth, self.on_labelled])
        heard = np.argsort(-says.max(axis=0), kind="stable")[:8]  # who has much of any say
        for i in sorted(heard, key=lambda i: -self.weights[i]):
            m = self.members[i]
            coins = ", a coin for each class" if m.two_coin and differ else ""
            member = f"{m.map}, variance {m.variance:g}, expertise {m.expertise}{coins}"
            weight, on_truth, on_labelled = says[:, i]
            yield f"{weight:>7.1%}{on_truth:>10.1%}{on_labelled:>13.1%}{held_out[i]:>10.3f}  {member}"


def _is(member: Member, wanted: dict[str, Any]) -> bool:
    return all(getattr(member, name) == value for name, value in wanted.items())


def gain_of_varying(members: list[Member], foretold: HeldOutScores) -> tuple[float, float]:
    """Mean over items, and its standard error, of what x-dependent expertise adds, among those that see x.

    NaN of few items.

    Nothing else is compared: all see the truth alike, and kinds of annotators that only one side has (by
    their coins, or by how far apart they are) are left out.
    """
    kinds = {i: (m.two_coin, m.far_apart) for i, m in enumerate(members) if m.map != "none"}
    varying, constant = (
        {i: kind for i, kind in kinds.items() if members[i].varies_with_x == varies}
        for varies in (True, False)
    )
    both = set(varying.values()) & set(constant.values())
    if not both or len(foretold.log_truth) < FEW:
        return np.nan, np.nan
    counts = foretold.weight
    log_lik = foretold.log_lik_of_labels(stack(foretold.log_lik, counts=counts))
    x, one = ([i for i, kind in side.items() if kind in both] for side in (varying, constant))
    gain = stacked(log_lik[:, x], counts) - stacked(log_lik[:, one], counts)
    mean, share = np.average(gain, weights=counts), counts / counts.sum()
    n = len(gain)
    return float(mean), float(np.sqrt(n / (n - 1) * np.sum((share * (gain - mean)) ** 2)))


def _graph_beforehand(maps: Array) -> float:
    """What members with a graph have on truth before any label is seen; NaN if that is nothing, or all."""
    seeing = maps[maps != "none"]
    share = half_and_half(seeing == "linear")[seeing == "spectral"].sum() if len(seeing) else 0.0
    return float(share) if 0 < share < 1 else np.nan
