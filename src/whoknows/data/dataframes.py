"""Long and wide tables of any dataframe library, or plain arrays, to columns and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from numbers import Number
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whoknows.data.errors import Advice, InputError
from whoknows.data.vocabulary import Codes, Factor, Ids, as_column, elements, factorize, make_vocabulary, show

ALIASES = {
    "item": ("task", "example", "id", "item_id", "task_id", "example_id"),
    "annotator": (
        *("worker", "user", "coder", "rater", "judge"),
        *("annotator_id", "worker_id", "user_id", "coder_id", "rater_id", "judge_id"),
    ),
    "label": ("value", "answer", "vote", "verdict", "score", "preference"),
}
CONFIDENCE = "confidence"  # a role that is used only if its column is named
BACKENDS = ("pandas", "polars", "pyarrow")

Columns = tuple[Factor, Factor, Factor]  # item, annotator and label, one row per label


def read_long(frame: Any, columns: Mapping[str, str] | None = None) -> tuple[Columns, Any]:
    """Return the item, annotator and label columns of a long table, found by name or alias.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, or any eager dataframe that narwhals supports
        One row per label.
    columns : mapping from role to column name, optional
        Roles are "item", "annotator" and "label", which are found by alias if left out, and "confidence".

    Returns
    -------
    columns : Factor of item, of annotator and of label
        With n_rows rows each.
    confidence : (n_rows,) or None
        The column that ``columns`` names.
    """
    table, columns = _open(frame), columns or {}
    names = match_columns(table.columns, columns)
    item, annotator, label = (factorize(_column(table[names[role]]), role) for role in ALIASES)
    confidence = table[columns[CONFIDENCE]].to_numpy() if CONFIDENCE in columns else None
    return (item, annotator, label), confidence


def match_columns(present: Sequence[Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Find the column for each role: the one given, else the role's own name, else one of its aliases."""
    for role, name in given.items():
        if role not in (*ALIASES, CONFIDENCE):
            raise InputError(f"columns= expects the keys {show((*ALIASES, CONFIDENCE))}; got {role!r}.")
        if name not in present:
            raise InputError(f"columns= names {name!r} for the {role}, but the table has {show(present, 20)}.")
    free = [name for name in present if name not in given.values()]
    return {role: given[role] if role in given else _match(role, free, present) for role in ALIASES}


def _match(role: str, free: Sequence[Any], present: Sequence[Any]) -> Any:
    """Find the one column of a role; case and surrounding spaces of its name are ignored."""
    for accepted in ((role,), ALIASES[role]):
        found = [name for name in free if _bare(name) in accepted]
        if len(found) == 1:
            return found[0]
        if found:
            break
    problem = f"found {len(found)} ({show(found)})" if found else "found none"
    raise InputError(
        f"Expected one column for the {role} ({role}, {', '.join(ALIASES[role])}), {problem}. "
        f"The table has {show(present, 20)}. Name it: ",
        Advice("columns", f"columns={{{role!r}: ...}}", role=role, name="NAME"),
        ".",
    )


def _bare(name: Any) -> str:
    """Return the name of a column in lower case, without surrounding spaces and byte order mark."""
    return str(name).strip("\ufeff \t\r\n").lower()


def read_wide(
    y: Any, missing_label: Any, items: Any, annotators: Any, confidence: Any
) -> tuple[Columns, Any, Any, Ids | None]:
    """Return the labels of a matrix as columns, the items, the annotators and the confidence of each label.

    For the parameters see `Annotations.from_matrix`.
    """
    matrix, columns, index = _read_matrix(y)
    row, column, label = _observed_cells(matrix, missing_label)
    item, items = _name_axis(row, len(matrix), index, items, "item")
    annotator, annotators = _name_axis(column, matrix.shape[1], columns, annotators, "annotator")
    if confidence is not None:
        weights = np.asarray(confidence)
        weights = weights.reshape(-1, 1) if weights.ndim == 1 else weights
        if weights.shape != matrix.shape:
            raise InputError(f"Expected confidence in the shape of y, {matrix.shape}; got {weights.shape}.")
        confidence = weights[row, column]
    return (item, annotator, label), items, annotators, confidence


def _read_matrix(y: Any) -> tuple[Ids, Ids | None, Ids | None]:
    """Return labels as a matrix, and the ids of a dataframe.

    Returns
    -------
    matrix : array of numbers or of objects, shape (n_items, n_annotators)
    annotators : array of shape (n_annotators,) or None
        The columns of a dataframe.
    items : array of shape (n_items,) or None
        The index of a pandas dataframe, unless it is the default one.
    """
    _refuse_sparse_and_masked(y)
    if isinstance(y, (list, tuple)):
        return _from_rows(y), None, None
    if not isinstance(y, np.ndarray) and is_frame(y):
        return _read_frame(y)
    if hasattr(y, "shape") and len(y.shape) > 1 and not isinstance(y, np.ndarray):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.ndim not in (1, 2):
        raise InputError(
            f"Expected labels of shape (n_items, n_annotators), got shape {y.shape}. "
            "Pass one label per item and annotator."
        )
    flat = as_column(y.ravel() if isinstance(y, np.ndarray) else y, "y")
    return flat.reshape(y.shape if getattr(y, "ndim", 1) == 2 else (-1, 1)), None, None


