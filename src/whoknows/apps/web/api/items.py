"""Items, and the truth of those that a lead has decided."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query

from whoknows.apps.web.api.common import Filter, ItemKey, Limit, Offset, ProjectName, item_out, several
from whoknows.apps.web.api.models import (
    FoundItem,
    FoundItems,
    GoldIn,
    ItemDetail,
    ItemIn,
    ItemOut,
    ItemsIn,
    LabelOut,
    PredictionOut,
)
from whoknows.apps.web.security.access import Caller, State
from whoknows.apps.web.store import audit, fits, gold, items, labels, projects
from whoknows.apps.web.store.items import Item
from whoknows.apps.web.store.projects import Project
from whoknows.apps.web.store.search import Search, Show, Sort, search
from whoknows.data.errors import InputError

router = APIRouter(prefix="/projects/{name}", tags=["items"])


@router.get("/items")
def list_items(name: ProjectName, store: State, limit: Limit = 100, offset: Offset = 0) -> list[ItemOut]:
    """The items, in the order in which they were added."""
    with store.read() as db:
        project = projects.by_name(db, name)
        return [item_out(project, each) for each in items.some(db, project.id, limit, offset)]


@router.get("/search")
def search_items(
    name: ProjectName,
    store: State,
    q: Filter = None,
    show: Show = "all",
    consensus: Filter = None,
    sort: Sort = "added",
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
    size: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> FoundItems:
    """Items by words, filters and order, as on the page of items."""
    wanted = Search(q or "", show, consensus or "", sort, page, size)
    with store.read() as db:
        project = projects.by_name(db, name)
        last = fits.latest(db, project.id)
        found, number = search(db, project.id, None if last is None else last.id, wanted)
    return FoundItems(n_found=number, items=several(FoundItem, found))


@router.post("/items", status_code=201)
def add_items(name: ProjectName, body: ItemsIn, store: State, caller: Caller) -> dict[str, int]:
    """Add items; those with a known key are replaced, and keep their labels."""
    with store.write() as db:
        project = projects.by_name(db, name)
        items.put(db, project.id, [_item(project, each) for each in body.items])
        audit.note(db, caller.name, "items added", project=name, number=len(body.items))
        return {"n_items": items.count(db, project.id)}


def _item(project: Project, given: ItemIn) -> Item:
    names = project.settings.features
    if given.features is not None and names and len(given.features) != len(names):
        raise InputError(f"Expected {len(names)} features of item {given.key!r}; got {len(given.features)}.")
    values: Any = None if given.features is None else np.array(given.features, dtype=np.float32)
    if values is not None and not np.isfinite(values).all():
        raise InputError(f"Expected features of item {given.key!r} below 3e38 in size.")
    return Item(given.key, given.text, given.second_text, given.image, values)


@router.get("/items/{key:path}")
def get_item(name: ProjectName, key: ItemKey, store: State) -> ItemDetail:
    """An item: who said what, its truth if it was decided, and what the last fit says."""
    with store.read() as db:
        project = projects.by_name(db, name)
        shown, last = item_out(project, items.by_key(db, project.id, key)), fits.latest(db, project.id)
        said = None if last is None else fits.prediction_of(db, last.id, key)
        return ItemDetail(
            **shown.model_dump(),
            labels=[LabelOut(item=key, **row._mapping) for row in labels.of_item(db, project.id, key)],
            gold=gold.every(db, project.id).get(key),
            prediction=None if said is None else PredictionOut(item=key, **said._mapping),
        )


@router.get("/gold")
def list_gold(name: ProjectName, store: State) -> dict[str, str]:
    """The truth of items that was decided, by item."""
    with store.read() as db:
        return gold.every(db, projects.by_name(db, name).id)


@router.put("/gold/{key:path}", status_code=204)
def decide(name: ProjectName, key: ItemKey, body: GoldIn, store: State, caller: Caller) -> None:
    """Decide the truth of an item."""
    with store.write() as db:
        gold.decide(db, projects.by_name(db, name), {key: body.label}, caller.name)
        audit.note(db, caller.name, "gold decided", project=name, item=key, label=body.label)


@router.delete("/gold/{key:path}", status_code=204)
def withdraw(name: ProjectName, key: ItemKey, store: State, caller: Caller) -> None:
    """Forget the truth of an item."""
    with store.write() as db:
        gold.withdraw(db, projects.by_name(db, name), key)
        audit.note(db, caller.name, "gold withdrawn", project=name, item=key)
