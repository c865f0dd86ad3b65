"""The next item for an annotator, at once: from the questions of the last fit, or the least known items."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, func, select

from whoknows.apps.web.store import fits, items, labels
from whoknows.apps.web.store.database import upsert
from whoknows.apps.web.store.items import Item
from whoknows.apps.web.store.projects import Project
from whoknows.apps.web.store.schema import annotation, gold, item, prediction, question, reservation

RESERVED = 300.0  # seconds for which an item that is shown to one annotator is not given to another


@dataclass(frozen=True)
class Task:
    """What an annotator should do.

    Parameters
    ----------
    state : {"ask", "enough", "done"}
        Answer ``item``; the same, but no label is expected to tell much; or everything is answered.
    item : Item, optional
        None if everything is answered.
    """

    state: Literal["ask", "enough", "done"]
    item: Item | None = None


def next_task(db: Connection, project: Project, annotator: str, without: Sequence[str] = ()) -> Task:
    """Return the next task, and reserve its item; not one of the items ``without``, given by key."""
    fit = fits.latest(db, project.id)
    fit_id = None if fit is None else fit.id
    free = _open(project, annotator, without)
    asked = None if fit_id is None else _best_question(db, fit_id, annotator, free)
    id = asked.id if asked is not None else _least_known(db, project, fit_id, free)
    if id is None:
        return Task("done")
    row = {"project_id": project.id, "annotator": annotator, "item_id": id, "until": time.time() + RESERVED}
    upsert(db, reservation, [row], ("project_id", "annotator"))
    is_enough = asked is not None and asked.information < project.settings.enough
    return Task("enough" if is_enough else "ask", items.by_id(db, id))


def chosen_task(db: Connection, project: Project, key: str) -> Task:
    """Return the task to label a chosen item, perhaps again."""
    return Task("ask", items.by_key(db, project.id, key))


def _open(project: Project, annotator: str, without: Sequence[str]) -> Any:
    """Return the conditions for an item: not answered or skipped by this annotator, not before another's eyes."""
    r = reservation.c
    others = select(r.item_id).where(r.project_id == project.id, r.annotator != annotator, r.until > time.time())
    given = [item.c.key.not_in(without)] if without else []
    return [~labels.answered(project.id, annotator), item.c.id.not_in(others), *given]


def _best_question(db: Connection, fit_id: int, annotator: str, free: list[Any]) -> Any:
    """Return the id of the item with the most informative question, and its information."""
    query = select(item.c.id, question.c.information).join(question, question.c.item_id == item.c.id)
    mine = question.c.fit_id == fit_id, question.c.annotator == annotator
    return db.execute(query.where(*mine, *free).order_by(question.c.rank).limit(1)).first()


def _least_known(db: Connection, project: Project, fit_id: int | None, free: list[Any]) -> int | None:
    """Return the id of an item with fewest labels, of these the least certain; none whose truth is known."""
    known = select(gold.c.item_id).where(gold.c.project_id == project.id)
    free = [item.c.project_id == project.id, item.c.id.not_in(known), *free]
    if fit_id is None:
        n_labels = select(func.count()).where(annotation.c.item_id == item.c.id).scalar_subquery()
        return db.execute(select(item.c.id).where(*free).order_by(n_labels, item.c.id).limit(1)).scalar()
    same = (prediction.c.item_id == item.c.id) & (prediction.c.fit_id == fit_id)
    order = func.coalesce(prediction.c.n_labels, -1), prediction.c.confidence, item.c.id
    return db.execute(select(item.c.id).outerjoin(prediction, same).where(*free).order_by(*order).limit(1)).scalar()
