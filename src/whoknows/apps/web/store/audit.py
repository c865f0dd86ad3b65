"""Audit trail: who did what, except single labels, which have a history of their own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from whoknows.apps.web.store.schema import audit


def note(db: Connection, who: str, action: str, **detail: Any) -> None:
    """Add an entry; details are JSON, and never secrets."""
    db.execute(audit.insert().values(created=time.time(), account=who, action=action, detail=detail))


def newest(db: Connection, limit: int = 200) -> Sequence[Row[Any]]:
    """Return the newest entries first: id, created, account, action, detail."""
    return db.execute(select(audit).order_by(audit.c.id.desc()).limit(limit)).all()
