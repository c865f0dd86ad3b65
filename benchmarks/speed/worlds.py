"""Simulated data of any size: clusters of items, a logistic truth, annotators with different expertise.

Data are generated block by block from the sizes and a seed, as fast as they can be written. Data sets that
differ in the number of items have their first items in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.special import expit

from whoknows import Annotations

BLOCK = 65_536  # items generated at a time, and rows per row group of a Parquet file
BLOCKS_A_FILE = 16
N_CLUSTERS, SPREAD = 5, 1.5  # of the cluster centres; the standard deviation within a cluster is 1
SPREAD_OF_EMBEDDINGS = 0.3  # with hundreds of columns, clusters are far apart all the same
SHARPNESS = 8.0  # standard deviation of the logits of the truth
SKILL, UNLIKE, PLACES = (
    1.5,
    0.7,
    1.0,
)  # log-odds of being right: mean, and standard deviations over annotators and clusters
N_NEW = 5_000  # test items
CENTRES, SLOPES, ITEMS, NEW, LABELLED, ANNOTATORS, LABELS = range(7)  # streams of random numbers


@dataclass(frozen=True)
class World:
    """Sizes and seed of a simulated data set.

    Attributes
    ----------
    n_items : int
        Labelled and unlabelled.
    n_labelled : int
        Items with labels, drawn at random.
    n_annotators, n_classes, n_features : int
    per_item : int
        Labels per labelled item, each by a different annotator.
    on_disk : bool
        Whether the features are read from Parquet files, out of core.
    n_clusters : int
    spread : float
        Standard deviation of the cluster centres.
    one_class_each : bool
        Whether all items of a cluster have one class, in place of a logistic truth.
    seed : int
    """

    n_items: int
    n_labelled: int
    n_annotators: int = 50
    n_classes: int = 2
    n_features: int = 20
    per_item: int = 5
    on_disk: bool = False
    n_clusters: int = N_CLUSTERS
    spread: float = SPREAD
    one_class_each: bool = False
    seed: int = 0

    @property
    def n_labels(self) -> int:
        return self.n_labelled * self.per_item

    @property
    def n_blocks(self) -> int:
        """Number of blocks, which are the row groups of the files."""
        return -(-self.n_items // BLOCK)

    @property
    def data_mb(self) -> float:
        """Features as float32, and labels as three int32."""
        return (4 * self.n_items * self.n_features + 12 * self.n_labels) / 2**20

    def _rng(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *stream])

    # --- items ----------------------------------------------------------------------------------------------

    @cached_property
    def _centres(self) -> np.ndarray:
        """Centres of the clusters: (n_clusters, n_features)."""
        centres = self._rng(CENTRES).normal(0, self.spread, (self.n_clusters, self.n_features))
        return (centres - centres.mean(axis=0)).astype(np.float32)

    @cached_property
    def _slopes(self) -> np.ndarray:
        """Coefficients of the classes: (n_features, n_classes)."""
        drawn = self._rng(SLOPES).normal(size=(self.n_features, self.n_classes))
        return drawn * SHARPNESS / np.sqrt(self.n_features * (1 + self.spread**2))

    def _some_items(self, rng: np.random.Generator, n: int) -> np.ndarray:
        X = rng.standard_normal((n, self.n_features), dtype=np.float32)
        X += self._centres[rng.integers(self.n_clusters, size=n)]
        return X

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the items in blocks: float32 (at most BLOCK, n_features)."""
        for number, start in enumerate(range(0, self.n_items, BLOCK)):
            yield self._some_items(self._rng(ITEMS, number), BLOCK)[: self.n_items - start]

    def features(self) -> np.ndarray:
        """All items in memory: float32 (n_items, n_features)."""
        X = np.empty((self.n_items, self.n_features), dtype=np.float32)
        for number, block in enumerate(self.blocks()):
            X[number * BLOCK :][: len(block)] = block
        return X

    def write(self, folder: Path) -> None:
        """Write all items as Parquet files, to be read in the order of their names."""
        import pyarrow as pa
        from pyarrow import parquet

        names = [f"x{column}" for column in range(self.n_features)]
        schema = pa.schema([(name, pa.float32()) for name in names])
        blocks = self.blocks()
        for start in range(0, self.n_items, BLOCK * BLOCKS_A_FILE):
            rows = min(BLOCK * BLOCKS_A_FILE, self.n_items - start)
            path = folder / f"items-{start:09}.parquet"
            # Random numbers have no repetitions and cannot be compressed.
            with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
                for _ in range(0, rows, BLOCK):
                    columns = np.ascontiguousarray(next(blocks).T)
                    file.write_table(pa.table(dict(zip(names, columns, strict=True)), schema))

    # --- annotations ----------------------------------------------------------------------------------------

    @cached_property
    def labelled(self) -> np.ndarray:
        """Sorted indices of the items with labels: (n_labelled,)."""
        drawn = self._rng(LABELLED).choice(self.n_items, self.n_labelled, replace=False, shuffle=False)
        return np.sort(drawn).astype(np.int32)

    def _truth(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a class for each item, p(z | x) = softmax(x · slopes), or tell that of its cluster."""
        if self.one_class_each:
            return self._likeliest(X)
        return (X @ self._slopes + rng.gumbel(size=(len(X), self.n_classes))).argmax(axis=1)

    def crowd(self, X: np.ndarray) -> tuple[Annotations, np.ndarray]:
        """Return the annotations and the truth of the labelled items, whose features are ``X``.

        The log-odds that annotator t is right on x are a_t + b_tc, where c is the nearest cluster.
        """
        rng, people = self._rng(LABELS), self._rng(ANNOTATORS)
        odds = people.normal(SKILL, UNLIKE, (self.n_annotators, 1))
        odds = odds + people.normal(0, PLACES, (self.n_annotators, self.n_clusters))
        cluster = self._cluster(X)
        z = self._truth(X, rng)
        who = subsets(rng, len(X), self.n_annotators, self.per_item)
        right = rng.random(who.shape) < expit(odds[who, cluster[:, None]])
        wrong = (z[:, None] + rng.integers(1, self.n_classes, size=who.shape)) % self.n_classes
        labels = np.where(right, z[:, None], wrong)
        triples = np.repeat(self.labelled, self.per_item), who.ravel(), labels.ravel()
        sizes = self.n_items, self.n_annotators, self.n_classes
        return Annotations(*(code.astype(np.int32) for code in triples), *map(np.arange, sizes)), z

    def new(self) -> tuple[np.ndarray, np.ndarray]:
        """Return test items and their truth."""
        rng = self._rng(NEW)
        X = self._some_items(rng, N_NEW)
        return X, self._truth(X, rng)

    @property
    def ceiling(self) -> float:
        """Accuracy of the Bayes classifier on the test items."""
        X, z = self.new()
        return float(np.mean(self._likeliest(X) == z))

    def _likeliest(self, X: np.ndarray) -> np.ndarray:
        """Most probable class of each item."""
        return self._cluster(X) % self.n_classes if self.one_class_each else (X @ self._slopes).argmax(axis=1)

    def _cluster(self, X: np.ndarray) -> np.ndarray:
        """Nearest centre to each item."""
        return (X @ self._centres.T - (self._centres**2).sum(axis=1) / 2).argmax(axis=1)


def subsets(rng: np.random.Generator, n: int, size: int, k: int) -> np.ndarray:
    """Draw n uniform subsets of size k from 0 … size − 1, sorted: (n, k), by Floyd's algorithm."""
    drawn = np.empty((n, k), dtype=np.int32)
    for place, last in enumerate(range(size - k, size)):
        one = rng.integers(last + 1, size=n)
        taken = (drawn[:, :place] == one[:, None]).any(axis=1)
        drawn[:, place] = np.where(taken, last, one)
    return np.sort(drawn, axis=1)


WORLDS = {
    "quick": World(2_000, 1_000, n_annotators=20),
    "labelled-10k": World(10_000, 10_000),
    "labelled-100k": World(100_000, 100_000),
    "labelled-1m": World(1_000_000, 1_000_000),
    "annotators-5": World(100_000, 100_000, n_annotators=5),
    "annotators-2000": World(100_000, 100_000, n_annotators=2_000),
    "classes-10": World(10_000, 10_000, n_classes=10),
    "embeddings-2k": World(2_000, 2_000, n_annotators=20, n_classes=5, n_features=384),
    "embeddings-2k-clusters": World(
        *(2_000, 2_000, 20, 5, 384), n_clusters=10, spread=SPREAD_OF_EMBEDDINGS, one_class_each=True
    ),
    "embeddings-10k": World(10_000, 10_000, n_classes=10, n_features=768),
    "embeddings-20k": World(20_000, 20_000, n_features=384),
    "embeddings-50k": World(50_000, 20_000, n_annotators=100, n_classes=20, n_features=768),
    "all-100k": World(100_000, 20_000, n_features=64),
    "all-1m": World(1_000_000, 20_000, n_features=64),
    "all-10m": World(10_000_000, 20_000, n_features=64, on_disk=True),
    "disk-10m": World(10_000_000, 100_000, n_features=64, on_disk=True),
}
QUICK = ["quick"]
EVERY = [name for name in WORLDS if name not in QUICK]
# Data sets on which other packages are measured too.
COMPARED = ["labelled-10k", "labelled-100k", "annotators-5", "annotators-2000", "classes-10", "all-100k"]
