"""Annotations: the labels of items by annotators, as sorted triples of codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array, Groups, group_by
from whoknows.data.dataframes import read_long, read_wide, with_room_for_missing, write_long
from whoknows.data.errors import InputError
from whoknows.data.hugging_face import read_hf
from whoknows.data.notebook import html_table
from whoknows.data.triples import triples
from whoknows.data.vocabulary import (
    Codes,
    Factor,
    Ids,
    elements,
    factorize,
    look_up,
    make_vocabulary,
    row_numbers,
    same_ids,
    show,
    sorted_if_possible,
)

SHOWN = 10  # rows of the table in a notebook

Duplicates = Literal["error", "first", "last", "majority"]


@dataclass(frozen=True, eq=False)
class Annotations:
    """Labels of items by annotators, most of them missing.

    Use `from_arrays`, `from_matrix`, `from_frame` or `from_hf`, which check their input; the constructor does not. An
    instance works as ``y`` in scikit-learn: rows are items. Label 0 is a label.

    Parameters
    ----------
    item, annotator, label : int32 arrays of shape (n_annotations,)
        One triple per label, as positions in the vocabularies below, sorted by (item, annotator).
        -1 stands for an annotator who is not in the vocabulary, see `recode`.
    items : array of shape (n_items,)
        Ids in the row order of X, labelled or not.
    annotators : array of shape (n_annotators,)
        Ids of the annotators.
    labels : array of shape (n_classes,)
        The values a label can take.
    confidence : (n_annotations,), optional
        Weight of each label: 1 by default, 0.5 counts as half a label, 0 not at all.

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
        """Build from three columns of equal length, one row per label.

        Rows whose label is None, NaN or blank are dropped with a warning; their items and annotators are
        kept. Whole floats become integers, so 0.0 and 1.0 are the labels 0 and 1.

        Parameters
        ----------
        item, annotator, label : sequences of hashables, shape (n_rows,)
            Ids and labels of any hashable type.
        items : sequence of shape (n_items,), optional
            All items in the row order of X, labelled or not. Default: 0, 1, …, n - 1 if these are the ids,
            in any order; else the ids in order of first appearance.
        annotators : sequence of shape (n_annotators,), optional
            All annotators. Default: those in the table, sorted if possible.
        labels : sequence of shape (n_classes,), optional
            All values a label can take. Default: those in the table, sorted if possible.
        duplicates : {"error", "first", "last", "majority"}
            What to do with several labels by one annotator for one item; the first label wins ties.
        confidence : sequence of shape (n_rows,), optional
            Weight of each label, 0 or more, by which its log-likelihood is multiplied. For example how
            certain the annotator was.
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
        """Build from a long table of any dataframe library that narwhals supports, one row per label.

        Parameters
        ----------
        df : dataframe
            Columns are found by name, ignoring case and surrounding spaces: item, task, example or id;
            annotator, worker, user, coder, rater or judge (all of these also with _id); label, value, answer,
            vote, verdict, score or preference. The first name of each role takes precedence.
        columns : mapping, optional
            Column names by role if they are different, such as ``{"item": "img", "label": "grade"}``.
            A confidence column is used only if named here: ``{"confidence": "certainty"}``.
        items, annotators, labels, duplicates
            As in `from_arrays`.
        """
        rows, confidence = read_long(df, columns)
        return cls(*triples(rows, (items, annotators, labels), duplicates, confidence))

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
        """Build from a matrix with one row per item and one column per annotator.

        Parameters
        ----------
        y : array-like or dataframe of shape (n_items, n_annotators), or array-like of shape (n_items,)
            One dimension stands for one annotator. The columns of a dataframe are the annotators; a pandas
            index other than the default one holds the items.
        missing_label : object
            The value that stands for a missing label, such as -1, besides None, NaN and blank strings.
        items, annotators : sequences of shape (n_items,) and (n_annotators,), optional
            Ids of rows and columns, by position. If a dataframe has its own ids, these define the
            vocabulary and its order instead, as in `from_arrays`.
        labels : sequence of shape (n_classes,), optional
            As in `from_arrays`.
        confidence : array of the shape of y, optional
            As in `from_arrays`; values of cells without a label are ignored.
        """
        columns, items, annotators, confidence = read_wide(y, missing_label, items, annotators, confidence)
        return cls(*triples(columns, (items, annotators, labels), "error", confidence))

    @classmethod
    def from_hf(cls, dataset: Any, *, columns: Mapping[str, str] | None = None, **options: Any) -> Self:
        """Build from a `datasets.Dataset` of Hugging Face: one row per label, or one per item with lists of them.

        Class codes become names. ``columns`` is as in `from_frame`; ``options`` are those of `from_arrays`.
        """
        return cls.from_arrays(**read_hf(dataset, columns) | options)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a long table with the columns item, annotator, label and, if known, confidence.

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
            "confidence": self.confidence,
        }
        return write_long({name: ids for name, ids in columns.items() if ids is not None}, backend)

    def to_matrix(self, missing: Any = None) -> NDArray[Any]:
        """Return the label values as a matrix with one row per item and one column per annotator.

        Parameters
        ----------
        missing : object, optional
            Value of cells without a label. Default: NaN in a float matrix if labels are numbers, None in an
            object matrix otherwise (also for booleans). Integer labels with an integer such as -1 give an
            integer matrix.

        Returns
        -------
        matrix : array of shape (n_items, n_annotators)
        """
        self._refuse_unknown_annotators("to_matrix")
        if missing is not None and missing in elements(self.labels):
            raise InputError(f"missing= must not be a label; {missing!r} is one of {show(elements(self.labels))}.")
        labels, fill = with_room_for_missing(self.labels, missing)
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
        """Number of dimensions of `to_matrix`."""
        return 2

    @property
    def counts(self) -> Array:
        """Weight of each label, its confidence or 1: (n_annotations,)."""
        return np.ones(self.n_annotations) if self.confidence is None else self.confidence

    @property
    def labels_per_item(self) -> NDArray[np.intp]:
        """Number of labels of each item, shape (n_items,)."""
        return np.bincount(self.item, minlength=self.n_items)

    @property
    def labels_per_annotator(self) -> NDArray[np.intp]:
        """Number of labels by each annotator, shape (n_annotators,)."""
        return np.bincount(self.annotator[self.annotator >= 0], minlength=self.n_annotators)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Whether each item has a label, shape (n_items,)."""
        labelled = np.zeros(self.n_items, dtype=np.bool_)
        labelled[self.item] = True
        return labelled

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        """Where the triples of each item start, and the end of the last ones; shape (n_items + 1,)."""
        starts = np.zeros(self.n_items + 1, dtype=np.intp)
        np.cumsum(self.labels_per_item, out=starts[1:])
        return starts

    @cached_property
    def by_annotator(self) -> Groups:
        """Positions of the triples of each annotator; the last group is of those not in the vocabulary."""
        return group_by(self.annotator % (self.n_annotators + 1), self.n_annotators + 1)

    def chunks(self, n_chunks: int) -> Iterator[slice]:
        """Return slices of consecutive items that cover all of them, at most ``n_chunks`` and none empty."""
        if n_chunks < 1:
            raise InputError(f"Expected at least one chunk, got n_chunks={n_chunks}.")
        bounds = np.linspace(0, self.n_items, min(n_chunks, self.n_items) + 1).astype(int).tolist()
        return (slice(start, stop) for start, stop in pairwise(bounds))

    def recode(self, annotators: Any, labels: Any, *, unknown: Literal["error", "population"] = "error") -> Annotations:
        """Encode the same triples by other vocabularies, such as those of a fitted model.

        Parameters
        ----------
        annotators, labels : sequences of ids and of label values
            The new vocabularies.
        unknown : {"error", "population"}
            An annotator outside the vocabulary is an error, or gets the code -1: someone from the same
            population, but without data. A label outside the vocabulary is always an error.
        """
        if unknown not in ("error", "population"):
            raise InputError(f"unknown= must be 'error' or 'population'; got {unknown!r}.")
        people, classes = make_vocabulary(annotators, "annotators="), make_vocabulary(labels, "labels=")
        advice = "Pass unknown='population' to treat them as drawn from the population, or drop their labels."
        annotator = Factor(self.annotator, elements(self.annotators))
        annotator_codes = look_up(annotator, people, "annotator", advice if unknown == "error" else None)
        label = Factor(self.label, elements(self.labels))
        label_codes = look_up(label, classes, "label", "Drop or rename such labels.")
        order = np.lexsort((annotator_codes, self.item))
        recoded = replace(self, annotator=annotator_codes, label=label_codes, annotators=people, labels=classes)
        return recoded._take(order, self.item, self.items)

    def updated_with(self, new: Annotations) -> Annotations:
        """Return these labels together with newer ones of the same items, perhaps followed by new items.

        If an annotator has labelled an item in both, the newer label replaces the older. Annotators and label
        values are those of both, sorted if possible.
        """
        annotators = _both(self.annotators, new.annotators)
        labels = _both(self.labels, new.labels)
        old, new = self.recode(annotators, labels), new.recode(annotators, labels)
        columns = ("item", "annotator", "label", "counts")
        item, annotator, label, counts = (np.concatenate([getattr(old, name), getattr(new, name)]) for name in columns)
        pair = item.astype(np.int64) * len(annotators) + annotator
        last = len(pair) - 1 - np.unique(pair[::-1], return_index=True)[1]
        confidence = None if old.confidence is None and new.confidence is None else counts[last]
        items = old.items
        if new.n_items > old.n_items:
            items = make_vocabulary([*elements(items), *elements(new.items)[len(items) :]], "items=")
        codes = item[last], annotator[last], label[last]
        return Annotations(*codes, items, old.annotators, old.labels, confidence)

    def __len__(self) -> int:
        """Return the number of items."""
        return self.n_items

    def __getitem__(self, rows: Any) -> Annotations:
        """Select items by position: integers (repeats allowed), a mask or a slice; vocabularies stay.

        Integers whose dtype has the metadata "labels", a mask of (n_annotations,), select only those labels.
        """
        if isinstance(rows, tuple):
            if len(rows) != 2 or not (rows[1] is Ellipsis or rows[1] == slice(None)):
                raise IndexError("Annotations are indexed by items: expected Y[rows] or Y[rows, :].")
            rows = rows[0]
        labels = (rows.dtype.metadata or {}).get("labels") if isinstance(rows, np.ndarray) else None
        if labels is not None:
            if len(labels) != self.n_annotations:
                raise IndexError(
                    f"These rows come from a split of annotations with {len(labels)} labels; these have "
                    f"{self.n_annotations}. Index the annotations that were split."
                )
            return self.only(labels)[row_numbers(rows, self.n_items)]
        rows = row_numbers(rows, self.n_items)
        starts = self._starts[rows]
        count = self._starts[rows + 1] - starts
        ends = np.cumsum(count)
        # For each row: where the triples of the item start here, minus where they start in the result.
        taken = np.arange(count.sum()) + np.repeat(starts - (ends - count), count)
        item = np.repeat(np.arange(len(rows), dtype=np.int32), count)
        return self._take(taken, item, self.items[rows])

    def only(self, mask: NDArray[np.bool_]) -> Annotations:
        """Return the labels that a mask of (n_annotations,) selects, of the same items and annotators."""
        return self._take(mask, self.item[mask], self.items)

    def _take(self, triples: NDArray[Any], item: Codes, items: Ids) -> Annotations:
        """Return some of the triples, with other codes of items."""
        confidence = None if self.confidence is None else self.confidence[triples]
        codes = item, self.annotator[triples], self.label[triples]
        return Annotations(*codes, items, self.annotators, self.labels, confidence)

    def one_by_one(self) -> Annotations:
        """Return each label as the only label of its own item, in the same order: n_annotations items."""
        number = np.arange(self.n_annotations, dtype=self.item.dtype)
        return replace(self, item=number, items=number)

    def _refuse_unknown_annotators(self, method: str) -> None:
        """Refuse annotators of code -1, who have no id to write."""
        unknown = int(np.sum(self.annotator < 0))
        if unknown:
            raise InputError(
                f"{unknown} labels are by annotators outside the vocabulary, so {method}() cannot name them. "
                "Use the Annotations from before recode(unknown='population')."
            )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Ids:
        """Refuse an implicit conversion to an array; one of objects has a dictionary of labels per item."""
        if dtype is None or np.dtype(dtype).kind != "O":
            raise _NotAnArray(
                "Annotations are not an array: most annotators label few items. Use to_matrix() for an array."
            )
        rows: list[dict[Any, Any]] = [{} for _ in range(self.n_items)]
        names, labels = elements(self.annotators[self.annotator]), elements(self.labels[self.label])
        for item, name, label in zip(self.item, names, labels, strict=True):
            rows[item][name] = label
        return np.array(rows, dtype=object)

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
        """Return counts, not arrays."""
        return (
            f"Annotations(n_items={self.n_items}, n_annotators={self.n_annotators}, "
            f"n_classes={self.n_classes}, n_annotations={self.n_annotations})"
        )

    def _repr_html_(self) -> str:
        """Return counts and the first labels as HTML, which notebooks show."""
        item, who, label = self.item[:SHOWN], self.annotator[:SHOWN], self.label[:SHOWN]
        known = zip(who, elements(self.annotators[who]), strict=True)
        cells = {
            "item": [str(each) for each in elements(self.items[item])],
            "annotator": [str(name) if code >= 0 else "unknown" for code, name in known],
            "label": [str(each) for each in elements(self.labels[label])],
        }
        counts = f"{self.n_annotations} labels, {self.n_items} items, {self.n_annotators} annotators"
        left = self.n_annotations - len(item)
        return html_table(counts, cells, [f"… and {left} more"] if left else [])


class _NotAnArray(TypeError, ValueError):
    """A conversion that is refused; after a ValueError scikit-learn tries objects, which have no classes.

    So ``cv=3`` is `KFold(3)` over items, and not one that looks for one class per item.
    """


def _both(old: Ids, new: Ids) -> list[Any]:
    """Return the ids of both vocabularies; the old one unchanged if it has them all."""
    known = set(elements(old))
    more = [value for value in elements(new) if value not in known]
    return sorted_if_possible([*elements(old), *more]) if more else elements(old)
