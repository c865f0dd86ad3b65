"""Addresses of projects, imports and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from whoknows.apps.web.api import imports
from whoknows.apps.web.api import projects as api_projects
from whoknows.apps.web.api.common import ProjectName
from whoknows.apps.web.api.imports import ColumnsIn, Token
from whoknows.apps.web.api.models import ProjectChange, ProjectIn, Strict
from whoknows.apps.web.exchange import importing
from whoknows.apps.web.exchange.uploads import ROLES, Kind, Upload
from whoknows.apps.web.pages.actions import back_to
from whoknows.apps.web.pages.data_page import data_page, preview_page
from whoknows.apps.web.pages.projects_page import name_from, projects_page
from whoknows.apps.web.pages.shell import heading
from whoknows.apps.web.pages.visiting import looking_at, visit_of
from whoknows.apps.web.security.access import Caller, State
from whoknows.apps.web.store import Store, projects

router = APIRouter(include_in_schema=False)
Line = Annotated[str, Form(max_length=2000)]
Body = TypeVar("Body", bound=Strict)


def _body(kind: type[Body], **fields: Any) -> Body:
    """Return what a form holds as a body of the API."""
    try:
        return kind(**fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


@router.get("/projects")
def list_projects(request: Request, store: State) -> HTMLResponse:
    """List all projects."""
    with store.read() as db:
        return HTMLResponse(projects_page(projects.every(db), visit_of(request)))


@router.post("/projects")
def add_project(store: State, caller: Caller, title: Line) -> RedirectResponse:
    """Add a project; its name in addresses comes from its title."""
    name = name_from(title)
    api_projects.add_project(_body(ProjectIn, name=name, title=title.strip()), store, caller)
    return back_to(name, "data")


@router.get("/projects/{name}/data")
def data(request: Request, name: ProjectName) -> HTMLResponse:
    """Offer imports, exports and settings."""
    with looking_at(request, name) as scene:
        shown = heading("Data"), scene.status, *data_page(scene.project, scene.fit is not None, scene.visit)
        return HTMLResponse(scene.visit.page("Data", *shown, active="data", scripts=("fit.js",)))


# --- imports ----------------------------------------------------------------------------------------


@router.post("/projects/{name}/data")
async def upload(
    name: ProjectName, store: State, caller: Caller, kind: Annotated[Kind, Form()], file: Annotated[UploadFile, File()]
) -> RedirectResponse:
    """Keep a file until what it holds is confirmed."""
    given = Upload(kind, file.filename or "file", await file.read())
    return back_to(name, "imports", await run_in_threadpool(_keep, store, name, given, caller.name))


def _keep(store: Store, name: str, given: Upload, who: str) -> str:
    with store.write() as db:
        return importing.keep(db, projects.by_name(db, name), given, who)


@router.get("/projects/{name}/imports/{token}")
def check(request: Request, name: ProjectName, token: Token, store: State) -> HTMLResponse:
    """Show what a file holds; columns that were chosen are in the query."""
    chosen = _columns(request.query_params)
    with looking_at(request, name) as scene:
        waiting, visit = importing.kept(scene.db, scene.project, token), scene.visit
    found = imports.read(request, replace(waiting, columns=chosen))
    shown = preview_page(imports.preview_of(token, waiting.kind, found), visit)
    return HTMLResponse(visit.page("Import", *shown, active="data"))


@router.post("/projects/{name}/imports/{token}")
async def decide(
    request: Request, name: ProjectName, token: Token, store: State, caller: Caller, act: Annotated[str, Form()]
) -> RedirectResponse:
    """Store what a file holds, or forget it."""
    if act == "discard":
        await run_in_threadpool(imports.discard, name, token, store)
        return back_to(name, "data")
    chosen = ColumnsIn(columns=_columns(await request.form()))
    await run_in_threadpool(imports.confirm, name, token, request, store, caller, chosen)
    return back_to(name)


def _columns(given: Mapping[str, Any]) -> dict[str, str]:
    """Columns that were chosen, by role."""
    roles = {role for kind in ROLES.values() for role in kind}
    return {role: str(given[role]) for role in sorted(roles) if given.get(role)}


# --- settings ---------------------------------------------------------------------------------------


@router.post("/projects/{name}/settings")
def change(
    name: ProjectName,
    store: State,
    caller: Caller,
    title: Line,
    model: Line,
    refit_every: Line,
    enough: Line,
    question: Line = "",
    classes: Annotated[str, Form(max_length=50_000)] = "",
) -> RedirectResponse:
    """Change title and settings."""
    with store.read() as db:
        features = projects.by_name(db, name).settings.features
    lines = [line.strip() for line in classes.splitlines() if line.strip()]
    given = {"model": model, "refit_every": refit_every, "enough": enough, "question": question, "classes": lines}
    new = _body(ProjectChange, title=title, settings={**given, "features": list(features)})
    api_projects.change_project(name, new, store, caller)
    return back_to(name, "data")
