"""What annotators do: the next item, skip, undo. Nothing here tells what others said."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from whoknows.apps.web.api.annotations import Recorder, record
from whoknows.apps.web.api.common import ProjectName, item_out
from whoknows.apps.web.api.models import Key, Name, SkipIn, TaskOut, UndoIn, Undone
from whoknows.apps.web.security.access import Caller, State, own_name
from whoknows.apps.web.store import items, labels, projects
from whoknows.apps.web.store.asking import chosen_task, next_task
from whoknows.apps.web.store.labels import Answer

router = APIRouter(prefix="/projects/{name}", tags=["labelling"])


@router.get("/next")
def next_item(
    name: ProjectName,
    store: State,
    caller: Caller,
    annotator: Annotated[Name | None, Query()] = None,
    without: Annotated[list[Key], Query(alias="not", max_length=20)] = [],  # noqa: B006, of the signature only
    item: Annotated[Key | None, Query()] = None,
) -> TaskOut:
    """The item that this annotator should label next; not one of those named with ``not``, or a chosen one."""
    own = own_name(caller, annotator)
    with store.write() as db:
        project = projects.by_name(db, name)
        task = next_task(db, project, own, without) if item is None else chosen_task(db, project, item)
        return TaskOut(
            state=task.state,
            item=None if task.item is None else item_out(project, task.item),
            question=project.settings.question,
            classes=list(labels.classes(db, project) or ()),
            n_done=labels.counts(db, project.id).get(own, 0),
            n_items=items.count(db, project.id),
        )


@router.post("/skips", status_code=204)
def skip(name: ProjectName, body: SkipIn, store: State, caller: Caller) -> None:
    """Do not ask this annotator about this item again."""
    with store.write() as db:
        labels.put_aside(db, projects.by_name(db, name), body.item, own_name(caller, body.annotator))


@router.post("/undo")
def undo(name: ProjectName, body: UndoIn, store: State, recorder: Recorder, caller: Caller) -> Undone:
    """Take back the label that this annotator gave last."""
    own = own_name(caller, body.annotator)
    with store.read() as db:
        last = labels.last_of(db, projects.by_name(db, name).id, own)
    if last is not None:
        record(recorder, name, Answer(last.item, own, None, body.request_id), caller)
    return Undone(item=None if last is None else last.item)
