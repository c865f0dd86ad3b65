"""Overview of a project."""

from __future__ import annotations

from fastapi import Request

from whoknows.apps.charts import Html, el, lead
from whoknows.apps.web.store import Store, fits, items, labels, projects


def overview(request: Request, store: Store, name: str) -> Html:
    """Counts of items and labels, and the state of the last fit."""
    with store.read() as db:
        project = projects.by_name(db, name)
        n_items, n_labels = items.count(db, project.id), labels.count(db, project.id)
        last = fits.latest(db, project.id)
    fitted = "not fitted yet" if last is None else f"fitted to {last.n_annotations} labels"
    return el("main", el("h1", project.title), lead(f"{n_items} items, {n_labels} labels, {fitted}."))
