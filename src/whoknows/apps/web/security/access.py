"""Who calls, and whether they may: decided once, for every route, before anything else happens."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool

from whoknows.apps.web.security.passwords import digest
from whoknows.apps.web.store import Store, accounts
from whoknows.apps.web.store.accounts import Role, Session

COOKIE = "whoknows_session"
CSRF_HEADER, CSRF_FIELD = "X-CSRF-Token", "csrf"
TOO_OLD = (
    "The page is too old, or of another site: load it again, and repeat. Programs send JSON, with the header "
    "Content-Type: application/json."
)
SAFE = ("GET", "HEAD", "OPTIONS")
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "")
PUBLIC = re.compile(r"/sign-in(/[^/]+)?|/healthz|/static(/.*)?|/label-studio/[^/]+/[a-z]+", re.DOTALL)  # or secret
SHARED = re.compile(r"/|/sign-out|/api/v1/me")  # for every role
LABELLING = {  # all else that annotators may do: nothing here tells what others said, or what the model thinks
    "GET": re.compile(r"/label|/projects/[^/]+/label(/next)?|/api/v1/projects/[^/]+/next"),
    "POST": re.compile(r"/projects/[^/]+/label|/api/v1/projects/[^/]+/(annotations|skips|undo)"),
    "DELETE": re.compile(r"/api/v1/projects/[^/]+/annotations"),
}


@dataclass(frozen=True)
class Visitor:
    """Who calls.

    Parameters
    ----------
    name : str
        Of the account.
    role : {"viewer", "annotator", "lead"}
    annotator : str or None
        The name under which the account labels; leads may label under any.
    csrf : str
        Secret that forms and scripts of our pages send back, so that other sites cannot act for a visitor.
    kind : {"open", "cookie", "bearer"}
        How they signed in; "open" if nobody needs to.
    """

    name: str
    role: Role
    annotator: str | None
    csrf: str
    kind: Literal["open", "cookie", "bearer"]


class SignInNeeded(Exception):
    """Nobody is signed in."""


async def admit(request: Request) -> None:
    """Dependency of every route: find the visitor, and refuse what they may not do."""
    path = request.scope["path"]
    if "\0" in path or "\0" in "".join(request.query_params.values()):
        raise HTTPException(400, "Expected an address without null characters.")
    if request.method not in SAFE:
        _refuse_other_pages(request)
    if PUBLIC.fullmatch(path):
        return
    visitor = await _visitor(request)
    if not may(visitor.role, request.method, path):
        raise HTTPException(403, f"This is not for the role {visitor.role!r}. Ask a lead.")
    if request.method not in SAFE:
        await _refuse_without_secret(request, visitor)
    request.state.visitor = visitor


def may(role: Role, method: str, path: str) -> bool:
    """Whether a role may make a request."""
    if role == "lead" or SHARED.fullmatch(path):
        return True
    method = "GET" if method == "HEAD" else method
    labels = method in LABELLING and LABELLING[method].fullmatch(path) is not None
    return labels if role == "annotator" else method in SAFE and not labels


def visitor_of(request: Request) -> Visitor:
    """Return who calls; only after `admit`."""
    return request.state.visitor


def store_of(request: Request) -> Store:
    """Return the store of the server."""
    return request.app.state.store


Caller = Annotated[Visitor, Depends(visitor_of)]
State = Annotated[Store, Depends(store_of)]


def own_name(visitor: Visitor, annotator: str | None) -> str:
    """Return under which name a visitor labels; annotators have one name only."""
    if visitor.role == "annotator" and annotator not in (None, visitor.annotator):
        raise HTTPException(403, f"You label as {visitor.annotator!r}, not as {annotator!r}.")
    name = annotator or visitor.annotator
    if not name:
        raise HTTPException(422, "Who labels? Name the annotator.")
    return name


# --- finding the visitor -----------------------------------------------------------------------------------


async def _visitor(request: Request) -> Visitor:
    state = request.app.state
    if not state.settings.auth:
        return Visitor("local", "lead", None, state.csrf, "open")
    session = await run_in_threadpool(_session, request)
    if session is None:
        raise SignInNeeded
    account = session.account
    return Visitor(account.name, account.role, account.annotator, session.csrf, session.kind)


def _session(request: Request) -> Session | None:
    """Return the session of the token in the header, or else of the cookie."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    with store_of(request).read() as db:
        if scheme.lower() == "bearer" and token:
            return accounts.session_of(db, "bearer", digest(token.strip()))
        cookie = request.cookies.get(COOKIE)
        return accounts.session_of(db, "cookie", digest(cookie)) if cookie else None


# --- other sites -------------------------------------------------------------------------------------------


def _refuse_other_pages(request: Request) -> None:
    """Refuse a request that a page of another site has caused, as browsers tell; also to sign in."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "This request comes from a page of another site.")


async def _refuse_without_secret(request: Request, visitor: Visitor) -> None:
    """Refuse a request that a page of another site may have caused (CSRF).

    A token in the Authorization header is never sent by accident. Where nobody signs in, other sites can send
    forms, but neither JSON nor other methods than POST: browsers ask first whether they may, and hear no.
    """
    if visitor.kind == "bearer":
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if visitor.kind == "open" and (request.method != "POST" or kind not in FORMS):
        return
    given = request.headers.get(CSRF_HEADER) or (await _form_field(request, kind))
    if not hmac.compare_digest(given.encode(), visitor.csrf.encode()):
        raise HTTPException(403, TOO_OLD)


async def _form_field(request: Request, kind: str) -> str:
    if kind not in FORMS[:2]:
        return ""
    value = (await request.form()).get(CSRF_FIELD)
    return value if isinstance(value, str) else ""
