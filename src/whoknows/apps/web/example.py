"""The example project of a new server: 300 tumours, five simulated annotators."""

from __future__ import annotations

from sqlalchemy import Connection

from whoknows.apps.tumours import tumours
from whoknows.apps.web.store import items, labels, projects
from whoknows.apps.web.store.labels import Answer
from whoknows.apps.web.store.projects import Model, Project, ProjectSettings

NAME, N_ITEMS = "example", 300


def add_example(db: Connection, model: Model = "auto") -> Project:
    """Add the example project, not fitted yet."""
    data = tumours()
    Y = data.annotations[:N_ITEMS]
    classes = tuple(Y.labels.tolist())
    settings = ProjectSettings(classes, "Is this tumour benign or malignant?", model, features=tuple(data.names))
    project = projects.create(db, NAME, "Example: tumours", settings)
    items.put(
        db, project.id, (items.Item(key, features=x) for key, x in zip(Y.items.tolist(), data.features, strict=False))
    )
    columns = Y.items[Y.item].tolist(), Y.annotators[Y.annotator].tolist(), Y.labels[Y.label].tolist()
    answers = [Answer(*row, source="import") for row in zip(*columns, strict=True)]
    labels.record(db, project, answers, who="whoknows")
    return project
