"""Agreement at a glance: overall, every annotator's and every pair's, to print and read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import Ids, elements
from whoknows.insight.agreement import fleiss_kappa, krippendorff_alpha, percent_agreement
from whoknows.insight.cells import count_cells
from whoknows.insight.meetings import pair_names
from whoknows.insight.pairwise import PairwiseAgreement, pairwise_agreement

_FEW = 5  # annotators shown in a summary, and pairs at either end
_WORTH_SHOWING = 10  # common items below which the kappa of a pair is mostly luck


@dataclass(frozen=True, eq=False)
class Agreement:
    """What to look at first: overall numbers, every annotator, every pair. `print` it.

    Attributes
    ----------
    n_items, n_compared, n_labels : int
        Items with a label, items with two labels or more, and labels.
    percent, fleiss, alpha : float
        `percent_agreement`, `fleiss_kappa` and nominal `krippendorff_alpha`.
    labels, label_shares : (n_classes,)
        The labels, and how often each was given.
    annotators : ids of shape (n_annotators,)
    with_others : (n_annotators,)
        Share of an annotator's pairs of labels with others that agree, NaN without common items.
    pairwise : PairwiseAgreement
    """

    n_items: int
    n_compared: int
    n_labels: int
    percent: float
    fleiss: float
    alpha: float
    labels: Ids
    label_shares: Array
    annotators: Ids
    with_others: Array
    pairwise: PairwiseAgreement

    def __repr__(self) -> str:
        """Give the overall numbers."""
        return f"Agreement(percent={self.percent:.3f}, fleiss={self.fleiss:.3f}, alpha={self.alpha:.3f})"

    def __str__(self) -> str:
        """Numbers and how to read them."""
        top = int(np.argmax(self.label_shares))
        most = elements(self.labels)[top]
        return "\n".join(
            [
                f"{self.n_labels} labels of {len(self.annotators)} annotators on {self.n_items} items, "
                f"{self.n_compared} of them with two labels or more",
                f"  two labels of an item agree    {self.percent:.2f}",
                f"  Krippendorff's alpha           {_number(self.alpha)}",
                f"  Fleiss' kappa                  {_number(self.fleiss)}",
                f"  most frequent label            {self.label_shares[top]:.2f} of all are {most!r}",
                "Alpha and kappa: 1 is full agreement, 0 what labels drawn blindly would give.",
                *self._annotator_lines(),
                *self._pair_lines(),
            ]
        )

    def _annotator_lines(self) -> Iterator[str]:
        """Annotators by how far they agree with the rest, lowest first."""
        order = np.argsort(self.with_others, kind="stable")  # NaN comes last
        order = order[~np.isnan(self.with_others[order])]
        few = f", lowest {_FEW} of {len(order)}" if len(order) > _FEW else ""
        yield f"Agreement with the others{few}:"
        names = [repr(name) for name in elements(self.annotators[order[:_FEW]])]
        for name, share in zip(names, self.with_others[order], strict=False):
            yield f"  {name:<{max(map(len, names))}}  {share:.2f}"

    def _pair_lines(self) -> Iterator[str]:
        """All pairs by kappa if they are few, else both ends."""
        pairs = self.pairwise
        known = np.flatnonzero((pairs.n_items >= _WORTH_SHOWING) & ~np.isnan(pairs.kappa))
        order = known[np.argsort(pairs.kappa[known], kind="stable")]
        if not len(order):
            yield f"None of {len(pairs)} pairs has {_WORTH_SHOWING} common items or more."
            return
        yield (
            f"Pairs by Cohen's kappa, {len(order)} of {len(pairs)} "
            f"with {_WORTH_SHOWING} common items or more:"
        )
        many = len(order) > 2 * _FEW
        shown = np.concatenate([order[:_FEW], order[-_FEW:]]) if many else order
        names = pair_names(pairs.first[shown], pairs.second[shown])
        width = max(map(len, names), default=0)
        lines = [
            f"  {name:<{width}}  kappa {pairs.kappa[j]:5.2f}, "
            f"agree on {pairs.agreement[j]:.2f} of {pairs.n_items[j]}"
            for j, name in zip(shown, names, strict=True)
        ]
        yield from [*lines[:_FEW], "  …", *lines[_FEW:]] if many else lines


def agreement_table(said: Annotations) -> Agreement:
    """Overall agreement, every annotator's and every pair's, to print and read.

    Parameters
    ----------
    said : Annotations
        At least one item with two labels.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import agreement_table
    >>> agreement_table(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]]))
    Agreement(percent=0.750, fleiss=0.467, alpha=0.533)
    """
    percent, pairs = percent_agreement(said), pairwise_agreement(said)
    return Agreement(
        n_items=int(said.labelled.sum()),
        n_compared=int((said.labels_per_item > 1).sum()),
        n_labels=said.n_annotations,
        percent=percent,
        fleiss=fleiss_kappa(said),
        alpha=krippendorff_alpha(said),
        labels=said.labels,
        label_shares=np.bincount(said.label, minlength=said.n_classes) / said.n_annotations,
        annotators=said.annotators,
        with_others=_agreement_with_others(said),
        pairwise=pairs,
    )


def _agreement_with_others(said: Annotations) -> Array:
    """Share of each annotator's pairs of labels with others that agree: (n_annotators,)."""
    cells = count_cells(said)
    agreeing = segment_sum(cells.n_ik[cells.place] - 1, said.annotator, said.n_annotators)
    pairs = segment_sum(said.labels_per_item[said.item].astype(float) - 1, said.annotator, said.n_annotators)
    with np.errstate(invalid="ignore"):  # 0 / 0: no common items
        return np.asarray(agreeing / pairs)


def _number(value: float) -> str:
    """Two digits, or why there are none."""
    return "not defined: only one label was used" if np.isnan(value) else f"{value:.2f}"
