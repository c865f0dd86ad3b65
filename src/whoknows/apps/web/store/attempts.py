"""How often someone tried to sign in; all servers on a database count together."""

from __future__ import annotations

import time

from sqlalchemy import Connection

from whoknows.apps.web.store.database import insert
from whoknows.apps.web.store.schema import attempt

WINDOW = 60.0  # seconds
PER_NAME, PER_ADDRESS = 5, 20  # attempts in that time


def allowed(db: Connection, name: str, address: str) -> bool:
    """Count an attempt; return whether it may go on. It counts before the password is checked, and is forgiven after.

    Parameters
    ----------
    name, address : str
        Digests of the name of the account and of the address of the visitor.
    """
    db.execute(attempt.delete().where(attempt.c.since < time.time() - WINDOW))
    return _count(db, name) <= PER_NAME and _count(db, address) <= PER_ADDRESS


def forgive(db: Connection, name: str, address: str) -> None:
    """Take back an attempt that succeeded."""
    both = attempt.c.who.in_((name, address))
    db.execute(attempt.update().where(both).values(number=attempt.c.number - 1))


def _count(db: Connection, who: str) -> int:
    """Add one to the attempts of the last minute; return their number."""
    first = insert(db, attempt).values(who=who, since=time.time(), number=1)
    again = first.on_conflict_do_update(index_elements=["who"], set_={"number": attempt.c.number + 1})
    return int(db.execute(again.returning(attempt.c.number)).scalar_one())
