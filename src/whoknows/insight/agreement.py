"""Agreement: how far annotators say the same, corrected for chance, overall and pair by pair.

Everything is a sum over labels, or over pairs of labels on one item; no table of items by annotators is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import betainc

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import Ids, elements, show

Counts = NDArray[np.intp]
Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"]

_PAIRS_AT_ONCE = 1_000_000  # pairs of annotators held in one sparse product
_FEW = 5  # annotators shown in a summary, and pairs at either end
_WORTH_SHOWING = 10  # common items below which the kappa of a pair is mostly luck


# --- The whole crowd -------------------------------------------------------------------------------------


def percent_agreement(said: Annotations) -> float:
    """Share of pairs of labels on one item that agree.

    Σ_i Σ_k n_ik (n_ik − 1) / Σ_i n_i (n_i − 1), where n_ik of the n_i labels of item i are k. Every pair of
    labels counts the same, so an item with many labels counts more than one with two.

    Parameters
    ----------
    said : Annotations
        At least one item with two labels; items with fewer do not count.

    Returns
    -------
    float
        Between 0 and 1. Not corrected for chance: two coins agree half the time.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import percent_agreement
    >>> percent_agreement(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, None]]))
    0.6666666666666666
    """
    n = _compared(said).labels_per_item
    _, n_ik = _cells(said)
    return float((n_ik * (n_ik - 1)).sum() / (n * (n - 1)).sum())


def fleiss_kappa(said: Annotations) -> float:
    """Fleiss' kappa: agreement of any two labels of an item beyond chance, whoever gave them.

    (P − P_e) / (1 − P_e) with P the mean over items of the share of their pairs of labels that agree, and
    P_e = Σ_k p_k². Fleiss (1971) has the same number of labels on each item. Where numbers differ, this is
    Gwet's generalisation: P is the mean over items with two labels or more, p_k the mean over all
    labelled items of the share of label k. With equal numbers the two are one.

    Parameters
    ----------
    said : Annotations
        At least one item with two labels.

    Returns
    -------
    float
        At most 1; 0 is chance. NaN if only one label was ever used: there is nothing to agree about.

    References
    ----------
    J. L. Fleiss (1971), Measuring nominal scale agreement among many raters. Psychological Bulletin 76.
    K. L. Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import fleiss_kappa
    >>> round(fleiss_kappa(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]])), 3)
    0.467
    """
    _compared(said)
    if _is_unanimous(said):
        return np.nan
    n, several = said.labels_per_item, said.labels_per_item > 1
    item, n_ik = _cells(said)
    agreeing = segment_sum(n_ik * (n_ik - 1), item, said.n_items)[several]
    P = np.mean(agreeing / (n * (n - 1))[several])
    p = segment_sum(1 / n[said.item], said.label, said.n_classes) / np.sum(said.labelled)
    return float((P - p @ p) / (1 - p @ p))


def krippendorff_alpha(said: Annotations, level: Level = "nominal") -> float:
    """Krippendorff's alpha: one minus the disagreement observed over that expected by chance.

    Any number of labels an item, and labels may be missing; an item with one label compares nothing and is
    dropped, as the definition has it. The mean δ² over pairs of labels is twice a variance, so

        α = 1 − [Σ_i n_i S_i / (n_i − 1) / n] / [S / (n − 1)],

    S_i and S being the sums of squares around the mean within item i and over all n labels.

    Parameters
    ----------
    said : Annotations
        At least one item with two labels.
    level : {"nominal", "ordinal", "interval"}
        How far labels are apart. "nominal": equal or not. "ordinal": by how many labels lie between, in the
        order of ``said.labels``. "interval": their difference; labels must be numbers.

    Returns
    -------
    float
        At most 1; 0 is chance. NaN if only one label was ever used on the items compared.

    References
    ----------
    K. Krippendorff (2011), Computing Krippendorff's alpha-reliability. University of Pennsylvania.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import krippendorff_alpha
    >>> said = Annotations.from_matrix([[1, 1, None], [2, 3, 3], [3, 3, 3], [1, None, None]])
    >>> [round(krippendorff_alpha(said, level), 3) for level in ("nominal", "ordinal", "interval")]
    [0.588, 0.75, 0.851]
    """
    if level not in ("nominal", "ordinal", "interval"):
        raise ValueError(f"level= must be 'nominal', 'ordinal' or 'interval'; got {level!r}.")
    said = _compared(said)
    position = None if level == "nominal" else _positions(said, level)
    if _is_unanimous(said):
        return np.nan
    n, n_i = said.n_annotations, said.labels_per_item
    if position is None:  # labels as corners of a simplex: n_i S_i = n_i² − Σ_k n_ik²
        item, n_ik = _cells(said)
        within = n_i - segment_sum(n_ik**2, item, said.n_items) / n_i
        total = n - np.sum(np.bincount(said.label) ** 2.0) / n
    else:
        v = position[said.label]
        mean = segment_sum(v, said.item, said.n_items) / n_i
        within = segment_sum((v - mean[said.item]) ** 2, said.item, said.n_items)
        total = np.sum((v - v.mean()) ** 2)
    return float(1 - np.sum(n_i * within / (n_i - 1)) / n / (total / (n - 1)))


# --- Two annotators --------------------------------------------------------------------------------------


def cohen_kappa(said: Annotations, first: Any, second: Any, weights: Weights | None = None) -> float:
    """Cohen's kappa of two annotators, on the items both labelled.

    1 − Σ w O / Σ w E, with O the table of what one says by what the other says, E the same if they labelled
    independently, each with their own shares of labels, and w_kl = 1 off the diagonal, |k − l| or (k − l)².

    Parameters
    ----------
    said : Annotations
    first, second : ids
        Two of ``said.annotators``.
    weights : {"linear", "quadratic"}, optional
        How much worse it is to be further apart, in steps of ``said.labels``, labels nobody used included.
        Strings are in alphabetical order unless you gave labels= when making the annotations.

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
    >>> said = Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, None]], annotators=["anna", "bob"])
    >>> round(cohen_kappa(said, "anna", "bob"), 3)
    0.4
    """
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"weights= must be None, 'linear' or 'quadratic'; got {weights!r}.")
    if weights is not None:
        _refuse_unordered(said, f"weights={weights!r}")
    mine, theirs = _common_labels(said, first, second)
    K, n = said.n_classes, len(mine)
    O = np.bincount(mine.astype(np.intp) * K + theirs, minlength=K * K).reshape(K, K)  # noqa: E741
    E = np.outer(O.sum(axis=1), O.sum(axis=0)) / n
    apart = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    w = apart > 0 if weights is None else apart if weights == "linear" else apart**2
    chance = np.sum(w * E)
    return float(1 - np.sum(w * O) / chance) if chance else np.nan


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
    n_items: Counts
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
        raise ValueError(f"minimum= must be at least 1, the items a pair shares; got {minimum}.")
    meetings = _Meetings(said)
    n, agreeing = meetings.n_items, meetings.n_agreeing
    by_chance = np.zeros(len(n))  # n² P_e = Σ_k (items first calls k) · (items second calls k)
    for k in np.unique(said.label):
        is_k = (said.label == k).astype(float)
        by_chance += meetings.sum(is_k, None) * meetings.sum(None, is_k)
    with np.errstate(invalid="ignore"):  # 0 / 0 is a kappa that does not exist
        kappa = (n * agreeing - by_chance) / (n**2 - by_chance)
    kept = n >= minimum
    return PairwiseAgreement(
        said.annotators[meetings.first[kept]],
        said.annotators[meetings.second[kept]],
        n[kept].astype(np.intp),
        (agreeing / n)[kept],
        kappa[kept],
    )


# --- Who may have copied ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CopyingSuspects:
    """Pairs that agree more than independent errors allow; most surprising first.

    Attributes
    ----------
    first, second : ids of shape (n_pairs,)
    n_items : int array of shape (n_pairs,)
        Items both labelled.
    observed, expected : (n_pairs,)
        Agreements on these, and how many two independent annotators of this expertise would have.
    mistakes, mistakes_expected : (n_pairs,)
        The same for agreements on a wrong label, wrong as the posterior has it. It heard the pair too, so
        ``mistakes`` is rather low. For reading; the test does not use it.
    z, p : (n_pairs,)
        Standard score, and one-sided p value.
    p_adjusted : (n_pairs,)
        p after Benjamini and Hochberg: among all pairs up to here, this share may be innocent.
    n_tested : int
        Pairs with common items, suspect or not.
    """

    first: Ids
    second: Ids
    n_items: Counts
    observed: Counts
    expected: Array
    mistakes: Array
    mistakes_expected: Array
    z: Array
    p: Array
    p_adjusted: Array
    n_tested: int

    def __len__(self) -> int:
        """Count the suspects."""
        return len(self.first)

    def __repr__(self) -> str:
        """Give counts, not arrays."""
        return f"CopyingSuspects(n_pairs={len(self)}, n_tested={self.n_tested})"

    def __str__(self) -> str:
        """One line a pair."""
        if not len(self):
            return f"None of {self.n_tested} pairs agrees more than their expertise explains."
        lines = [f"{len(self)} of {self.n_tested} pairs agree more than their expertise explains:"]
        lines += [
            f"  {_two(self, j)}: {self.observed[j]} of {self.n_items[j]} labels agree, "
            f"{self.expected[j]:.1f} expected; {self.mistakes[j]:.1f} wrong alike, "
            f"{self.mistakes_expected[j]:.1f} expected; adjusted p {self.p_adjusted[j]:.1g}"
            for j in range(len(self))
        ]
        return "\n".join(lines)


def copying_suspects(
    said: Annotations, posterior: Any, expertise: Any, level: float = 0.01
) -> CopyingSuspects:
    """Pairs of annotators that agree more than a model expects: one may have copied from the other.

    If s and t are right on item i with probabilities a_s and a_t, err independently and spread their errors
    evenly over the other K − 1 labels, they agree with probability

        e_i = a_s a_t + (1 − a_s)(1 − a_t) / (K − 1),

    whatever the truth. Agreements are compared with Σ e_i; z has the variance Σ e_i (1 − e_i). The p value is
    the tail of a binomial of the same mean, which for a surprising number of agreements is never too small
    (Hoeffding 1956), however few the items. It is 1 for pairs less than one agreement above the mean.

    A small p says *more alike than the model explains*. Items on which everyone makes the same mistake do
    that as well, if ``expertise`` does not know of them: look at the items before you accuse anyone. And a
    copied label counts twice in a fit: with few other annotators the pair passes for two experts.

    Parameters
    ----------
    said : Annotations
    posterior : (n_items, n_classes)
        Truth of each item given the labels, columns as in ``said.labels``; such as ``posterior_`` of a fit.
    expertise : (n_items, n_annotators) or (n_annotators,)
        Probability that each annotator is right, on each item or on all alike; such as ``expertise(X)``.
    level : float
        Pairs whose p, adjusted for the number of pairs (Benjamini and Hochberg 1995), is below it.

    Returns
    -------
    CopyingSuspects
        Sorted by p.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from whoknows.insight import copying_suspects
    >>> rng = np.random.default_rng(0)
    >>> labels = np.where(rng.random((200, 3)) < 0.7, 1, 0)  # the truth is 1 throughout
    >>> labels[:, 2] = labels[:, 0]
    >>> said = Annotations.from_matrix(labels, annotators=["anna", "bob", "copycat"])
    >>> suspects = copying_suspects(said, np.tile([0.0, 1.0], (200, 1)), np.full(3, 0.7))
    >>> suspects.first, suspects.second, suspects.observed, suspects.expected.round()
    (array(['anna'], ...), array(['copycat'], ...), array([200]), array([116.]))
    """
    if not 0 < level < 1:
        raise ValueError(f"level= must lie between 0 and 1; got {level}.")
    if said.n_classes < 2:
        raise ValueError(f"Expected at least two labels in said.labels, got {show(elements(said.labels))}.")
    q, a = _label_posterior(said, posterior), _label_expertise(said, expertise)
    meetings, b, others = _Meetings(said), 1 - a, said.n_classes - 1
    wrong = meetings.sum(b, b) / others
    expected = meetings.sum(a, a) + wrong
    squares = (
        meetings.sum(a**2, a**2)
        + 2 * meetings.sum(a * b, a * b) / others
        + meetings.sum(b**2, b**2) / others**2
    )
    deviation = np.sqrt(np.maximum(expected - squares, 0))
    n, observed = meetings.n_items, meetings.n_agreeing
    with np.errstate(divide="ignore", invalid="ignore"):  # annotators without doubt: infinite, or 0 / 0
        z = (observed - expected) / deviation
    p = np.ones(len(n))
    high = observed >= expected + 1
    p[high] = betainc(observed[high], n[high] - observed[high] + 1, (expected / n)[high])
    p_adjusted = _benjamini_hochberg(p)
    chosen = np.flatnonzero(p_adjusted < level)
    chosen = chosen[np.lexsort((-z[chosen], p[chosen]))]
    return CopyingSuspects(
        first=said.annotators[meetings.first[chosen]],
        second=said.annotators[meetings.second[chosen]],
        n_items=n[chosen].astype(np.intp),
        observed=observed[chosen].astype(np.intp),
        expected=expected[chosen],
        mistakes=meetings.sum(1 - q, None, same_label=True)[chosen],
        mistakes_expected=wrong[chosen],
        z=z[chosen],
        p=p[chosen],
        p_adjusted=p_adjusted[chosen],
        n_tested=len(n),
    )


# --- At a glance -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Agreement:
    """What to look at first: overall numbers, every annotator, every pair. `print` it.

    Words for values of kappa («fair», «substantial»: Landis and Koch 1977) are custom, so none are given.

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
        enough = f"{len(order)} of {len(pairs)} with {_WORTH_SHOWING} common items or more"
        yield f"Pairs by Cohen's kappa, {enough}:"
        shown = [*order] if len(order) <= 2 * _FEW else [*order[:_FEW], None, *order[-_FEW:]]
        width = max((len(_two(pairs, j)) for j in shown if j is not None), default=0)
        for j in shown:
            yield (
                "  …"
                if j is None
                else (
                    f"  {_two(pairs, j):<{width}}  kappa {pairs.kappa[j]:5.2f}, "
                    f"agree on {pairs.agreement[j]:.2f} of {pairs.n_items[j]}"
                )
            )


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


