"""Pairs of annotators: the items they have in common, and how far they agree on these."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements, show
from whoknows.insight.measurement_scale import check_ordered

Weights = Literal["linear", "quadratic"]

_PAIRS_PER_BLOCK = 1_000_000  # pairs of annotators held in one sparse product


# --- All pairs -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairwiseAgreement:
    """Agreement of all pairs of annotators with common items; ``pandas.DataFrame(vars(pairs))`` is a table.

    Attributes
    ----------
    first, second : ids of shape (n_pairs,)
        In the order of ``annotations.annotators``, each pair once.
    n_items : int array of shape (n_pairs,)
        Number of items both labelled.
    agreement : (n_pairs,)
        Share of these on which they agree.
    kappa : (n_pairs,)
        Cohen's kappa, NaN where both gave one and the same label throughout.
    """

    first: Ids
    second: Ids
    n_items: NDArray[np.intp]
    agreement: Array
    kappa: Array

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.first)

    def __repr__(self) -> str:
        """Return the number of pairs, not the arrays."""
        return f"PairwiseAgreement(n_pairs={len(self)})"


def pairwise_agreement(annotations: Annotations, minimum: int = 1) -> PairwiseAgreement:
    """Agreement and Cohen's kappa of all pairs of annotators with common items, in long format.

    Time grows with the number of pairs of labels on one item, memory with the number of pairs of annotators
    with common items.

    Parameters
    ----------
    annotations : Annotations
    minimum : int
        Leave out pairs with fewer common items; the kappa of a few items is mostly chance.

    Returns
    -------
    PairwiseAgreement
        Empty if no pair has ``minimum`` common items.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import pairwise_agreement
    >>> labels = [[0, 0, 1], [1, 1, None], [0, 1, None]]
    >>> annotations = Annotations.from_matrix(labels, annotators=["a", "b", "c"])
    >>> pairs = pairwise_agreement(annotations, minimum=2)
    >>> pairs.first, pairs.second, pairs.n_items, pairs.kappa.round(3)
    (array(['a'], ...), array(['b'], ...), array([3]), array([0.4]))
    """
    if minimum < 1:
        raise InputError(f"minimum= must be at least 1, the items a pair has in common; got {minimum}.")
    pairs = AnnotatorPairs(annotations)
    n, agreeing = pairs.n_items, pairs.sum(same_label=True)
    by_chance = np.zeros(len(n))  # n² P_e = Σ_k (items first calls k) · (items second calls k)
    for k in np.unique(annotations.label):
        is_k = (annotations.label == k).astype(float)
        by_chance += pairs.sum(left=is_k) * pairs.sum(right=is_k)
    with np.errstate(invalid="ignore"):  # 0 / 0: kappa is not defined
        kappa = (n * agreeing - by_chance) / (n**2 - by_chance)
    kept = n >= minimum
    return PairwiseAgreement(
        first=annotations.annotators[pairs.first[kept]],
        second=annotations.annotators[pairs.second[kept]],
        n_items=n[kept].astype(np.intp),
        agreement=(agreeing / n)[kept],
        kappa=kappa[kept],
    )


class AnnotatorPairs:
    """All pairs of annotators with common items, each once, in the order of ``annotations.annotators``.

    ``first`` and ``second`` are positions in the vocabulary, ``n_items`` counts common items: (n_pairs,).
    """

    def __init__(self, annotations: Annotations) -> None:
        unknown = int(np.sum(annotations.annotator < 0))
        if unknown:
            raise InputError(
                f"{unknown} labels are by annotators outside the vocabulary, so pairs cannot be named. "
                "Use the Annotations from before recode(unknown='population')."
            )
        self.annotations = annotations
        self._key, self.n_items = self._products(1.0, 1.0, annotations.item)
        self.first, self.second = np.divmod(self._key, max(annotations.n_annotators, 1))

    def sum(
        self, left: Array | float = 1.0, right: Array | float = 1.0, *, same_label: bool = False
    ) -> Array:
        """Σ of left · right over the common items of each pair, or those on which it agrees: (n_pairs,).

        ``left`` and ``right`` are (n_annotations,), of the pair's first and second annotator.
        """
        groups = self._item_label if same_label else self.annotations.item
        key, value = self._products(left, right, groups)
        total = np.zeros(len(self._key))
        total[np.searchsorted(self._key, key)] = value
        return total

    def _products(
        self, left: Array | float, right: Array | float, group: NDArray[Any]
    ) -> tuple[NDArray[np.int64], Array]:
        """Σ of left · right over common groups, first < second: keys first · T + second, sorted; sums."""
        T = self.annotations.n_annotators
        L, Rt = self._sparse(left, group), self._sparse(right, group).T.tocsr()
        keys, sums = [np.empty(0, np.int64)], [np.empty(0)]
        for start, stop in self._blocks:
            block = sp.triu(L[start:stop] @ Rt[:, start:], k=1).tocsr()
            block.sort_indices()
            row = np.repeat(np.arange(start, stop, dtype=np.int64), np.diff(block.indptr))
            keys.append(row * T + block.indices + start)
            sums.append(block.data)
        return np.concatenate(keys), np.concatenate(sums)

    def _sparse(self, values: Array | float, group: NDArray[Any]) -> Any:
        """Sparse matrix of the values that are not zero, annotators by groups."""
        values = np.broadcast_to(values, group.shape)
        nonzero = values != 0
        shape = self.annotations.n_annotators, int(group.max(initial=-1)) + 1
        return sp.csr_array(
            (values[nonzero], (self.annotations.annotator[nonzero], group[nonzero])), shape=shape
        )

    @cached_property
    def _item_label(self) -> NDArray[Any]:
        """Code of the (item, label) of each annotation, without gaps: (n_annotations,)."""
        return item_label_counts(self.annotations)[2]

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        """Ranges of annotators with about `_PAIRS_PER_BLOCK` partners in all."""
        T = self.annotations.n_annotators
        n_i = self.annotations.labels_per_item[self.annotations.item].astype(float)
        partners = np.cumsum(np.minimum(segment_sum(n_i, self.annotations.annotator, T), T))
        ends = np.flatnonzero(np.diff(partners // _PAIRS_PER_BLOCK, append=-1)) + 1
        return list(pairwise([0, *ends.tolist()]))


def item_label_counts(annotations: Annotations) -> tuple[NDArray[np.int64], Array, NDArray[Any]]:
    """Item and count n_ik of each (item, label) that occurs, and which of these each annotation is.

    No table of items by labels is built.
    """
    code = annotations.item.astype(np.int64) * annotations.n_classes + annotations.label
    codes, inverse, n_ik = np.unique(code, return_inverse=True, return_counts=True)
    return codes // max(annotations.n_classes, 1), n_ik.astype(float), inverse


def pairwise_correlation(annotations: Annotations) -> tuple[Ids, Ids, Array, Array]:
    """Pearson's correlation of all pairs of annotators on their common items: two ids, items, value."""
    v = annotations.labels[annotations.label].astype(float)
    v = v - v.mean()
    pairs = AnnotatorPairs(annotations)
    n = pairs.n_items
    x, y = pairs.sum(left=v) / n, pairs.sum(right=v) / n
    xx, yy = pairs.sum(left=v**2) / n - x**2, pairs.sum(right=v**2) / n - y**2
    with np.errstate(invalid="ignore", divide="ignore"):  # one who always says the same: not defined
        value = (pairs.sum(v, v) / n - x * y) / np.sqrt(np.maximum(xx, 0) * np.maximum(yy, 0))
    value = np.where(np.isfinite(value), np.clip(value, -1, 1), np.nan)
    return annotations.annotators[pairs.first], annotations.annotators[pairs.second], n, value


