"""What there is to read and to see of items: text and images, in whichever file has them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from whoknows.apps.cli.errors import BAD_INPUT, CommandError

if TYPE_CHECKING:
    from whoknows.apps.cli.inputs import Crowd, Source
    from whoknows.io.labels import LabelFile

Known = Mapping[Hashable, str]


def texts_of(source: Source, crowd: Crowd) -> list[str | None] | None:
    """Text of each item: what features were made of, a column a user names, or one called text."""
    from whoknows.io.texts import read_texts

    if crowd.texts is not None:
        return _by_row(crowd, crowd.texts)
    column = source.text or "text"
    table = _table_with(column, source)
    if table is None and source.text is not None:
        table = source.items or source.features  # which says what columns there are
    return _by_row(crowd, crowd.labels.text if table is None else read_texts(table, column, source.id_column))


def images_of(source: Source, crowd: Crowd) -> list[str | None] | None:
    """Image of each item: in a column a user names, or in one called image."""
    from whoknows.io.texts import read_texts

    column, labels = source.image or "image", crowd.labels
    table = _table_with(column, source)
    if table is not None:
        found = read_texts(table, column, source.id_column)
        return _by_row(crowd, {item: _from(table, path) for item, path in found.items()})
    if source.image is None and (labels.text or labels.format in ("long", "wide", "crowdkit")):
        return None
    return _by_row(crowd, _of_labels(source, labels))


def _of_labels(source: Source, labels: LabelFile) -> Known | None:
    """Images that the labels' own file names: for its reader they are another text."""
    from whoknows.io.labels import read_labels

    columns = {**source.columns, "text": source.image or "image"}
    try:
        found = read_labels(source.labels, labels.format, columns, source.duplicates or "last").text
    except ValueError:
        found = None
    if not found and source.image is not None:
        raise CommandError(f"There is no column {source.image!r} for the image in any file.", BAD_INPUT)
    return {item: _from(source.labels, path) for item, path in (found or {}).items()}


def _from(table: Path, path: str) -> str:
    """Path of an image as seen from the folder of the table that names it, if there is such a file."""
    near = os.path.join(table.parent, path)
    return near if os.path.isfile(near) else path


def _by_row(crowd: Crowd, known: Known | None) -> list[str | None] | None:
    """What is known of each item in their order, None where nothing is."""
    from whoknows.io.id_matching import match_ids

    items = crowd.joined.annotations.items.tolist()
    match, _ = match_ids(items, known or {})
    return [(known or {}).get(match.get(item)) for item in items] if match else None


def _table_with(column: str, source: Source) -> Path | None:
    """The table of items, or of features, that has a column of this name.

    A file is read for it only if its first or last part has the column's name in it: features can be large.
    """
    return next((path for path in (source.items, source.features) if path and has_column(path, column)), None)


def has_column(path: Path, name: str) -> bool:
    """Whether a file is a table with a column of this name; of what can be read but once, no."""
    from whoknows.io.containers import open_content

    return path.is_file() and _mentions(path, name) and name in open_content(path).names


def _mentions(path: Path, word: str, size: int = 1 << 16) -> bool:
    """Whether a name occurs where a table keeps its names: at its beginning or, in Parquet, its end."""
    with open(path, "rb") as file:
        head = file.read(size)
        if head.startswith((b"\x93NUMPY", b"PK")):
            return False
        file.seek(max(os.path.getsize(path) - size, 0))
        return word.encode() in head + file.read(size)