# --- Pairs of annotators that meet on an item ------------------------------------------------------------


class _Meetings:
    """Every two annotators with common items, and sums over these items, by sparse products."""

    def __init__(self, said: Annotations) -> None:
        if np.any(said.annotator < 0):
            raise ValueError(
                f"{int(np.sum(said.annotator < 0))} labels are by annotators outside the vocabulary, "
                "so pairs cannot be named. Use the Annotations from before recode(unknown='population')."
            )
        self.said = said
        self.key, self.n_items = self._products(
            np.ones(said.n_annotations), np.ones(said.n_annotations), said.item
        )
        self.first, self.second = np.divmod(self.key, max(said.n_annotators, 1))

    @cached_property
    def n_agreeing(self) -> Array:
        """On how many items each pair agrees: (n_pairs,)."""
        return self.sum(None, None, same_label=True)

    def sum(self, left: Array | None, right: Array | None, *, same_label: bool = False) -> Array:
        """Σ of left · right over common items of each pair, or those on which it agrees: (n_pairs,).

        ``left`` and ``right`` are (n_annotations,), of the pair's first and second annotator; None is one.
        """
        ones = np.ones(self.said.n_annotations)
        where = self._same_label_cell if same_label else self.said.item
        key, value = self._products(ones if left is None else left, ones if right is None else right, where)
        total = np.zeros(len(self.key))
        total[np.searchsorted(self.key, key)] = value
        return total

    @cached_property
    def _same_label_cell(self) -> NDArray[Any]:
        """Which of the (item, label) that occur: (n_annotations,)."""
        return np.asarray(np.unique(_cell_numbers(self.said), return_inverse=True)[1])

    def _products(self, left: Array, right: Array, where: NDArray[Any]) -> tuple[NDArray[np.int64], Array]:
        """Σ of left · right over places where both are, first < second: first · T + second, sorted; sums."""
        T = self.said.n_annotators
        shape = T, int(where.max(initial=-1)) + 1
        L, R = (_sparse(values, self.said.annotator, where, shape) for values in (left, right))
        Rt = R.T.tocsr()
        keys, sums = [np.empty(0, np.int64)], [np.empty(0)]
        for start, stop in self._blocks:
            block = sp.triu(L[start:stop] @ Rt[:, start:], k=1).tocsr()
            block.sort_indices()
            row = np.repeat(np.arange(start, stop, dtype=np.int64), np.diff(block.indptr))
            keys.append(row * T + block.indices + start)
            sums.append(block.data)
        return np.concatenate(keys), np.concatenate(sums)

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        """Runs of annotators that meet about `_PAIRS_AT_ONCE` others in all."""
        T = self.said.n_annotators
        n_i = self.said.labels_per_item[self.said.item].astype(float)
        met = np.cumsum(np.minimum(segment_sum(n_i, self.said.annotator, T), T))
        ends = np.flatnonzero(np.diff(met // _PAIRS_AT_ONCE, append=-1)) + 1 if T else np.empty(0, np.intp)
        return list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)) if T else []


