"""Annotators who err together: correlation of the errors of pairs, and how many annotators they are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import NamedColumns
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements
from whoknows.insight.pairwise import AnnotatorPairs, ExpectedPairs

TOGETHER = 0.5  # mean correlation of errors from which annotators form a group
CLEARLY_LESS = 0.8  # share of the labels of an item that they are worth, if annotators err together
LEAST = 10  # common items below which a correlation is mostly chance


@dataclass(frozen=True, eq=False)
class SharedErrors(NamedColumns):
    """Correlation of the errors of pairs of annotators, the highest first.

    Attributes
    ----------
    first, second : ids of shape (n_pairs,)
    n_items : (n_pairs,)
        Number of common items, with known truth if there is gold.
    correlation : (n_pairs,)
        Of the two being wrong.
    n_annotators : int
    labels_per_item : float
        Mean number of labels of an item that has labels.
    mean : float
        Mean correlation, weighted by the number of common items; NaN if no pair has enough of them. Without gold, that
        of the fitted model.
    groups : list of lists of ids
        Annotators who err together, the largest group first; only groups of at least two.
    """

    first: Ids
    second: Ids
    n_items: Any
    correlation: Array
    n_annotators: int
    labels_per_item: float
    mean: float
    groups: list[list[Any]]

    COLUMNS = ("first", "second", "n_items", "correlation")

    @property
    def worth(self) -> float:
        """How many independent labels the labels of an item are worth: n / (1 + (n − 1) mean correlation)."""
        return self.labels_per_item / (1 + (self.labels_per_item - 1) * max(self.mean, 0.0))

    @property
    def matters(self) -> bool:
        """Whether the labels of an item are worth clearly less than their number."""
        return self.worth < CLEARLY_LESS * self.labels_per_item

    def sentence(self, annotators: str = "annotators") -> str:
        """Say how many independent annotators they are worth."""
        n, worth = self.labels_per_item, f"are worth about {self.worth:.1f}"
        if round(n) == self.n_annotators:
            return f"{self.n_annotators} {annotators} {worth} {annotators} with independent errors."
        return f"The {n:.1f} labels per item (mean) {worth} labels with independent errors."

    def __repr__(self) -> str:
        """Return counts, not arrays."""
        return f"SharedErrors(n_annotators={self.n_annotators}, worth={self.worth:.1f})"


def shared_errors(
    annotations: Annotations, gold: Array | None = None, expected: ExpectedPairs | None = None
) -> SharedErrors:
    """Correlate the errors of annotators, on items of known truth or by what a fitted model says.

    The average of n labels whose errors have the mean correlation r varies as much as that of n / (1 + (n − 1) r)
    labels with independent errors (Kish 1965): this is how many independent labels they are ``worth``. n is the mean
    number of labels per item. Pairs with fewer than ten common items are left out, and so are those of whom one is
    always right or always wrong.

    Parameters
    ----------
    annotations : Annotations
    gold : (n_items,), optional
        Position of the true class in ``annotations.labels``, NaN where it is not known.
    expected : ExpectedPairs, optional
        Instead of gold: what a fitted model expects of each pair, from `expected_pairs`. Its effect of the item, shared
        by all annotators, is the source of r = (P(both right) − a_s a_t) / √(a_s (1 − a_s) a_t (1 − a_t)), where a_s
        and a_t are their probabilities of being right. A pair's own correlation also includes how much more often it
        agrees than the model expects. Errors that all annotators share look like expertise, and do not show: gold may
        give a smaller number.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from whoknows.insight import shared_errors
    >>> rng = np.random.default_rng(0)
    >>> wrong = rng.random((300, 3)) < 0.3
    >>> wrong[:, 1] = wrong[:, 0]  # b repeats a, in its errors too
    >>> y = Annotations.from_matrix(wrong.astype(int), annotators=["a", "b", "c"])
    >>> found = shared_errors(y, np.zeros(300))
    >>> found.groups, round(found.worth, 1)
    ([['a', 'b']], 1.8)
    """
    if (gold is None) == (expected is None):
        raise InputError("shared_errors needs either gold= or expected=, and not both.")
    known = annotations if gold is None else annotations.only(np.isfinite(gold[annotations.item]))
    pairs = AnnotatorPairs(known)
    on_average, own = _of_model(pairs, expected) if expected is not None else _of_errors(pairs, gold)
    kept = np.flatnonzero((pairs.n_items >= LEAST) & np.isfinite(own))
    kept = kept[np.argsort(-own[kept], kind="stable")]
    names, n_items, found = known.annotators, pairs.n_items[kept].astype(np.intp), own[kept]
    first, second = pairs.first[kept], pairs.second[kept]
    return SharedErrors(
        first=names[first],
        second=names[second],
        n_items=n_items,
        correlation=found,
        n_annotators=int((annotations.labels_per_annotator > 0).sum()),
        labels_per_item=float(annotations.labels_per_item[annotations.labelled].mean()),
        mean=float(n_items @ on_average[kept] / n_items.sum()) if len(found) else np.nan,
        groups=[[elements(names)[t] for t in group] for group in _groups(first, second, found, len(names))],
    )


def effect_sentence(effects: Array, annotators: Ids) -> str:
    """Say who errs together with others most, and least; empty if effects of items are alike.

    ``effects`` (n_annotators,) are ``item_effect_``.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.insight.together import effect_sentence
    >>> effect_sentence(np.array([1.5, 0.1]), np.array(["ann", "bob"]))
    'According to the model, ann errs together with the others most (item effect 1.5), and bob least (0.1).'
    """
    if np.ptp(effects) == 0:
        return ""
    most, least = (elements(annotators)[place] for place in (effects.argmax(), effects.argmin()))
    return (
        f"According to the model, {most} errs together with the others most (item effect {effects.max():.1f}), "
        f"and {least} least ({effects.min():.1f})."
    )


def _of_errors(pairs: AnnotatorPairs, gold: Any) -> tuple[Array, Array]:
    """Correlation of the errors of each pair on its common items, twice: (n_pairs,)."""
    known = pairs.annotations
    wrong = (known.label != gold[known.item]).astype(float)
    one, other, both = (pairs.sum(*sides) / pairs.n_items for sides in ((wrong, 1.0), (1.0, wrong), (wrong, wrong)))
    found = _correlation(one, other, both - one * other)
    return found, found


def _of_model(pairs: AnnotatorPairs, expected: ExpectedPairs) -> tuple[Array, Array]:
    """Correlation that a model expects, and the one that explains how often each pair agrees: two (n_pairs,)."""
    n, K = pairs.n_items, pairs.annotations.n_classes
    one, other, both = (each / n for each in (expected.first_right, expected.second_right, expected.both_right))
    more = (pairs.sum(same_label=True) - expected.agreements) / n
    on_average = _correlation(one, other, both - one * other)
    return on_average, np.clip(on_average + _correlation(one, other, more * (K - 1) / K), -1, 1)


def _correlation(one: Array, other: Array, covariance: Array) -> Array:
    """Correlation of two events of these probabilities; NaN where one is certain."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(covariance / np.sqrt(one * (1 - one) * other * (1 - other)))


def _groups(first: Any, second: Any, correlation: Array, n_annotators: int) -> list[list[int]]:
    """Groups whose mean correlation is high, by average linkage; pairs that are not known count as 0."""
    if not len(first):
        return []
    distance = np.ones((n_annotators, n_annotators))
    np.fill_diagonal(distance, 0)
    distance[first, second] = distance[second, first] = 1 - np.clip(correlation, 0, 1)
    cluster = fcluster(linkage(squareform(distance), "average"), 1 - TOGETHER, "distance")
    found = [np.flatnonzero(cluster == each).tolist() for each in np.unique(cluster)]
    return sorted((group for group in found if len(group) > 1), key=lambda group: -len(group))
