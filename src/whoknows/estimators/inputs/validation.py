"""Validation of features, annotations and weights. It happens once; the code below relies on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import wraps
from numbers import Real
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import _check_n_features, _check_sample_weight, validate_data

from whoknows._array import LARGEST, Array, Rows, namespace, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import first_not_a_number, is_default_index, is_frame, not_numbers
from whoknows.data.errors import Advice, InputError, Message
from whoknows.data.vocabulary import Codes, Ids, as_column, closest, codes_of_names, elements, show
from whoknows.estimators.inputs.raw_rows import check_raw
from whoknows.estimators.inputs.requirements import is_classifier
from whoknows.estimators.inputs.rows import on_device
from whoknows.io.parquet import ParquetFeatures
from whoknows.model.distances import blocks_of
from whoknows.model.settings import check_value

MOST_FEATURES = 5_000
FEW_CLASSES = 20  # that may have any number of labels
LABELS_PER_CLASS = 5  # on average, needed by more classes
P = ParamSpec("P")
R = TypeVar("R")

FeatureRows = ArrayLike | ParquetFeatures  # X; dataframes and tensors are array-like
Labels = Annotations | ArrayLike  # y
Gold = Mapping[Any, Any] | ArrayLike  # from the id of an item to its truth, or one truth per item
Names = Sequence[Hashable] | Ids  # of annotators
Unknown = Literal["error", "population"]
RandomState = int | np.random.RandomState | None


def all_or_nothing(fit: Callable[P, R]) -> Callable[P, R]:
    """Let a ``fit`` that fails leave the estimator as it was."""

    @wraps(fit)
    def guarded(*args: P.args, **settings: P.kwargs) -> R:
        attributes = vars(args[0])  # of the estimator
        before = dict(attributes)
        try:
            return fit(*args, **settings)
        except BaseException:
            attributes.clear()
            attributes.update(before)
            raise

    return guarded


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as rows of finite floats (n_items, D), or say what is wrong with it.

    Tensors and out-of-core features are neither copied nor moved. For a classifier as truth X stays as it is.
    """
    if is_classifier(getattr(estimator, "truth", None)):
        return check_raw(estimator, X, reset=reset)
    if sp.issparse(X):
        raise TypeError(
            "X is sparse; a dense array was expected. Reduce it first, e.g. with "
            "sklearn.decomposition.TruncatedSVD(100).fit_transform(X)."
        )
    if np.ma.isMaskedArray(X):
        raise TypeError("X is a masked array; every item needs every feature. Pass X.filled(...) instead.")
    if isinstance(X, ParquetFeatures) or namespace(X) is not np:  # out of core, or a tensor
        if len(X.shape) != 2:
            raise InputError(f"Expected X with two dimensions, one row per item; got shape {tuple(X.shape)}.")
        _check_n_features(estimator, X, reset=reset)
    else:
        _refuse_list_of_texts(X)
        _refuse_text(X)
        floats = [np.float64, np.float32]  # converted to doubles block by block
        X = validate_data(estimator, X, reset=reset, dtype=floats, ensure_all_finite=False)
    if X.shape[1] > MOST_FEATURES:
        raise InputError(
            f"X has {X.shape[1]} features; at most {MOST_FEATURES} are handled. Reduce it first, e.g. with "
            "sklearn.decomposition.PCA(100).fit_transform(X)."
        )
    if not isinstance(X, ParquetFeatures):  # which validates numbers as it reads them
        for rows in blocks_of(X):
            _check_block(estimator, X[rows], rows.start)
    return on_device(X, getattr(estimator, "device", None))


@dataclass(frozen=True)
class CheckedFeatures:
    """Features that an estimator has validated, and the ids of their rows."""

    X: Any
    index: Any

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> CheckedFeatures:
        """Return some of the rows, without ids."""
        return CheckedFeatures(self.X[rows], None)


def checked(estimator: Any, X: Any) -> CheckedFeatures:
    """Validate features once for several questions to a fitted estimator; its methods take the result."""
    return CheckedFeatures(check_features(estimator, X, reset=False), getattr(X, "index", None))


