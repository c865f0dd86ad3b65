"""Input is checked here, once; the rooms below trust it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from whoknows._array import Array
from whoknows.data.annotations import Annotations

MOST_FEATURES = 5_000


def check_features(estimator: Any, X: Any, *, reset: bool) -> Array:
    """Return X as a finite float array (n_items, D), or say what is wrong with it."""
    if sp.issparse(X):
        raise TypeError(
            "X is sparse; a dense array was expected. Reduce it first, e.g. with "
            "sklearn.decomposition.TruncatedSVD(100).fit_transform(X)."
        )
    X = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
    if X.shape[1] > MOST_FEATURES:
        raise ValueError(
            f"X has {X.shape[1]} features; at most {MOST_FEATURES} are handled. Reduce it first, e.g. with "
            "sklearn.decomposition.PCA(100).fit_transform(X)."
        )
    _check_finite(estimator, X)
    return X


def _check_finite(estimator: Any, X: Array) -> None:
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    columns, row = np.flatnonzero(bad.any(axis=0)), int(np.flatnonzero(bad.any(axis=1))[0])
    names = getattr(estimator, "feature_names_in_", None)
    shown = [repr(str(names[c])) if names is not None else str(c) for c in columns[:5]]
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    kind = "NaN" if np.isnan(X[bad]).any() else "infinity"
    raise ValueError(
        f"Input X contains {kind} or inf values in column {', '.join(shown)}{more} (first in row {row}). "
        "Every item needs every feature: fill them, e.g. with sklearn.impute.SimpleImputer, or drop columns."
    )


def check_annotations(y: Any, n_items: int, annotators: Any = None) -> Annotations:
    """Return y as Annotations with one item for each row of X.

    ``annotators`` are those a fitted model knows; a bare matrix with as many columns is about them.
    """
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: give an Annotations, an "
            "(n_items, n_annotators) matrix with NaN where there is no label, or one label an item."
        )
    said = y if isinstance(y, Annotations) else _from_array(y, annotators)
    if said.n_items != n_items:
        raise ValueError(
            f"X has {n_items} rows and y has {said.n_items} items; they must be the same items in the same "
            "order. For a long table use Annotations.from_frame(table, items=ids_of_the_rows_of_X)."
        )
    return said


def _from_array(y: Any, annotators: Any) -> Annotations:
    named = hasattr(y, "columns")
    y = np.asarray(y) if hasattr(y, "__array__") and not named else y
    shape = np.shape(y)
    if len(shape) == 2 and shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: taken as one annotator.",
            DataConversionWarning,
            stacklevel=4,
        )
    same = annotators is not None and len(shape) == 2 and shape[1] == len(annotators)
    return Annotations.from_matrix(y, annotators=annotators if same and not named else None)


def check_binary(said: Annotations) -> None:
    """Refuse labels a two-class model cannot learn from."""
    if said.n_annotations == 0:
        raise ValueError(
            f"None of the {said.n_items} items has a label: nothing can be learnt. Check missing_label, and "
            "that item ids of labels and features match."
        )
    if said.labels.dtype.kind == "f":
        raise ValueError(
            f"Unknown label type: continuous. Labels such as {said.labels[0]} are real numbers; a classifier "
            "needs classes. Round them, or name them as strings."
        )
    if said.n_classes > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{said.n_classes} classes, {_shown(said.labels)}. Merge classes, or fit one against the rest."
        )
    if said.n_classes < 2:
        raise ValueError(
            f"All labels are of one class, {_shown(said.labels)}; two are needed. If there is another that "
            "nobody gave, name both with Annotations.from_...(…, labels=[…, …])."
        )


def _shown(labels: Any) -> str:
    return ", ".join(repr(label) for label in labels.tolist()[:5]) + (", …" if len(labels) > 5 else "")
