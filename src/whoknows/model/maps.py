"""Maps: what truth and annotators see of x. A map is settings; ``prepare`` learns features from the items.

Features have a mean squared length of about one over standardised items, so that a prior variance means
the same for every map and every data set. (A linear map leaves unstandardised x in its own units.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np
import scipy.linalg

from whoknows._array import Array, like, namespace
from whoknows.model.distances import blocks, draw, in_memory, k_means, nearest, squared_distances
from whoknows.model.graph import AnchorGraph, BuiltGraph, Graph
from whoknows.model.settings import COUNT, POSITIVE, Rules, Settings, is_a

FEW = 2_000  # items to find a few clusters by
TRIES = 5  # of k-means, which ends where it happens to begin


class Features(Protocol):
    """A map that has seen the items."""

    @property
    def places_new(self) -> bool:
        """Whether it can tell of items it has not seen."""

    def transform(self, X: Array) -> Array:
        """Features of each x: (n_items, n_features), no constant among them."""


class Map(Settings, ABC):
    """Settings of a map; subclasses say what is learnt of the items."""

    is_map: ClassVar[bool] = True

    @abstractmethod
    def prepare(
        self, sample: Array, seed: int = 0, leading: int | None = None, everything: Array | None = None
    ) -> Features:
        """Learn features from items (n_items, D), labelled or not.

        The first ``leading`` features, all that annotators' expertise may depend on, are to matter most.
        ``everything`` are the rows of all items where these are more than the sample.
        """


# --- linear --------------------------------------------------------------------------------------


@dataclass
class LinearMap(Map):
    """x itself, over √D: coefficients can be read in the units of x."""

    def prepare(
        self, sample: Array, seed: int = 0, leading: int | None = None, everything: Array | None = None
    ) -> LinearFeatures:
        """Learn the matrix x is multiplied by: where only some may lead, x turned to its principal axes."""
        D = sample.shape[1]
        if leading is None or leading >= D:
            return LinearFeatures(np.eye(D) / np.sqrt(D))
        centred = sample - sample.mean(axis=0)
        axes = scipy.linalg.eigh(centred.T @ centred)[1][:, ::-1]
        return LinearFeatures(axes / np.sqrt(D))


@dataclass(frozen=True)
class LinearFeatures:
    """Features x M, with M (D, n_features)."""

    matrix: Array
    places_new: ClassVar[bool] = True

    def transform(self, X: Array) -> Array:
        """Return X M."""
        return X @ like(self.matrix, X)


@dataclass
class NoMap(Map):
    """Nothing of x: the truth is as likely on every item, and labels alone decide, as in Dawid and Skene."""

    def prepare(
        self, sample: Array, seed: int = 0, leading: int | None = None, everything: Array | None = None
    ) -> LinearFeatures:
        """Return no features."""
        return LinearFeatures(np.zeros((sample.shape[1], 0)))


# --- rbf -----------------------------------------------------------------------------------------


@dataclass
class RbfMap(Map):
    """Leading eigenvectors of the kernel exp(−d² / (width · median d²)), by Nyström.

    Parameters
    ----------
    width : float
        Kernel width, in units of the median squared distance between items.
    rank, landmarks : int
        Eigenvectors kept, and items (drawn from all) they are computed on.
    """

    width: float = 2.0
    rank: int = 80
    landmarks: int = 600

    rules: ClassVar[Rules] = {"width": POSITIVE, "rank": COUNT, "landmarks": COUNT}

    def prepare(
        self, sample: Array, seed: int = 0, leading: int | None = None, everything: Array | None = None
    ) -> RbfFeatures:
        """Draw landmarks among the items and diagonalise the kernel on them."""
        nodes = draw(sample, self.landmarks, np.random.default_rng(seed))
        squared = squared_distances(nodes, nodes)
        typical = np.median(squared[~np.eye(len(nodes), dtype=bool)]) if len(nodes) > 1 else 0.0
        scale = self.width * (typical if typical > 0 else 1.0)
        values, vectors = scipy.linalg.eigh(np.exp(-squared / scale))
        keep = [i for i in np.argsort(-values)[: self.rank] if values[i] > 1e-8 * values[-1]]
        raw = RbfFeatures(nodes, float(scale), vectors[:, keep] / np.sqrt(values[keep]))
        centre, length = _centre_and_length(raw.transform(sample))
        return replace(raw, centre=centre, length=length)


@dataclass(frozen=True)
class RbfFeatures:
    """k(x, nodes) · root, centred and scaled."""

    nodes: Array
    scale: float
    root: Array
    centre: Array | float = 0.0
    length: float = 1.0
    places_new: ClassVar[bool] = True

    def transform(self, X: Array) -> Array:
        """Return the kernel's eigenvectors at each x."""
        nodes, root = like(self.nodes, X), like(self.root, X)
        parts = [self._kernel(X[rows], nodes) @ root for rows in blocks(X, len(nodes))]
        return (namespace(X).concatenate(parts) - like(self.centre, X)) / self.length

    def _kernel(self, X: Array, nodes: Array) -> Array:
        return namespace(X).exp(squared_distances(X, nodes) / -self.scale)


