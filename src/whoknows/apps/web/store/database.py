"""Store: the engine, and connections that read or write."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, InvalidatePoolError

from whoknows.apps.web.store.migrations import migrate
from whoknows.data.errors import InputError

BUSY = 30_000  # milliseconds to wait for another writer of SQLite
IDLE = 2.0  # seconds after which a connection to PostgreSQL may be broken
CONNECTIONS = 50  # as many as the server has threads, and some
SQLITE = (
    "PRAGMA journal_mode = WAL",  # readers do not wait for writers
    "PRAGMA synchronous = FULL",  # a commit is on the disk before it is acknowledged
    "PRAGMA foreign_keys = ON",
    f"PRAGMA busy_timeout = {BUSY}",
)


class Store:
    """The state of a server.

    Parameters
    ----------
    url : str
        Of the database: ``sqlite:///path`` or ``postgresql://…``.
    """

    def __init__(self, url: str) -> None:
        self.url = database_url(url)
        self.engine = _sqlite(self.url) if self.is_sqlite else _postgresql(self.url)
        self._writer = self.engine.execution_options(writes=True)
        self._turn = Lock()
        with self.write() as db:
            migrate(db)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a file of SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Connect, to read a consistent state."""
        with self.engine.connect() as db:
            yield db

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Connect in a transaction: all of it is stored at the end, or none if an error occurs."""
        # SQLite has one writer at a time; threads wait for their turn here, not by trying again and again.
        with self._turn if self.is_sqlite else nullcontext(), self._writer.begin() as db:
            yield db

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def database_url(text: str) -> URL:
    """Return the URL of a database that is supported; psycopg is the driver of PostgreSQL."""
    try:
        url = make_url(text)
    except ArgumentError:
        raise InputError("Expected a database such as postgresql://user@host/name; this is no URL.") from None
    backend = url.get_backend_name()
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and url.database:
        return url
    raise InputError(f"Expected postgresql://… or sqlite:///file as the database; got {backend}://….")


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, pool_size=CONNECTIONS, connect_args={"timeout": BUSY / 1000})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not when the driver sees fit
        for pragma in SQLITE:
            connection.execute(pragma)

    @event.listens_for(engine, "begin")
    def begin(db: Connection) -> None:
        # A transaction that reads first and writes later can fail half-way; writers wait at the start.
        db.exec_driver_sql("BEGIN IMMEDIATE" if db.get_execution_options().get("writes") else "BEGIN")

    return engine


def _postgresql(url: URL) -> Engine:
    try:
        engine = create_engine(url, pool_size=CONNECTIONS)
    except ModuleNotFoundError:
        raise InputError("PostgreSQL needs a driver: pip install 'whoknows[postgres]'") from None
    driver: Any = engine.dialect.dbapi

    @event.listens_for(engine, "checkin")
    def note(connection: Any, record: Any) -> None:
        record.info["used"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def ping(connection: Any, record: Any, proxy: Any) -> None:
        if time.monotonic() - record.info.get("used", time.monotonic()) < IDLE:
            return  # every question to the database is a wait
        try:
            engine.dialect.do_ping(connection)
        except driver.Error:
            raise InvalidatePoolError from None

    return engine


def insert(db: Connection, table: Table) -> Any:
    """Return an INSERT that knows ON CONFLICT, in the dialect of the database."""
    from sqlalchemy.dialects import postgresql, sqlite

    return (sqlite if db.dialect.name == "sqlite" else postgresql).insert(table)


def upsert(db: Connection, table: Table, rows: Sequence[dict[str, Any]], key: Sequence[str]) -> None:
    """Insert rows; where one with the same key exists, replace its other values."""
    if not rows:
        return
    statement = insert(db, table)
    others = {name: statement.excluded[name] for name in rows[0] if name not in key}
    statement = statement.on_conflict_do_update(index_elements=list(key), set_=others)
    db.execute(statement, list(rows))
