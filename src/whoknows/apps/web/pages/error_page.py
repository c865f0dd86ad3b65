"""Answers that say what went wrong and what to do: pages for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from whoknows.apps.charts import Html, el
from whoknows.apps.web.pages.shell import PageLinks, Visit, heading

TITLES = {
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed",
    409: "This contradicts what is stored",
    413: "Too large",
    422: "This cannot be done",
    429: "Too many attempts",
    503: "The server is busy",
}


def is_for_people(request: Request) -> bool:
    """Whether a browser asks for a page; programs and scripts of the pages ask for something else."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")


def _to_project(name: str) -> Html:
    return el("a", "Back to the project", href=PageLinks(name).to())


def error_answer(request: Request, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Answer that something cannot be done, and why."""
    if not is_for_people(request):
        return JSONResponse({"detail": message}, status, headers)
    title = TITLES.get(status, "Something went wrong")
    seen = getattr(request.state, "project", None)  # the project exists, and this visitor may see it
    name = seen if status in (403, 404) else request.path_params.get("name")
    back = el("a", "Back to the start", href="/") if name is None else _to_project(name)
    return HTMLResponse(Visit("").page(title, heading(title), el("p", message), el("p", back)), status, headers)
