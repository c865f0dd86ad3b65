"""Annotations: who said what, as sorted triples of codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array, Groups, group_by
from whoknows.data.dataframes import observed_cells, read_confidence, read_long, read_matrix, write_long
from whoknows.data.triples import triples
from whoknows.data.vocabulary import (
    Coded,
    Codes,
    Ids,
    elements,
    factorize,
    look_up,
    make_vocabulary,
    name_axis,
    row_numbers,
    same_ids,
    show,
    sorted_if_possible,
)

Duplicates = Literal["error", "first", "last", "majority"]


@dataclass(frozen=True, eq=False)
class Annotations:
    """Who said what: labels of items by annotators, most of them missing.

    Built by `from_arrays`, `from_matrix` or `from_frame`, which check their input once. The class itself
    trusts what it is given. It works as ``y`` in scikit-learn: rows are items. Label 0 is a label.

    Parameters
    ----------
    item, annotator, label : int32 arrays of shape (n_annotations,)
        One triple a label, as positions in the vocabularies below, sorted by (item, annotator).
        An annotator of -1 is one the vocabulary does not know, see `recode`.
    items : array of shape (n_items,)
        Ids in the row order of X, labelled or not.
    annotators : array of shape (n_annotators,)
        Ids of the annotators.
    labels : array of shape (n_classes,)
        The values a label can take.
    confidence : (n_annotations,), optional
        How much each label counts: 1, the default, as a label; 0.5 as half of one; 0 not at all.

    Examples
    --------
    >>> from whoknows.data import Annotations
    >>> Y = Annotations.from_arrays(
    ...     ["cat_1", "cat_1", "cat_3"], ["anna", "bob", "anna"], [0, 1, 1], items=["cat_1", "cat_2", "cat_3"]
    ... )
    >>> Y
    Annotations(n_items=3, n_annotators=2, n_classes=2, n_annotations=3)
    >>> Y.to_matrix()
    array([[ 0.,  1.],
           [nan, nan],
           [ 1., nan]])
    >>> Y[[2, 0]].labels_per_item
    array([1, 2])
    """

    item: Codes
    annotator: Codes
    label: Codes
    items: Ids
    annotators: Ids
    labels: Ids
    confidence: Array | None = None

    @classmethod
    def from_arrays(
        cls,
        item: Any,
        annotator: Any,
        label: Any,
        *,
        items: Any = None,
        annotators: Any = None,
        labels: Any = None,
        duplicates: Duplicates = "error",
        confidence: Any = None,
    ) -> Self:
        """Read three equally long columns, one row a label.

        Rows whose label is None, NaN or blank are dropped with a warning; item and annotator stay known.
        Whole floats become integers, so 0.0 and 1.0 are the labels 0 and 1.

        Parameters
        ----------
        item, annotator, label : sequences of hashables, shape (n_rows,)
            Ids of any kind; labels of any kind.
        items : sequence of shape (n_items,), optional
            All items in the row order of X, also those nobody labelled. Default: 0, 1, …, n - 1 if those are
            the ids, in whatever order they come; else order of first appearance.
        annotators : sequence of shape (n_annotators,), optional
            All annotators. Default: those in the table, sorted where they can be.
        labels : sequence of shape (n_classes,), optional
            All values a label can take. Default: those in the table, sorted where they can be.
        duplicates : {"error", "first", "last", "majority"}
            What to do with several labels of one annotator on one item; ties of "majority" go to the first.
        confidence : sequence of shape (n_rows,), optional
            How much each label counts, 0 or more: the log-likelihood of a label is multiplied by it. A judge
            who says how sure he is, or a label from a rushed batch.
        """
        columns = factorize(item, "item"), factorize(annotator, "annotator"), factorize(label, "label")
        return cls(*triples(columns, (items, annotators, labels), duplicates, confidence))

    @classmethod
    def from_frame(
        cls,
        df: Any,
        *,
        columns: Mapping[str, str] | None = None,
        items: Any = None,
        annotators: Any = None,
        labels: Any = None,
        duplicates: Duplicates = "error",
    ) -> Self:
        """Read a long table: pandas, polars, pyarrow or any dataframe narwhals knows, one row a label.

        Parameters
        ----------
        df : dataframe
            Columns are found by name, in any case and with spaces around it: item, task, example or id;
            annotator, worker, user, coder or rater (all of these also with _id); label, value or answer.
            The role's own name, if there, goes before the others.
        columns : mapping, optional
            Column names by role where the names do not tell, such as ``{"item": "img", "label": "grade"}``.
            A column of confidences counts only if named here: ``{"confidence": "sure"}``.
        items, annotators, labels, duplicates
            As in `from_arrays`.
        """
        sure = read_confidence(df, columns)
        return cls(*triples(read_long(df, columns), (items, annotators, labels), duplicates, sure))

    @classmethod
    def from_matrix(
        cls,
        y: Any,
        *,
        missing_label: Any = np.nan,
        items: Any = None,
        annotators: Any = None,
        labels: Any = None,
        confidence: Any = None,
    ) -> Self:
        """Read a matrix with one row an item and one column an annotator.

        Parameters
        ----------
        y : array-like or dataframe of shape (n_items, n_annotators), or array-like of shape (n_items,)
            One dimension is one annotator. The columns of a dataframe are the annotators, a pandas index that
            does more than count rows is the items.
        missing_label : object
            The value that means «no label», such as -1; None, NaN and blank strings mean it in any case.
        items, annotators : sequences of shape (n_items,) and (n_annotators,), optional
            Ids of rows and columns, by position. Where a dataframe brings its own ids, these fix the
            vocabulary and its order instead, as in `from_arrays`.
        labels : sequence of shape (n_classes,), optional
            As in `from_arrays`.
        confidence : array of the shape of y, optional
            As in `from_arrays`; what stands where there is no label does not matter.
        """
        matrix, columns, index = read_matrix(y)
        row, column, label = observed_cells(matrix, missing_label)
        item, items = name_axis(row, len(matrix), index, items, "item")
        annotator, annotators = name_axis(column, matrix.shape[1], columns, annotators, "annotator")
        sure = _observed_confidence(confidence, matrix.shape, row, column)
        return cls(*triples((item, annotator, label), (items, annotators, labels), "error", sure))

    def to_frame(self, backend: str | None = None) -> Any:
        """Long table with the columns item, annotator and label, and confidence where it is known.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Default: the first of them that is installed.
        """
        self._refuse_unknown_annotators("to_frame")
        columns = {
            "item": self.items[self.item],
            "annotator": self.annotators[self.annotator],
            "label": self.labels[self.label],
        }
        if self.confidence is not None:
            columns["confidence"] = self.confidence
        return write_long(columns, backend)

    def to_matrix(self, missing: Any = None) -> NDArray[Any]:
        """Matrix of label values, with one row an item and one column an annotator.

        Parameters
        ----------
        missing : object, optional
            What stands where there is no label. Default: NaN in a float matrix if labels are numbers, None
            in an object matrix if they are anything else (booleans too). Integer labels with an integer
            such as -1 give an integer matrix.

        Returns
        -------
        matrix : array of shape (n_items, n_annotators)
        """
        self._refuse_unknown_annotators("to_matrix")
        if missing is not None and missing in elements(self.labels):
            raise ValueError(
                f"missing= must not be a label; {missing!r} is one of {show(elements(self.labels))}."
            )
        labels, fill = _with_room_for_missing(self.labels, missing)
        matrix = np.full(self.shape, fill, dtype=labels.dtype)
        matrix[self.item, self.annotator] = labels[self.label]
        return matrix

    @property
    def n_items(self) -> int:
        """Number of items, labelled or not."""
        return len(self.items)

    @property
    def n_annotators(self) -> int:
        """Number of annotators in the vocabulary."""
        return len(self.annotators)

    @property
    def n_classes(self) -> int:
        """Number of values a label can take."""
        return len(self.labels)

    @property
    def n_annotations(self) -> int:
        """Number of labels given."""
        return len(self.label)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_items, n_annotators), the shape of `to_matrix`."""
        return self.n_items, self.n_annotators

    @property
    def ndim(self) -> int:
        """Two, as `shape` says."""
        return 2

    @property
    def counts(self) -> Array:
        """How much each label counts, its confidence or 1: (n_annotations,)."""
        return np.ones(self.n_annotations) if self.confidence is None else self.confidence

    @property
    def labels_per_item(self) -> NDArray[np.intp]:
        """How many labels each item has, shape (n_items,)."""
        return np.bincount(self.item, minlength=self.n_items)

    @property
    def labels_per_annotator(self) -> NDArray[np.intp]:
        """How many labels each annotator gave, shape (n_annotators,)."""
        return np.bincount(self.annotator[self.annotator >= 0], minlength=self.n_annotators)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which items have a label, shape (n_items,)."""
        labelled = np.zeros(self.n_items, dtype=np.bool_)
        labelled[self.item] = True
        return labelled

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        """Where the triples of each item start, and where the last ones end; shape (n_items + 1,)."""
        starts = np.zeros(self.n_items + 1, dtype=np.intp)
        np.cumsum(self.labels_per_item, out=starts[1:])
        return starts

    @cached_property
    def by_annotator(self) -> Groups:
        """Positions of the triples of each annotator; the last group is those the vocabulary has not."""
        return group_by(self.annotator % (self.n_annotators + 1), self.n_annotators + 1)

    def chunks(self, n_chunks: int) -> Iterator[slice]:
        """Give slices of consecutive items that cover all of them, at most ``n_chunks`` and none empty."""
        if n_chunks < 1:
            raise ValueError(f"Expected at least one chunk, got n_chunks={n_chunks}.")
        bounds = np.linspace(0, self.n_items, min(n_chunks, self.n_items) + 1).astype(int).tolist()
        return (slice(start, stop) for start, stop in pairwise(bounds))

    def recode(
        self, annotators: Any, labels: Any, *, unknown: Literal["error", "population"] = "error"
    ) -> Annotations:
        """Code the same triples against other vocabularies, such as those of a fitted model.

        Parameters
        ----------
        annotators, labels : sequences of ids and of label values
            The new vocabularies.
        unknown : {"error", "population"}
            An annotator outside the vocabulary is an error, or gets the code -1: someone from the same
            population of whom nothing is known. A label outside the vocabulary is always an error.
        """
        if unknown not in ("error", "population"):
            raise ValueError(f"unknown= must be 'error' or 'population'; got {unknown!r}.")
        people, classes = make_vocabulary(annotators, "annotators="), make_vocabulary(labels, "labels=")
        annotator = look_up(
            Coded(self.annotator, elements(self.annotators)),
            people,
            "annotator",
            "Pass unknown='population' to treat such annotators as unknown people, or drop their labels."
            if unknown == "error"
            else None,
        )
        label = look_up(
            Coded(self.label, elements(self.labels)), classes, "label", "Drop or rename such labels."
        )
        order = np.lexsort((annotator, self.item))
        sure = None if self.confidence is None else self.confidence[order]
        return Annotations(self.item, annotator[order], label[order], self.items, people, classes, sure)

    def followed_by(self, new: Annotations) -> Annotations:
        """Return these labels and newer ones of the same items, more of which may follow.

        Of an annotator's two labels of one item the newer holds. Annotators and label values are those of
        both, sorted where they can be.
        """
        annotators = _both(self.annotators, new.annotators)
        labels = _both(self.labels, new.labels)
        old, new = self.recode(annotators, labels), new.recode(annotators, labels)
        columns = ("item", "annotator", "label", "counts")
        item, annotator, label, sure = (
            np.concatenate([getattr(old, name), getattr(new, name)]) for name in columns
        )
        pair = item.astype(np.int64) * len(annotators) + annotator
        last = len(pair) - 1 - np.unique(pair[::-1], return_index=True)[1]
        confidence = None if old.confidence is None and new.confidence is None else sure[last]
        items = old.items
        if new.n_items > old.n_items:
            items = make_vocabulary([*elements(items), *elements(new.items)[len(items) :]], "items=")
        codes = item[last], annotator[last], label[last]
        return Annotations(*codes, items, old.annotators, old.labels, confidence)

    def __len__(self) -> int:
        """Count the items."""
        return self.n_items

    def __getitem__(self, rows: Any) -> Annotations:
        """Take items by position: integers (repeats allowed), a mask or a slice; vocabularies stay.

        Integers whose dtype has the metadata "labels", a mask of (n_annotations,), take only those labels.
        """
        if isinstance(rows, tuple):
            if len(rows) != 2 or not (rows[1] is Ellipsis or rows[1] == slice(None)):
                raise IndexError("Annotations are indexed by items: expected Y[rows] or Y[rows, :].")
            rows = rows[0]
        labels = (rows.dtype.metadata or {}).get("labels") if isinstance(rows, np.ndarray) else None
        if labels is not None:
            if len(labels) != self.n_annotations:
                raise IndexError(
                    f"These rows were split from annotations with {len(labels)} labels; these have "
                    f"{self.n_annotations}. Index the annotations that were split."
                )
            return self.only(labels)[row_numbers(rows, self.n_items)]
        rows = row_numbers(rows, self.n_items)
        starts = self._starts[rows]
        count = self._starts[rows + 1] - starts
        ends = np.cumsum(count)
        # Row by row: where the item's triples start here, minus where they start in the result.
        taken = np.arange(count.sum()) + np.repeat(starts - (ends - count), count)
        item = np.repeat(np.arange(len(rows), dtype=np.int32), count)
        sure = None if self.confidence is None else self.confidence[taken]
        return Annotations(
            item,
            self.annotator[taken],
            self.label[taken],
            self.items[rows],
            self.annotators,
            self.labels,
            sure,
        )

    def only(self, kept: NDArray[np.bool_]) -> Annotations:
        """Return the same items and annotators with some of the labels, a mask of (n_annotations,)."""
        sure = None if self.confidence is None else self.confidence[kept]
        codes = self.item[kept], self.annotator[kept], self.label[kept]
        return Annotations(*codes, self.items, self.annotators, self.labels, sure)

    def one_by_one(self) -> Annotations:
        """Return each label as the only one of an item of its own, in their order: n_annotations items."""
        number = np.arange(self.n_annotations, dtype=self.item.dtype)
        return replace(self, item=number, items=number)

    def _refuse_unknown_annotators(self, method: str) -> None:
        """Annotators of code -1 have no id to write down."""
        unknown = int(np.sum(self.annotator < 0))
        if unknown:
            raise ValueError(
                f"{unknown} labels are by annotators outside the vocabulary, so {method}() cannot name them. "
                "Use the Annotations from before recode(unknown='population')."
            )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Refuse to become an array unasked."""
        raise TypeError(
            "Annotations are not an array: most annotators label few items. Use to_matrix() for an array. "
            "In cross-validation pass a splitter, e.g. cv=KFold(3) and not cv=3, which makes scikit-learn "
            "look for one class an item."
        )

    def __eq__(self, other: object) -> bool:
        """Whether triples and vocabularies are equal."""
        if not isinstance(other, Annotations):
            return NotImplemented
        codes = ("item", "annotator", "label", "counts")
        ids = ("items", "annotators", "labels")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in codes) and all(
            same_ids(getattr(self, name), getattr(other, name)) for name in ids
        )

    def __repr__(self) -> str:
        """Give counts, not arrays."""
        return (
            f"Annotations(n_items={self.n_items}, n_annotators={self.n_annotators}, "
            f"n_classes={self.n_classes}, n_annotations={self.n_annotations})"
        )


