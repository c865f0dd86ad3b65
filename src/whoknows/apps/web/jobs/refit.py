"""A fit is queued after every few labels."""

from __future__ import annotations

from sqlalchemy import Connection

from whoknows.apps.web.store import fits, labels
from whoknows.apps.web.store.projects import Project


def refit_if_due(db: Connection, project: Project) -> bool:
    """Queue a fit if enough labels came in since the last one read its labels; return whether one is queued."""
    every = project.settings.refit_every
    newest = fits.newest(db, project.id) if every else None
    if not every or (newest is not None and newest.state == "queued"):
        return False
    if newest is not None and newest.state == "running" and newest.last_event is None:
        return False  # it is about to read the labels
    if labels.count_since(db, project.id, (newest and newest.last_event) or 0) < every:
        return False
    fits.request(db, project.id)
    return True
