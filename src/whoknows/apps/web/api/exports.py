"""Exports: files to take away."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from whoknows.apps.web.api.common import ProjectName
from whoknows.apps.web.api.results import last_fit
from whoknows.apps.web.exchange import exports
from whoknows.apps.web.security.access import State
from whoknows.apps.web.store import fits, projects

router = APIRouter(prefix="/projects/{name}/exports", tags=["exports"])
CSV, BINARY, HTML = "text/csv; charset=utf-8", "application/octet-stream", "text/html; charset=utf-8"


def _file(content: bytes, name: str, kind: str) -> Response:
    """Return a file that browsers store and never show."""
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _produces(kind: str) -> Any:
    return {"response_class": Response, "responses": {200: {"content": {kind.partition(";")[0]: {}}}}}


@router.get("/annotations.csv", **_produces(CSV))
def annotations(name: ProjectName, store: State) -> Response:
    """The current labels."""
    with store.read() as db:
        return _file(exports.annotations(db, projects.by_name(db, name)), f"{name}-annotations.csv", CSV)


@router.get("/consensus.csv", **_produces(CSV))
def consensus(name: ProjectName, store: State) -> Response:
    """The consensus of every item."""
    with store.read() as db:
        return _file(exports.consensus(db, last_fit(db, name)), f"{name}-consensus.csv", CSV)


@router.get("/annotators.csv", **_produces(CSV))
def annotators(name: ProjectName, store: State) -> Response:
    """The annotators."""
    with store.read() as db:
        return _file(exports.annotators(db, last_fit(db, name)), f"{name}-annotators.csv", CSV)


@router.get("/model.whoknows", **_produces(BINARY))
def model(name: ProjectName, store: State) -> Response:
    """The model file of the last fit."""
    with store.read() as db:
        return _file(fits.model(db, last_fit(db, name).id), f"{name}.whoknows", BINARY)


@router.get("/report.html", **_produces(HTML))
def report(name: ProjectName, store: State) -> Response:
    """The report of the last fit, a page that needs no network."""
    with store.read() as db:
        project = projects.by_name(db, name)
        return _file(exports.report(db, project, last_fit(db, name)), f"{name}-report.html", HTML)
