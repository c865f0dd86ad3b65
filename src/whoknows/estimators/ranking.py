"""Ranking: annotators by expertise, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.data.dataframes import write_long
from whoknows.data.vocabulary import Ids, elements

SHOWN = 20  # rows of a printed table


@dataclass(frozen=True, eq=False)
class Ranking:
    """Annotators, best first; print it.

    Attributes
    ----------
    annotator : (n_annotators,)
    expertise, low, high : (n_annotators,)
        Probability of being right, averaged over the items, with limits.
    n_labels : (n_annotators,)
        Number of labels in the fit.
    level : float
        Nominal coverage of the interval from low to high.
    """

    annotator: Ids
    expertise: Array
    low: Array
    high: Array
    n_labels: Any
    level: float

    @classmethod
    def of(cls, annotator: Ids, interval: tuple[Array, Array, Array], n_labels: Any, level: float) -> Ranking:
        """Sort by expertise."""
        order = np.argsort(-interval[0], kind="stable")
        return cls(annotator[order], *(limit[order] for limit in interval), n_labels[order], level)

    def to_frame(self, backend: str | None = None) -> Any:
        """Table with the columns annotator, expertise, low, high and n_labels.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Default: the first of them that is installed.
        """
        names = ("annotator", "expertise", "low", "high", "n_labels")
        return write_long({name: getattr(self, name) for name in names}, backend)

    def __len__(self) -> int:
        return len(self.annotator)

    def __repr__(self) -> str:
        """Format the first rows as a table."""
        names = [str(name) for name in elements(self.annotator)[:SHOWN]]
        width = max([9, *map(len, names)])
        rows = [
            f"{name:<{width}}{self.expertise[i]:>8.1%}{f'{self.low[i]:.1%} to {self.high[i]:.1%}':>20}"
            f"{self.n_labels[i]:>9}"
            for i, name in enumerate(names)
        ]
        left = len(self) - SHOWN
        head = f"{'annotator':<{width}}{'right':>8}{f'{self.level:.0%} interval':>20}{'labels':>9}"
        return "\n".join([head, *rows, *([f"… and {left} more"] if left > 0 else [])])
