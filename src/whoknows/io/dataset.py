"""Labels and features of the same items, joined by item id."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from whoknows._array import Rows
from whoknows.data.annotations import Annotations
from whoknows.data.errors import Advice
from whoknows.data.vocabulary import show, tight_array
from whoknows.io.errors import FileError, naming
from whoknows.io.features import Features
from whoknows.io.id_matching import How, match_ids
from whoknows.io.labels.format import LabelFile

Value = TypeVar("Value")

_NAME_IDS = Advice("ids", "Name the ids of the features with id_column= or ids=")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labels and features of the same items, row by row.

    Parameters
    ----------
    annotations : Annotations
        Its items are the rows of X, labelled or not; for features out of core they are row numbers.
    features : Features
    notes : tuple of str
        How ids were matched, and which items have only labels or only features; lost labels come first.
    lost : float
        Share of the labelled items that have no features, from 0 to 1. A large share suggests that the two
        files use different ids.
    """

    annotations: Annotations
    features: Features
    notes: tuple[str, ...] = ()
    lost: float = 0.0

    @property
    def X(self) -> Any:
        """Features, (n_items, n_features)."""
        return self.features.X

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.features.names

    def by_item(self, known: Mapping[Hashable, Value] | None) -> dict[Hashable, Value]:
        """Return values given by item id, by the item of the annotations; other items are left out."""
        known = known or {}
        rows = self._rows_of(known)
        items = self.annotations.items[rows].tolist()
        return {item: value for item, value, row in zip(items, known.values(), rows, strict=True) if row >= 0}

    def others(self, known: Mapping[Hashable, Any]) -> list[Hashable]:
        """Return the ids that are not of an item."""
        return [item for item, row in zip(known, self._rows_of(known), strict=True) if row < 0]

    def _rows_of(self, known: Mapping[Hashable, Any]) -> Rows:
        ids = self.annotations.items if self.features.in_memory else self.features.ids
        return match_ids(known, ids)[0]

    def in_order(self, known: Mapping[Hashable, Value] | None) -> list[Value | None] | None:
        """Return values given by item id, one per row or None; None if there is none for any row."""
        values = self.by_item(known)
        return [values.get(item) for item in self.annotations.items.tolist()] if values else None

    def sample(self, n_labelled: int, n_unlabelled: int) -> tuple[Rows, Dataset]:
        """Draw items at random, always the same ones, and read their features into memory.

        Returns
        -------
        rows : (n_sample,)
            Which items, ascending.
        dataset : Dataset
            In memory; items are called by their ids.
        """
        rng = np.random.default_rng(0)
        labelled = self.annotations.labelled
        drawn = [
            rows if len(rows) <= most else rng.choice(rows, most, replace=False)
            for rows, most in ((np.flatnonzero(labelled), n_labelled), (np.flatnonzero(~labelled), n_unlabelled))
        ]
        rows = np.sort(np.concatenate(drawn))
        features = self.features.take(rows)
        annotations = replace(self.annotations[rows], items=features.ids)
        return rows, replace(self, annotations=annotations, features=features)


def join(labels: LabelFile | Annotations, features: Any, *, allow_missing: bool = True) -> Dataset:
    """Join labels and features by item id; all items with features are kept, labelled or not.

    Ids are compared as they are, as text or as integers, whichever matches most of them: 1, "1" and "01" are
    one item.

    Parameters
    ----------
    labels : LabelFile or Annotations
    features : Features or ParquetFeatures
    allow_missing : bool
        Whether labels of items without features are left out, with a note, or are an error.

    Returns
    -------
    Dataset
    """
    Y = labels.annotations if isinstance(labels, LabelFile) else labels
    source = os.fspath(labels.path) if isinstance(labels, LabelFile) else "labels"
    features = features if isinstance(features, Features) else Features.of(features)
    with naming(features.path, f"cannot be joined with {source}: "):
        rows, how = match_ids(Y.items.tolist(), features.ids)
    if not (rows >= 0).any():
        raise FileError(
            features.path,
            f"has no item in common with {source}: ids are {show(features.ids_at(slice(4)), 3)} here "
            f"and {show(Y.items.tolist(), 3)} there. Use the same ids in both. ",
            _NAME_IDS,
            ".",
        )
    lost, notes = _lost_labels(Y, rows, features, allow_missing)
    if how:
        notes.append(_how_matched(Y, rows, features, how))
    items = _spelling(Y, rows, features, how) if features.in_memory else np.arange(len(features))
    annotations = _by_row(Y, rows, items)
    unlabelled = np.flatnonzero(~annotations.labelled)
    if len(unlabelled):
        some = show(features.ids_at(unlabelled[:4]), 3)
        notes.append(f"{len(unlabelled)} of {len(features)} items have features but no label: {some}")
    return Dataset(annotations, features, tuple(notes), lost)


def _lost_labels(Y: Annotations, rows: Rows, features: Features, allow_missing: bool) -> tuple[float, list[str]]:
    """Return the share of labelled items without features, with a note; an error if they are not allowed."""
    labelled = Y.labelled
    lost = Y.items[labelled & (rows < 0)].tolist()
    share = len(lost) / max(int(labelled.sum()), 1)
    if not lost:
        return share, []
    what = f"{len(lost)} of {int(labelled.sum())} items with labels ({share:.0%}) have no features"
    if not allow_missing:
        numbered = " The file has no ids: row numbers are used as ids." if features.numbered else ""
        raise FileError(
            features.path,
            f"{what}: {show(lost, 3)}; there are features of ",
            f"{show(features.ids_at(slice(4)), 3)}.{numbered} ",
            _NAME_IDS,
            ", add the features, or leave these labels out: ",
            Advice("allow_missing", "allow_missing=True"),
            ".",
        )
    return share, [f"{what}; their labels are left out: {show(lost, 3)}"]


def _how_matched(Y: Annotations, rows: Rows, features: Features, how: How) -> str:
    """Return a note on how ids were matched, with an example."""
    found = np.flatnonzero(rows >= 0)
    pairs = zip(Y.items[found].tolist(), features.ids_at(rows[found]), strict=True)
    mine, theirs = max(pairs, key=lambda pair: str(pair[0]) != str(pair[1]))
    return f"ids matched {how}: {mine!r} is {theirs!r}"


def _spelling(Y: Annotations, rows: Rows, features: Features, how: How) -> Any:
    """Return the ids of all rows as the labels write them if possible, else as the features do."""
    theirs: list[Any] = features.ids.tolist()
    if not how:
        return tight_array(theirs)
    mine = {row: item for item, row in zip(Y.items.tolist(), rows.tolist(), strict=True) if row >= 0}
    kind = str if all(isinstance(item, str) for item in mine.values()) else int
    try:
        ids = [mine[row] if row in mine else kind(name) for row, name in enumerate(theirs)]
    except ValueError:
        return tight_array(theirs)
    return tight_array(ids if len(set(ids)) == len(ids) else theirs)


def _by_row(Y: Annotations, rows: Rows, items: Any) -> Annotations:
    """Return the labels of matched items, with the rows of the features as items."""
    kept = rows[Y.item] >= 0
    item, annotator, label = rows[Y.item[kept]].astype(np.int32), Y.annotator[kept], Y.label[kept]
    order = np.lexsort((annotator, item))
    confidence = None if Y.confidence is None else Y.confidence[kept][order]
    codes = item[order], annotator[order], label[order]
    return Annotations(*codes, items, Y.annotators, Y.labels, confidence)