# --- spectral ------------------------------------------------------------------------------------


@dataclass
class SpectralMap(Map):
    """Leading eigenvectors of the graph over all items: GP of Eqs. (3), (5) in its eigenbasis.

    u_k / √(μ_k + eps), μ_k the Laplacian's eigenvalue: the prior covariance (Δ + eps)⁻¹ cut at ``rank``.
    New x are placed by the graph. This is where unlabelled items pay most.
    """

    graph: Graph = field(default_factory=AnchorGraph)
    rank: int = 80
    eps: float = 0.005

    rules: ClassVar[Rules] = {"graph": is_a(Graph), "rank": COUNT, "eps": POSITIVE}

    def prepare(
        self, sample: Array, seed: int = 0, leading: int | None = None, everything: Array | None = None
    ) -> SpectralFeatures:
        """Build the graph of all items and diagonalise it."""
        everything = sample if everything is None else everything
        graph = self.graph.build(everything, seed, sample)
        raw = SpectralFeatures(graph, *graph.basis(self.rank, self.eps))
        known = sample if raw.places_new else in_memory(everything)
        centre, length = _centre_and_length(raw.transform(known))
        return replace(raw, centre=centre, length=length)


@dataclass(frozen=True)
class SpectralFeatures:
    """The graph's eigenvectors at any x, centred and scaled.

    ``eigenvalues`` of the Laplacian, from the smallest: as many near zero as the items fall into parts.
    """

    graph: BuiltGraph
    basis: Array
    eigenvalues: Array
    centre: Array | float = 0.0
    length: float = 1.0

    @property
    def places_new(self) -> bool:
        """Whether the graph can place items it has not seen."""
        return self.graph.places_new

    def transform(self, X: Array) -> Array:
        """Return the eigenvectors at each x, fading far from every item, as they would not by themselves."""
        row, nearness = self.graph.place(X)
        features = (row @ like(self.basis, X) - like(self.centre, X)) / self.length
        return features * nearness[:, None]


# --- clusters ------------------------------------------------------------------------------------


@dataclass
class ClusterMap(Map):
    """Which of a few clusters x lies in: for expertise that differs from one kind of item to another.

    A number for each cluster takes fewer labels to learn than a slope for each feature, and clusters need not
    lie along a line. A truth that sees nothing else is the same all over a cluster.

    Parameters
    ----------
    clusters : int
        How many, found by k-means: the tightest of a few tries.
    """

    clusters: int = 8

    rules: ClassVar[Rules] = {"clusters": COUNT}

    def prepare(
        self, sample: Array, seed: int = 0, leading: int | None = None, everything: Array | None = None
    ) -> ClusterFeatures:
        """Find the clusters."""
        rng = np.random.default_rng(seed)
        few = draw(sample, FEW, rng)
        tries = [k_means(few, min(self.clusters, len(few)), rng) for _ in range(TRIES)]
        centres = min(tries, key=lambda found: float(nearest(few, found, 1)[1].sum()))
        raw = ClusterFeatures(centres)
        centre, length = _centre_and_length(raw.transform(sample))
        return replace(raw, centre=centre, length=length)


@dataclass(frozen=True)
class ClusterFeatures:
    """One for the cluster with the nearest centre and zero for the others, centred and scaled."""

    centres: Array
    centre: Array | float = 0.0
    length: float = 1.0
    places_new: ClassVar[bool] = True

    def transform(self, X: Array) -> Array:
        """Return the clusters of each x."""
        indicators = like(np.eye(len(self.centres)), X)
        inside = indicators[nearest(X, self.centres, 1)[0][:, 0]]
        return (inside - like(self.centre, X)) / self.length


def _centre_and_length(features: Array) -> tuple[Array, float]:
    """Mean of the features, and root mean squared length around it (one if they are all alike)."""
    centre = features.mean(axis=0)
    length = float(np.sqrt(((features - centre) ** 2).sum(axis=1).mean()))
    return centre, length if length > 0 else 1.0
