"""Training data: labels, known truth (gold) and item weights of a fit; which labels an estimator takes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.data.errors import Advice, InputError
from whoknows.data.vocabulary import Factor, codes_of, elements, factorize, make_vocabulary, show, sorted_if_possible
from whoknows.estimators.inputs.raw_rows import RawRows, row_keys
from whoknows.estimators.inputs.validation import (
    brings_ids,
    check_annotations,
    check_classes,
    check_features,
    check_some_labels,
    check_weight,
    row_ids,
)
from whoknows.io.parquet import ParquetFeatures
from whoknows.model.distances import enough_of
from whoknows.model.settings import is_number
from whoknows.model.truth import OrderedTruth

SEVERAL = 3  # equal labels of an item: that all are wrong is unlikely to be chance


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
        gold, counts = self.gold, self.annotations.counts
        if self.weight is not None:
            counts = counts * self.weight[self.annotations.item]
            gold = None if gold is None else np.where(self.weight > 0, gold, np.nan)
        if not counts.any():
            raise InputError(
                "No label counts: every item with a label has sample_weight 0, or every label has confidence "
                "0. Nothing can be learned; give some of them a positive number."
            )
        return replace(self, annotations=self.annotations.only(counts > 0), gold=gold)

    def updated(self, new: Annotations, X: Array) -> TrainingData:
        """Return all labels, old and new; rows of X beyond those of the fit are new items."""
        _check_same_items(self.annotations, new)
        n_new = len(X) - self.annotations.n_items
        annotations, gold, weight = self.annotations.updated_with(new), self.gold, self.weight
        if gold is not None:  # there may be more classes
            codes = np.append(codes_of(elements(self.annotations.labels), annotations.labels), np.nan)
            gold = codes[np.append(np.nan_to_num(gold, nan=-1), np.full(n_new, -1)).astype(int)]
        if weight is not None:
            weight = np.append(weight, np.ones(n_new))
        return TrainingData(annotations, gold, weight, fingerprint(X))


def check_training_input(
    estimator: Any, X: Any, y: Any, gold: Any = None, sample_weight: Any = None
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
        if codes is not None:
            _warn_of_contradictions(codes, annotations)
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
        files = map(os.path.realpath, X.files)  # however the user writes their folder
        about = [(file, os.path.getsize(file), os.path.getmtime(file)) for file in files]
        found.update(repr(about).encode())
    elif isinstance(X, RawRows):
        found.update(row_keys(X).data)
    else:
        found.update(np.ascontiguousarray(enough_of(X, 0)).data)
    return found.hexdigest()


# --- known truth ----------------------------------------------------------------------------------------


def by_row(gold: Any, index: list[Any] | None, y: Any) -> Any:
    """Return gold by row if its keys are the ids of X's rows, ``index``, and y has no ids of its own."""
    known = _as_mapping(gold)
    if known is None or index is None:
        return gold
    is_series = not isinstance(gold, Mapping)
    if is_series and list(known) == index:
        return list(known.values())
    place = {item: row for row, item in enumerate(index)}
    may_be_places = not is_series and set(known) <= set(range(len(index)))
    if brings_ids(y) or may_be_places or len(place) < len(index) or not set(known) <= set(place):
        return gold
    return {place[item]: value for item, value in known.items()}


def with_classes_of(gold: Any, Y: Annotations) -> Annotations:
    """Return the annotations with the classes that only gold has added to theirs."""
    values = [] if gold is None else _known(gold, Y)[1].values
    labels = elements(Y.labels)
    if set(values) <= set(labels):
        return Y
    if len({isinstance(value, str) for value in [*values, *labels]}) > 1:  # '1' is not the class 1
        raise InputError(
            f"gold holds {show(values, 3)} and y the labels {show(labels, 3)}: text and numbers are "
            "different classes. Turn both into one kind."
        )
    return Y.recode(Y.annotators, sorted_if_possible(list(dict.fromkeys([*labels, *values]))))


def gold_codes(gold: Any, Y: Annotations) -> Array | None:
    """Return gold as class codes, NaN where it is unknown: (n_items,)."""
    if gold is None:
        return None
    row, label = _known(gold, Y)
    codes = np.full(Y.n_items, np.nan)
    codes[row] = np.append(codes_of(label.values, Y.labels), np.nan)[label.codes]
    return codes


def gold_numbers(gold: Any, Y: Annotations) -> Array | None:
    """Return gold as numbers, NaN where it is unknown: (n_items,)."""
    if gold is None:
        return None
    row, known = _known(gold, Y)
    if not all(map(is_number, known.values)):
        raise InputError(f"Expected gold to be finite numbers, got {show(known.values)}.")
    numbers = np.full(Y.n_items, np.nan)
    numbers[row] = np.array([*known.values, np.nan], dtype=float)[known.codes]
    return numbers


