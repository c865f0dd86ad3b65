"""Addresses of the pages."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from whoknows.apps.charts import bullets, el
from whoknows.apps.web.pages.overview import overview
from whoknows.apps.web.store import Store, projects

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


def store_of(request: Request) -> Store:
    """Return the store of the server."""
    return request.app.state.store


@router.get("/")
def home(request: Request) -> Response:
    """Go to the only project, or list all."""
    with store_of(request).read() as db:
        found = projects.every(db)
    if len(found) == 1:
        return RedirectResponse(f"/projects/{found[0].name}/", 303)
    return HTMLResponse(bullets(el("a", each.title, href=f"/projects/{each.name}/") for each in found))


@router.get("/projects/{name}/")
def overview_page(request: Request, name: str) -> HTMLResponse:
    """Show a project."""
    return HTMLResponse(overview(request, store_of(request), name))
