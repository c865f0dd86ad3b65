"""A project with features and labels, so that a fit takes a while; and what is stored of it."""

from contextlib import closing

import numpy as np

from benchmarks.web.server import Client
from whoknows.apps.web.store import Store
from whoknows.apps.web.store.schema import annotation, annotation_event

API = "/api/v1/projects/load"
CLASSES = ["no", "yes"]


def add_project(port, n_items=2000, n_features=10, n_labels=3000):
    """Add a project over the API."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_items, n_features))
    with closing(Client(port)) as client:
        settings = {"classes": CLASSES, "refit_every": 0}
        _expect(client.call("POST", "/api/v1/projects", {"name": "load", "settings": settings}))
        for start in range(0, n_items, 500):
            items = [{"key": f"i{i}", "features": X[i].tolist()} for i in range(start, min(start + 500, n_items))]
            _expect(client.call("POST", f"{API}/items", {"items": items}))
        rows = rng.integers(0, n_items, n_labels)
        given = [
            {"item": f"i{i}", "annotator": f"old{k % 5}", "label": CLASSES[int((X[i, 0] > 0) != (rng.random() < 0.2))]}
            for k, i in enumerate(rows)
        ]
        _expect(client.call("POST", f"{API}/annotations", {"annotations": given}))


def _expect(answer):
    if answer[0] >= 300:
        raise RuntimeError(f"{answer[0]}: {answer[1][:500]!r}")


def stored_requests(url):
    """Return the requests in the history, and which of their labels are current."""
    store = Store(url)
    with store.read() as db:
        history = {row.request_id for row in db.execute(annotation_event.select())}
        current = {(row.item_id, row.annotator) for row in db.execute(annotation.select())}
        events = {(row.item_id, row.annotator) for row in db.execute(annotation_event.select())}
        sound = not store.is_sqlite or db.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    store.close()
    return history, current == events, sound
