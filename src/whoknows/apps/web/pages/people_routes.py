"""Addresses of the page of people, for leads."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from whoknows.apps.web.api import accounts as api_accounts
from whoknows.apps.web.api.models import AccountIn, Name
from whoknows.apps.web.pages.people_page import nobody_signs_in, people_page
from whoknows.apps.web.pages.visiting import visit_of
from whoknows.apps.web.security.access import Caller, State
from whoknows.apps.web.store import accounts
from whoknows.apps.web.store.accounts import Role

router = APIRouter(include_in_schema=False)


@router.get("/people")
def people(request: Request, store: State, caller: Caller) -> HTMLResponse:
    """List the accounts."""
    return _page(request, store, caller)


@router.post("/people")
def add(store: State, caller: Caller, name: Annotated[Name, Form()], role: Annotated[Role, Form()]) -> RedirectResponse:
    """Add an account, which signs in by links."""
    api_accounts.add_account(AccountIn(name=name, role=role), store, caller)
    return RedirectResponse("/people", 303)


@router.post("/people/account")
def change(
    request: Request,
    store: State,
    caller: Caller,
    account: Annotated[Name, Form()],
    act: Annotated[Literal["link", "revoke", "remove"], Form()],
) -> Response:
    """Make a link, which is shown once; revoke all links and sessions; or remove the account."""
    if act == "link":
        made = api_accounts.add_link(account, store, caller)
        return _page(request, store, caller, str(request.base_url).rstrip("/") + made.secret)
    carry_out = api_accounts.revoke_links if act == "revoke" else api_accounts.delete_account
    carry_out(account, store, caller)
    return RedirectResponse("/people", 303)


def _page(request: Request, store: State, caller: Caller, link: str | None = None) -> HTMLResponse:
    if caller.role != "lead":
        raise HTTPException(403, "Accounts are for leads.")
    visit = visit_of(request)
    if caller.kind == "open":
        return HTMLResponse(visit.page("People", *nobody_signs_in(visit)))
    with store.read() as db:
        shown = people_page(accounts.every(db), visit, link)
    return HTMLResponse(visit.page("People", *shown))
