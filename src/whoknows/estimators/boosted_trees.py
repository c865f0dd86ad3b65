"""Gradient-boosted trees whose fitted state is arrays: a model file holds them like any other part of a model.

scikit-learn grows the trees. They are evaluated here, all items at once, by bit vectors (QuickScorer; Lucchese
et al., SIGIR 2015): a node whose condition fails rules out the leaves on its left, and the first leaf that is
left is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array, Rows
from whoknows.model.distances import blocks

MOST_BINS = 255  # of a column
LEAVES, N_BITS = 31, 32  # most leaves of a tree; they are the bits of a number
DE_BRUIJN = np.uint32(0x077CB531)  # times a power of two: its five leading bits tell which power
FIRST_LEAF = np.zeros(N_BITS, dtype=np.intp)
FIRST_LEAF[(DE_BRUIJN << np.arange(N_BITS, dtype=np.uint32)) >> np.uint32(27)] = np.arange(N_BITS)


@dataclass(frozen=True)
class Trees:
    """Binary trees; an item goes right at a node if x[feature] > threshold.

    Attributes
    ----------
    tree, feature : (n_nodes,)
        Of each inner node; nodes are sorted by tree.
    threshold : (n_nodes,)
    first, last : (n_nodes,)
        The leaves on the left of the node, the last one not included; leaves are numbered from left to right.
    values : (n_trees, 32)
        Of the leaves.
    start : (n_outputs,)
        Tree number t adds to output t modulo n_outputs, which begins with this number.
    """

    tree: Rows
    feature: Rows
    threshold: Array
    first: Rows
    last: Rows
    values: Array
    start: Array

    @classmethod
    def of(cls, boosted: HistGradientBoostingClassifier, bounds: Sequence[Array]) -> Self:
        """Return the trees of a classifier of scikit-learn that was fitted to `bins` with these bounds."""
        grown = [predictor.nodes for round in boosted._predictors for predictor in round]
        nodes, values = [], np.zeros((len(grown), N_BITS))
        for number, tree in enumerate(grown):
            inner, leaves = _in_order(tree)
            nodes += [(number, *node) for node in inner]
            values[number, : len(leaves)] = leaves
        tree, feature, threshold, first, last = zip(*nodes, strict=True) if nodes else ([],) * 5
        whole = (np.array(numbers, dtype=np.int64) for numbers in (tree, feature, first, last))
        tree, feature, first, last = whole
        thresholds = np.array([bounds[f][int(bin)] for f, bin in zip(feature, threshold, strict=True)], dtype=float)
        start = np.array(boosted._baseline_prediction, dtype=float).ravel()
        return cls(tree, feature, thresholds, first, last, values, start)

    @classmethod
    def average(cls, several: Sequence[Trees]) -> Trees:
        """Return trees whose sum is the average of several sums."""
        before = np.cumsum([0, *(len(trees.values) for trees in several)])
        tree = [trees.tree + n for trees, n in zip(several, before, strict=False)]
        values, start = (np.concatenate([getattr(t, name) for t in several]) for name in ("values", "start"))
        nodes = ([getattr(t, name) for t in several] for name in ("feature", "threshold", "first", "last"))
        mean_start = start.reshape(len(several), -1).mean(axis=0)
        return cls(np.concatenate(tree), *map(np.concatenate, nodes), values / len(several), mean_start)

    def __call__(self, X: Array) -> Array:
        """Sum of the trees at each x: (n_items, n_outputs)."""
        parts = [self._of_block(X[rows]) for rows in blocks(X, 250)]  # their bit vectors fit in the cache
        return np.concatenate(parts)

    def _of_block(self, X: Array) -> Array:
        # The number of thresholds below x tells on which side of each of them it is.
        place = {f: np.searchsorted(edges, X[:, f]) for f, edges in self._edges.items()}
        total = np.tile(self.start, (len(X), 1))
        for number, tables in enumerate(self._tables):
            left = np.full(len(X), 2**32 - 1, dtype=np.uint32)
            for f, table in tables:
                left &= table[place[f]]
            leaf = FIRST_LEAF[((left & -left) * DE_BRUIJN) >> np.uint32(27)]
            total[:, number % len(self.start)] += self.values[number, leaf]
        return total

    @cached_property
    def _edges(self) -> dict[int, Array]:
        """Thresholds of each feature that is used, ascending."""
        return {int(f): np.unique(self.threshold[self.feature == f]) for f in np.unique(self.feature)}

    @cached_property
    def _tables(self) -> list[list[tuple[int, NDArray[np.uint32]]]]:
        """For each tree and each of its features: the leaves that are left, by the number of edges below x."""
        found: list[list[tuple[int, NDArray[np.uint32]]]] = [[] for _ in self.values]
        keys = sorted(zip(self.tree.tolist(), self.feature.tolist(), range(len(self.tree)), strict=True))
        for (tree, f), nodes in groupby(keys, key=itemgetter(0, 1)):
            edges = self._edges[f]
            table = np.full(len(edges) + 1, 2**32 - 1, dtype=np.uint32)
            for _, _, node in nodes:
                ruled_out = (1 << int(self.last[node])) - (1 << int(self.first[node]))
                table[np.searchsorted(edges, self.threshold[node]) + 1 :] &= np.uint32(2**32 - 1 - ruled_out)
            found[tree].append((f, table))
        return found


def _in_order(nodes: Any) -> tuple[list[tuple[int, float, int, int]], list[float]]:
    """Return feature, threshold and leaves on the left of each inner node, and the values of the leaves."""
    inner: list[tuple[int, float, int, int]] = []
    leaves: list[float] = []

    def visit(node: int) -> None:
        at = nodes[node]
        if at["is_leaf"]:
            leaves.append(float(at["value"]))
            return
        first = len(leaves)
        visit(int(at["left"]))
        inner.append((int(at["feature_idx"]), float(at["num_threshold"]), first, len(leaves)))
        visit(int(at["right"]))

    visit(0)
    return inner, leaves


@dataclass(eq=False, repr=False)
class BoostedTrees(ClassifierMixin, BaseEstimator):
    """Gradient-boosted trees for numbers without missing values.

    Parameters
    ----------
    rounds : int
        Trees per output.
    learning_rate : float
    random_state : int, optional
    """

    rounds: int = 150
    learning_rate: float = 0.1
    random_state: int | None = None

    n_features_in_: int = field(default=0, init=False)
    classes_: Rows | None = field(default=None, init=False)
    trees_: Trees | None = field(default=None, init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees on X (n_items, n_features) and classes y (n_items,)."""
        boosted = HistGradientBoostingClassifier(
            max_iter=self.rounds,
            learning_rate=self.learning_rate,
            max_leaf_nodes=LEAVES,
            early_stopping=False,
            random_state=self.random_state,
        )
        binned, bounds = bins(np.asarray(X, dtype=float))
        boosted.fit(binned, y, sample_weight)
        self.n_features_in_, self.classes_, self.trees_ = len(bounds), boosted.classes_, Trees.of(boosted, bounds)
        return self

    def predict_proba(self, X: Any) -> Array:
        """p(class | x): (n_items, n_classes)."""
        check_is_fitted(self)
        total = self.trees_(np.asarray(X, dtype=float))
        if total.shape[1] > 1:
            return np.asarray(softmax(total, axis=1))
        second = expit(total[:, 0])
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class: (n_items,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def __sklearn_is_fitted__(self) -> bool:
        return self.trees_ is not None


def bins(X: Array) -> tuple[Array, list[Array]]:
    """Bin of each number in its column, and the bounds between the bins of each column.

    scikit-learn finds quantiles of weighted numbers one by one, in much of the time of a fit. These bins are few
    enough for it to take them as they are.
    """
    bounds = [_bounds(column) for column in X.T]
    places = [np.searchsorted(each, column) for each, column in zip(bounds, X.T, strict=True)]
    return np.column_stack(places).astype(float), bounds


def _bounds(column: Array) -> Array:
    """Points in the middle between neighbouring numbers, at most `MOST_BINS` − 1 of them."""
    distinct = np.unique(column)
    below = np.arange(len(distinct) - 1)
    if len(distinct) > MOST_BINS:
        quantiles = np.quantile(column, np.arange(1, MOST_BINS) / MOST_BINS, method="inverted_cdf")
        below = np.unique(np.searchsorted(distinct, quantiles).clip(max=len(distinct) - 2))
    return (distinct[below] + distinct[below + 1]) / 2


def averaged(fitted: Sequence[Any]) -> BoostedTrees | None:
    """Return the average of classifiers fitted to parts of the same items; None if one has no trees.

    It is better than one fitted to all of them: its errors average out.
    """
    first = fitted[0]
    alike = (isinstance(each, BoostedTrees) and np.array_equal(each.classes_, first.classes_) for each in fitted)
    if not all(alike):
        return None
    average = clone(first)
    average.n_features_in_, average.classes_ = first.n_features_in_, first.classes_
    average.trees_ = Trees.average([each.trees_ for each in fitted])
    return average
