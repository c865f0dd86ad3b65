"""Items of a project: texts, images, features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, func, select

from whoknows.apps.web.store.database import insert, upsert
from whoknows.apps.web.store.errors import NotFound
from whoknows.apps.web.store.schema import item
from whoknows.data.vocabulary import show

AT_ONCE = 500  # ids in one statement


@dataclass(frozen=True)
class Item:
    """An item as it is given or shown.

    Parameters
    ----------
    key : str
        The id that the user gave.
    text, second_text : str, optional
        The second one is of a pair.
    image : str, optional
        A data URI.
    features : (n_features,) float32, optional
    """

    key: str
    text: str | None = None
    second_text: str | None = None
    image: str | None = None
    features: NDArray[np.float32] | None = None


def put(db: Connection, project_id: int, items: Iterable[Item]) -> None:
    """Add items; those with a known key are replaced."""
    rows = {each.key: _row(project_id, each) for each in items}
    upsert(db, item, list(rows.values()), ("project_id", "key"))


def add_missing(db: Connection, project_id: int, items: Iterable[Item]) -> None:
    """Add items whose key is not known; others stay as they are."""
    rows = [_row(project_id, each) for each in items]
    if rows:
        db.execute(insert(db, item).on_conflict_do_nothing(index_elements=["project_id", "key"]), rows)


def _row(project_id: int, each: Item) -> dict[str, Any]:
    features = None if each.features is None else np.asarray(each.features, "<f4").tobytes()
    shown = {"text": each.text, "second_text": each.second_text, "image": each.image}
    return {"project_id": project_id, "key": each.key, **shown, "features": features}


def by_key(db: Connection, project_id: int, key: str) -> Item:
    """Return an item."""
    row = db.execute(select(item).where(item.c.project_id == project_id, item.c.key == key)).first()
    if row is None:
        raise NotFound(f"There is no item {key!r} in this project.")
    return _item(row)


def by_id(db: Connection, id: int) -> Item:
    """Return an item by the id of its row."""
    return _item(db.execute(select(item).where(item.c.id == id)).one())


def every(db: Connection, project_id: int) -> list[tuple[int, Item]]:
    """Return all items and the ids of their rows, in the order in which they were added."""
    rows = db.execute(select(item).where(item.c.project_id == project_id).order_by(item.c.id))
    return [(row.id, _item(row)) for row in rows]


def some(db: Connection, project_id: int, limit: int, offset: int) -> list[Item]:
    """Return some items, in the order in which they were added."""
    query = select(item).where(item.c.project_id == project_id).order_by(item.c.id).limit(limit).offset(offset)
    return [_item(row) for row in db.execute(query)]


def count(db: Connection, project_id: int) -> int:
    """Return the number of items."""
    return db.execute(select(func.count()).where(item.c.project_id == project_id)).scalar_one()


def ids_of(db: Connection, project_id: int, keys: Sequence[str]) -> dict[str, int]:
    """Return the ids of rows by key; an unknown key is an error."""
    found = known(db, project_id, keys)
    unknown = [key for key in dict.fromkeys(keys) if key not in found]
    if unknown:
        raise NotFound(f"There is no item {show(unknown, 3)} in this project.")
    return found


def known(db: Connection, project_id: int, keys: Sequence[str]) -> dict[str, int]:
    """Return the ids of rows by key, of the keys that are known."""
    wanted = list(dict.fromkeys(keys))
    found: dict[str, int] = {}
    for start in range(0, len(wanted), AT_ONCE):
        some = item.c.key.in_(wanted[start : start + AT_ONCE])
        found |= {
            key: id
            for id, key in db.execute(select(item.c.id, item.c.key).where(item.c.project_id == project_id, some))
        }
    return found


def _item(row: Row[Any]) -> Item:
    features = None if row.features is None else np.frombuffer(row.features, "<f4")
    return Item(row.key, row.text, row.second_text, row.image, features)
