"""What a fit was given: kept, so that labels that come later can join it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements, show
from whoknows.estimators.inputs.validation import only_what_counts
from whoknows.io.parquet import ParquetFeatures
from whoknows.model.distances import enough_of


@dataclass(frozen=True)
class TrainingData:
    """Labels of a fit, and what was known besides.

    Attributes
    ----------
    said : Annotations
    gold, weight : (n_items,) or None
        As in `Items`.
    items : str
        A fingerprint of X, or nothing: the same items need not be looked at again.
    """

    said: Annotations
    gold: Array | None
    weight: Array | None
    items: str

    def with_labels(self, new: Annotations, X: Array) -> TrainingData:
        """Return all labels, old and new; rows of X beyond those of the fit are new items."""
        self._check_same_items(new)
        more = len(X) - self.said.n_items
        said = self.said.updated_with(new)
        return TrainingData(
            said,
            None if self.gold is None else np.append(self._gold_among(said), np.full(more, np.nan)),
            None if self.weight is None else np.append(self.weight, np.ones(more)),
            fingerprint(X),
        )

    @classmethod
    def labels(cls, said: Annotations) -> TrainingData:
        """Return labels alone, of items no fit has seen."""
        return cls(said, None, None, "")

    @property
    def informed(self) -> Mask:
        """Which items have a label or a known truth."""
        seen = self.said.labelled
        return seen if self.gold is None else seen | np.isfinite(self.gold)

    def __getitem__(self, rows: Any) -> TrainingData:
        """Take what is known of some of the items."""
        gold = None if self.gold is None else self.gold[rows]
        weight = None if self.weight is None else self.weight[rows]
        return TrainingData(self.said[rows], gold, weight, "")

    def counting(self) -> TrainingData:
        """Return it without labels of confidence 0, and without what is known of items of weight 0."""
        said, gold = only_what_counts(self.said, self.gold, self.weight)
        return replace(self, said=said, gold=gold)

    def _gold_among(self, said: Annotations) -> Array:
        """Gold in the codes of other annotations, whose label values hold these: a new one moves others."""
        code = {name: place for place, name in enumerate(elements(said.labels))}
        moved = np.array([*(code[name] for name in elements(self.said.labels)), np.nan])
        return moved[np.where(np.isnan(self.gold), -1, self.gold).astype(int)]

    def _check_same_items(self, new: Annotations) -> None:
        n = self.said.n_items
        if new.n_items < n:
            raise InputError(
                f"update() needs all items of the fit, in the same order: it had {n}, X has {new.n_items}. "
                "Pass the same X, with NaN (or no row in Annotations) for pairs without a new label."
            )
        old, now = elements(self.said.items), elements(new.items[:n])
        if old == now or (now == list(range(n)) and set(now).isdisjoint(old)):
            return
        place = next(i for i in range(n) if old[i] != now[i])
        raise InputError(
            f"update() needs the items of the fit in the same order; item {place} was {old[place]!r} and is "
            f"{now[place]!r}. Pass items={show(old, 3)} … to Annotations.from_frame."
        )


def fingerprint(X: Any) -> str:
    """Return a hash of the numbers in X, of very many of so many as others are known by; or of its files."""
    found = blake2b(repr(tuple(X.shape)).encode(), digest_size=16)
    if isinstance(X, ParquetFeatures):
        about = [(file, os.path.getsize(file), os.path.getmtime(file)) for file in X.files]
        found.update(repr(about).encode())
    else:
        found.update(np.ascontiguousarray(enough_of(X, 0)).data)
    return found.hexdigest()
