"""What a fitted model expects of pairs of annotators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whoknows._array import Rows, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.insight.pairwise import AnnotatorPairs, ExpectedPairs

AT_ONCE = 50_000  # pairs of labels
AFFORDABLE = 300_000  # pairs of labels, in all members of an ensemble together
LEAST_ITEMS = 100


def expected_pairs(model: Any, X: Any, y: Annotations) -> ExpectedPairs:
    """How often each pair is right and agrees, according to a fitted model that knows who labelled which item.

    The labels themselves do not count. What annotators of an item share, its truth and its difficulty, is integrated
    out: the model's p(y_s, y_t | x) is not p(y_s | x) p(y_t | x).

    Parameters
    ----------
    model : fitted CrowdClassifier or AutoCrowdClassifier
    X : (n_items, n_features)
    y : Annotations
        Time grows with the number of pairs of labels of one item.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations, CrowdClassifier
    >>> from whoknows.insight import expected_pairs
    >>> X, y = np.zeros((4, 1)), Annotations.from_matrix([[0, 0, 1], [1, 1, None], [0, 1, None], [1, 1, 1]])
    >>> found = expected_pairs(CrowdClassifier().fit(X, y), X, y)
    >>> bool(np.all(found.agreements < [4, 2, 2]))
    True
    """
    pairs, voices = AnnotatorPairs(y), model._voices(X, y)
    sums = np.zeros((4, len(pairs.first)))
    for first, second in _label_pairs(y):
        prob = sum(voice.weight * voice.pair.of_label_pairs(voice.items, first, second) for voice in voices)
        code = y.annotator[first].astype(np.intp) * y.n_annotators + y.annotator[second]
        place = np.searchsorted(pairs.first.astype(np.intp) * y.n_annotators + pairs.second, code)
        sums += segment_sum(np.asarray(prob), place, len(pairs.first)).T
    return ExpectedPairs(*sums)


def _label_pairs(y: Annotations) -> Iterator[tuple[Rows, Rows]]:
    """Yield positions of all pairs of labels of one item, by annotators in their order; some at a time."""
    order = np.lexsort((y.annotator, y.item))
    for lag in range(1, int(y.labels_per_item.max(initial=0))):
        same_item = np.flatnonzero(y.item[order[:-lag]] == y.item[order[lag:]])
        for start in range(0, len(same_item), AT_ONCE):
            part = same_item[start : start + AT_ONCE]
            yield order[part], order[part + lag]


def rows_to_compare(y: Annotations, n_members: int) -> Rows:
    """Labelled items on which pairs are compared; a random sample if they have too many pairs of labels."""
    rows = np.flatnonzero(y.labelled)
    n = y.labels_per_item[rows].astype(float)
    most = AFFORDABLE / n_members / max(float((n * (n - 1) / 2).mean()), 1.0)
    if len(rows) <= max(most, LEAST_ITEMS):
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, int(max(most, LEAST_ITEMS)), replace=False))
