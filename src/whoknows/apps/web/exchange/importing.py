"""Uploads wait for a confirmation; what is confirmed is stored as a whole."""

from __future__ import annotations

import time
from dataclasses import replace

from sqlalchemy import Connection, select

from whoknows.apps.web.exchange.uploads import Reading, Upload
from whoknows.apps.web.security.passwords import digest, new_secret
from whoknows.apps.web.store import gold, items, labels, projects
from whoknows.apps.web.store.errors import NotFound
from whoknows.apps.web.store.labels import Answer
from whoknows.apps.web.store.projects import Project
from whoknows.apps.web.store.schema import upload as table
from whoknows.data.errors import InputError

WAIT = 3600.0  # seconds that an upload waits for its confirmation
MOST = 5  # uploads that wait per project and account; a new one replaces the oldest


def keep(db: Connection, project: Project, upload: Upload, who: str) -> str:
    """Keep an upload until it is confirmed; return the secret that names it."""
    db.execute(table.delete().where(table.c.created < time.time() - WAIT))
    _make_room(db, project, who)
    secret = new_secret()
    row = {"project_id": project.id, "kind": upload.kind, "name": upload.name, "content": upload.content, "who": who}
    db.execute(table.insert().values(token_hash=digest(secret), created=time.time(), **row))
    return secret


def _make_room(db: Connection, project: Project, who: str) -> None:
    """Forget the oldest uploads of somebody who has uploaded many, and confirmed none."""
    own = table.c.project_id == project.id, table.c.who == who
    newest = select(table.c.token_hash).where(*own).order_by(table.c.created.desc()).limit(MOST - 1)
    db.execute(table.delete().where(*own, table.c.token_hash.not_in(newest)))


def kept(db: Connection, project: Project, secret: str) -> Upload:
    """Return an upload that waits."""
    same = table.c.token_hash == digest(secret), table.c.project_id == project.id
    row = db.execute(select(table).where(*same)).first()
    if row is None:
        raise NotFound("This file waits no longer: an hour passed, newer files came, or it is stored. Upload it again.")
    return Upload(row.kind, row.name, row.content)


def forget(db: Connection, secret: str) -> None:
    """Remove an upload."""
    db.execute(table.delete().where(table.c.token_hash == digest(secret)))


def store(db: Connection, project: Project, found: Reading, kind: str, who: str) -> Project:
    """Store what a file holds; return the project, which may have more classes now."""
    if kind == "items":
        items.put(db, project.id, found.items)
    else:
        items.add_missing(db, project.id, found.items)
    project = _with_classes_and_features(db, project, found)
    answers = [Answer(*row, source="import") for row in found.labels]
    labels.record(db, project, answers, who)
    if found.gold:
        known = items.known(db, project.id, list(found.gold))
        gold.decide(db, project, {key: label for key, label in found.gold.items() if key in known}, who)
    return project


def _with_classes_and_features(db: Connection, project: Project, found: Reading) -> Project:
    """Add new classes at the end, and names of features; refuse features that differ from those of other items."""
    settings = project.settings
    if settings.model != "regression":
        given = dict.fromkeys([*settings.classes, *sorted({*(row[2] for row in found.labels), *found.gold.values()})])
        settings = replace(settings, classes=tuple(given))
    if found.features and settings.features not in ((), tuple(found.features)):
        raise InputError(
            f"Expected the {len(settings.features)} features of this project, {', '.join(settings.features[:3])}, …; "
            f"got {len(found.features)}: {', '.join(found.features[:3])}, …."
        )
    settings = replace(settings, features=tuple(found.features) or settings.features)
    projects.change(db, project, project.title, settings)
    return replace(project, settings=settings)
