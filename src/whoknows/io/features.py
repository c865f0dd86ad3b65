"""Features of items from files, and their meeting with labels by item id."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows._array import LARGEST, too_large
from whoknows.data.annotations import Annotations
from whoknows.data.triples import triples
from whoknows.data.vocabulary import Factor, Ids, factorize, show, tight_array
from whoknows.io import npy
from whoknows.io.containers import open_content
from whoknows.io.encoding import MAX_FEATURES, decode, read_bytes
from whoknows.io.errors import FileError, Path
from whoknows.io.feature_files import Numbers, Strange, find_id, has_comma, read_numbers
from whoknows.io.id_matching import match_ids
from whoknows.io.labels.format import must_have
from whoknows.io.labels.label_file import LabelFile
from whoknows.io.parsing import parse_ids, plain


@dataclass(frozen=True, eq=False)
class Features:
    """Features of items.

    Parameters
    ----------
    ids : (n_items,)
        Distinct; 0, 1, 2, … where the file names no items.
    X : float32 or float64 array of shape (n_items, n_features)
    names : tuple of n_features str
    notes : tuple of str
        What a user should hear, such as which columns were left out.
    path : str or path
    """

    ids: Ids
    X: NDArray[Any]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    path: Path = "features"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labels and features of the same items, row by row.

    Parameters
    ----------
    annotations : Annotations
        Its items are the rows of X, labelled or not.
    X : (n_items, n_features)
    names : tuple of n_features str
    notes : tuple of str
        How ids were matched, and what had no partner; labels that got lost come first.
    lost : float
        Share of the items with labels that have no features, from 0 to 1. Much of it means that the two
        files name items differently.
    """

    annotations: Annotations
    X: NDArray[Any]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    lost: float = 0.0


def read_features(
    path: Path, id_column: str | None = None, *, ids: Path | None = None, vector: str | None = None
) -> Features:
    """Read features of items from CSV, Parquet, JSON, JSONL, .npy or .npz.

    Parameters
    ----------
    path : str or path
        A table: an id and numbers in each row, or an id and one column of lists of equal length (also the
        vectors of Argilla's records). ``.npy``: a matrix. ``.npz``: arrays X and, if there are, ids.
    id_column : str, optional
        Column of the ids. Default: item, task, example or id, also with _id; without one, rows are counted.
    ids : str or path, optional
        File with the ids of a matrix: text with one a line, a table with an id column, or .npy. Default:
        the file ``NAME.ids.txt`` or ``NAME.ids.csv`` beside ``NAME.npy``; without one, rows are counted.
    vector : str, optional
        Which column of lists to take, if there are several.

    Returns
    -------
    Features
    """
    found = read_numbers(read_bytes(path, MAX_FEATURES), path, id_column)
    notes: list[str] = []
    X, names = _matrix(found, vector, notes, path)
    if found.ids is None or ids is not None:
        ids = ids if ids is not None else ids_beside(path)
        found.ids = None if ids is None else read_ids(ids)
    if found.ids is None:
        notes.append("the file names no items: they are called 0, 1, 2, … by row")
    known = check_ids(found.ids, len(X), path if ids is None else ids)
    missing = np.isnan(X).sum(axis=0)
    if missing.any():
        first = names[int(np.argmax(missing > 0))]
        several = f"{int(missing.sum())} numbers are missing, the first of them in {first!r}"
        notes.append(several if missing.sum() > 1 else f"1 number is missing, in {first!r}")
    return Features(known, X, names, tuple(notes), path)


def join(labels: LabelFile | Annotations, features: Features) -> Dataset:
    """Bring labels and features together by item id; every item with features is kept, labelled or not.

    Ids are compared as they are, as text or as numbers, in the one way in which most of them match: so
    1, "1" and "01" meet.

    Parameters
    ----------
    labels : LabelFile or Annotations
    features : Features

    Returns
    -------
    Dataset
    """
    said = labels.annotations if isinstance(labels, LabelFile) else labels
    source = labels.path if isinstance(labels, LabelFile) else "labels"
    mine, theirs = said.items.tolist(), features.ids.tolist()
    try:
        match, how = match_ids(mine, theirs)
    except ValueError as error:
        raise FileError(features.path, f"cannot be joined with {os.fspath(source)}: {error}") from None
    if not match:
        raise FileError(
            features.path,
            f"has no item in common with {os.fspath(source)}: ids are {show(theirs, 3)} here "
            f"and {show(mine, 3)} there. Both need the same ids, or a file that lists the ids of the rows.",
        )
    labelled = said.items[said.labelled].tolist()
    lost = [item for item in labelled if item not in match]
    share = len(lost) / max(len(labelled), 1)
    notes = []
    if lost:
        notes.append(
            f"{len(lost)} of {len(labelled)} items with labels ({share:.0%}) have no features, left out: "
            f"{show(lost, 3)}"
        )
    if how:
        item, known = max(match.items(), key=lambda pair: str(pair[0]) != str(pair[1]))
        notes.append(f"ids matched {how}: {item!r} is {known!r}")
    joined = _rows_of(said, features, match, how)
    unlabelled = features.ids[~joined.labelled].tolist()
    if unlabelled:
        notes.append(
            f"{len(unlabelled)} of {len(theirs)} items have features but no label: {show(unlabelled, 3)}"
        )
    return Dataset(joined, features.X, features.names, tuple(notes), share)


