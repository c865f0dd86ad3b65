"""Agreement of every two annotators, in long form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids
from whoknows.insight.meetings import Meetings


@dataclass(frozen=True, eq=False)
class PairwiseAgreement:
    """Agreement of every two annotators with common items; ``pandas.DataFrame(vars(pairs))`` is a table.

    Attributes
    ----------
    first, second : ids of shape (n_pairs,)
        In the order of ``said.annotators``, each pair once.
    n_items : int array of shape (n_pairs,)
        Items both labelled.
    agreement : (n_pairs,)
        Share of these on which they agree.
    kappa : (n_pairs,)
        Cohen's, NaN where both gave one and the same label throughout.
    """

    first: Ids
    second: Ids
    n_items: NDArray[np.intp]
    agreement: Array
    kappa: Array

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.first)

    def __repr__(self) -> str:
        """Give the count, not arrays."""
        return f"PairwiseAgreement(n_pairs={len(self)})"


def pairwise_agreement(said: Annotations, minimum: int = 1) -> PairwiseAgreement:
    """Agreement and Cohen's kappa of every two annotators with common items, in long form.

    The cost grows with the pairs of labels on one item, the memory with the pairs of annotators that meet.

    Parameters
    ----------
    said : Annotations
    minimum : int
        Leave out pairs with fewer common items; the kappa of a few items is mostly luck.

    Returns
    -------
    PairwiseAgreement
        Empty if nobody shares ``minimum`` items.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import pairwise_agreement
    >>> said = Annotations.from_matrix([[0, 0, 1], [1, 1, None], [0, 1, None]], annotators=["a", "b", "c"])
    >>> pairs = pairwise_agreement(said, minimum=2)
    >>> pairs.first, pairs.second, pairs.n_items, pairs.kappa.round(3)
    (array(['a'], ...), array(['b'], ...), array([3]), array([0.4]))
    """
    if minimum < 1:
        raise InputError(f"minimum= must be at least 1, the items a pair shares; got {minimum}.")
    meetings = Meetings(said)
    n, agreeing = meetings.n_items, meetings.sum(same_label=True)
    by_chance = np.zeros(len(n))  # n² P_e = Σ_k (items first calls k) · (items second calls k)
    for k in np.unique(said.label):
        is_k = (said.label == k).astype(float)
        by_chance += meetings.sum(left=is_k) * meetings.sum(right=is_k)
    with np.errstate(invalid="ignore"):  # 0 / 0 is a kappa that does not exist
        kappa = (n * agreeing - by_chance) / (n**2 - by_chance)
    kept = n >= minimum
    return PairwiseAgreement(
        first=said.annotators[meetings.first[kept]],
        second=said.annotators[meetings.second[kept]],
        n_items=n[kept].astype(np.intp),
        agreement=(agreeing / n)[kept],
        kappa=kappa[kept],
    )
