"""Which items the members of an average are weighed on: of few all, in turn; of many some, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_random_state

from whoknows._array import Rows
from whoknows.estimators.auto.members import Member, kinds
from whoknows.estimators.inputs.training_data import TrainingData

MOST_TRIED = 5_000  # items members are weighed on; where there are more, weights are known well enough


@dataclass(frozen=True)
class Plan:
    """How members will be weighed.

    Attributes
    ----------
    informed : (n,)
        Items with labels or gold.
    rows : (n_tried,)
        Those of them that members are weighed on.
    folds : list of (n_held_out,)
        Places among ``rows`` of the items whose labels are held out together.
    many : bool
        Whether there are more items than weighing takes: fits to all of them are what costs time.
    in_stages : bool
        Whether kinds of expertise are tried first, and maps with the best of them.
    """

    informed: Rows
    rows: Rows
    folds: list[Rows]
    many: bool
    in_stages: bool

    @classmethod
    def of(cls, settings: Any, given: TrainingData) -> Self:
        """Plan for what is given, with an estimator's settings."""
        informed, labelled = np.flatnonzero(given.informed), np.flatnonzero(given.said.labelled)
        many = settings.selection and len(informed) > MOST_TRIED
        rows = _some(informed, labelled, settings.random_state) if many else informed
        folds = []
        if settings.selection:
            order = check_random_state(settings.random_state).permutation(
                np.flatnonzero(given.said[rows].labelled)
            )
            folds = np.array_split(order, max(min(settings.folds, len(order)), 1))[: 1 if many else None]
        in_stages = many and settings.members is None and len(labelled) > MOST_TRIED
        return cls(informed, rows, folds, many, in_stages)

    def n_fits(self, chosen: list[Member], n_classes: int) -> int:
        """How many fits there will be, at most."""
        if self.in_stages:
            return len(kinds(n_classes)) + 2 * len({member.map for member in chosen}) - 1
        return len(chosen) * (len(self.folds) + 1)


def _some(informed: Rows, labelled: Rows, random_state: Any) -> Rows:
    """Return as many of many items as it takes to weigh the members; labels tell more than gold does."""
    rng, others = check_random_state(random_state), np.setdiff1d(informed, labelled)
    few = rng.choice(labelled, min(MOST_TRIED, len(labelled)), replace=False)
    return np.sort(np.append(few, rng.choice(others, MOST_TRIED - len(few), replace=False)))
