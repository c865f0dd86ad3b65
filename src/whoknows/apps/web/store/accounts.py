"""Accounts, their sessions, API tokens and sign-in links. Secrets are stored as digests."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from whoknows.apps.web.store.errors import Conflict, NotFound
from whoknows.apps.web.store.schema import account, session, sign_in_link
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import show

Role = Literal["viewer", "annotator", "lead"]
Kind = Literal["cookie", "bearer"]


@dataclass(frozen=True)
class Account:
    """Someone who may sign in.

    Parameters
    ----------
    id : int
    name : str
    role : {"viewer", "annotator", "lead"}
        A viewer sees everything and changes nothing; an annotator labels, and sees nothing else; a lead may do
        everything.
    annotator : str or None
        The name under which the account labels.
    """

    id: int
    name: str
    role: Role
    annotator: str | None


@dataclass(frozen=True)
class Session:
    """A signed-in browser, or the bearer of a token."""

    account: Account
    kind: Kind
    csrf: str


_COLUMNS = tuple(account.c[each.name] for each in fields(Account))


def add(
    db: Connection, name: str, role: str, password_hash: str | None = None, annotator: str | None = None
) -> Account:
    """Add an account; without a password it signs in by links only."""
    if role not in get_args(Role):
        raise InputError(f"Expected a role among {show(get_args(Role))}; got {role!r}.")
    own = annotator or (name if role == "annotator" else None)
    row = {"name": name, "role": role, "password_hash": password_hash, "annotator": own, "created": time.time()}
    try:
        db.execute(account.insert().values(**row))
    except IntegrityError:
        raise Conflict(f"There is an account {name!r} already.") from None
    return by_name(db, name)


def every(db: Connection) -> list[Account]:
    """Return all accounts by name."""
    return [Account(*row) for row in db.execute(select(*_COLUMNS).order_by(account.c.name))]


def by_name(db: Connection, name: str) -> Account:
    """Return an account."""
    row = db.execute(select(*_COLUMNS).where(account.c.name == name)).first()
    if row is None:
        raise NotFound(f"There is no account {name!r}.")
    return Account(*row)


def delete(db: Connection, name: str) -> None:
    """Remove an account with its sessions and links; its labels stay."""
    db.execute(account.delete().where(account.c.id == by_name(db, name).id))


def password_hash(db: Connection, name: str) -> str | None:
    """Return what is stored of a password; None if there is none, or no account."""
    return db.execute(select(account.c.password_hash).where(account.c.name == name)).scalar()


def set_password(db: Connection, name: str, password_hash: str) -> None:
    """Replace a password; whoever is signed in with the old one is signed out."""
    found = by_name(db, name)
    db.execute(account.update().where(account.c.id == found.id).values(password_hash=password_hash))
    db.execute(session.delete().where(session.c.account_id == found.id))


def add_or_set_password(db: Connection, name: str, role: str, password_hash: str | None) -> str:
    """Add an account, or set the password of a known one, which keeps its role; return what was done."""
    if password_hash is not None and name in [each.name for each in every(db)]:
        set_password(db, name, password_hash)
        return "password changed"
    add(db, name, role, password_hash)
    return f"account added as {role}"


# --- sessions and links ------------------------------------------------------------------------------------


def open_session(db: Connection, account_id: int, kind: Kind, digest: str, csrf: str, seconds: float) -> None:
    """Remember a session by the digest of its secret; forget those that are over."""
    now = time.time()
    db.execute(session.delete().where(session.c.expires < now))
    row = {"token_hash": digest, "account_id": account_id, "kind": kind, "csrf": csrf}
    db.execute(session.insert().values(**row, created=now, expires=now + seconds))


def session_of(db: Connection, kind: Kind, digest: str) -> Session | None:
    """Return the session of a secret."""
    query = select(*_COLUMNS, session.c.csrf).join(session, session.c.account_id == account.c.id)
    same = session.c.token_hash == digest, session.c.kind == kind, session.c.expires > time.time()
    row = db.execute(query.where(*same)).first()
    return None if row is None else Session(Account(*row[:-1]), kind, row[-1])


def close_session(db: Connection, digest: str) -> None:
    """End a session."""
    db.execute(session.delete().where(session.c.token_hash == digest))


def add_link(db: Connection, account_id: int, digest: str, seconds: float) -> None:
    """Remember a sign-in link."""
    row = {"token_hash": digest, "account_id": account_id, "expires": time.time() + seconds}
    db.execute(sign_in_link.insert().values(**row))


def account_of_link(db: Connection, digest: str) -> Account | None:
    """Return the account that a link signs in; it may be used until it expires."""
    query = select(*_COLUMNS).join(sign_in_link, sign_in_link.c.account_id == account.c.id)
    same: Any = (sign_in_link.c.token_hash == digest, sign_in_link.c.expires > time.time())
    row = db.execute(query.where(*same)).first()
    return None if row is None else Account(*row)


def revoke_links(db: Connection, account_id: int) -> None:
    """Make all links of an account useless, and end its sessions."""
    for table in (sign_in_link, session):
        db.execute(table.delete().where(table.c.account_id == account_id))
