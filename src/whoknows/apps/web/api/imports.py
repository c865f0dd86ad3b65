"""Imports in two steps: a file is uploaded and shown; only what is confirmed is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from whoknows.apps.web.api.common import ProjectName
from whoknows.apps.web.api.models import Name, Preview, Storable, Strict
from whoknows.apps.web.exchange import importing
from whoknows.apps.web.exchange.uploads import Kind, Reading, Upload
from whoknows.apps.web.jobs.refit import refit_if_due
from whoknows.apps.web.security.access import Caller, State, Visitor
from whoknows.apps.web.store import audit, projects
from whoknows.data.errors import InputError

router = APIRouter(prefix="/projects/{name}/imports", tags=["imports"])
Token = Annotated[str, Path(max_length=100), Storable]
SHOWN = 8  # rows of a preview
CONTENT = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}


class ColumnsIn(Strict):
    """Columns that were chosen, by role; others are found by their names."""

    columns: Annotated[dict[Name, Name], Field(max_length=10, default_factory=dict)]


@router.post("", openapi_extra=CONTENT)
async def upload(
    name: ProjectName,
    request: Request,
    kind: Kind,
    caller: Caller,
    filename: Annotated[str, Query(max_length=200), Storable] = "upload",
) -> Preview:
    """Upload a file as the body of the request: labels, items or gold. Nothing is stored in the project yet.

    If its columns are not recognised, the answer names the problem; choose the columns in the next step.
    """
    content = await request.body()
    return await run_in_threadpool(_upload, request, name, Upload(kind, filename, content), caller)


def _upload(request: Request, name: str, given: Upload, caller: Visitor) -> Preview:
    found = read(request, given)
    with request.app.state.store.write() as db:
        secret = importing.keep(db, projects.by_name(db, name), given, caller.name)
    return preview_of(secret, given.kind, found)


@router.post("/{token}/preview")
def preview(name: ProjectName, token: Token, request: Request, store: State, body: ColumnsIn) -> Preview:
    """Read an upload again, with other columns."""
    with store.read() as db:
        waiting = importing.kept(db, projects.by_name(db, name), token)
    found = read(request, replace(waiting, columns=body.columns))
    return preview_of(token, waiting.kind, found)


@router.post("/{token}/confirm")
def confirm(
    name: ProjectName, token: Token, request: Request, store: State, caller: Caller, body: ColumnsIn
) -> dict[str, int]:
    """Store what the file holds, as a whole."""
    with store.read() as db:
        waiting = importing.kept(db, projects.by_name(db, name), token)
    found = read(request, replace(waiting, columns=body.columns))
    if found.problem is not None:
        raise InputError(found.problem)
    counts = {"n_items": len(found.items), "n_labels": len(found.labels), "n_gold": len(found.gold)}
    with store.write() as db:
        project = importing.store(db, projects.by_name(db, name), found, waiting.kind, caller.name)
        importing.forget(db, token)
        refit_if_due(db, project)
        audit.note(db, caller.name, "imported", project=name, file=waiting.name, **counts)
    return counts


@router.delete("/{token}", status_code=204)
def discard(name: ProjectName, token: Token, store: State) -> None:
    """Forget an upload."""
    with store.write() as db:
        importing.kept(db, projects.by_name(db, name), token)
        importing.forget(db, token)


def read(request: Request, given: Upload) -> Reading:
    """Read a file in a process of its own."""
    return request.app.state.reader.read(given, request.app.state.settings.max_rows)


def preview_of(secret: str, kind: Kind, found: Reading) -> Preview:
    """Show what a file holds."""
    rows = [{"item": each.key, "text": each.text, "second_text": each.second_text} for each in found.items[:SHOWN]]
    if kind == "labels":
        rows = [dict(zip(("item", "annotator", "label"), row, strict=True)) for row in found.labels[:SHOWN]]
    elif kind == "gold":
        rows = [{"item": key, "label": label} for key, label in list(found.gold.items())[:SHOWN]]
    return Preview(
        token=secret,
        kind=kind,
        format=found.format,
        names=found.names[:1000],
        columns=found.roles,
        notes=found.notes,
        rows=rows,
        n_items=len(found.items),
        n_labels=len(found.labels),
        n_gold=len(found.gold),
        n_features=len(found.features),
        classes=sorted({*(row[2] for row in found.labels), *found.gold.values()})[:200],
        annotators=sorted({row[1] for row in found.labels})[:200],
        problem=found.problem,
    )
