"""Agreement of annotators, corrected for chance: coefficients, and a table to print.

Everything is a sum over labels, or over pairs of labels on one item; no matrix of items by annotators is
built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, closest, codes_of_names, elements, show
from whoknows.insight.pairwise import PairwiseAgreement, item_label_counts, pair_names, pairwise_agreement

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"]

_SHOWN = 5  # annotators in the printed table, and pairs at either end
_MIN_COMMON_ITEMS = 10  # below which the kappa of a pair is mostly chance


# --- Coefficients ----------------------------------------------------------------------------------------


def percent_agreement(annotations: Annotations) -> float:
    """Share of pairs of labels on one item that agree: Σ_ik n_ik (n_ik − 1) / Σ_i n_i (n_i − 1).

    n_ik of the n_i labels of item i are k. An item with many labels counts more than one with two.

    Parameters
    ----------
    annotations : Annotations
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
    annotations = _with_several_labels(annotations)
    n, (_, n_ik, _) = annotations.labels_per_item, item_label_counts(annotations)
    return float((n_ik * (n_ik - 1)).sum() / (n * (n - 1)).sum())


def fleiss_kappa(annotations: Annotations) -> float:
    """Fleiss' kappa: agreement of any two labels of an item beyond chance, whoever gave them.

    (P − Σ_k p_k²) / (1 − Σ_k p_k²). P is the mean, over items with at least two labels, of the share of their
    pairs that agree, p_k the mean over all labelled items of the share of label k. Where items differ in
    their number of labels, this is Gwet's generalisation.

    Parameters
    ----------
    annotations : Annotations
        At least one item with two labels.

    Returns
    -------
    float
        At most 1; 0 is chance. NaN if only one label was ever used: agreement is then not defined.

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
    _with_several_labels(annotations)
    if np.ptp(annotations.label) == 0:
        return np.nan
    n, several = annotations.labels_per_item, annotations.labels_per_item > 1
    item, n_ik, _ = item_label_counts(annotations)
    agreeing = segment_sum(n_ik * (n_ik - 1), item, annotations.n_items)[several]
    P = np.mean(agreeing / (n * (n - 1))[several])
    p = segment_sum(1 / n[annotations.item], annotations.label, annotations.n_classes)
    p = p / np.sum(annotations.labelled)
    return float((P - p @ p) / (1 - p @ p))


def krippendorff_alpha(annotations: Annotations, level: Level = "nominal") -> float:
    """Krippendorff's alpha: one minus the observed disagreement over that expected by chance.

    The mean δ² over pairs of labels is twice a variance, so

        α = 1 − [Σ_i n_i S_i / (n_i − 1) / n] / [S / (n − 1)],

    where S_i and S are the sums of squares around the mean, within item i and over all n labels.

    Parameters
    ----------
    annotations : Annotations
        At least one item with two labels; items with fewer are dropped, as in the definition.
    level : {"nominal", "ordinal", "interval"}
        Distance between labels. "nominal": equal or not. "ordinal": by the number of labels in between, in
        the order of ``annotations.labels``. "interval": their difference; labels must be numbers.

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
    >>> annotations = Annotations.from_matrix([[1, 1, None], [2, 3, 3], [3, 3, 3], [1, None, None]])
    >>> [round(krippendorff_alpha(annotations, level), 3) for level in ("nominal", "ordinal", "interval")]
    [0.588, 0.75, 0.851]
    """
    if level not in ("nominal", "ordinal", "interval"):
        raise InputError(f"level= must be 'nominal', 'ordinal' or 'interval'; got {level!r}.")
    annotations = _with_several_labels(annotations)
    n, n_i = annotations.n_annotations, annotations.labels_per_item
    within, total = _sums_of_squares(annotations, level)
    if np.ptp(annotations.label) == 0:
        return np.nan
    return float(1 - np.sum(n_i * within / (n_i - 1)) / n / (total / (n - 1)))


def _sums_of_squares(annotations: Annotations, level: Level) -> tuple[Array, float]:
    """Sums of squares around the mean, within each item and over all labels."""
    n, n_i, n_items = annotations.n_annotations, annotations.labels_per_item, annotations.n_items
    if level == "nominal":  # labels as corners of a simplex: n_i S_i = n_i² − Σ_k n_ik²
        item, n_ik, _ = item_label_counts(annotations)
        within = n_i - segment_sum(n_ik**2, item, n_items) / n_i
        return within, n - np.sum(np.bincount(annotations.label) ** 2.0) / n
    v = _positions(annotations, level)[annotations.label]
    mean = segment_sum(v, annotations.item, n_items) / n_i
    within = segment_sum((v - mean[annotations.item]) ** 2, annotations.item, n_items)
    return within, np.sum((v - v.mean()) ** 2)


def _with_several_labels(annotations: Annotations) -> Annotations:
    """Items with at least two labels; an error if there are none."""
    several = annotations.labels_per_item > 1
    if not several.any():
        raise InputError(
            f"Agreement needs an item with two labels; none of the {int(annotations.labelled.sum())} "
            "labelled items has more than one. Let annotators label some items together."
        )
    return annotations[several]


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
        _check_ordered(annotations, f"weights={weights!r}")
    left, right = _common_labels(annotations, first, second)
    if len(np.union1d(left, right)) == 1:
        return np.nan
    codes = np.arange(annotations.n_classes)
    return float(cohen_kappa_score(left, right, labels=codes, weights=weights))


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
    known = annotations.annotators
    (code,) = codes_of_names([annotator], known)
    if code < 0:
        hint = closest(annotator, elements(known))
        raise InputError(f"Expected one of the {len(known)} annotators, got {annotator!r}. {hint}")
    return int(code)


# --- Measurement scales ----------------------------------------------------------------------------------


def _positions(annotations: Annotations, level: Literal["ordinal", "interval"]) -> Array:
    """Positions of the labels on a line: their mean ranks, or their values: (n_classes,)."""
    if level == "ordinal":
        _check_ordered(annotations, "level='ordinal'")
        # The sum of the counts from c to k, minus half of both ends, is a difference of mean ranks.
        n_k = np.bincount(annotations.label, minlength=annotations.n_classes)
        return np.asarray(np.cumsum(n_k) - n_k / 2)
    if not _are_numbers(annotations.labels):
        raise InputError(
            f"level='interval' expected labels that are numbers, got {show(elements(annotations.labels))}. "
            "Use level='nominal', or level='ordinal' if they have an order."
        )
    return annotations.labels.astype(float)


def _check_ordered(annotations: Annotations, setting: str) -> None:
    """Raise if labels cannot be compared, or are numbers that neither ascend nor descend."""
    labels = elements(annotations.labels)
    try:
        ascending = sorted(labels)
    except TypeError:
        ascending = None
    if ascending is None or (_are_numbers(annotations.labels) and labels not in (ascending, ascending[::-1])):
        raise InputError(
            f"{setting} expected labels in their order, got {show(labels)}. "
            "Pass labels= in ascending order, all of one type, when creating the Annotations."
        )


def _are_numbers(labels: Ids) -> bool:
    return labels.dtype.kind in "if"


# --- Table -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement overall, of each annotator and of each pair. `print` it.

    Attributes
    ----------
    n_items, n_compared, n_labels : int
        Items with a label, items with at least two labels, and labels.
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
        """Return the overall numbers."""
        return f"Agreement(percent={self.percent:.3f}, fleiss={self.fleiss:.3f}, alpha={self.alpha:.3f})"

    def __str__(self) -> str:
        """Return the numbers and how to read them."""
        top = int(np.argmax(self.label_shares))
        most = elements(self.labels)[top]
        return "\n".join(
            [
                f"{self.n_labels} labels by {len(self.annotators)} annotators on {self.n_items} items, "
                f"{self.n_compared} of them with at least two labels",
                f"  two labels of one item agree   {self.percent:.2f}",
                f"  Krippendorff's alpha           {_number(self.alpha)}",
                f"  Fleiss' kappa                  {_number(self.fleiss)}",
                f"  most frequent label            {most!r}, {self.label_shares[top]:.2f} of all labels",
                "Alpha and kappa: 1 is perfect agreement, 0 is the agreement expected by chance.",
                *self._annotator_lines(),
                *self._pair_lines(),
            ]
        )

    def _repr_html_(self) -> str:
        """Return the same as HTML, which notebooks show."""
        return f"<pre>{escape(str(self))}</pre>"

    def _annotator_lines(self) -> Iterator[str]:
        """Annotators by their agreement with the others, lowest first."""
        order = np.argsort(self.with_others, kind="stable")  # NaN comes last
        order = order[~np.isnan(self.with_others[order])]
        lowest = f", lowest {_SHOWN} of {len(order)}" if len(order) > _SHOWN else ""
        yield f"Agreement with the other annotators{lowest}:"
        names = [repr(name) for name in elements(self.annotators[order[:_SHOWN]])]
        yield from _aligned(names, [f"{share:.2f}" for share in self.with_others[order[:_SHOWN]]])

    def _pair_lines(self) -> Iterator[str]:
        """All pairs by kappa if they are few, else both ends."""
        pairs = self.pairwise
        known = np.flatnonzero((pairs.n_items >= _MIN_COMMON_ITEMS) & ~np.isnan(pairs.kappa))
        order = known[np.argsort(pairs.kappa[known], kind="stable")]
        enough = f"at least {_MIN_COMMON_ITEMS} common items"
        if not len(order):
            yield f"None of {len(pairs)} pairs has {enough}."
            return
        yield f"Pairs by Cohen's kappa ({len(order)} of {len(pairs)} have {enough}):"
        many = len(order) > 2 * _SHOWN
        shown = np.concatenate([order[:_SHOWN], order[-_SHOWN:]]) if many else order
        texts = [
            f"kappa {pairs.kappa[j]:5.2f}, agree on {pairs.agreement[j]:.2f} of {pairs.n_items[j]} items" for j in shown
        ]
        lines = _aligned(pair_names(pairs.first[shown], pairs.second[shown]), texts)
        yield from [*lines[:_SHOWN], "  …", *lines[_SHOWN:]] if many else lines


def agreement(annotations: Annotations) -> Agreement:
    """Agreement overall, of each annotator and of each pair, to print and read.

    Parameters
    ----------
    annotations : Annotations
        At least one item with two labels.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import agreement
    >>> agreement(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]]))
    Agreement(percent=0.750, fleiss=0.467, alpha=0.533)
    """
    counts = np.bincount(annotations.label, minlength=annotations.n_classes)
    return Agreement(
        n_items=int(annotations.labelled.sum()),
        n_compared=int((annotations.labels_per_item > 1).sum()),
        n_labels=annotations.n_annotations,
        percent=percent_agreement(annotations),
        fleiss=fleiss_kappa(annotations),
        alpha=krippendorff_alpha(annotations),
        labels=annotations.labels,
        label_shares=counts / annotations.n_annotations,
        annotators=annotations.annotators,
        with_others=_agreement_with_others(annotations),
        pairwise=pairwise_agreement(annotations),
    )


def _agreement_with_others(annotations: Annotations) -> Array:
    """Share of each annotator's pairs of labels with others that agree: (n_annotators,)."""
    who, n_annotators = annotations.annotator, annotations.n_annotators
    _, n_ik, place = item_label_counts(annotations)
    others = annotations.labels_per_item[annotations.item].astype(float) - 1
    with np.errstate(invalid="ignore"):  # 0 / 0: no common items
        agreeing = segment_sum(n_ik[place] - 1, who, n_annotators)
        return np.asarray(agreeing / segment_sum(others, who, n_annotators))


def _aligned(names: list[str], texts: list[str]) -> list[str]:
    """Texts in a column beside their names."""
    width = max(map(len, names), default=0)
    return [f"  {name:<{width}}  {text}" for name, text in zip(names, texts, strict=True)]


def _number(value: float) -> str:
    """Two digits, or why there are none."""
    return "not defined: only one label was used" if np.isnan(value) else f"{value:.2f}"
