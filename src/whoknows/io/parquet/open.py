"""Features by the name of their file: Parquet of any size, or a .npy matrix through a memory map."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whoknows.data.vocabulary import Ids, show
from whoknows.io import npy
from whoknows.io.errors import FileError, Path
from whoknows.io.features import check_ids, ids_beside, read_ids
from whoknows.io.labels.format import must_have
from whoknows.io.parquet.files import find_files, open_file
from whoknows.io.parquet.layout import find_id, is_list, is_number
from whoknows.io.parquet.rows import MEMORY, ParquetFeatures


def open_features(
    path: Path,
    id_column: str | None = None,
    *,
    vector: str | None = None,
    memory: int = MEMORY,
    progress: Callable[[int, int], Any] | None = None,
) -> Any:
    """Open features without reading them, of which only some need to be in memory at a time.

    The columns taken are those that `read_features` takes: numbers, or one column of lists. What is left out
    is said in ``notes``.

    Parameters
    ----------
    path : str or path
        A Parquet file, a folder of them, or ``.npy``.
    id_column, memory, progress
        As in `ParquetFeatures`.
    vector : str, optional
        Which column of lists to take, if there are several.

    Returns
    -------
    ParquetFeatures, or numpy.memmap of shape (n_items, n_features)
    """
    if is_matrix(path):
        return _open_matrix(path)
    file = find_files(path)[0]
    columns, notes = _usable(open_file(file).schema_arrow, id_column, vector, file)
    features = ParquetFeatures(path, id_column, columns, memory=memory, progress=progress)
    features.notes = tuple(notes)
    return features


def is_matrix(path: Path) -> bool:
    """Whether a file is one of numpy's .npy files."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(npy.MAGIC)) == npy.MAGIC


def ids_of_matrix(path: Path, n_rows: int, ids: Path | None = None) -> Ids:
    """Ids of the rows of a .npy file, from a file that lists them; row numbers if there is none."""
    ids = ids_beside(path) if ids is None else ids
    return check_ids(None if ids is None else read_ids(ids), n_rows, path if ids is None else ids)


def _open_matrix(path: Path) -> Any:
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FileError(path, f"is damaged, or is no NumPy file ({error}). Save it again.") from None
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        raise FileError(
            path,
            f"holds an array of shape {X.shape} and type {X.dtype}; expected numbers, one row an item "
            "and one column a feature.",
        )
    return X


def _usable(
    schema: Any, id_column: str | None, vector: str | None, path: str
) -> tuple[Sequence[str], list[str]]:
    """Columns to take, and what to say of the others."""
    item = find_id(schema.names, id_column, path)
    kinds = {name: kind for name, kind in zip(schema.names, schema.types, strict=True) if name != item}
    lists = [name for name, kind in kinds.items() if is_list(kind)]
    numbers = [name for name, kind in kinds.items() if is_number(kind)]
    odd = [f"{name!r} ({kind})" for name, kind in kinds.items() if name not in (*lists, *numbers)]
    if vector is not None:
        must_have(lists, vector, "column of lists", path)
    elif len(lists) > 1:
        raise FileError(path, f"has several columns of lists: {show(lists)}. Say which one: vector=...")
    chosen = [vector] if vector is not None else lists or numbers
    if not chosen:
        raise FileError(path, f"has no column of numbers; there are {show(schema.names, 20)}.")
    notes = [f"columns left out, as they hold no numbers: {', '.join(odd[:5])}"] if odd else []
    others = [name for name in (*numbers, *lists) if name not in chosen]
    return chosen, [*notes, *([f"columns left out: {show(others)}"] if others else [])]
