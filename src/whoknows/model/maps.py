"""Maps: features of x for truth and annotators. A map has settings; ``prepare`` learns features from items.

Features have a mean squared length of about one over standardised items, so that a prior variance has the
same meaning for every map and data set. (A linear map keeps unstandardised x in its own units.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Protocol, TypeVar

import numpy as np
import scipy.linalg

from whoknows._array import Array, like, namespace
from whoknows.model.distances import blocks, draw, in_memory, k_means, nearest, squared_distances
from whoknows.model.graph import AnchorGraph, Graph
from whoknows.model.graph.base import BuiltGraph
from whoknows.model.settings import COUNT, POSITIVE, Rules, Settings, is_a, or_none

FEW = 2_000  # items for k-means with few clusters
TRIES = 5  # of k-means, which depends on its random start
RANK = (80, 400)  # smallest and largest number of features that is chosen by the number of labelled items
LABELLED_PER_FEATURE = 20
LANDMARKS = 600
FLAT = 0.65  # eigenvalues of a graph's Laplacian above which eigenvectors hardly differ from noise
TO_CENTRE = 5_000  # items that the mean of features is taken over


@dataclass(frozen=True)
class MapItems:
    """Items that a map learns features from.

    Parameters
    ----------
    sample : (n_items, D)
        Labelled or not.
    seed : int
    leading : int, optional
        The first so many features should matter most, as annotators' expertise depends on them.
    everything : (n_all_items, D), optional
        All items, if they are more than the sample.
    n_labelled : int
        Number of labelled items per output of the truth.
    """

    sample: Array
    seed: int = 0
    leading: int | None = None
    everything: Array | None = None
    n_labelled: int = 0


def chosen_rank(rank: int | None, items: MapItems) -> int:
    """Return the number of features that the user chose, or else that the labelled items can carry."""
    return int(np.clip(items.n_labelled // LABELLED_PER_FEATURE, *RANK)) if rank is None else rank


_Centred = TypeVar("_Centred", bound="RbfFeatures | SpectralFeatures | ClusterFeatures")


class MapFeatures(Protocol):
    """A prepared map."""

    @property
    def places_new(self) -> bool:
        """Whether it extends to new items."""

    def transform(self, X: Array) -> Array:
        """Features of each x, without a constant: (n_items, n_features)."""


class Map(Settings, ABC):
    """Settings of a map; subclasses define the features."""

    is_map: ClassVar[bool] = True
    measures_distances: ClassVar[bool] = True  # between items, so that columns of noise harm it

    @abstractmethod
    def prepare(self, items: MapItems) -> MapFeatures:
        """Learn features from items."""


# --- linear --------------------------------------------------------------------------------------


@dataclass
class LinearMap(Map):
    """x / √D, D the number of columns that vary: coefficients can be expressed in the units of x.

    Constant columns are left out: they say nothing that the intercept does not.

    Parameters
    ----------
    rank : int, optional
        Number of leading principal axes to keep; default: all.
    """

    rank: int | None = None

    measures_distances: ClassVar[bool] = False
    rules: ClassVar[Rules] = {"rank": or_none(COUNT)}

    def prepare(self, items: MapItems) -> LinearFeatures:
        """Return a scaled identity, or the principal axes if only some features are kept or may lead."""
        varies = np.ptp(items.sample, axis=0) > 0
        D = int(varies.sum())
        axes, rank = np.eye(len(varies))[:, varies], D if self.rank is None else min(self.rank, D)
        if rank < D or (items.leading is not None and items.leading < D):
            axes = principal_axes(items.sample, rank)
        return LinearFeatures(axes / np.sqrt(max(D, 1)))


def principal_axes(X: Array, n: int) -> Array:
    """Return the leading principal axes of the items, largest first: (D, n)."""
    centred, D = X - X.mean(axis=0), X.shape[1]
    few = None if n > D // 2 else (D - n, D - 1)
    return np.asarray(scipy.linalg.eigh(centred.T @ centred, subset_by_index=few)[1][:, ::-1][:, :n])


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
    """No features: p(z) is the same for every item, as in Dawid and Skene."""

    measures_distances: ClassVar[bool] = False

    def prepare(self, items: MapItems) -> LinearFeatures:
        """Return no features."""
        return LinearFeatures(np.zeros((items.sample.shape[1], 0)))


# --- rbf -----------------------------------------------------------------------------------------


@dataclass
class RbfMap(Map):
    """Leading eigenvectors of the kernel exp(−d² / (width · median d²)), by Nyström.

    Parameters
    ----------
    width : float
        Kernel width, in units of the median squared distance between items.
    rank : int, optional
        Number of eigenvectors; default: 80 to 400, one per 20 labelled items.
    landmarks : int, optional
        Number of items, drawn at random, on which they are computed; default: 600, or 4 per eigenvector.
    """

    width: float = 2.0
    rank: int | None = None
    landmarks: int | None = None

    rules: ClassVar[Rules] = {"width": POSITIVE, "rank": or_none(COUNT), "landmarks": or_none(COUNT)}

    def prepare(self, items: MapItems) -> RbfFeatures:
        """Draw landmarks from the items and diagonalise the kernel on them."""
        rank = chosen_rank(self.rank, items)
        landmarks = max(LANDMARKS, 4 * rank) if self.landmarks is None else self.landmarks
        nodes = draw(items.sample, landmarks, np.random.default_rng(items.seed))
        squared = squared_distances(nodes, nodes)
        typical = np.median(squared[~np.eye(len(nodes), dtype=bool)]) if len(nodes) > 1 else 0.0
        scale = self.width * (typical if typical > 0 else 1.0)
        few = None if len(nodes) <= LANDMARKS or rank >= len(nodes) else (len(nodes) - rank, len(nodes) - 1)
        values, vectors = scipy.linalg.eigh(np.exp(-squared / scale), subset_by_index=few)
        keep = [i for i in np.argsort(-values)[:rank] if values[i] > 1e-8 * values[-1]]
        raw = RbfFeatures(nodes, float(scale), vectors[:, keep] / np.sqrt(values[keep]))
        return _centred(raw, items.sample)


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

    u_k / √(μ_k + eps), μ_k the Laplacian's eigenvalue: the prior covariance (Δ + eps)⁻¹ cut off at ``rank``.
    The graph extends the eigenvectors to new x. Unlabelled items help most with this map.

    Parameters
    ----------
    graph : Graph
        Default: an anchor graph with as many anchors as the items can carry.
    rank : int, optional
        Number of eigenvectors; default: 80 to 400, one per 20 labelled items, but beyond 80 only those that
        differ from noise.
    eps : float
        The larger, the less smooth the truth is on the graph.
    """

    graph: Graph = field(default_factory=partial(AnchorGraph, anchors=None))
    rank: int | None = None
    eps: float = 0.005

    rules: ClassVar[Rules] = {"graph": is_a(Graph), "rank": or_none(COUNT), "eps": POSITIVE}

    def prepare(self, items: MapItems) -> SpectralFeatures:
        """Build the graph of all items and diagonalise it."""
        everything = items.sample if items.everything is None else items.everything
        graph = self.graph.build(everything, items.seed, items.sample)
        basis, eigenvalues = graph.basis(chosen_rank(self.rank, items), self.eps)
        n = max(int((eigenvalues < FLAT).sum()), RANK[0])
        if self.rank is None and n < len(eigenvalues):
            basis, eigenvalues = basis[:, :n].copy(), eigenvalues[:n]
        raw = SpectralFeatures(graph, basis, eigenvalues)
        return _centred(raw, items.sample if raw.places_new else in_memory(everything))