def _known(gold: Any, Y: Annotations) -> tuple[Any, Factor]:
    """Return row and value of each entry of gold, which is given by id or by row."""
    by_id = _as_mapping(gold)
    if by_id is not None:
        place = {item: position for position, item in enumerate(elements(Y.items))}
        strange = [item for item in by_id if item not in place]
        if strange:
            raise InputError(
                f"gold names {len(strange)} of {len(by_id)} items that are not in y, such as "
                f"{show(strange, 3)}; y has {show(elements(Y.items), 3)}. Use the ids of y's items."
            )
        return [place[item] for item in by_id], factorize(list(by_id.values()), "gold")
    if np.ndim(gold) != 1 or len(gold) != Y.n_items:
        given = f"an array of shape {np.shape(gold)}" if np.ndim(gold) else f"{gold!r}"
        raise InputError(
            f"gold must have one label for each of the {Y.n_items} items, None or NaN where it is not "
            f"known, or be a mapping from item ids to labels; got {given}."
        )
    return np.arange(Y.n_items), factorize(gold, "gold")


def _as_mapping(gold: Any) -> dict[Any, Any] | None:
    """Return gold by item id: a mapping, or a pandas Series with ids; None for other forms."""
    if isinstance(gold, Mapping):
        return dict(gold)
    index = row_ids(gold)
    if index is None or np.ndim(gold) != 1:
        return None
    if len(set(index)) < len(index):
        twice = next(item for item in index if index.count(item) > 1)
        raise InputError(f"gold names item {twice!r} more than once. Keep one truth per item.")
    return dict(zip(index, gold.tolist(), strict=True))


def _warn_of_contradictions(codes: Array, Y: Annotations) -> None:
    """Warn if gold contradicts all labels of an item, and that is unlikely to be chance."""
    judged, n_labels, last = np.isfinite(codes) & Y.labelled, Y.labels_per_item, np.zeros(Y.n_items)
    last[Y.item] = Y.label
    agree, equal = (np.bincount(Y.item, Y.label == each[Y.item], Y.n_items) for each in (codes, last))
    alone = judged & (agree == 0)
    if 2 * alone.sum() <= judged.sum() and not (alone & (n_labels >= SEVERAL) & (equal == n_labels)).any():
        return
    shown = show([elements(Y.items)[i] for i in np.flatnonzero(alone)[:3]], 3)
    warnings.warn(
        f"gold contradicts every annotator on {alone.sum()} of the {judged.sum()} gold items that have "
        f"labels (such as {shown}). It is taken as true; check that its labels mean the same as theirs.",
        stacklevel=3,
    )


# --- which labels an estimator takes ---------------------------------------------------------------


def check_labels(annotations: Annotations, estimator: Any) -> Annotations:
    """Return labels that a classifier can learn from; ordered levels are sorted, the lowest first."""
    settings = estimator.get_params(deep=False)
    truth, levels = settings.get("truth"), settings.get("levels")
    is_ordered = isinstance(truth, OrderedTruth) or truth == "ordered"  # a setting, not yet resolved
    if levels is not None and not is_ordered:
        raise InputError(
            f"levels=[{show(list(levels))}] says that labels are ordered, but truth={truth!r} ignores their "
            "order. Pass ",
            Advice("ordered", "truth='ordered'"),
            ", or leave levels out.",
        )
    if levels is not None:
        return _in_order(annotations, levels)
    check_classes(annotations)
    if is_ordered and annotations.labels.dtype.kind not in "iufb":
        raise InputError(
            Advice("ordered", "truth='ordered'"),
            f" needs to know the order of {show(elements(annotations.labels))}: only numbers have one by "
            "themselves. Pass them all as ",
            Advice("all_levels", "levels=[…]"),
            ", the lowest first.",
        )
    return annotations


def _in_order(annotations: Annotations, levels: Any) -> Annotations:
    """Return the annotations with the levels as their labels, in the order given."""
    check_some_labels(annotations)
    vocabulary = make_vocabulary(levels, "levels=")
    missing = [label for label in elements(annotations.labels) if label not in elements(vocabulary)]
    if missing:
        raise InputError(
            "Expected every label to be one of ",
            Advice("levels", "levels="),
            f"{show(elements(vocabulary), 10)}, but got {show(missing)}. Add them where they belong, or drop "
            "such labels.",
        )
    if len(vocabulary) < 2:
        raise InputError(f"Expected at least two levels, got {show(elements(vocabulary))}.")
    return annotations.recode(annotations.annotators, vocabulary)


def check_numbers(annotations: Annotations) -> None:
    """Refuse labels that are not numbers; those that are not finite were refused as annotations."""
    if annotations.labels.dtype.kind not in "iuf" and annotations.n_classes:
        raise InputError(
            Advice("regression", "CrowdRegressor"),
            f" needs labels that are numbers; got {show(annotations.labels.tolist())}. If they are classes, use ",
            Advice("classifier", "CrowdClassifier"),
            "; if they are numbers written as text, convert them first.",
        )
