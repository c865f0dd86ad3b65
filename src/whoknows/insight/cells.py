"""How often each item was given each label: n_ik, for the (item, label) that occur."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array
from whoknows.data.annotations import Annotations


class Cells(NamedTuple):
    """Item and count of each (item, label) that occurs, and which of them each label is in."""

    item: NDArray[np.int64]
    n_ik: Array
    place: NDArray[Any]


def count_cells(said: Annotations) -> Cells:
    """Count the labels of each (item, label); no table of items by labels is made."""
    number = said.item.astype(np.int64) * said.n_classes + said.label
    cell, place, n_ik = np.unique(number, return_inverse=True, return_counts=True)
    return Cells(cell // max(said.n_classes, 1), n_ik.astype(float), place)
