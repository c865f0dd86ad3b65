"""Draws of the paper's data sets, real crowds and LLM judges in one form, with the labels of the test items.

A draw of a paper's data set is a fold of Fig. 3 at one labelled proportion. A draw of a crowd is that of
`benchmarks.crowds`. Judges are drawn like a crowd without test items of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np

from benchmarks.common import judges, sets
from benchmarks.crowds.cases import Case, case_of
from benchmarks.crowds.cases import split_items as split_crowd
from benchmarks.paper import figure3
from benchmarks.paper.protocol import FOLDS, split_items
from whoknows import Annotations

KEY = ("set", "share", "repeat", "fold", "method")  # identifies a row of the results


def groups(name: str, shares: Sequence[float], repeats: int, draws: int) -> list[tuple[str, float, int, int]]:
    """List the groups of a data set, (set, share, repeat, fold), small shares first.

    Of the paper's data sets, repeats start at the first that was not evaluated during development.
    """
    if name in sets.PAPER:
        chosen = range(figure3.LOOKED_AT, figure3.LOOKED_AT + repeats)
        return [(name, *rest) for rest in product(shares, chosen, range(FOLDS))]
    return [(name, share, draw, 0) for share, draw in product(shares, range(draws))]


@lru_cache(maxsize=4)
def load(name: str, repeat: int) -> sets.DataSet:
    """Return a data set with annotations; those of the paper's data sets are simulated for each repeat."""
    if name in judges.EXPECTED:
        return judges.load(name)
    if name not in sets.PAPER:
        return sets.load(name)
    X, z, labels = figure3.labelled_set(name, repeat)
    return sets.DataSet(name, X, z, Annotations.from_matrix(labels, labels=np.unique(z)))


def draw(name: str, share: float, repeat: int, fold: int) -> tuple[Case, Annotations]:
    """Return one case, and the labels of its test items by the annotators of its training items."""
    data = load(name, repeat if name in sets.PAPER else 0)
    if name in sets.PAPER:
        train, test, kept = split_items(data.X, data.z, repeat, fold, share)
        seen = np.isin(np.arange(len(data.X)), train)
        case = case_of(data, seen, np.sort(train[kept]), test)
    else:
        seen, used, test = split_crowd(data, share, repeat)
        case = case_of(data, seen, used, test)
    return case, labels_of(data.annotations, test, case.Y.annotators)


def labels_of(Y: Annotations, items: np.ndarray, annotators: np.ndarray) -> Annotations:
    """Return the annotations of some items by some annotators, both given by position, in their order."""
    place = np.full(Y.n_items, -1, dtype=np.int32)
    place[items] = np.arange(len(items), dtype=np.int32)
    who = np.full(Y.n_annotators, -1, dtype=np.int32)
    who[annotators] = np.arange(len(annotators), dtype=np.int32)
    item, annotator = place[Y.item], who[Y.annotator]
    kept = (item >= 0) & (annotator >= 0)
    order = np.lexsort((annotator[kept], item[kept]))
    codes = (code[kept][order] for code in (item, annotator, Y.label))
    return Annotations(*codes, np.arange(len(items)), annotators, np.arange(Y.n_classes))
