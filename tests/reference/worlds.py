"""Small worlds the tests share, and derivatives by differences."""

from dataclasses import dataclass

import numpy as np

from whoknows.data.annotations import Annotations
from whoknows.fit.items import Items


@dataclass(frozen=True)
class World:
    """Items, what was said of them, and the truth."""

    X: np.ndarray  # (N, D), no constant column
    matrix: np.ndarray  # (N, T), NaN where nothing was said
    z: np.ndarray  # (N,)

    @property
    def Y(self):
        return Annotations.from_matrix(self.matrix, labels=[0, 1])

    @property
    def Y_L(self):
        return [(int(i), int(t), int(self.matrix[i, t])) for i, t in np.argwhere(~np.isnan(self.matrix))]

    @property
    def features(self):
        return with_ones(self.X)

    @property
    def items(self):
        return Items(self.features, self.features, self.Y)


def with_ones(X):
    return np.hstack([X, np.ones((len(X), 1))])


def world(n_items=6, n_annotators=3, n_features=2, *, accuracy=0.8, asked=0.7, unlabelled=1, seed=0):
    """Two classes along a random direction, annotators all alike; the last items have no label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, n_features))
    z = (X @ rng.normal(size=n_features) > 0).astype(int)
    right = rng.random((n_items, n_annotators)) < accuracy
    matrix = np.where(right, z[:, None], 1 - z[:, None]).astype(float)
    quiet = rng.random(matrix.shape) > asked
    quiet[np.arange(n_annotators) % (n_items - unlabelled), np.arange(n_annotators)] = False
    quiet[n_items - unlabelled :] = True
    matrix[quiet] = np.nan
    return World(X, matrix, z)


def slope(function, at, step=1e-6):
    """Gradient of a scalar function by central differences, in the shape of ``at``."""
    gradient = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (function(up) - function(down)) / (2 * step)
    return gradient
