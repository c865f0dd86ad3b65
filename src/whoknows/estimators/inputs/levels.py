"""Which labels an estimator can learn from: classes, ordered levels, or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import elements, make_vocabulary, show
from whoknows.estimators.inputs.validation import check_classes, check_some_labels
from whoknows.model.truth import OrderedTruth


def is_ordered(truth: Any) -> bool:
    """Whether a truth setting means ordered levels."""
    return isinstance(truth, OrderedTruth) or truth == "ordered"


def check_labels(annotations: Annotations, estimator: Any) -> Annotations:
    """Return labels that a classifier can learn from; ordered levels are sorted, the lowest first."""
    settings = estimator.get_params(deep=False)
    truth, levels = settings.get("truth"), settings.get("levels")
    if levels is not None and not is_ordered(truth):
        raise ValueError(
            f"levels=[{show(list(levels))}] says that labels are ordered, but truth={truth!r} ignores their "
            "order. Pass truth='ordered', or leave levels out."
        )
    if levels is not None:
        return _in_order(annotations, levels)
    check_classes(annotations)
    if is_ordered(truth) and annotations.labels.dtype.kind not in "iufb":
        raise ValueError(
            f"truth='ordered' needs to know the order of {show(elements(annotations.labels))}: only numbers "
            "have one by themselves. Pass them all as levels=[…], the lowest first."
        )
    return annotations


def _in_order(annotations: Annotations, levels: Any) -> Annotations:
    """Return the annotations with the levels as their labels, in the order given."""
    check_some_labels(annotations)
    vocabulary = make_vocabulary(levels, "levels=")
    missing = [label for label in elements(annotations.labels) if label not in elements(vocabulary)]
    if missing:
        raise ValueError(
            f"Expected every label to be one of levels={show(elements(vocabulary), 10)}, but got "
            f"{show(missing)}. Add them where they belong, or drop such labels."
        )
    if len(vocabulary) < 2:
        raise ValueError(f"Expected at least two levels, got {show(elements(vocabulary))}.")
    return annotations.recode(annotations.annotators, vocabulary)


def check_numbers(annotations: Annotations) -> None:
    """Refuse labels that are not finite numbers."""
    if annotations.labels.dtype.kind not in "iuf" and annotations.n_classes:
        raise ValueError(
            f"CrowdRegressor needs labels that are numbers; got {show(annotations.labels.tolist())}. If they "
            "are classes, use CrowdClassifier; if they are numbers written as text, convert them first."
        )
    if not np.isfinite(annotations.labels.astype(float)).all():
        raise ValueError("Expected finite labels, got inf. Use None or NaN for a missing label.")
