"""Labels: one or many, idempotent, with history."""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Sequence
from functools import partial

from fastapi import APIRouter
from sqlalchemy import Connection

from whoknows.apps.web.api.common import Filter, Limit, Offset, ProjectName, several
from whoknows.apps.web.api.models import AnswerIn, AnswersIn, EventOut, LabelOut, Stored, TakeBackIn
from whoknows.apps.web.jobs.refit import refit_if_due
from whoknows.apps.web.security.access import Caller, State, Visitor, own_name
from whoknows.apps.web.store import Store, labels, projects
from whoknows.apps.web.store.labels import Answer

router = APIRouter(prefix="/projects/{name}", tags=["labels"])


@router.post("/annotations")
async def label(name: ProjectName, body: AnswerIn | AnswersIn, store: State, caller: Caller) -> Stored:
    """Store one label, or several together or not at all; the answer comes when they are on the disk."""
    given = [body] if isinstance(body, AnswerIn) else body.annotations
    answers = [Answer(each.item, own_name(caller, each.annotator), each.label, each.request_id) for each in given]
    return await wrap_future(store.submit(partial(_record, name=name, answers=answers, caller=caller)))


@router.delete("/annotations")
def take_back(name: ProjectName, body: TakeBackIn, store: State, caller: Caller) -> Stored:
    """Take a label back; the history keeps it."""
    answer = Answer(body.item, own_name(caller, body.annotator), None, body.request_id)
    return record(store, name, [answer], caller)


def record(store: Store, name: str, answers: Sequence[Answer], caller: Visitor) -> Stored:
    """Store labels, and queue a fit if it is due."""
    return store.submit(partial(_record, name=name, answers=answers, caller=caller)).result()


def _record(db: Connection, name: str, answers: Sequence[Answer], caller: Visitor) -> Stored:
    project = projects.by_name(db, name)
    outcomes = labels.record(db, project, answers, caller.name)
    return Stored(outcomes=outcomes, refit=refit_if_due(db, project))


@router.get("/annotations")
def list_labels(
    name: ProjectName,
    store: State,
    item: Filter = None,
    annotator: Filter = None,
    limit: Limit = 1000,
    offset: Offset = 0,
) -> list[LabelOut]:
    """The current labels, in the order in which they came."""
    with store.read() as db:
        project = projects.by_name(db, name)
        return several(LabelOut, labels.every(db, project.id, item, annotator, limit, offset))


@router.get("/history")
def list_events(
    name: ProjectName, store: State, item: Filter = None, annotator: Filter = None, limit: Limit = 1000
) -> list[EventOut]:
    """What was labelled, changed and taken back, the newest first."""
    with store.read() as db:
        project = projects.by_name(db, name)
        return several(EventOut, labels.history(db, project.id, item, annotator, limit))
