"""Columns of items and of annotators to group by, from whichever file has them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from whoknows.apps.cli.errors import CommandError
from whoknows.apps.cli.inputs import table_with

if TYPE_CHECKING:
    from whoknows.apps.cli.inputs import LoadedData


def column_of_items(data: LoadedData, name: str) -> list[Any]:
    """Return a column of the items, one value per row: of the table of items or features, or of the labels."""
    from whoknows.io import read_texts

    source = data.source
    table = table_with(name, source)
    if table is not None:
        found: Mapping[Hashable, Any] = read_texts(table, name, source.id_column, source.encoding)
    elif name in data.labels.item_columns:
        found = data.labels.item_columns[name]
    else:
        raise CommandError(
            f"{source.labels}: has several values of {name!r} for an item; a column of items has one for each item."
        )
    values = data.dataset.in_order(found)
    if values is None:
        raise CommandError(f"{table or source.labels}: has no value of {name!r} for any of the items.")
    return values


def column_of_annotators(data: LoadedData, name: str | None) -> dict[Hashable, Any]:
    """Return a column of the annotators, by annotator; empty if none is named."""
    if name is None:
        return {}
    if name not in data.labels.annotator_columns:
        raise CommandError(
            f"{data.source.labels}: has several values of {name!r} for an annotator; groups need one for each."
        )
    return dict(data.labels.annotator_columns[name])