def fill_gaps(
    features: Features, medians: Mapping[str, float] | None = None
) -> tuple[Features, dict[str, float]]:
    """Put the median of its column where a number is missing: that of an earlier fit, or of these items.

    Parameters
    ----------
    features : Features
    medians : mapping from feature to number, optional
        Of an earlier fit, one for each feature. Default: those of these items; then columns that hold no
        number at all are left out.

    Returns
    -------
    features : Features
        Its notes say what was filled in or left out, on top of what they said.
    medians : dict from feature to number
    """
    _refuse_huge(features)
    if medians is None:
        features = _without_empty(features)
        medians = dict(zip(features.names, np.nanmedian(features.X, axis=0).tolist(), strict=True))
    missing = np.isnan(features.X)
    if missing.any():
        gaps = [name for name, some in zip(features.names, missing.any(axis=0), strict=True) if some]
        note = f"missing numbers replaced by the median of their column: {show(gaps)}"
        usual = np.array([medians[name] for name in features.names], dtype=features.X.dtype)
        X = np.where(missing, usual, features.X)
        features = replace(features, X=X, notes=(*features.notes, note))
    return features, dict(medians)


def _refuse_huge(features: Features) -> None:
    infinite = np.isinf(features.X).any(axis=0)
    if infinite.any():
        names = [name for name, some in zip(features.names, infinite, strict=True) if some]
        raise FileError(features.path, f"holds infinite numbers in {show(names, 3)}. Leave such cells blank.")
    place = too_large(features.X)
    if place is not None:
        row, column = place
        raise FileError(
            features.path,
            f"expected numbers up to {LARGEST:g}, got {features.X[row, column]:g} in "
            f"{features.names[column]!r} of item {features.ids.tolist()[row]!r}. "
            "Leave such cells blank, or use another unit.",
        )


def _without_empty(features: Features) -> Features:
    """Columns that hold a number."""
    empty = np.isnan(features.X).all(axis=0)
    if empty.all():
        raise FileError(features.path, "holds no number at all; expected some for each item.")
    if not empty.any():
        return features
    names = np.array(features.names, dtype=object)
    note = f"columns without a number left out: {show(names[empty])}"
    return replace(
        features, X=features.X[:, ~empty], names=tuple(names[~empty]), notes=(*features.notes, note)
    )


