"""Coefficients of agreement: how far annotators say the same, corrected for chance.

Everything is a sum over labels, or over pairs of labels on one item; no table of items by annotators is made.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements, show
from whoknows.insight.cells import count_cells
from whoknows.insight.scales import positions, refuse_unordered

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"]


# --- The whole crowd -------------------------------------------------------------------------------------


def percent_agreement(said: Annotations) -> float:
    """Share of pairs of labels on one item that agree: Σ_ik n_ik (n_ik − 1) / Σ_i n_i (n_i − 1).

    n_ik of the n_i labels of item i are k. An item with many labels counts more than one with two.

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
    said = _compared(said)
    n, n_ik = said.labels_per_item, count_cells(said).n_ik
    return float((n_ik * (n_ik - 1)).sum() / (n * (n - 1)).sum())


def fleiss_kappa(said: Annotations) -> float:
    """Fleiss' kappa: agreement of any two labels of an item beyond chance, whoever gave them.

    (P − Σ_k p_k²) / (1 − Σ_k p_k²). P is the mean over items with two labels or more of the share of their
    pairs that agree, p_k the mean over all labelled items of the share of label k. Where items differ in
    their number of labels, this is Gwet's generalisation.

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
    item, n_ik, _ = count_cells(said)
    agreeing = segment_sum(n_ik * (n_ik - 1), item, said.n_items)[several]
    P = np.mean(agreeing / (n * (n - 1))[several])
    p = segment_sum(1 / n[said.item], said.label, said.n_classes) / np.sum(said.labelled)
    return float((P - p @ p) / (1 - p @ p))


def krippendorff_alpha(said: Annotations, level: Level = "nominal") -> float:
    """Krippendorff's alpha: one minus the disagreement observed over that expected by chance.

    The mean δ² over pairs of labels is twice a variance, so

        α = 1 − [Σ_i n_i S_i / (n_i − 1) / n] / [S / (n − 1)],

    S_i and S being the sums of squares around the mean within item i and over all n labels.

    Parameters
    ----------
    said : Annotations
        At least one item with two labels; items with fewer are dropped, as the definition has it.
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
        raise InputError(f"level= must be 'nominal', 'ordinal' or 'interval'; got {level!r}.")
    said = _compared(said)
    n, n_i = said.n_annotations, said.labels_per_item
    within, total = _sums_of_squares(said, level)
    if _is_unanimous(said):
        return np.nan
    return float(1 - np.sum(n_i * within / (n_i - 1)) / n / (total / (n - 1)))


def _sums_of_squares(said: Annotations, level: Level) -> tuple[Array, float]:
    """Sums of squares around the mean, within each item and over all labels."""
    n, n_i = said.n_annotations, said.labels_per_item
    if level == "nominal":  # labels as corners of a simplex: n_i S_i = n_i² − Σ_k n_ik²
        item, n_ik, _ = count_cells(said)
        within = n_i - segment_sum(n_ik**2, item, said.n_items) / n_i
        return within, n - np.sum(np.bincount(said.label) ** 2.0) / n
    v = positions(said, level)[said.label]
    mean = segment_sum(v, said.item, said.n_items) / n_i
    return segment_sum((v - mean[said.item]) ** 2, said.item, said.n_items), np.sum((v - v.mean()) ** 2)


def _compared(said: Annotations) -> Annotations:
    """Items with two labels or more; it is an error if there are none."""
    several = said.labels_per_item > 1
    if not several.any():
        raise InputError(
            f"Agreement needs an item with two labels; none of the {int(said.labelled.sum())} labelled items "
            "has more than one. Let annotators label some items together."
        )
    return said[several]


def _is_unanimous(said: Annotations) -> bool:
    """Whether one label was given throughout."""
    return bool(np.all(said.label == said.label[0]))


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
        raise InputError(f"weights= must be None, 'linear' or 'quadratic'; got {weights!r}.")
    if weights is not None:
        refuse_unordered(said, f"weights={weights!r}")
    mine, theirs = _common_labels(said, first, second)
    K = said.n_classes
    observed = np.bincount(mine.astype(np.intp) * K + theirs, minlength=K * K).reshape(K, K)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / len(mine)
    apart = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    w = apart > 0 if weights is None else apart if weights == "linear" else apart**2
    chance = np.sum(w * expected)
    return float(1 - np.sum(w * observed) / chance) if chance else np.nan


def _common_labels(said: Annotations, first: Any, second: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels of two annotators on the items both labelled."""
    mine, theirs = (np.flatnonzero(said.annotator == _code(said, name)) for name in (first, second))
    if first == second:
        raise InputError(f"Expected two different annotators, got {first!r} twice.")
    _, left, right = np.intersect1d(
        said.item[mine], said.item[theirs], assume_unique=True, return_indices=True
    )
    if not len(left):
        raise InputError(
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
    raise InputError(f"Expected one of the {len(names)} annotators, got {name!r}. {hint}")