def _refuse_text(X: Any) -> None:
    """Refuse text and dates in a frame or an array of objects, and name their columns."""
    if is_frame(X):
        found = not_numbers(X)
    elif isinstance(X, np.ndarray) and X.ndim == 2 and len(X) and X.dtype.kind in "OUSmM":
        found = _not_numbers_of_array(X)
    else:
        return
    if not found:
        return
    shown = [f"{_cut(repr(value))} in column {name!r}" for name, value in list(found.items())[:5]]
    more = f" and in {len(found) - 5} more columns" if len(found) > 5 else ""
    raise InputError(
        f"Expected numbers in every column of X, got {', '.join(shown)}{more}. Encode such columns, e.g. "
        "with sklearn.preprocessing.OneHotEncoder, or drop them; for texts use whoknows.io.TextFeatures."
    )


def _refuse_list_of_texts(X: Any) -> None:
    first = next(iter(X), None) if np.iterable(X) and not is_frame(X) else None
    if isinstance(first, str):
        raise InputError(
            f"X holds texts, such as {_cut(repr(str(first)))}; expected numbers. Compute features from them: "
            "texts = dict(enumerate(X)), then X = TextFeatures.of(texts).transform(texts).X with "
            "whoknows.io.TextFeatures; on the command line, use --text COLUMN."
        )


def _not_numbers_of_array(X: Any) -> dict[int, Any]:
    """Return columns with text or dates, and their first value; scikit-learn handles other types."""
    if X.dtype.kind in "mM":
        return dict(enumerate(X[0]))
    first = {column: first_not_a_number(X[:, column].tolist()) for column in range(X.shape[1])}
    text = (str, bytes, date, timedelta, np.datetime64, np.timedelta64)
    return {column: value for column, value in first.items() if isinstance(value, text)}


def _cut(text: str, longest: int = 40) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _check_block(estimator: Any, X: Any, before: int) -> None:
    """Refuse values that are not finite or too large; ``before`` is the number of the first row."""
    xp = namespace(X)
    if not len(X) or float(xp.abs(X).max()) <= LARGEST:  # False for NaN, too
        return
    _refuse_not_finite(estimator, to_numpy(X), before)
    row, column = np.argwhere(abs(to_numpy(X)) > LARGEST)[0]
    raise InputError(
        f"Expected numbers up to {LARGEST:g} in X, got {X[row, column]:g} in column "
        f"{_column(estimator, column)}, item of row {before + row}. Use another unit, or drop the column."
    )


def _refuse_not_finite(estimator: Any, X: Array, before: int) -> None:
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    columns, row = np.flatnonzero(bad.any(axis=0)), before + int(np.flatnonzero(bad.any(axis=1))[0])
    shown = ", ".join(_column(estimator, column) for column in columns[:5])
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    missing = np.isnan(X[bad])
    kind = "NaN" if missing.all() else "NaN and infinity" if missing.any() else "infinity"
    fill = "fill them, e.g. with sklearn.impute.SimpleImputer" if missing.any() else "replace them"
    raise InputError(
        f"Input X contains {kind} in column {shown}{more} (first in row {row}). "
        f"Every item needs every feature: {fill}, or drop columns."
    )


def _column(estimator: Any, column: int) -> str:
    """Return the name of a column of X, or its number."""
    names = getattr(estimator, "feature_names_in_", None)
    return str(column) if names is None else repr(str(names[column]))


def row_ids(X: Any) -> list[Any] | None:
    """Return the ids of the rows of X: a pandas index that is not a mere range."""
    index = getattr(X, "index", None)
    if callable(index) or not hasattr(index, "tolist") or is_default_index(index):
        return None
    return index.tolist()


def check_annotations(y: Any, n_items: int, annotators: Any = None, index: Any = None) -> Annotations:
    """Return y as Annotations with one item per row of X.

    ``annotators`` are those of a fitted model; a bare matrix needs one column for each of them. ``index`` are
    the ids of the rows of X, see `row_ids`; if y has ids too, they must agree.
    """
    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: give an Annotations, an "
            "(n_items, n_annotators) matrix with NaN where there is no label, or one label per item."
        )
    Y = y if isinstance(y, Annotations) else _from_array(y, annotators)
    if Y.n_items != n_items:
        raise InputError(
            f"X has {n_items} rows and y has {Y.n_items} items; they must be the same items in the same "
            "order. For a long table use Annotations.from_frame(table, items=ids_of_the_rows_of_X)."
        )
    if index is not None:
        items = Y.items.tolist() if isinstance(y, Annotations) or is_frame(y) else row_ids(y)
        if items is not None:
            _check_same_rows(list(index), items)
    return Y


