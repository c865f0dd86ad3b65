"""Each annotator against items of known truth: accuracy, recall of each class and Cohen's kappa, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import NamedColumns
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids
from whoknows.estimators.inputs.training_data import gold_codes, with_classes_of
from whoknows.estimators.intervals import Interval, check_level
from whoknows.insight.rates.prediction_powered import imagined_items


@dataclass(frozen=True, eq=False)
class AgainstGold(NamedColumns):
    """Annotators in the order of ``annotations.annotators``; NaN where a number is not defined.

    Attributes
    ----------
    annotator : ids of shape (n_annotators,)
    labels : ids of shape (n_classes,)
    confusion : int array of shape (n_annotators, n_classes, n_classes)
        Number of gold items by truth (rows) and by the annotator's label (columns).
    accuracy, kappa : three (n_annotators,)
        Estimate and limits.
    recall : three (n_annotators, n_classes)
        Share of the items of each class that get this label. With two classes: specificity and sensitivity.
    level : float
        Nominal coverage of the intervals.
    """

    annotator: Ids
    labels: Ids
    confusion: NDArray[np.int64]
    accuracy: Interval
    kappa: Interval
    recall: Interval
    level: float

    COLUMNS = ("annotator",)  # and those that `columns` makes of the intervals

    @property
    def n_gold(self) -> NDArray[np.int64]:
        """Number of gold items that each annotator labelled: (n_annotators,)."""
        return np.asarray(self.confusion.sum(axis=(1, 2)))

    @property
    def n_of_class(self) -> NDArray[np.int64]:
        """Number of these by class: (n_annotators, n_classes)."""
        return np.asarray(self.confusion.sum(axis=2))

    def columns(self) -> dict[str, Any]:
        """Return the table by column, with the limits of all intervals."""
        found: dict[str, Any] = {"annotator": self.annotator, "n_gold": self.n_gold}
        for name, interval in (("accuracy", self.accuracy), ("kappa", self.kappa)):
            found |= _limits(name, interval)
        for k, label in enumerate(self.labels.tolist()):
            one: Any = tuple(each[:, k] for each in self.recall)
            found |= {f"n_gold {label}": self.n_of_class[:, k]} | _limits(f"recall of {label}", one)
        return found

    def __repr__(self) -> str:
        """Return counts, not arrays."""
        return f"AgainstGold(n_annotators={len(self)}, labels={self.labels.tolist()})"


def against_gold(annotations: Annotations, gold: Any, level: float = 0.9) -> AgainstGold:
    """Compare the labels of each annotator with the truth of gold items.

    Intervals of shares are those of Wilson. Those of kappa use the variance of Fleiss, Cohen and Everitt (1969),
    after a few imagined items are added: from ten items without an error, it would otherwise be zero.

    Parameters
    ----------
    annotations : Annotations
    gold : mapping from item id to label, or (n_items,) with NaN or None
        As in `fit`.
    level : float
        Nominal coverage of the intervals.

    Examples
    --------
    >>> from whoknows import Annotations
    >>> from whoknows.insight import against_gold
    >>> y = Annotations.from_matrix([[0, 0], [1, 1], [1, 0], [0, None]], annotators=["anna", "bob"])
    >>> found = against_gold(y, {0: 0, 1: 1, 2: 1, 3: 0})
    >>> found.n_gold, found.accuracy[0].round(2), found.kappa[0].round(2)
    (array([4, 3]), array([1.  , 0.67]), array([1. , 0.4]))
    """
    annotations = with_classes_of(gold, annotations)
    codes = gold_codes(gold, annotations)
    if codes is None:
        raise InputError("Expected gold, the truth of some items; got None.")
    return from_confusion(annotations.annotators, annotations.labels, confusion_counts(annotations, codes), level)


def from_confusion(annotator: Ids, labels: Ids, confusion: NDArray[np.int64], level: float) -> AgainstGold:
    """Compute the shares and kappa of confusion matrices: (n_annotators, n_classes, n_classes)."""
    reach, right = check_level(level), np.einsum("tkk->tk", confusion)
    return AgainstGold(
        annotator=annotator,
        labels=labels,
        confusion=confusion,
        accuracy=wilson(right.sum(axis=1), confusion.sum(axis=(1, 2)), reach),
        kappa=kappa_interval(confusion.astype(float), reach),
        recall=wilson(right, confusion.sum(axis=2), reach),
        level=level,
    )


def confusion_counts(annotations: Annotations, gold: Array) -> NDArray[np.int64]:
    """Count gold items by annotator, truth and label: (n_annotators, n_classes, n_classes)."""
    truth = gold[annotations.item]
    known = np.isfinite(truth)
    found = np.zeros((annotations.n_annotators, annotations.n_classes, annotations.n_classes), dtype=np.int64)
    np.add.at(found, (annotations.annotator[known], truth[known].astype(int), annotations.label[known]), 1)
    return found


def wilson(successes: Any, n: Any, reach: float) -> Interval:
    """Share of successes with Wilson's interval; NaN without any trial."""
    successes, n = np.asarray(successes, dtype=float), np.asarray(n, dtype=float)
    with np.errstate(invalid="ignore"):
        share, worth = successes / n, n + reach**2
        centre = np.where(n > 0, (successes + reach**2 / 2) / worth, np.nan)
        half = reach / worth * np.sqrt(n * share * (1 - share) + reach**2 / 4)
    return share, np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def kappa_interval(confusion: Array, reach: float) -> Interval:
    """Cohen's kappa of confusion matrices with an interval, NaN where the truth has one class: three (n_matrices,)."""
    prior = imagined_items(confusion.shape[-1]).weight.reshape(confusion.shape[1:])
    several = (confusion.sum(axis=2) > 0).sum(axis=1) > 1  # of items of one class, kappa is 0 whatever is said
    value = np.where(several, kappa_and_variance(confusion)[0], np.nan)
    centre, variance = kappa_and_variance(confusion + reach**2 * prior)
    half = reach * np.sqrt(variance)
    low, high = (np.where(np.isnan(value), np.nan, np.clip(limit, -1, 1)) for limit in (centre - half, centre + half))
    return value, np.fmin(low, value), np.fmax(high, value)


def kappa_and_variance(confusion: Array) -> tuple[Array, Array]:
    """Cohen's kappa and its asymptotic variance (Fleiss, Cohen and Everitt 1969): two (n_matrices,)."""
    n = confusion.sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):  # no item, or one and the same label throughout
        p = confusion / n[:, None, None]
        rows, columns, agree = p.sum(axis=2), p.sum(axis=1), np.einsum("tkk->t", p)
        chance = (rows * columns).sum(axis=1)
        kappa = (agree - chance) / (1 - chance)
        # p_jk ((1 − P_e) δ_jk − (1 − P_o)(column_j + row_k))², over all cells
        same = (1 - chance)[:, None, None] * np.eye(p.shape[1])
        others = (1 - agree)[:, None, None] * (columns[:, :, None] + rows[:, None, :])
        squares = (p * (same - others) ** 2).sum(axis=(1, 2))
        variance = (squares - (agree * chance - 2 * chance + agree) ** 2) / (n * (1 - chance) ** 4)
    return np.where(chance < 1, kappa, np.nan), np.maximum(variance, 0)


def _limits(name: str, interval: Interval) -> dict[str, Array]:
    value, low, high = interval
    return {name: value, f"{name} low": low, f"{name} high": high}