@dataclass(frozen=True)
class SpectralFeatures:
    """The graph's eigenvectors at any x, centred and scaled.

    ``eigenvalues`` of the Laplacian are ascending; the number near zero is that of connected components.
    """

    graph: BuiltGraph
    basis: Array
    eigenvalues: Array
    centre: Array | float = 0.0
    length: float = 1.0

    @property
    def places_new(self) -> bool:
        """Whether the graph extends to new items."""
        return self.graph.places_new

    def transform(self, X: Array) -> Array:
        """Return the eigenvectors at each x, damped far from all items."""
        row, nearness = self.graph.place(X)
        features = (row @ like(self.basis, X) - like(self.centre, X)) / self.length
        return features * nearness[:, None]


# --- clusters ------------------------------------------------------------------------------------


@dataclass
class ClusterMap(Map):
    """Cluster membership of x: for expertise that differs between kinds of items.

    One number per cluster needs fewer labels than one slope per feature, and clusters need not be linearly
    separable. A truth with this map alone is constant within a cluster.

    Parameters
    ----------
    clusters : int
        Number of clusters of k-means, the best of a few random starts.
    """

    clusters: int = 8

    rules: ClassVar[Rules] = {"clusters": COUNT}

    def prepare(self, items: MapItems) -> ClusterFeatures:
        """Find the clusters by k-means."""
        rng = np.random.default_rng(items.seed)
        few = draw(items.sample, FEW, rng)
        tries = [k_means(few, min(self.clusters, len(few)), rng) for _ in range(TRIES)]
        centres = min(tries, key=lambda found: float(nearest(few, found, 1)[1].sum()))
        return _centred(ClusterFeatures(centres), items.sample)


@dataclass(frozen=True)
class ClusterFeatures:
    """One for the cluster with the nearest centre and zero for the others, centred and scaled."""

    centres: Array
    centre: Array | float = 0.0
    length: float = 1.0
    places_new: ClassVar[bool] = True

    def transform(self, X: Array) -> Array:
        """Return the cluster indicators of each x."""
        indicators = like(np.eye(len(self.centres)), X)
        inside = indicators[nearest(X, self.centres, 1)[0][:, 0]]
        return (inside - like(self.centre, X)) / self.length


def _centred(raw: _Centred, X: Array) -> _Centred:
    """Return features with mean zero and root mean squared length one over ``X``, unless all are equal."""
    features = raw.transform(draw(X, TO_CENTRE, np.random.default_rng(0)))
    centre = features.mean(axis=0)
    length = float(np.sqrt(((features - centre) ** 2).sum(axis=1).mean()))
    return replace(raw, centre=centre, length=length if length > 0 else 1.0)