def brings_ids(y: Any) -> bool:
    """Whether y has ids of its own for the items."""
    return isinstance(y, Annotations) or is_frame(y) or row_ids(y) is not None


def _check_same_rows(rows: list[Any], items: list[Any]) -> None:
    """Refuse ids of X and y that contradict each other.

    Numbers may be row numbers of a table that has since been split or shuffled, so numbers contradict only if
    they are the same set in another order.
    """
    if rows == items or items == list(range(len(items))):
        return
    in_x, in_y = set(rows), set(items)
    if in_x == in_y:
        place = next(place for place, row in enumerate(rows) if row != items[place])
        which = "the first item" if place == 0 else f"item {place}"
        raise InputError(
            f"y's items are X's rows in another order (row {place} of X is {rows[place]!r}, {which} of y is "
            f"{items[place]!r}). Pass items=X.index to Annotations.from_frame, or reorder one of them."
        )
    if any(all(isinstance(value, (Real, np.number)) for value in ids) for ids in (rows, items)):
        return
    sides = {"X": [row for row in rows if row not in in_y], "y": [item for item in items if item not in in_x]}
    only = [f"{show(dict.fromkeys(alone), 3)} only in {side}" for side, alone in sides.items() if alone]
    raise InputError(
        f"X and y name different items: {'; '.join(only)}. They must be the same items in the same order: "
        "pass items=X.index to Annotations.from_frame. If they are, and X's index means something else, pass "
        "X.reset_index(drop=True)."
    )


def _from_array(y: Any, annotators: Any) -> Annotations:
    if is_frame(y):
        return Annotations.from_matrix(y)
    if hasattr(y, "__array__") and not np.ma.isMaskedArray(y):  # which `Annotations.from_matrix` refuses
        y = np.asarray(y)
    try:
        shape = np.shape(y)
    except ValueError:  # rows of different lengths, which `Annotations.from_matrix` refuses
        shape = ()
    width = 1 if len(shape) == 1 else shape[-1] if shape else None
    if annotators is not None and width not in (None, len(annotators)):
        raise InputError(
            f"y has {'one column' if width == 1 else f'{width} columns'}; the model knows {len(annotators)} "
            f"annotator{'s' if len(annotators) > 1 else ''}. Use Annotations or a DataFrame to say whose "
            "labels these are."
        )
    if len(shape) == 2 and width == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: taken as one annotator.",
            DataConversionWarning,
            stacklevel=4,
        )
    return Annotations.from_matrix(y, annotators=annotators)


def annotator_rows(annotators: Any, known: Ids, unknown: str = "error") -> Codes:
    """Return the positions of annotators among those of the fit, by id or by its text; None are all.

    One who is not among them is an error, or −1 with ``unknown="population"``.
    """
    check_value("unknown", unknown, ("'error' or 'population'", ("error", "population").__contains__))
    if annotators is None:
        return np.arange(len(known), dtype=np.int32)
    names = elements(as_column(annotators, "annotators="))
    rows = codes_of_names(names, known)
    strange = [name for name, row in zip(names, rows, strict=True) if row < 0]
    if not strange or unknown == "population":
        return rows
    raise InputError(f"Expected annotators of the fit; got {strange[0]!r}. {closest(strange[0], elements(known))}")


