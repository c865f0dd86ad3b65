"""The machine learning backend that Label Studio calls: /health, /setup, /predict and /webhook.

Label Studio sends no password with the news of annotations, so the address holds a secret. Its requests also hold
tokens, which are neither stored nor logged.
"""

from __future__ import annotations

from collections.abc import Sequence
from secrets import compare_digest, token_urlsafe
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy import Connection, select

from whoknows.apps.web.label_studio import events
from whoknows.apps.web.label_studio.messages import Event, Questions, Setup
from whoknows.apps.web.label_studio.question import Question
from whoknows.apps.web.label_studio.sync import VERSION, score
from whoknows.apps.web.store import Store, fits, items
from whoknows.apps.web.store.database import insert
from whoknows.apps.web.store.errors import NotFound
from whoknows.apps.web.store.projects import Project
from whoknows.apps.web.store.schema import prediction
from whoknows.apps.web.store.schema import secret as secrets

NAME = "label-studio"  # of our secret
PREFIX = "/label-studio/{secret}"

router = APIRouter(prefix=PREFIX, include_in_schema=False)


def path(db: Connection) -> str:
    """Return the path of the backend, with its secret, which is made the first time."""
    statement = insert(db, secrets).values(name=NAME, value=token_urlsafe(32))
    db.execute(statement.on_conflict_do_nothing(index_elements=["name"]))
    return PREFIX.format(secret=_secret(db))


def _secret(db: Connection) -> str | None:
    return db.execute(select(secrets.c.value).where(secrets.c.name == NAME)).scalar()


def _store(request: Request, secret: str) -> Store:
    """Return the store to those who know the secret."""
    store: Store = request.app.state.store
    with store.read() as db:
        known = _secret(db)
    if known is None or not compare_digest(secret.encode(), known.encode()):
        raise NotFound("There is nothing here.")
    return store


Known = Annotated[Store, Depends(_store)]


@router.get("/health")
def health(store: Known) -> dict[str, str]:
    """Say that the backend is there."""
    return {"status": "UP", "model_class": VERSION}


@router.post("/setup")
def setup(store: Known, given: Setup) -> dict[str, str]:
    """Make a project for one of Label Studio; an error if its question has no single answer."""
    with store.write() as db:
        events.project_of(db, given.project, given.label_config)
    return {"model_version": VERSION}


@router.post("/predict")
def predict(store: Known, given: Questions) -> dict[str, Any]:
    """Return the predictions of the latest fit; tasks that it has not seen have none.

    Annotations that come with the tasks are stored: those made before the backend was added become known here.
    """
    with store.write() as db:
        project, question = events.project_of(db, given.project, given.label_config)
        events.add_tasks(db, project, question, given.tasks)
    with store.read() as db:
        results = _predictions(db, project, question, [str(task.id) for task in given.tasks])
    return {"results": results, "model_version": VERSION}


def _predictions(db: Connection, project: Project, question: Question, keys: Sequence[str]) -> list[Any]:
    """Return a list of one prediction per task, or of none."""
    fit, ids = fits.latest(db, project.id), items.ids_of(db, project.id, keys)
    of_fit = prediction.c.fit_id == (fit and fit.id), prediction.c.item_id.in_(ids.values())
    rows = {row.item_id: row for row in db.execute(select(prediction).where(*of_fit))}
    return [[_prediction(question, rows[ids[key]])] if ids[key] in rows else [] for key in keys]


def _prediction(question: Question, row: Any) -> dict[str, Any]:
    how_little = score(row.information, len(row.probabilities))
    return {"result": question.result(row.label), "score": how_little, "model_version": VERSION}


@router.post("/webhook", status_code=201)
def webhook(store: Known, given: Event) -> dict[str, str]:
    """Store what has happened, at once; fits run elsewhere."""
    with store.write() as db:
        events.store(db, given)
    return {"status": "ok"}
