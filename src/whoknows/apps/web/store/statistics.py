"""How much there is of everything, in all projects."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from whoknows.apps.web.store import fits
from whoknows.apps.web.store.schema import annotation, item, project

TABLES = {"projects": project, "items": item, "labels": annotation}


def counts(db: Connection) -> dict[str, int]:
    """Return numbers by name."""
    found = {name: db.execute(select(func.count()).select_from(table)).scalar_one() for name, table in TABLES.items()}
    return found | {f"fits_{state}": fits.count(db, state) for state in ("queued", "running", "failed")}
