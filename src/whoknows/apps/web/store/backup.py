"""Backups of a SQLite store: a consistent copy while the server runs, checked before it counts."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

from whoknows.apps.web.store.migrations import STEPS
from whoknows.data.errors import InputError

PAGES = 1000  # copied at a time; the server may write in between


def copy(source: Path, target: Path) -> int:
    """Copy a database into a new file, whole or not at all; return the number of labels in it.

    Parameters
    ----------
    source : Path
        A database, perhaps in use.
    target : Path
        Must not exist.
    """
    if target.exists():
        raise InputError(f"{target}: exists already. Choose another name, or move it away.")
    if not source.is_file():
        raise InputError(f"{source}: there is no such file.")
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with closing(_open(source)) as old, closing(sqlite3.connect(part)) as new:
            old.backup(new, pages=PAGES)
            new.execute("PRAGMA journal_mode = DELETE")  # one file, without companions
            number = _checked(new, source)
        os.link(part, target)  # fails if somebody was faster
    except sqlite3.DatabaseError as error:
        raise InputError(f"{source}: is not a database of whoknows serve, or is damaged ({error}).") from None
    except FileExistsError:
        raise InputError(f"{target}: exists already. Choose another name, or move it away.") from None
    finally:
        part.unlink(missing_ok=True)
    return number


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _checked(db: sqlite3.Connection, source: Path) -> int:
    """Return the number of labels of a database that is sound."""
    [problem] = db.execute("PRAGMA integrity_check(1)").fetchone()
    if problem != "ok":
        raise InputError(f"{source}: is damaged ({problem}).")
    [version] = db.execute("SELECT version FROM schema_version").fetchone()
    if version > 1 + len(STEPS):
        raise InputError(f"{source}: is of a newer version of whoknows. Install that one.")
    [number] = db.execute("SELECT count(*) FROM annotation").fetchone()
    return int(number)