def _sparse(values: Array, row: NDArray[Any], column: NDArray[Any], shape: tuple[int, int]) -> Any:
    """Sparse table of the values that are not zero."""
    there = values != 0
    return sp.csr_array((values[there], (row[there], column[there])), shape=shape)


def _agreement_with_others(said: Annotations) -> Array:
    """Share of each annotator's pairs of labels with others that agree: (n_annotators,)."""
    _, place, n_ik = np.unique(_cell_numbers(said), return_inverse=True, return_counts=True)
    agreeing = segment_sum(n_ik[place].astype(float) - 1, said.annotator, said.n_annotators)
    pairs = segment_sum(said.labels_per_item[said.item].astype(float) - 1, said.annotator, said.n_annotators)
    with np.errstate(invalid="ignore"):  # 0 / 0: no common items
        return np.asarray(agreeing / pairs)


# --- Small things ----------------------------------------------------------------------------------------


def _cell_numbers(said: Annotations) -> NDArray[np.int64]:
    """One number for each (item, label): (n_annotations,)."""
    return said.item.astype(np.int64) * said.n_classes + said.label


def _cells(said: Annotations) -> tuple[NDArray[np.int64], Array]:
    """Items and counts n_ik of all (item, label) that occur."""
    cell, n_ik = np.unique(_cell_numbers(said), return_counts=True)
    return cell // max(said.n_classes, 1), n_ik.astype(float)


