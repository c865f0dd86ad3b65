"""Accounts, sign-in links, tokens and the audit trail: for leads."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path

from whoknows.apps.web.api.common import Limit, several
from whoknows.apps.web.api.models import AccountIn, AccountOut, AuditOut, Me, SecretOut, Storable
from whoknows.apps.web.security.access import Caller, State
from whoknows.apps.web.security.passwords import digest, hashed, new_secret
from whoknows.apps.web.security.sign_in import LINK, TOKEN
from whoknows.apps.web.store import accounts, audit
from whoknows.apps.web.store.errors import Conflict

router = APIRouter(tags=["accounts"])
AccountName = Annotated[str, Path(max_length=200), Storable]


@router.get("/me")
def me(caller: Caller) -> Me:
    """Who is signed in."""
    return Me(name=caller.name, role=caller.role, annotator=caller.annotator)


@router.get("/accounts")
def list_accounts(store: State) -> list[AccountOut]:
    """All accounts."""
    with store.read() as db:
        return [AccountOut(name=each.name, role=each.role, annotator=each.annotator) for each in accounts.every(db)]


@router.post("/accounts", status_code=201)
def add_account(new: AccountIn, store: State, caller: Caller) -> AccountOut:
    """Add an account."""
    password = None if new.password is None else hashed(new.password)
    with store.write() as db:
        account = accounts.add(db, new.name, new.role, password, new.annotator)
        audit.note(db, caller.name, "account added", name=new.name, role=new.role)
    return AccountOut(name=account.name, role=account.role, annotator=account.annotator)


@router.delete("/accounts/{account}", status_code=204)
def delete_account(account: AccountName, store: State, caller: Caller) -> None:
    """Remove an account; its labels stay."""
    if account == caller.name:
        raise Conflict("You cannot remove your own account. Ask another lead.")
    with store.write() as db:
        accounts.delete(db, account)
        audit.note(db, caller.name, "account deleted", name=account)


@router.post("/accounts/{account}/links", status_code=201)
def add_link(account: AccountName, store: State, caller: Caller) -> SecretOut:
    """Return the address, below that of the server, which signs this account in for 30 days."""
    secret = new_secret()
    with store.write() as db:
        accounts.add_link(db, accounts.by_name(db, account).id, digest(secret), LINK)
        audit.note(db, caller.name, "link added", name=account)
    return SecretOut(secret=f"/sign-in/{secret}", expires=time.time() + LINK)


@router.delete("/accounts/{account}/links", status_code=204)
def revoke_links(account: AccountName, store: State, caller: Caller) -> None:
    """Make all links and tokens of an account useless, and sign it out."""
    with store.write() as db:
        accounts.revoke_links(db, accounts.by_name(db, account).id)
        audit.note(db, caller.name, "links revoked", name=account)


@router.post("/accounts/{account}/tokens", status_code=201)
def add_token(account: AccountName, store: State, caller: Caller) -> SecretOut:
    """Return a token for programs that act for this account."""
    secret = new_secret()
    with store.write() as db:
        id = accounts.by_name(db, account).id
        accounts.open_session(db, id, "bearer", digest(secret), "", TOKEN)
        audit.note(db, caller.name, "token added", name=account)
    return SecretOut(secret=secret, expires=time.time() + TOKEN)


@router.get("/audit")
def list_audit(store: State, limit: Limit = 200) -> list[AuditOut]:
    """Who did what, the newest first."""
    with store.read() as db:
        return several(AuditOut, audit.newest(db, limit))
