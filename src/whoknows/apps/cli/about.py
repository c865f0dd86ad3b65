"""Texts and images of the items for the report."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from whoknows.apps.cli.console import Console, count
from whoknows.apps.cli.errors import CommandError
from whoknows.apps.cli.source import Source

if TYPE_CHECKING:
    from whoknows.apps.cli.inputs import LoadedData
    from whoknows.io import LabelFile

Names = Mapping[Hashable, str]


def texts_of(data: LoadedData) -> list[str | None] | None:
    """Return the text of each item: that of its features, or a column named by the user or "text"."""
    from whoknows.io import read_texts

    if data.texts is not None:
        return data.dataset.in_order(data.texts)
    source = data.source
    column = source.text or "text"
    table = _table_with(column, source)
    if table is None and source.text is not None:
        table = source.items or source.features  # the error lists its columns
    texts = data.labels.text if table is None else read_texts(table, column, source.id_column)
    return data.dataset.in_order(texts)


def images_of(data: LoadedData, console: Console) -> list[str | Path | None] | None:
    """Return the image of each item, from a column named by the user or "image".

    Files that may be read are paths; names that are only shown are strings.
    """
    from whoknows.io import read_texts

    source, labels = data.source, data.labels
    column = source.image or "image"
    table = _table_with(column, source)
    if table is not None:
        found = read_texts(table, column, source.id_column)
    elif source.image is None and (labels.text or labels.format in ("long", "wide", "crowdkit")):
        return None
    else:
        table, found = source.labels, _of_labels(source, labels)
    return data.dataset.in_order(_readable(found, table, source.image_folder or [], console))


def _of_labels(source: Source, labels: LabelFile) -> Names:
    """Read the names of images from the file of labels, as if they were texts."""
    from whoknows.data.errors import InputError
    from whoknows.io import read_labels

    columns = {**source.columns, "text": source.image or "image"}
    try:
        found = read_labels(source.labels, labels.format, columns, source.duplicates or "last").text
    except InputError:
        found = None
    if not found and source.image is not None:
        raise CommandError(f"There is no column {source.image!r} for the image in any file.")
    return found or {}


def _readable(
    found: Names, table: Path, folders: list[Path], console: Console
) -> Mapping[Hashable, str | Path]:
    """Replace names of images by paths, if the files are in a folder that the user named.

    A file from someone else must not choose which files of this machine go into the report.
    """
    allowed = [Path(folder).resolve() for folder in folders]
    shown: dict[Hashable, str | Path] = {}
    refused = []
    for item, name in found.items():
        paths = _files_called(name, [table.parent, *folders])
        inside = [path for path in paths if any(map(path.resolve().is_relative_to, allowed))]
        shown[item] = inside[0] if inside else name
        refused += [name] if paths and not inside else []
    if refused:
        console.warn(
            f"{table}: names {count(len(refused), 'image file')} in no folder given with --image-folder, "
            f"such as {refused[0]!r}. The report shows names instead. If you trust this file, name the "
            "folder that holds the images: --image-folder FOLDER."
        )
    return shown


def _files_called(name: str, folders: list[Path]) -> list[Path]:
    """Return the existing files of this name, relative to each of the folders."""
    paths = [os.path.join(folder, name) for folder in folders]
    return [Path(path) for path in paths if os.path.isfile(path)]


def _table_with(column: str, source: Source) -> Path | None:
    """Return the table of items, or of features, that has a column of this name.

    A file is read only if its beginning or end contains the name, as features can be large.
    """
    return next((path for path in (source.items, source.features) if path and has_column(path, column)), None)


def has_column(path: Path, name: str) -> bool:
    """Whether a regular file is a table with a column of this name."""
    from whoknows.io.containers import open_content

    return path.is_file() and _mentions(path, name) and name in open_content(path).names


def _mentions(path: Path, word: str, size: int = 1 << 16) -> bool:
    """Whether a word occurs where a table has its names: at the beginning or, in Parquet, at the end."""
    with open(path, "rb") as file:
        head = file.read(size)
        if head.startswith((b"\x93NUMPY", b"PK")):
            return False
        file.seek(max(os.path.getsize(path) - size, 0))
        return word.encode() in head + file.read(size)
