"""Training data: the labels of a fit, with gold and item weights."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements, show
from whoknows.estimators.inputs.gold_and_levels import (
    by_row,
    check_labels,
    check_numbers,
    gold_codes,
    gold_numbers,
    with_classes_of,
)
from whoknows.estimators.inputs.validation import (
    check_annotations,
    check_features,
    check_some_labels,
    check_weight,
    only_what_counts,
    row_ids,
)
from whoknows.io.parquet import ParquetFeatures
from whoknows.model.distances import enough_of


@dataclass(frozen=True)
class TrainingData:
    """What is known about items besides their features.

    Attributes
    ----------
    annotations : Annotations
    gold, weight : (n_items,) or None
        As in `Items`.
    fingerprint : str
        Hash of X, or "" where it is not needed. `update` uses it to detect that the items are unchanged.
    """

    annotations: Annotations
    gold: Array | None = None
    weight: Array | None = None
    fingerprint: str = ""

    @property
    def informed(self) -> Mask:
        """Which items have a label or a known truth: (n_items,)."""
        labelled = self.annotations.labelled
        return labelled if self.gold is None else labelled | np.isfinite(self.gold)

    def __getitem__(self, rows: Any) -> TrainingData:
        """Return the training data of some of the items."""
        gold = None if self.gold is None else self.gold[rows]
        weight = None if self.weight is None else self.weight[rows]
        return TrainingData(self.annotations[rows], gold, weight)

    def without_zero_weights(self) -> TrainingData:
        """Drop labels of confidence 0, and labels and gold of items of weight 0."""
        annotations, gold = only_what_counts(self.annotations, self.gold, self.weight)
        return replace(self, annotations=annotations, gold=gold)

    def updated(self, new: Annotations, X: Array) -> TrainingData:
        """Return all labels, old and new; rows of X beyond those of the fit are new items."""
        _check_same_items(self.annotations, new)
        n_new = len(X) - self.annotations.n_items
        annotations = self.annotations.updated_with(new)
        return TrainingData(
            annotations,
            None if self.gold is None else np.append(self._gold_in(annotations), np.full(n_new, np.nan)),
            None if self.weight is None else np.append(self.weight, np.ones(n_new)),
            fingerprint(X),
        )

    def _gold_in(self, annotations: Annotations) -> Array:
        """Gold in the class codes of annotations that may have more classes."""
        code = {name: place for place, name in enumerate(elements(annotations.labels))}
        moved = np.array([*(code[name] for name in elements(self.annotations.labels)), np.nan])
        return moved[np.where(np.isnan(self.gold), -1, self.gold).astype(int)]


def check_training_input(
    estimator: Any, X: Any, y: Any, gold: Any, sample_weight: Any
) -> tuple[Any, TrainingData]:
    """Validate the input of ``fit``, once, for every estimator; return X and what is known of its items.

    Labels must be what the estimator learns from: numbers for a regressor, classes, or ordered levels.
    """
    index = row_ids(X)
    X = check_features(estimator, X, reset=True)
    gold = by_row(gold, index, y)
    annotations = check_annotations(y, len(X), index=index)
    if is_regressor(estimator):
        check_some_labels(annotations)
        check_numbers(annotations)
        codes = gold_numbers(gold, annotations)
    else:
        annotations = with_classes_of(gold, annotations)
        annotations = check_labels(annotations, estimator)
        codes = gold_codes(gold, annotations)
    return X, TrainingData(annotations, codes, check_weight(sample_weight, X), fingerprint(X))


def _check_same_items(known: Annotations, new: Annotations) -> None:
    n = known.n_items
    if new.n_items < n:
        raise InputError(
            f"update() needs all items of the fit, in the same order: it had {n}, X has {new.n_items}. "
            "Pass the same X, with NaN (or no row in Annotations) for pairs without a new label."
        )
    before, now = elements(known.items), elements(new.items[:n])
    if before == now or (now == list(range(n)) and set(now).isdisjoint(before)):
        return
    place = next(i for i in range(n) if before[i] != now[i])
    raise InputError(
        f"update() needs the items of the fit in the same order; item {place} was {before[place]!r} and is "
        f"{now[place]!r}. Pass items={show(before, 3)} … to Annotations.from_frame."
    )


def fingerprint(X: Any) -> str:
    """Return a hash of the numbers in X (a sample of them if X is large), or of the files they are in."""
    found = blake2b(repr(tuple(X.shape)).encode(), digest_size=16)
    if isinstance(X, ParquetFeatures):
        about = [(file, os.path.getsize(file), os.path.getmtime(file)) for file in X.files]
        found.update(repr(about).encode())
    else:
        found.update(np.ascontiguousarray(enough_of(X, 0)).data)
    return found.hexdigest()