def _observed_cells(matrix: Ids, missing_label: Any) -> tuple[Codes, Codes, Factor]:
    """Return row, column and label of every cell of a matrix of numbers or objects that holds a label."""
    if len(matrix) == 0:
        raise InputError("Expected at least one row of labels, got an empty matrix. Pass one row per item.")
    if matrix.dtype == object:
        label = factorize(matrix.ravel(), "label", missing=missing_label, width=max(matrix.shape[1], 1))
        there = label.codes >= 0
        present = there.reshape(matrix.shape)
        label = Factor(label.codes[there], label.values)
    else:
        present = _holds_number(matrix, missing_label)
        label = factorize(matrix[present], "label")
    row, column = present.nonzero()
    return row.astype(np.int32), column.astype(np.int32), label


def with_room_for_missing(labels: Ids, missing: Any) -> tuple[Ids, Any]:
    """Return label values in a type that can also hold the marker for missing, and that marker."""
    if labels.dtype.kind in "iuf":
        if missing is None or isinstance(missing, float):
            floats = labels.astype(float)
            if np.array_equal(floats.astype(labels.dtype), labels):
                return floats, np.nan if missing is None else missing
        elif isinstance(missing, (int, np.integer)) and not isinstance(missing, bool):
            return labels, missing
    return labels.astype(object), missing


def _name_axis(codes: Codes, size: int, found: Any, given: Any, role: str) -> tuple[Factor, Any]:
    """Name the rows or columns of a matrix by its own ids, else by the given ones, else by position."""
    ids = found if found is not None else given if given is not None else np.arange(size)
    names = make_vocabulary(ids, f"The {role}s of y" if found is not None else f"{role}s=")
    if len(names) != size:
        line = "row" if role == "item" else "column"
        raise InputError(f"Expected {size} ids in {role}s=, one for each {line} of y; got {len(names)}.")
    return Factor(codes, elements(names)), names if given is None else given


