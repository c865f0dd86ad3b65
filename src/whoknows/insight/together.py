"""Annotators who err together: correlation of the errors of pairs, and how many annotators they are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements
from whoknows.insight.pairwise import AnnotatorPairs

TOGETHER = 0.5  # mean correlation of errors from which annotators form a group
LEAST = 10  # common items below which a correlation is mostly chance


@dataclass(frozen=True, eq=False)
class SharedErrors:
    """Correlation of the errors of pairs of annotators, the highest first.

    Attributes
    ----------
    first, second : ids of shape (n_pairs,)
    n_items : (n_pairs,)
        Number of common items with known truth.
    correlation : (n_pairs,)
        Of the two being wrong.
    n_annotators : int
    mean : float
        Mean correlation, weighted by the number of common items; NaN if no pair has enough of them.
    groups : list of lists of ids
        Annotators who err together, the largest group first; only groups of at least two.
    """

    first: Ids
    second: Ids
    n_items: Any
    correlation: Array
    n_annotators: int
    mean: float
    groups: list[list[Any]]

    @property
    def worth(self) -> float:
        """How many annotators with independent errors they are worth: n / (1 + (n − 1) mean correlation)."""
        return self.n_annotators / (1 + (self.n_annotators - 1) * max(self.mean, 0.0))

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.first)

    def __repr__(self) -> str:
        """Return counts, not arrays."""
        return f"SharedErrors(n_annotators={self.n_annotators}, worth={self.worth:.1f})"


def shared_errors(annotations: Annotations, gold: Array | None = None, expertise: Array | None = None) -> SharedErrors:
    """Correlate the errors of annotators, on items of known truth or by what a model says of their expertise.

    The average of n labels whose errors have the mean correlation r varies as much as that of n / (1 + (n − 1) r)
    labels with independent errors. Pairs with fewer than ten common items are left out, and so are those of whom
    one is always right or always wrong.

    Parameters
    ----------
    annotations : Annotations
    gold : (n_items,), optional
        Position of the true class in ``annotations.labels``, NaN where it is not known.
    expertise : (n_annotators,), optional
        Instead of gold: the probability that each annotator is right. Two who agree on more items than independent
        errors explain are taken to err together. Errors that all share look like expertise, and do not show.

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
    if (gold is None) == (expertise is None):
        raise InputError("shared_errors needs either gold= or expertise=, not both.")
    known = annotations if gold is None else annotations.only(np.isfinite(gold[annotations.item]))
    pairs = AnnotatorPairs(known)
    correlation = _of_agreement(pairs, expertise) if gold is None else _of_errors(pairs, gold)
    kept = np.flatnonzero((pairs.n_items >= LEAST) & np.isfinite(correlation))
    kept = kept[np.argsort(-correlation[kept], kind="stable")]
    names, n_items, found = known.annotators, pairs.n_items[kept].astype(np.intp), correlation[kept]
    first, second = pairs.first[kept], pairs.second[kept]
    return SharedErrors(
        first=names[first],
        second=names[second],
        n_items=n_items,
        correlation=found,
        n_annotators=int((annotations.labels_per_annotator > 0).sum()),
        mean=float(n_items @ found / n_items.sum()) if len(found) else np.nan,
        groups=[[elements(names)[t] for t in group] for group in _groups(first, second, found, len(names))],
    )


def _of_errors(pairs: AnnotatorPairs, gold: Array) -> Array:
    """Correlation of the errors of each pair on its common items: (n_pairs,)."""
    known = pairs.annotations
    wrong = (known.label != gold[known.item]).astype(float)
    one, other, both = (pairs.sum(*sides) / pairs.n_items for sides in ((wrong, 1.0), (1.0, wrong), (wrong, wrong)))
    return _correlation(one, other, both - one * other)


def _of_agreement(pairs: AnnotatorPairs, expertise: Any) -> Array:
    """Correlation that explains how often each pair agrees, if errors are spread evenly over the other labels."""
    n_classes = pairs.annotations.n_classes
    one, other = (1 - np.asarray(expertise)[who] for who in (pairs.first, pairs.second))
    expected = (1 - one) * (1 - other) + one * other / (n_classes - 1)
    excess = pairs.sum(same_label=True) / pairs.n_items - expected
    return np.clip(_correlation(one, other, excess * (n_classes - 1) / n_classes), -1, 1)


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
