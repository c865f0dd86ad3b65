"""The schema, versioned: a new database gets the current tables, an older one the steps that it lacks."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, inspect, select

from whoknows.apps.web.store.schema import METADATA, attempt, schema_version
from whoknows.data.errors import InputError

Step = Callable[[Connection], None]
STEPS: tuple[Step, ...] = (attempt.create,)  # step i brings version i + 1 to version i + 2
LOCK = 7_701_965  # any number, the same in all servers


def migrate(db: Connection, steps: tuple[Step, ...] = STEPS) -> None:
    """Bring a database to the current version, inside a transaction that other servers wait for."""
    if db.dialect.name == "postgresql":
        db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
    current = 1 + len(steps)
    if not inspect(db).has_table("schema_version"):
        METADATA.create_all(db)
        db.execute(schema_version.insert().values(version=current))
        return
    version = db.execute(select(schema_version.c.version)).scalar_one()
    if version > current:
        raise InputError(
            f"The database has version {version}; this version of whoknows knows {current}. Install a newer one."
        )
    for step in steps[version - 1 :]:
        step(db)
    db.execute(schema_version.update().values(version=current))
