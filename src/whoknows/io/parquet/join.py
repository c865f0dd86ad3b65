"""Labels and features of millions of items meet: items are rows, and no list of all ids is made."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import show
from whoknows.io.parquet import ids as known

HOW = "allow_missing=True, on the command line --allow-missing"


def join_labels(
    labels: Annotations, features: Any, allow_missing: bool = False, *, ids: Any = None
) -> Annotations:
    """Return the same labels about the rows of the features, all of which are items, labelled or not.

    Items are called by their row, 0, 1, 2, …; ``features.ids[row]`` is the id of one.

    Parameters
    ----------
    labels : Annotations
        By item id.
    features : ParquetFeatures, or any rows
    allow_missing : bool
        Leave out labels of items that have no features, with a warning; they are an error otherwise.
    ids : (n_items,), optional
        Ids of the rows, as `ParquetFeatures.ids` has them. Default: those of the features; row numbers if
        they have none.

    Returns
    -------
    Annotations
        With as many items as the features have rows.
    """
    ids = getattr(features, "ids", None) if ids is None else ids
    ids = np.arange(len(features)) if ids is None else ids
    row = known.rows_of(labels.items, ids)
    _check(labels, row, ids, allow_missing)
    kept = row[labels.item] >= 0
    item = row[labels.item[kept]].astype(np.int32)
    annotator, label = labels.annotator[kept], labels.label[kept]
    order = np.lexsort((annotator, item))
    sure = None if labels.confidence is None else labels.confidence[kept][order]
    codes = item[order], annotator[order], label[order]
    return Annotations(*codes, np.arange(len(features)), labels.annotators, labels.labels, sure)


def _check(labels: Annotations, row: Any, ids: Any, allow_missing: bool) -> None:
    """Refuse two ids that mean one row; count labelled items that have none."""
    labelled = np.flatnonzero(labels.labelled)
    found = row[labelled]
    rows, times = np.unique(found[found >= 0], return_counts=True)
    if times.max(initial=0) > 1:
        one, other = labels.items[labelled[found == rows[np.argmax(times)]][:2]].tolist()
        raise ValueError(
            f"The items {one!r} and {other!r} of the labels are the same item of the features. Rename one."
        )
    lost = labels.items[labelled[found < 0]]
    if not len(lost):
        return
    here = show(_plain(ids[:3]), 3)
    what = (
        f"{len(lost)} of {len(labelled)} items with labels ({len(lost) / len(labelled):.0%}) are in no file "
        f"of features: {show(lost.tolist(), 3)}; features are of {here}, …"
    )
    if len(lost) == len(labelled):
        raise ValueError(f"{what}. Labels and features must name items alike: name the column of the ids.")
    if not allow_missing:
        raise ValueError(f"{what}. Add their features, or leave these labels out: {HOW}.")
    warnings.warn(f"{what}. Their labels are left out.", stacklevel=3)


def _plain(ids: Any) -> list[Any]:
    """Python values of a few ids."""
    values: list[Any] = ids.tolist() if isinstance(ids, np.ndarray) else ids.to_pylist()
    return values
