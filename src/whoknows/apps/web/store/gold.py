"""Gold: items whose truth a lead has decided."""

from __future__ import annotations

import time

from sqlalchemy import Connection, select

from whoknows.apps.web.store import items
from whoknows.apps.web.store.database import upsert
from whoknows.apps.web.store.projects import Project
from whoknows.apps.web.store.schema import gold, item
from whoknows.data.errors import InputError


def decide(db: Connection, project: Project, truths: dict[str, str], who: str) -> None:
    """Store the truth of items, given by key."""
    problem = project.settings.problem_of(truths.values())
    if problem:
        raise InputError(problem)
    ids, now = items.ids_of(db, project.id, list(truths)), time.time()
    same = {"project_id": project.id, "who": who, "created": now}
    upsert(db, gold, [{**same, "item_id": ids[key], "label": label} for key, label in truths.items()], ("item_id",))


def withdraw(db: Connection, project: Project, key: str) -> None:
    """Remove the truth of an item."""
    db.execute(gold.delete().where(gold.c.item_id == items.ids_of(db, project.id, [key])[key]))


def every(db: Connection, project_id: int) -> dict[str, str]:
    """Return the truth of items by key."""
    query = select(item.c.key, gold.c.label).join(item, item.c.id == gold.c.item_id)
    return {key: label for key, label in db.execute(query.where(gold.c.project_id == project_id).order_by(item.c.id))}