def _matrix(
    found: Numbers, vector: str | None, notes: list[str], path: Path
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Matrix of the lists of a file or of its columns, and what the features are called."""
    if len(found.vectors) > 1 and vector is None:
        raise FileError(
            path, f"has several columns of lists: {show(found.vectors)}. Say which one: vector=..."
        )
    if vector is not None:
        must_have(list(found.vectors), vector, "column of lists", path)
    name = vector if vector is not None else next(iter(found.vectors), None)
    if found.left_out and (found.columns or found.vectors):
        notes.append(f"columns left out, as they hold no numbers: {_examples(found.left_out)}")
    if name is not None:
        others = [other for other in (*found.columns, *found.vectors) if other != name]
        notes += [f"columns left out: {show(others)}"] if others else []
        X = _as_floats(found.vectors[name](), path)
        return X, tuple(f"{name}{place}" for place in range(X.shape[1]))
    if not found.columns:
        raise FileError(path, f"has no column of numbers.{_why_not(found.left_out)}")
    notes += [_missing(column, strange) for column, strange in found.strange.items()]
    columns = list(found.columns.values())
    return np.column_stack(columns), tuple(found.columns)


def _examples(left_out: Mapping[str, Any]) -> str:
    """Columns without numbers with something they hold, and what to do if these are numbers after all."""
    shown = [f"{name!r} (such as {str(value)[:40]!r})" for name, value in list(left_out.items())[:5]]
    more = f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
    advice = "; write numbers with a point" if any(map(has_comma, left_out.values())) else ""
    return f"{', '.join(shown)}{more}{advice}"


def _missing(name: str, strange: Strange) -> str:
    """What stands in a column of numbers and is none."""
    cells = "1 cell is no number" if strange.count == 1 else f"{strange.count} cells are no numbers"
    first = "" if strange.count == 1 else "first "
    count = "counts" if strange.count == 1 else "count"
    return f"{name}: {cells} ({first}{str(strange.value)[:40]!r}, row {strange.row}) and {count} as missing"


def _why_not(left_out: Mapping[str, Any]) -> str:
    """What columns without numbers hold, and what to do about it."""
    if not left_out:
        return ""
    name, value = next(iter(left_out.items()))
    advice = "Write numbers with a point." if has_comma(value) else "Texts need TextFeatures."
    return f" Column {name!r} holds {str(value)[:40]!r}. {advice}"


def _as_floats(X: NDArray[Any], path: Path) -> NDArray[Any]:
    """Matrix of float32 or float64."""
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        raise FileError(
            path,
            f"holds an array of shape {X.shape} and type {X.dtype}; expected numbers, one row an item "
            "and one column a feature.",
        )
    return X.astype(np.float32 if X.dtype in (np.float16, np.float32) else np.float64)


def ids_beside(path: Path) -> Path | None:
    """File that lists the ids of an array's rows: NAME.ids.txt or NAME.ids.csv beside NAME.npy."""
    stem = os.path.splitext(os.fspath(path))[0]
    return next((name for name in (f"{stem}.ids.txt", f"{stem}.ids.csv") if os.path.isfile(name)), None)


def read_ids(path: Path) -> list[Any]:
    """Ids of a file: an array, a table with an id column, or text with one id a line."""
    data = read_bytes(path)
    if data.startswith(npy.MAGIC):
        return npy.read_npy(data, path).ravel().tolist()
    if os.fspath(path).lower().endswith(".txt"):
        lines = decode(data, path).replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")
        return plain(parse_ids(lines))
    content = open_content(path)
    if content.table is None:
        raise FileError(path, f"is {content}; expected a list of ids.")
    only = content.names[0] if len(content.names) == 1 else "item"
    ids = content.table.ids(
        must_have(content.names, find_id(content.names, None, path) or only, "column", path)
    )
    values = [*ids.values, None]
    return [values[code] for code in ids.codes]


def check_ids(ids: Sequence[Any] | None, n_rows: int, path: Path) -> Ids:
    """Ids of the rows: distinct, none missing, as many as there are rows; numbers if there are none."""
    if ids is None:
        return np.arange(n_rows)
    if len(ids) != n_rows:
        raise FileError(path, f"names {len(ids)} items for {n_rows} rows of features.")
    try:
        coded = factorize(list(ids), "item")
    except (TypeError, ValueError) as error:
        raise FileError(path, str(error)) from None
    if (coded.codes < 0).any():
        raise FileError(path, f"names no item in row {int(np.argmin(coded.codes)) + 1} of the features.")
    if len(coded.values) < n_rows:
        twice = coded.values[int(np.argmax(np.bincount(coded.codes) > 1))]
        raise FileError(path, f"names item {twice!r} more than once; expected one row an item.")
    return tight_array(coded.values)


def _rows_of(
    said: Annotations, features: Features, match: Mapping[Hashable, Hashable], how: str
) -> Annotations:
    """Labels of matched items, against all rows of the features."""
    row = {name: place for place, name in enumerate(features.ids.tolist())}
    place = np.array(
        [row[match[item]] if item in match else -1 for item in said.items.tolist()], dtype=np.int32
    )
    ids = _one_spelling(features.ids.tolist(), match, how)
    kept = place[said.item] >= 0
    columns = (
        Factor(place[said.item[kept]], ids),
        Factor(said.annotator[kept], said.annotators.tolist()),
        Factor(said.label[kept], said.labels.tolist()),
    )
    sure = None if said.confidence is None else said.confidence[kept]
    return Annotations(*triples(columns, (ids, said.annotators, said.labels), "error", sure))


def _one_spelling(theirs: list[Any], match: Mapping[Hashable, Hashable], how: str) -> list[Hashable]:
    """Ids of all items as the labels spell them, if all can be spelt that way; else as the features do."""
    if not how:
        return theirs
    mine = {known: item for item, known in match.items()}
    kind = str if all(isinstance(item, str) for item in match) else int
    try:
        ids = [mine[name] if name in mine else kind(name) for name in theirs]
    except ValueError:
        return theirs
    return ids if len(set(ids)) == len(ids) else theirs