def _compared(said: Annotations) -> Annotations:
    """Items with two labels or more; it is an error if there are none."""
    several = said.labels_per_item > 1
    if not several.any():
        raise ValueError(
            f"Agreement needs an item with two labels; none of the {int(said.labelled.sum())} labelled items "
            "has more than one. Let annotators label some items together."
        )
    return said[several]


def _is_unanimous(said: Annotations) -> bool:
    """Whether one label was given throughout."""
    return bool(np.all(said.label == said.label[0]))


def _positions(said: Annotations, level: Level) -> Array:
    """Labels as points on a line: their values, or the mean ranks of their occurrences: (n_classes,)."""
    if (
        level == "ordinal"
    ):  # Σ of the counts from c to k, less half of both ends, is a difference of mean ranks
        _refuse_unordered(said, "level='ordinal'")
        n_k = np.bincount(said.label, minlength=said.n_classes)
        return np.asarray(np.cumsum(n_k) - n_k / 2)
    if not all(_is_number(label) for label in elements(said.labels)):
        raise ValueError(
            f"level='interval' expected labels that are numbers, got {show(elements(said.labels))}. "
            "Use level='nominal', or level='ordinal' if they have an order."
        )
    return said.labels.astype(float)


def _refuse_unordered(said: Annotations, setting: str) -> None:
    """Labels that cannot be compared, or numbers up and down, have no order to use."""
    labels = elements(said.labels)
    try:
        ascending = sorted(labels)
    except TypeError:
        ascending = None
    numbers = all(_is_number(label) for label in labels)
    if ascending is None or (numbers and labels not in (ascending, ascending[::-1])):
        raise ValueError(
            f"{setting} expected labels in their order, got {show(labels)}. "
            "Pass labels= in ascending order, all of one kind, when making the Annotations."
        )


