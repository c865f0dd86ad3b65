"""The models that `AutoCrowdClassifier` averages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from whoknows.data.errors import InputError
from whoknows.estimators.boosted_trees import BoostedTrees
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.fit.alternatives import SHARES
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators, Population
from whoknows.model.maps import RANK, ClusterMap, LinearMap, Map, NoMap, RbfMap, SpectralMap
from whoknows.model.settings import POSITIVE, YES_OR_NO, at_least, check_values
from whoknows.model.truth import LogisticTruth

MAPS: dict[str, Map] = {
    "linear": LinearMap(),
    "rbf 0.5": RbfMap(0.5),
    "rbf 2": RbfMap(2.0),
    "spectral": SpectralMap(),
    "none": NoMap(),
    "axes": LinearMap(rank=64),
    "finest": SpectralMap(rank=RANK[1]),
}
GRAPHS = ("spectral", "finest")  # maps that are made of a graph
SEEING = [name for name in MAPS if name not in ("none", "axes", "finest")]
SMOOTH = [name for name in SEEING if name not in GRAPHS]  # features of a graph have clusters in them already
TREES = "trees"
COARSE = BoostedTrees(rounds=30, learning_rate=0.3)  # these tell in a small part of the time if trees can help at all
ITEMS_FOR_TREES = 1000  # labelled items: with fewer, maps are as good
ITEMS_PER_COLUMN = 10  # labelled items per column of X that trees need
MOST_COLUMNS = 100  # of X for trees: more are embeddings, from which maps learn more in less time
FAR_APART = Population(deviation_variance=2.0, deviation_shape=1000.0)  # a prior that labels do not move
ROUGH = 1e-4  # tolerance of fits that only compare members, and of cross-fitted EM, which oscillates


@dataclass(frozen=True)
class Member:
    """One model among those averaged.

    Attributes
    ----------
    map : str
        "linear", "rbf 0.5", "rbf 2", "spectral" or "none": labels alone. Or "axes": linear in 64 principal
        axes; "finest": as many eigenvectors of the graph as a map may have, also those like noise; or "trees": boosted
        trees in place of a map.
    variance : float
        Prior variance of the classifier's weights; trees have none.
    varies_with_x : bool
        Whether expertise may depend on the item.
    two_coin : bool
        Whether it may differ between classes.
    clusters : int
        Number of clusters of items between which expertise differs. 0: it is smooth in the map's features.
    far_apart : bool
        Whether the prior lets annotators differ a lot. If not, the variance between them is learned, and is
        underestimated where each gave few labels.
    """

    map: str
    variance: float
    varies_with_x: bool
    two_coin: bool = True
    clusters: int = 0
    far_apart: bool = False

    def __post_init__(self) -> None:
        """Refuse invalid settings."""
        if self.map not in (*MAPS, TREES):
            raise InputError(f"map must be one of {', '.join(map(repr, (*MAPS, TREES)))}; got {self.map!r}.")
        switches = dict.fromkeys(("varies_with_x", "two_coin", "far_apart"), YES_OR_NO)
        check_values(self, {"variance": POSITIVE, "clusters": at_least(0)} | switches)
        blind = self.varies_with_x and self.map == "none"
        if blind or (self.clusters and not self.varies_with_x):
            raise InputError(
                "Expertise that varies needs a map that sees x, and clusters need expertise that varies; got "
                f"map={self.map!r}, varies_with_x={self.varies_with_x}, clusters={self.clusters}."
            )

    @property
    def view(self) -> str:
        """Name of the features of truth and expertise; members with the same view share them."""
        return f"{self.map}, {self.clusters} clusters" if self.clusters else self.map

    @property
    def has_graph(self) -> bool:
        """Whether its features are those of a graph over all items."""
        return self.map in GRAPHS

    @property
    def seen_by_expertise(self) -> str:
        """Name of the map that expertise is a function of."""
        return "linear" if self.map == TREES else self.map

    @property
    def expertise(self) -> str:
        """How expertise depends on x and on the annotator, in words."""
        varies = f"by {self.clusters} clusters" if self.clusters else "varies with x"
        apart = ", annotators far apart" if self.far_apart else ""
        return (varies if self.varies_with_x else "constant") + apart

    @property
    def _truth(self) -> LogisticTruth:
        truth = LogisticTruth(variance=self.variance)
        return replace(truth, intercept_variance=1 / SHARES) if self.map == "none" else truth

    def build(self, settings: Any, n_classes: int) -> CrowdClassifier:
        """Return the unfitted estimator; the graph keeps the unit of features that share one."""
        kind = ConfusionAnnotators if self.two_coin else BernoulliAnnotators
        population = FAR_APART if self.far_apart else Population()
        return CrowdClassifier(
            BoostedTrees() if self.map == TREES else self._truth,
            kind(varies_with_x=self.varies_with_x, population=population),
            MAPS[self.seen_by_expertise],
            annotator_map=ClusterMap(self.clusters) if self.clusters else None,
            max_iter=settings.max_iter,
            tol=settings.tol if n_classes == 2 else max(settings.tol, ROUGH),
            standardize="units" if self.has_graph else "roots",
            random_state=settings.random_state,
            groups=settings.groups,
        )


def default_members(n_classes: int, confusion: bool = True) -> list[Member]:
    """Return maps × prior variances, with expertise that depends on x (smoothly or by clusters) or not.

    Also members without features, in case they carry no information about the truth, and, for two classes on
    the simplest maps, annotators who are far apart. For more classes, annotators have confusion matrices, unless
    ``confusion`` is False: too few annotators leave these undetermined.
    """
    if n_classes == 2:
        grid = [
            *product(SEEING, (1.0, 30.0), (True,), (False,)),
            *product(SMOOTH, (3.0, 30.0), (True,), (False,), (4, 8)),
            *product(SEEING, (1.0, 10.0), (False,), (False,)),
            *product(SEEING, (10.0,), (True, False)),
        ]
        grid += product(["none"], (10.0,), (False,), (True, False))
        grid += product(["linear", "none"], (10.0,), (False,), (True, False), (0,), (True,))
    else:
        grid = [*product(SEEING, (30.0, 100.0), (False,), (confusion,))]
        grid += [*product(SEEING, (30.0,), (True,), (confusion,)), ("none", 30.0, False, confusion)]
    return [Member(*cell) for cell in grid]


def with_trees(kind: Member) -> Member:
    """Return the member with trees that has this kind of expertise."""
    return replace(kind, map=TREES, variance=1.0)


def trees_can_learn(n_labelled: int, n_columns: int) -> bool:
    """Whether there are enough labelled items for trees, and not too many columns."""
    enough = n_labelled >= max(ITEMS_FOR_TREES, ITEMS_PER_COLUMN * n_columns)
    return enough and n_columns <= MOST_COLUMNS


def kinds(n_classes: int, n_columns: int, confusion: bool = True) -> list[Member]:
    """Return the kinds of expertise on the simplest map: with many items, they are scored first."""
    map = "linear" if n_columns <= MOST_COLUMNS else "axes"
    if n_classes > 2:
        return [Member(map, 30.0, varies, confusion) for varies in (True, False)]
    return [
        *(Member(map, 30.0, *kind) for kind in product((True, False), (True, False))),
        Member(map, 30.0, True, False, clusters=8),
        Member(map, 30.0, False, False, far_apart=True),
    ]


def on_all_maps(kind: Member) -> list[Member]:
    """Return the same kind of expertise with each map, and without features."""
    seeing = [replace(kind, map=name, clusters=kind.clusters if name in SMOOTH else 0) for name in SEEING]
    return [*seeing, replace(kind, map="none", varies_with_x=False, clusters=0)]
