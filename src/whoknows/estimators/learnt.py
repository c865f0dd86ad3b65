"""What a fit knows before its first label: how items are seen, and the model prepared for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.estimators.pieces import resolve_annotators, resolve_truth
from whoknows.estimators.seen import Seen, silence
from whoknows.fit.items import Items
from whoknows.fit.objective import Model

DIRECTIONS = (2, 5, 10, 20)  # few choices, so that some more labels do not change the model
LABELS_A_DIRECTION = 3  # what an annotator has to give before a further slope is more than the crowd's


@dataclass(frozen=True)
class Learnt:
    """What does not depend on labels: how items are seen, and the model prepared for them."""

    seen: Seen
    model: Model

    @classmethod
    def of_items(
        cls, settings: Any, X: Array, said: Annotations, seen: Seen | None = None
    ) -> tuple[Learnt, Items]:
        """Learn from checked X, and return the items as they are then seen: both need the map's one pass."""
        K = said.n_classes
        truth = resolve_truth(settings.truth, len(X)).for_classes(K)
        annotators = resolve_annotators(settings.annotators, truth, said).for_classes(K)
        Model(annotators, truth)  # before the graph, which takes longer: do the pieces fit each other?
        seen = seen or Seen.of_items(settings, X, directions_of(annotators, said))
        views = seen.views(X)
        learnt = cls(seen, Model(annotators, truth.prepare(seen.scaled(X), views[0], seen.seed)))
        return learnt, learnt._items(X, views, said)

    def items(self, X: Array, said: Annotations | None = None) -> Items:
        """Return what truth and annotators see of checked X, with or without labels."""
        return self._items(X, self.seen.views(X), silence(len(X)) if said is None else said)

    def _items(self, X: Array, views: tuple[Array, Array], said: Annotations) -> Items:
        Phi, Psi = views
        return Items(self.seen.scaled(X) if self.model.truth.couples_items else Phi, Psi, said)


def directions_of(annotators: Any, said: Annotations) -> int:
    """How many leading features expertise depends on: as set, or as many as labels can tell of."""
    if annotators.directions is not None:
        return int(annotators.directions)
    given = said.labels_per_annotator
    typical = float(given[given > 0].mean()) if given.any() else 0.0
    fitting = [r for r in DIRECTIONS if r * LABELS_A_DIRECTION <= typical]
    return max(fitting, default=DIRECTIONS[0])
