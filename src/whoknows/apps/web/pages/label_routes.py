"""Addresses of the label page: annotators see nothing else, and nothing here tells what others said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import Connection

from whoknows.apps.web.api.annotations import Recorder, record
from whoknows.apps.web.api.labelling import skip, undo
from whoknows.apps.web.api.models import Key, Label, Name, SkipIn, UndoIn
from whoknows.apps.web.pages.label_page import Screen, label_page, task_view, who_labels
from whoknows.apps.web.pages.projects_page import projects_page
from whoknows.apps.web.pages.shell import PageLinks
from whoknows.apps.web.pages.visiting import visit_of
from whoknows.apps.web.security.access import Caller, State, own_name
from whoknows.apps.web.store import items, labels, projects
from whoknows.apps.web.store.asking import chosen_task, next_task
from whoknows.apps.web.store.labels import Answer
from whoknows.apps.web.store.projects import Project

router = APIRouter(include_in_schema=False)
As = Annotated[Name | None, Query(alias="as")]
Item = Annotated[Key | None, Query()]


@router.get("/label")
def newest(request: Request, store: State, who: As = None) -> Response:
    """Go to the label page of the newest project."""
    with store.read() as db:
        found = projects.every(db)
    if not found:
        return HTMLResponse(projects_page(found, visit_of(request)))
    return RedirectResponse(PageLinks(found[0].name).to("label", **{"as": who}), 303)


@router.get("/projects/{name}/label")
def label(request: Request, name: str, store: State, caller: Caller, who: As = None, item: Item = None) -> HTMLResponse:
    """Show the next item; a lead first says who labels."""
    with store.write() as db:
        project = projects.by_name(db, name)
        visit = visit_of(request, project)
        if who is None and caller.annotator is None:
            shown = who_labels(list(labels.counts(db, project.id)), visit)
        else:
            shown = label_page(_screen(db, project, own_name(caller, who), key=item), visit)
    return HTMLResponse(visit.page("Label", shown, scripts=("label.js",)))


@router.get("/projects/{name}/label/next")
def fetched(
    name: str,
    store: State,
    caller: Caller,
    who: As = None,
    item: Item = None,
    without: Annotated[list[Key] | None, Query(alias="not", max_length=20)] = None,
) -> HTMLResponse:
    """Part of the page that its script asks for: the next item, or one that is shown again."""
    with store.write() as db:
        project = projects.by_name(db, name)
        screen = _screen(db, project, own_name(caller, who), without or (), item)
        return HTMLResponse(task_view(screen))


def _screen(db: Connection, project: Project, who: str, without: Sequence[str] = (), key: str | None = None) -> Screen:
    task = next_task(db, project, who, without) if key is None else chosen_task(db, project, key)
    n_done, n_items = labels.counts(db, project.id).get(who, 0), items.count(db, project.id)
    return Screen(project, who, task, n_done, n_items, labels.classes(db, project))


@router.post("/projects/{name}/label")
def answer(
    name: str,
    store: State,
    recorder: Recorder,
    caller: Caller,
    who: Annotated[Name, Form(alias="as")],
    item: Annotated[str, Form(max_length=500)] = "",
    label: Annotated[Label | None, Form()] = None,
    act: Annotated[Literal["skip", "undo"] | None, Form()] = None,
) -> Response:
    """Store an answer, skip, or take the last answer back, without script."""
    again = None
    if act == "undo":
        again = undo(name, UndoIn(annotator=who), store, recorder, caller).item
    elif act == "skip":
        skip(name, SkipIn(item=item, annotator=who), store, caller)
    elif label is not None:
        record(recorder, name, Answer(item, own_name(caller, who), label), caller)
    return RedirectResponse(PageLinks(name).to("label", **{"as": who, "item": again}), 303)
