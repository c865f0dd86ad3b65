"""What the routes share: the project of an address, and rows as answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel
from sqlalchemy import Row

from whoknows.apps.web.api.models import ItemOut, Storable
from whoknows.apps.web.store.items import Item
from whoknows.apps.web.store.projects import Project

Out = TypeVar("Out", bound=BaseModel)

ProjectName = Annotated[str, Path(max_length=63), Storable]
ItemKey = Annotated[str, Path(max_length=500), Storable]
Filter = Annotated[str | None, Query(max_length=500), Storable]
Limit = Annotated[int, Query(ge=1, le=10_000)]
Offset = Annotated[int, Query(ge=0, le=2**31)]

ANSWERS: dict[int | str, dict[str, Any]] = {
    400: {"description": "Not as expected."},
    401: {"description": "Nobody is signed in."},
    403: {"description": "Not for this role, or caused by another site."},
    404: {"description": "There is no such thing."},
    409: {"description": "It contradicts what is stored."},
    413: {"description": "Too large."},
    422: {"description": "Not as expected."},
    429: {"description": "Too often."},
}


def several(kind: type[Out], rows: Iterable[Row[Any]]) -> list[Out]:
    """Return rows of the store as answers."""
    return [kind(**row._mapping) for row in rows]


def item_out(project: Project, item: Item) -> ItemOut:
    """Return an item with the names of its features."""
    names = project.settings.features
    values = None if item.features is None else item.features.tolist()
    named = None if values is None else dict(zip(names or map(str, range(len(values))), values, strict=False))
    return ItemOut(key=item.key, text=item.text, second_text=item.second_text, image=item.image, features=named)
