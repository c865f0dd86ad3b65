"""Pairs of annotators: agreement on their common items, and pairs that may have copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import false_discovery_control

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import NamedColumns
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements, show

LOOK_FIRST = (
    "One of a pair may have copied from the other, or some items mislead both: look at their common mistakes "
    "before you accuse anyone."
)
SHARED_MISTAKES = (
    "With so many pairs, copying is an unlikely explanation. The model assumes that annotators make mistakes "
    "independently, and this does not hold here: some items mislead many of them. The probabilities of the "
    "consensus may be too high."
)

# --- Agreement -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairwiseAgreement(NamedColumns):
    """Agreement of all pairs of annotators with common items.

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

    COLUMNS = ("first", "second", "n_items", "agreement", "kappa")

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
        common = sp.triu(self._product(1.0, 1.0, annotations.item), k=1).tocsr().sorted_indices().tocoo()
        self.n_items, (self.first, self.second) = common.data, common.coords

    def sum(self, left: Array | float = 1.0, right: Array | float = 1.0, *, same_label: bool = False) -> Array:
        """Σ of left · right over the common items of each pair, or those on which it agrees: (n_pairs,).

        ``left`` and ``right`` are (n_annotations,), of the pair's first and second annotator.
        """
        if not len(self.first):
            return np.zeros(0)
        groups = item_label_counts(self.annotations)[2] if same_label else self.annotations.item
        return np.asarray(self._product(left, right, groups)[self.first, self.second])

    def _product(self, left: Array | float, right: Array | float, group: NDArray[Any]) -> Any:
        """Σ of left · right over common groups: a sparse matrix of annotators by annotators."""
        return (self._sparse(left, group) @ self._sparse(right, group).T).tocsr()

    def _sparse(self, values: Array | float, group: NDArray[Any]) -> Any:
        """Sparse matrix of the values that are not zero, annotators by groups."""
        values = np.broadcast_to(values, group.shape)
        nonzero = values != 0
        shape = self.annotations.n_annotators, int(group.max(initial=-1)) + 1
        return sp.csr_array((values[nonzero], (self.annotations.annotator[nonzero], group[nonzero])), shape=shape)


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


@dataclass(frozen=True, eq=False)
class ExpectedPairs:
    """What a model expects of each pair on its common items, in the order of `AnnotatorPairs`: four (n_pairs,).

    Attributes
    ----------
    first_right, second_right, both_right
        Number of items on which the first, the second and both annotators are right.
    same_mistake
        Number of items to which both give the same wrong label.
    """

    first_right: Array
    second_right: Array
    both_right: Array
    same_mistake: Array

    @property
    def agreements(self) -> Array:
        """Number of items on which the two agree: (n_pairs,)."""
        return self.both_right + self.same_mistake

    @classmethod
    def independent(cls, pairs: AnnotatorPairs, right: Array) -> ExpectedPairs:
        """For independent errors, spread evenly over the other labels; ``right`` (n_annotations,)."""
        same_mistake = pairs.sum(1 - right, 1 - right) / (pairs.annotations.n_classes - 1)
        return cls(pairs.sum(left=right), pairs.sum(right=right), pairs.sum(right, right), same_mistake)


# --- Copying ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CopyingSuspects(NamedColumns):
    """Pairs that agree more than expected; smallest p value first.

    Attributes
    ----------
    first, second : ids of shape (n_pairs,)
    n_items : int array of shape (n_pairs,)
        Number of items both labelled.
    observed, expected : (n_pairs,)
        Agreements on these, and their expected number.
    mistakes, mistakes_expected : (n_pairs,)
        The same for agreements on a wrong label, according to the posterior. The posterior depends on the
        labels of the pair too, so ``mistakes`` is biased downwards. The test does not use it.
    p : (n_pairs,)
        One-sided p value.
    p_adjusted : (n_pairs,)
        p value adjusted by Benjamini and Hochberg: expected share of false positives among the pairs up to
        this one.
    n_tested : int
        Number of pairs with common items.
    """

    first: Ids
    second: Ids
    n_items: NDArray[np.intp]
    observed: NDArray[np.intp]
    expected: Array
    mistakes: Array
    mistakes_expected: Array
    p: Array
    p_adjusted: Array
    n_tested: int

    COLUMNS = ("first", "second", "n_items", "observed", "expected", "mistakes", "mistakes_expected", "p", "p_adjusted")

    @property
    def caveat(self) -> str:
        """What a reader must know before drawing conclusions; empty if there are no pairs."""
        if not len(self):
            return ""
        return SHARED_MISTAKES if 2 * len(self) > self.n_tested else LOOK_FIRST

    def __repr__(self) -> str:
        """Return counts, not arrays."""
        return f"CopyingSuspects(n_pairs={len(self)}, n_tested={self.n_tested})"

    def __str__(self) -> str:
        """Return one line per pair."""
        if not len(self):
            return f"None of {self.n_tested} pairs agrees more than the model expects."
        lines = [f"{len(self)} of {self.n_tested} pairs agree more than the model expects:"]
        lines += [
            f"  {pair}: {self.observed[j]} of {self.n_items[j]} labels agree, "
            f"{self.expected[j]:.1f} expected; {self.mistakes[j]:.1f} shared mistakes, "
            f"{self.mistakes_expected[j]:.1f} expected; adjusted p {self.p_adjusted[j]:.1g}"
            for j, pair in enumerate(pair_names(self.first, self.second))
        ]
        return "\n".join([*lines, self.caveat])


