"""Signing in with a password or a link, and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from whoknows.apps.charts import el
from whoknows.apps.web.pages.shell import Visit, heading
from whoknows.apps.web.pages.sign_in_page import sign_in_page
from whoknows.apps.web.security.access import COOKIE, State
from whoknows.apps.web.security.passwords import digest, matches, new_secret
from whoknows.apps.web.store import Store, accounts, attempts, audit
from whoknows.apps.web.store.accounts import Account

DAYS = 24 * 3600
SESSION = 14 * DAYS
LINK = 30 * DAYS
TOKEN = 365 * DAYS

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
def form(request: Request) -> HTMLResponse:
    """Ask for name and password."""
    return HTMLResponse(sign_in_page(""))


@router.post("/sign-in")
def sign_in(
    request: Request,
    store: State,
    name: Annotated[str, Form(max_length=200)] = "",
    password: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Open a session, if the password is right and was not tried too often."""
    who = digest(f"name {name}"), digest(f"from {request.client.host if request.client else ''}")
    with store.write() as db:
        allowed = attempts.allowed(db, *who)
    if not allowed:
        return HTMLResponse(sign_in_page("Too many attempts. Wait a minute."), 429, {"Retry-After": "60"})
    account = _check(store, name, password)
    if account is None:
        return HTMLResponse(sign_in_page("Name or password is wrong."), 401)
    with store.write() as db:
        attempts.forgive(db, *who)
    return _opened(request, account, "signed in", RedirectResponse(_workplace(account), 303))


@router.get("/sign-in/{token}")
def by_link(request: Request, token: str, store: State) -> Response:
    """Open a session for whoever holds a link.

    The answer is a page of our own that goes on, and no redirect: after a link in a mail, browsers would not send
    the new cookie along with it.
    """
    with store.read() as db:
        account = accounts.account_of_link(db, digest(token))
    if account is None:
        return HTMLResponse(sign_in_page("This link is no longer valid. Ask a lead for a new one."), 401)
    address = _workplace(account)
    page = Visit("").page("Signed in", heading("Signed in"), el("p", el("a", "Continue", href=address)))
    return _opened(request, account, "signed in by link", HTMLResponse(page, headers={"Refresh": f"0; url={address}"}))


@router.post("/sign-out")
def sign_out(request: Request, store: State) -> Response:
    """End the session of this browser."""
    with store.write() as db:
        accounts.close_session(db, digest(request.cookies.get(COOKIE, "")))
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(COOKIE)
    return answer


def _check(store: Store, name: str, password: str) -> Account | None:
    """Return the account, if the password is right."""
    with store.read() as db:
        right = matches(password, None if "\0" in name else accounts.password_hash(db, name))
        return accounts.by_name(db, name) if right else None


def _workplace(account: Account) -> str:
    """Return where an account goes first."""
    return "/label" if account.role == "annotator" else "/"


def _opened(request: Request, account: Account, how: str, answer: Response) -> Response:
    """Open a session; its secret is in a cookie of the answer."""
    store, settings = request.app.state.store, request.app.state.settings
    secret = new_secret()
    with store.write() as db:
        accounts.open_session(db, account.id, "cookie", digest(secret), new_secret(), SESSION)
        audit.note(db, account.name, how)
    options = {"httponly": True, "samesite": "strict", "secure": settings.secure, "path": "/"}
    answer.set_cookie(COOKIE, secret, SESSION, **options)
    return answer
