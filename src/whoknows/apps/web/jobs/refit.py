"""A fit is queued after every few labels."""

from __future__ import annotations

from sqlalchemy import Connection

from whoknows.apps.web.store import fits, labels
from whoknows.apps.web.store.projects import Project


def refit_if_due(db: Connection, project: Project) -> bool:
    """Queue a fit if enough labels came in since the last one read its labels; return whether one is queued."""
    every = project.settings.refit_every
    if not every or fits.in_state(db, project.id, "queued") is not None:
        return False
    running = fits.in_state(db, project.id, "running")
    if running is not None and running.last_event is None:
        return False  # it is about to read the labels
    seen = running or fits.latest(db, project.id)
    if labels.count_since(db, project.id, (seen and seen.last_event) or 0) < every:
        return False
    fits.request(db, project.id)
    return True