def _both(old: Ids, new: Ids) -> list[Any]:
    """Ids of both vocabularies; the old one as it is where it has them all."""
    more = [value for value in elements(new) if value not in set(elements(old))]
    return sorted_if_possible([*elements(old), *more]) if more else elements(old)


def _observed_confidence(
    confidence: Any, shape: tuple[int, ...], row: NDArray[Any], column: NDArray[Any]
) -> Array | None:
    """Confidences of the cells that hold a label."""
    if confidence is None:
        return None
    matrix = np.asarray(confidence)
    matrix = matrix.reshape(-1, 1) if matrix.ndim == 1 else matrix
    if matrix.shape != shape:
        raise ValueError(f"Expected confidence in the shape of y, {shape}; got {matrix.shape}.")
    return np.asarray(matrix[row, column])


def _with_room_for_missing(labels: Ids, missing: Any) -> tuple[Ids, Any]:
    """Label values in a type that also holds the marker for missing, and that marker."""
    if labels.dtype.kind in "iuf":
        if missing is None or isinstance(missing, float):
            floats = labels.astype(float)
            if np.array_equal(floats.astype(labels.dtype), labels):
                return floats, np.nan if missing is None else missing
        elif isinstance(missing, (int, np.integer)) and not isinstance(missing, bool):
            return labels, missing
    return labels.astype(object), missing