def not_numbers(frame: Any) -> dict[Any, Any]:
    """Return the columns of a dataframe that are not numeric, each with its first value that is no number.

    Numbers as text and booleans are numeric. Duplicate names are left to later checks.
    """
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        table = _open(frame)
    except DuplicateError:
        return {}
    others = [name for name, kind in table.schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
    first = {name: first_not_a_number(table[name].to_list()) for name in others}
    return {name: value for name, value in first.items() if value is not None}


def first_not_a_number(values: Sequence[Any]) -> Any:
    """Return the first value that cannot be read as a real number, or None; None itself is missing."""
    for value in values:
        try:
            float(0 if value is None else value)
        except (TypeError, ValueError):
            return value
    return None


class NamedColumns:
    """A result with the columns of a table as attributes, those that ``COLUMNS`` names."""

    COLUMNS: ClassVar[tuple[str, ...]]

    def columns(self) -> dict[str, Any]:
        """Return the table by column."""
        return {name: getattr(self, name) for name in self.COLUMNS}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table as a dataframe.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Default: the first of them that is installed.
        """
        return write_long(self.columns(), backend)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(getattr(self, self.COLUMNS[0]))


def write_long(columns: Mapping[str, Ids], backend: str | None) -> Any:
    """Return a table of a dataframe library, by default the first one installed."""
    if backend is not None and backend not in BACKENDS:
        raise InputError(f"backend= must be one of {show(BACKENDS)} or None; got {backend!r}.")
    library = _library(backend)
    if library.__name__ == "pandas":
        return library.DataFrame(dict(columns))
    if library.__name__ == "polars":
        return library.DataFrame([_polars_series(library, name, ids) for name, ids in columns.items()])
    return library.table({name: _arrow_array(library, name, ids) for name, ids in columns.items()})


def _library(backend: str | None) -> ModuleType:
    """Import a dataframe library, by default the first one installed."""
    for name in (backend,) if backend else BACKENDS:
        with suppress(ImportError):
            return import_module(name)
    if backend:
        raise ImportError(f"to_frame(backend={backend!r}) needs {backend}. Run: pip install {backend}")
    raise ImportError("to_frame() needs pandas, polars or pyarrow; none is installed. Run: pip install pandas")


def _polars_series(polars: ModuleType, name: str, ids: Ids) -> Any:
    """Return a polars column; ids of mixed types and tuples stay Python objects."""
    as_objects = ids.dtype == object and set(map(type, ids)) != {str}
    return polars.Series(name, elements(ids), dtype=polars.Object if as_objects and len(ids) else None)


def _arrow_array(pyarrow: ModuleType, name: str, ids: Ids) -> Any:
    """Return an Arrow column, which holds one type and no tuples."""
    kinds = {type(value).__name__ for value in elements(ids)}
    if len(kinds) > 1 or kinds & {"tuple", "frozenset"}:
        raise TypeError(
            f"An Arrow column holds one simple type; the {name} column holds {', '.join(sorted(kinds))}. "
            "Use to_frame(backend='pandas')."
        )
    return pyarrow.array(elements(ids))


def _open(frame: Any) -> Any:
    """Wrap a dataframe in narwhals."""
    import narwhals.stable.v2 as nw

    if hasattr(frame, "collect") and hasattr(frame, "lazy"):
        raise TypeError(f"Expected a dataframe in memory, got a {type(frame).__name__}. Call .collect() first.")
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"Expected a pandas, polars or pyarrow table, got {type(frame).__name__}. "
            "Use Annotations.from_arrays for three lists, Annotations.from_matrix for a matrix."
        ) from None


def is_frame(y: Any) -> bool:
    """Whether y is a dataframe that narwhals supports."""
    import narwhals.stable.v2 as nw

    return bool(nw.dependencies.is_into_dataframe(y)) or (hasattr(y, "collect") and hasattr(y, "lazy"))


def _column(series: Any) -> Ids:
    """Return a column as numbers if it holds only numbers, else as Python objects."""
    import narwhals.stable.v2 as nw

    whole = series.dtype.is_integer() or series.dtype == nw.Boolean
    if series.dtype.is_float() or (whole and series.null_count() == 0):
        numbers = series.to_numpy()
        if numbers.dtype != object:
            return as_column(numbers, str(series.name))
    return as_column(series.to_list(), str(series.name))


def _read_frame(frame: Any) -> tuple[Ids, Ids, Ids | None]:
    """Return the cells of a wide dataframe, its column names, and its index unless it is the default one."""
    import narwhals.stable.v2 as nw

    table = _open(frame)
    _refuse_long(table.columns)
    columns = [_column(series) for series in table.iter_columns()]
    kinds = {column.dtype.kind for column in columns}
    one_kind = len(kinds) == 1  # booleans next to numbers stay booleans
    matrix = np.empty(table.shape, dtype=np.result_type(*columns) if one_kind else object)
    for place, column in enumerate(columns):
        matrix[:, place] = column
    index = nw.maybe_get_index(table)
    items = None if index is None or is_default_index(index) else as_column(index, "index")
    return matrix, as_column(list(table.columns), "columns"), items


def _refuse_long(names: Sequence[Any]) -> None:
    """Refuse a long table: the columns item, annotator, label and perhaps confidence, as in `to_frame`."""
    roles = [name for name in names if _bare(name) != CONFIDENCE]
    if len(roles) != len(ALIASES):
        return
    try:
        match_columns(roles, {})
    except ValueError:
        return
    raise InputError(
        "Expected one row per item and one column per annotator, got a long table with the columns "
        f"{show(names)}. Use Annotations.from_frame(table, items=ids_of_the_rows_of_X)."
    )


def is_default_index(index: Any) -> bool:
    """Whether a pandas index is the default 0, 1, 2, …."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _from_rows(rows: Sequence[Any]) -> Ids:
    """Return a matrix of objects from nested lists; a flat list is one annotator."""
    if not any(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        return as_column(rows, "y").reshape(-1, 1)
    width = len(rows[0]) if hasattr(rows[0], "__len__") else 0
    matrix = np.empty((len(rows), width), dtype=object)
    for place, row in enumerate(rows):
        cells = as_column(row, f"row {place} of y")
        if len(cells) != width:
            raise InputError(
                f"Expected {width} labels in every row, as in row 0, got {len(cells)} in row {place}. "
                "Write None where an annotator gave no label."
            )
        matrix[place] = cells
    return matrix


def _refuse_sparse_and_masked(y: Any) -> None:
    """Refuse arrays in which a missing label cannot be told from label 0."""
    if hasattr(y, "tocsr"):
        raise TypeError(
            "Expected a dense matrix of labels, got a scipy sparse one, where label 0 and a missing label "
            "are the same. Pass the stored entries to Annotations.from_arrays(item, annotator, label)."
        )
    if isinstance(y, np.ma.MaskedArray):
        raise TypeError(
            "Expected a plain matrix of labels, got a masked array. "
            "Pass y.astype(float).filled(numpy.nan), or y.astype(object).filled(None) for other labels."
        )


def _holds_number(matrix: Ids, missing_label: Any) -> NDArray[np.bool_]:
    """Return which cells of a numeric matrix hold a label."""
    present: NDArray[np.bool_] = matrix == matrix  # NaN is not
    same_kind = (matrix.dtype.kind == "b") == isinstance(missing_label, (bool, np.bool_))
    if same_kind and isinstance(missing_label, (Number, np.bool_)):
        present &= matrix != missing_label
    return present
