"""Scripts, styles and the icon, of these pages and of the report: a fixed list, so no address reaches other files."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from fastapi import APIRouter, Request
from fastapi.responses import Response

from whoknows.apps.report import formatting as fmt
from whoknows.apps.web.pages.shell import PACKAGE
from whoknows.apps.web.store.errors import NotFound

REPORT = ("style.css", "tables.js", "items.js", "map.js")
OWN = ("pages.css", "fit.js", "label.js", "icon.svg")
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

router = APIRouter(include_in_schema=False)


@cache
def content(name: str) -> tuple[bytes, str]:
    """Return a file and its tag."""
    if name not in (*REPORT, *OWN):
        raise NotFound(f"There is no file {name!r}.")
    text = fmt.asset(name) if name in REPORT else fmt.asset(f"static/{name}", PACKAGE)
    return text.encode(), f'"{sha256(text.encode()).hexdigest()[:16]}"'


@router.get("/static/{name}")
def asset(name: str, request: Request) -> Response:
    """Send a file, unless the browser has it."""
    found, tag = content(name)
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(found, media_type=KINDS[name.rpartition(".")[2]], headers=headers)