def check_weight(sample_weight: Any, X: Array) -> Array | None:
    """Return the weight of each item, (n_items,), or say what is wrong; None means 1 each."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise InputError("Every sample_weight is 0: no item counts, so nothing can be learned.")
    return np.asarray(weight)


def check_some_labels(Y: Annotations) -> None:
    """Refuse annotations without any label."""
    if Y.n_annotations == 0:
        raise InputError(
            f"None of the {Y.n_items} items has a label: nothing can be learned, not even with gold. "
            "Check missing_label, and that item ids of labels and features match."
        )


def check_classes(Y: Annotations) -> None:
    """Refuse labels that a classifier cannot learn from; warn of classes that look like a mistake."""
    check_some_labels(Y)
    if Y.labels.dtype.kind == "f":
        raise InputError(
            f"Unknown label type: continuous. Labels such as {Y.labels[0]} are real numbers; a classifier "
            "needs classes. Use ",
            Advice("regression", "CrowdRegressor"),
            ", round them, or pass them as strings.",
        )
    if Y.n_classes < 2:
        raise InputError(
            f"All labels are of one class, {show(elements(Y.labels))}; two are needed. If there is another "
            "that nobody has used, ",
            Advice("other_class", "pass both as labels= to Annotations.from_..."),
            ".",
        )
    _refuse_too_many_classes(Y)
    hint = _hint(Y)
    if hint:
        warnings.warn(Message(f"There are {Y.n_classes} classes: {show(elements(Y.labels))}.", hint), stacklevel=3)


def _refuse_too_many_classes(Y: Annotations) -> None:
    """Refuse more classes than the labels can tell apart, which are often ids; the fit would take hours."""
    if Y.n_classes <= FEW_CLASSES or Y.n_annotations >= LABELS_PER_CLASS * Y.n_classes:
        return
    raise InputError(
        f"There are {Y.n_classes} classes ({show(elements(Y.labels))}) and only {Y.n_annotations} labels; "
        f"expected at least {LABELS_PER_CLASS} labels per class. If these are ids, texts or measurements, ",
        Advice("label_column", "another column may hold the labels"),
        ". Otherwise merge rare classes or, for numbers, use ",
        Advice("regression", "CrowdRegressor"),
        ".",
        _hint(Y),
    )


def _hint(Y: Annotations) -> str:
    """Return possible reasons for unintended classes, each sentence after a space."""
    labels, hints = Y.labels.tolist(), []
    if Y.labels.dtype.kind in "iu" and len(labels) > 2 and -1 in labels:
        advice = Advice("missing_label", "Annotations.from_matrix(y, missing_label=-1)", value=-1)
        hints.append(Message("If -1 means no label, use ", advice, "."))
    twins = _twins(labels)
    if twins:
        hints.append(f"{twins[0]!r} and {twins[-1]!r} differ only by spaces or case; clean them first.")
    ids = _id_column(Y)
    if ids is not None:
        hints.append(f"Column {ids!r} differs in every row: if it names the items, use y.set_index({ids!r}).")
    return Message(*(part for hint in hints for part in (" ", hint))) if hints else ""


def _twins(labels: list[Any]) -> list[str]:
    """Return the first strings that differ only by case and surrounding spaces, the simplest first."""
    alike: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault(label.strip().casefold(), []).append(label)
    first = next((group for group in alike.values() if len(group) > 1), [])
    return sorted(first, key=lambda label: (label != label.strip(), label != label.lower(), label))


def _id_column(Y: Annotations) -> Any:
    """Return a named annotator with a different label on every item, None if there is none, or all are so."""
    if Y.n_items < 3 or Y.n_classes < Y.n_items or Y.annotators.dtype.kind in "iu":
        return None
    pairs = np.unique(np.column_stack([Y.annotator, Y.label]), axis=0)[:, 0]
    distinct = np.bincount(pairs[pairs >= 0], minlength=Y.n_annotators)
    found = np.flatnonzero(distinct == Y.n_items)
    return Y.annotators.tolist()[found[0]] if 0 < found.size < Y.n_annotators else None


def group_of_each(groups: Any, annotators: Ids) -> Rows:
    """Return the group of each annotator, and of one not seen in training: (n_annotators + 1,), from 0.

    Annotators that ``groups`` does not name are groups of their own.
    """
    if not isinstance(groups, Mapping):
        raise InputError(
            f"groups must map annotator ids to groups, such as {{'gpt-4, short': 'gpt-4'}}; got {show(groups)}."
        )
    known = elements(annotators)
    if groups and not any(each in groups for each in known):
        raise InputError(
            f"groups names none of the annotators: its keys are {show(list(groups)[:3])}, the annotators are "
            f"{show(known[:3])}. Map the ids of the annotators to their groups."
        )
    names = [("group", groups[each]) if each in groups else ("alone", each) for each in known]
    place = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.array([*(place[name] for name in names), len(place)])