def copying_suspects(
    annotations: Annotations,
    posterior: Any,
    expertise: Any = None,
    level: float = 0.01,
    *,
    expected: ExpectedPairs | None = None,
) -> CopyingSuspects:
    """Find pairs of annotators that agree more than a model expects: one may have copied from the other.

    A fitted model says how often s and t agree on item i; the truth and the difficulty of the item are integrated out:

        e_i = Σ_l p(y_s = l, y_t = l | x_i),

    summed over their common items by `expected_pairs`. Without a model, annotators who are right with probabilities
    a_s and a_t, make independent errors and spread these evenly over the other K − 1 labels agree with probability

        e_i = a_s a_t + (1 − a_s)(1 − a_t) / (K − 1),

    whatever the truth; items that mislead everyone then look like copying. The number of agreements is compared with
    Σ e_i. The p value is the tail of a binomial distribution of the same mean, which is conservative for any number of
    items (Hoeffding 1956). It is 1 for pairs less than one agreement above the mean.

    A small p value means *more alike than the model explains*. Copied labels also count twice in a fit: with few
    other annotators, the model may take the pair for two experts.

    Parameters
    ----------
    annotations : Annotations
    posterior : (n_items, n_classes)
        Probability of each class given the labels, columns as in ``annotations.labels``; such as
        ``posterior_`` of a fitted model.
    expertise : (n_items, n_annotators) or (n_annotators,), optional
        Probability that each annotator is correct, per item or overall, for independent errors.
    level : float
        False discovery rate: pairs with a smaller adjusted p value (Benjamini and Hochberg 1995) are kept.
    expected : ExpectedPairs, optional
        Instead of ``expertise``: what a fitted model expects of each pair.

    Returns
    -------
    CopyingSuspects
        Sorted by p value.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from whoknows.insight import copying_suspects
    >>> rng = np.random.default_rng(0)
    >>> labels = np.where(rng.random((200, 3)) < 0.7, 1, 0)  # the truth is 1 throughout
    >>> labels[:, 2] = labels[:, 0]
    >>> annotations = Annotations.from_matrix(labels, annotators=["anna", "bob", "copycat"])
    >>> suspects = copying_suspects(annotations, np.tile([0.0, 1.0], (200, 1)), np.full(3, 0.7))
    >>> suspects.first, suspects.second, suspects.observed, suspects.expected.round()
    (array(['anna'], ...), array(['copycat'], ...), array([200]), array([116.]))
    """
    if not 0 < level < 1:
        raise InputError(f"level= must lie between 0 and 1; got {level}.")
    if annotations.n_classes < 2:
        raise InputError(
            f"Expected at least two labels in annotations.labels, got {show(elements(annotations.labels))}."
        )
    if (expertise is None) == (expected is None):
        raise InputError("copying_suspects needs either expertise= or expected=, and not both.")
    pairs, q = AnnotatorPairs(annotations), _label_posterior(annotations, posterior)
    if expected is None:
        expected = ExpectedPairs.independent(pairs, _label_expertise(annotations, expertise))
    n, observed, agreements = pairs.n_items, pairs.sum(same_label=True), expected.agreements
    p = _binomial_tail(observed, n, agreements)
    p_adjusted = false_discovery_control(p) if len(p) else p
    chosen = np.flatnonzero(p_adjusted < level)
    chosen = chosen[np.lexsort(((agreements - observed)[chosen], p[chosen]))]
    return CopyingSuspects(
        first=annotations.annotators[pairs.first[chosen]],
        second=annotations.annotators[pairs.second[chosen]],
        n_items=n[chosen].astype(np.intp),
        observed=observed[chosen].astype(np.intp),
        expected=agreements[chosen],
        mistakes=pairs.sum(1 - q, same_label=True)[chosen],
        mistakes_expected=expected.same_mistake[chosen],
        p=p[chosen],
        p_adjusted=p_adjusted[chosen],
        n_tested=len(n),
    )


def _binomial_tail(observed: Array, n: Array, expected: Array) -> Array:
    """P(at least ``observed`` of n) at this mean; 1 where less than one above it: (n_pairs,)."""
    p = np.ones(len(n))
    high = observed >= expected + 1
    p[high] = betainc(observed[high], n[high] - observed[high] + 1, (expected / n)[high])
    return p


def _label_posterior(annotations: Annotations, posterior: Any) -> Array:
    """Posterior probability of each label that was given: (n_annotations,)."""
    shape, cells = (annotations.n_items, annotations.n_classes), (annotations.item, annotations.label)
    columns = f"one column for each of the labels {show(elements(annotations.labels))}"
    return _probabilities_at(cells, posterior, "posterior", shape, columns)


def _label_expertise(annotations: Annotations, expertise: Any) -> Array:
    """Probability that the annotator of each label is correct on its item: (n_annotations,)."""
    shape, cells = annotations.shape, (annotations.item, annotations.annotator)
    per_item = np.broadcast_to(expertise, shape) if np.shape(expertise) == shape[1:] else expertise
    return _probabilities_at(cells, per_item, "expertise", shape, "one column per annotator")


def _probabilities_at(cells: Any, table: Any, name: str, shape: tuple[int, ...], columns: str) -> Array:
    """Cells of a table; raise unless it has this shape and they lie between 0 and 1, up to rounding."""
    if np.shape(table) != shape:
        raise InputError(f"Expected {name} of shape {shape}, one row per item and {columns}; got {np.shape(table)}.")
    values = np.asarray(table, dtype=float)[cells]
    wrong = values[~((values >= -1e-9) & (values <= 1 + 1e-9))]
    if wrong.size:
        raise InputError(f"Expected probabilities in {name}, between 0 and 1; got {wrong[0]}.")
    return np.clip(values, 0, 1)