def _is_number(label: Any) -> bool:
    """Whether a label is a number and not a boolean."""
    return isinstance(label, (int, float)) and not isinstance(label, bool)


def _common_labels(said: Annotations, first: Any, second: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels of two annotators on the items both labelled."""
    mine, theirs = (np.flatnonzero(said.annotator == _code(said, name)) for name in (first, second))
    if first == second:
        raise ValueError(f"Expected two different annotators, got {first!r} twice.")
    _, left, right = np.intersect1d(
        said.item[mine], said.item[theirs], assume_unique=True, return_indices=True
    )
    if not len(left):
        raise ValueError(
            f"Expected items that both {first!r} and {second!r} labelled; they share none. "
            "pairwise_agreement lists the pairs that do."
        )
    return said.label[mine[left]], said.label[theirs[right]]


def _code(said: Annotations, name: Any) -> int:
    """Position of an annotator in the vocabulary."""
    names = elements(said.annotators)
    if name in names:
        return names.index(name)
    by_text = {str(known): known for known in names}
    near = [by_text[text] for text in get_close_matches(str(name), by_text)]
    hint = f"The nearest: {show(near)}." if near else f"There are {show(names)}."
    raise ValueError(f"Expected one of the {len(names)} annotators, got {name!r}. {hint}")


def _label_posterior(said: Annotations, posterior: Any) -> Array:
    """Posterior probability of each label that was given: (n_annotations,)."""
    q = np.asarray(posterior, dtype=float)
    if q.shape != (said.n_items, said.n_classes):
        raise ValueError(
            f"Expected posterior of shape {(said.n_items, said.n_classes)}, a row an item and a column for "
            f"each of the labels {show(elements(said.labels))}; got {q.shape}."
        )
    return _refuse_improbable(q[said.item, said.label], "posterior")


def _label_expertise(said: Annotations, expertise: Any) -> Array:
    """Probability that whoever gave each label is right there: (n_annotations,)."""
    a = np.asarray(expertise, dtype=float)
    if a.shape not in (said.shape, said.shape[1:]):
        raise ValueError(
            f"Expected expertise of shape {said.shape}, a row an item and a column an annotator, "
            f"or {said.shape[1:]}; got {a.shape}."
        )
    given = a[said.annotator] if a.ndim == 1 else a[said.item, said.annotator]
    return _refuse_improbable(given, "expertise")


def _refuse_improbable(values: Array, name: str) -> Array:
    """Probabilities lie between 0 and 1; rounding may push them a hair beyond."""
    wrong = values[~((values >= -1e-9) & (values <= 1 + 1e-9))]
    if wrong.size:
        raise ValueError(f"Expected probabilities in {name}, between 0 and 1; got {wrong[0]}.")
    return np.clip(values, 0, 1)


def _benjamini_hochberg(p: Array) -> Array:
    """Smallest share of false discoveries at which each p would be discovered: (n,)."""
    order = np.argsort(p)[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return adjusted


def _two(pairs: PairwiseAgreement | CopyingSuspects, j: int) -> str:
    """Names of a pair."""
    first, second = elements(pairs.first[[j]])[0], elements(pairs.second[[j]])[0]
    return f"{first!r}, {second!r}"


def _number(value: float) -> str:
    """Two digits, or why there are none."""
    return "not defined: only one label was used" if np.isnan(value) else f"{value:.2f}"