def pair_names(first: Ids, second: Ids) -> list[str]:
    """Names of pairs, to print."""
    return [f"{one!r}, {other!r}" for one, other in zip(elements(first), elements(second), strict=True)]


# --- One pair --------------------------------------------------------------------------------------------


def cohen_kappa(annotations: Annotations, first: Any, second: Any, weights: Weights | None = None) -> float:
    """Cohen's kappa of two annotators, on the items both labelled.

    1 − Σ w O / Σ w E. O is the table of the labels of one by the labels of the other, E the same if they
    labelled independently, each with their own label frequencies, and w_kl = 1 off the diagonal, |k − l| or
    (k − l)².

    Parameters
    ----------
    annotations : Annotations
    first, second : ids
        Two of ``annotations.annotators``.
    weights : {"linear", "quadratic"}, optional
        How the cost of a disagreement grows with its distance, in steps of ``annotations.labels``, unused
        labels included. Strings are in alphabetical order unless you passed labels= when creating the
        annotations.

    Returns
    -------
    float
        At most 1; 0 is chance. NaN if both gave one and the same label to all of these items.

    References
    ----------
    J. Cohen (1960), A coefficient of agreement for nominal scales; (1968), Weighted kappa.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import cohen_kappa
    >>> labels = [[0, 0], [1, 1], [0, 1], [1, None]]
    >>> annotations = Annotations.from_matrix(labels, annotators=["anna", "bob"])
    >>> round(cohen_kappa(annotations, "anna", "bob"), 3)
    0.4
    """
    if weights not in (None, "linear", "quadratic"):
        raise InputError(f"weights= must be None, 'linear' or 'quadratic'; got {weights!r}.")
    if weights is not None:
        check_ordered(annotations, f"weights={weights!r}")
    left, right = _common_labels(annotations, first, second)
    K = annotations.n_classes
    observed = np.bincount(left.astype(np.intp) * K + right, minlength=K * K).reshape(K, K)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / len(left)
    distance = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    w = distance > 0 if weights is None else distance if weights == "linear" else distance**2
    chance = np.sum(w * expected)
    return float(1 - np.sum(w * observed) / chance) if chance else np.nan


def _common_labels(annotations: Annotations, first: Any, second: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels of two annotators on the items both labelled."""
    left, right = (np.flatnonzero(annotations.annotator == _code(annotations, id)) for id in (first, second))
    if first == second:
        raise InputError(f"Expected two different annotators, got {first!r} twice.")
    _, in_left, in_right = np.intersect1d(
        annotations.item[left], annotations.item[right], assume_unique=True, return_indices=True
    )
    if not len(in_left):
        raise InputError(
            f"Expected items that both {first!r} and {second!r} labelled; there are none. "
            "pairwise_agreement lists the pairs with common items."
        )
    return annotations.label[left[in_left]], annotations.label[right[in_right]]


def _code(annotations: Annotations, annotator: Any) -> int:
    """Position of an annotator in the vocabulary."""
    known = elements(annotations.annotators)
    if annotator in known:
        return known.index(annotator)
    by_text = {str(id): id for id in known}
    near = [by_text[text] for text in get_close_matches(str(annotator), by_text)]
    hint = f"The closest are {show(near)}." if near else f"There are {show(known)}."
    raise InputError(f"Expected one of the {len(known)} annotators, got {annotator!r}. {hint}")
