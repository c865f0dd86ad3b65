"""Fits: queued, claimed by one worker, watched, and what they found."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from sqlalchemy import Connection, Row, and_, exists, func, select
from sqlalchemy.exc import IntegrityError

from whoknows.apps.web.store.errors import Conflict, NotFound
from whoknows.apps.web.store.schema import fit, item, prediction, question

State = Literal["queued", "running", "done", "failed", "cancelled"]
KEPT = 3  # fits per project whose model, predictions and questions are kept
SUMMARIES = 30  # fits per project whose summary is kept, for the history of annotators


@dataclass(frozen=True)
class Fit:
    """A fit without its results. ``progress`` is as `jobs.progress.Progress.facts` gives it."""

    id: int
    project_id: int
    state: State
    requested: float
    started: float | None
    finished: float | None
    heartbeat: float | None
    worker: str | None
    progress: dict[str, Any]
    error: str | None
    n_annotations: int | None
    last_event: int | None


@dataclass(frozen=True)
class Results:
    """What a fit found.

    Parameters
    ----------
    model : bytes
        The model file.
    summary : str
        `Summary.to_json`.
    predictions, questions : lists of dicts
        Rows of these tables, without the id of the fit.
    """

    model: bytes
    summary: str
    predictions: list[dict[str, Any]]
    questions: list[dict[str, Any]]


_COLUMNS = tuple(fit.c[each.name] for each in fields(Fit))


def _fit(row: Row[Any] | None) -> Fit | None:
    return None if row is None else Fit(**row._mapping)


# --- the queue ---------------------------------------------------------------------------------------------


def request(db: Connection, project_id: int) -> Fit:
    """Queue a fit, unless one is queued already; return it."""
    start = {"done": 0, "total": None, "bound": []}
    row = {"project_id": project_id, "state": "queued", "requested": time.time(), "progress": start}
    try:
        with db.begin_nested():
            db.execute(fit.insert().values(**row))
    except IntegrityError:
        pass  # another one is queued: it will see the same labels
    queued = in_state(db, project_id, "queued")
    assert queued is not None
    return queued


def claim(db: Connection, worker: str) -> Fit | None:
    """Take the oldest queued fit of a project without a running one; None if there is none."""
    other = fit.alias()
    busy = exists().where(and_(other.c.project_id == fit.c.project_id, other.c.state == "running"))
    oldest = select(fit.c.id).where(fit.c.state == "queued", ~busy).order_by(fit.c.id).limit(1)
    id = db.execute(oldest).scalar()
    if id is None:
        return None
    now = time.time()
    taken = fit.update().where(fit.c.id == id, fit.c.state == "queued")
    try:
        with db.begin_nested():
            n = db.execute(taken.values(state="running", worker=worker, started=now, heartbeat=now)).rowcount
    except IntegrityError:
        return None  # another server has just started one of the same project
    return by_id(db, id) if n else None


def _own(id: int, worker: str) -> Any:
    """Return the condition that a fit is running, by this worker."""
    return and_(fit.c.id == id, fit.c.worker == worker, fit.c.state == "running")


def is_owned(db: Connection, id: int, worker: str) -> bool:
    """Whether a worker still runs a fit."""
    return db.execute(select(fit.c.id).where(_own(id, worker))).first() is not None


def release(db: Connection, id: int, worker: str) -> None:
    """Queue a fit again that its worker gives up."""
    if is_owned(db, id, worker):
        _queue_again(db, by_id(db, id))


def _queue_again(db: Connection, left: Fit) -> None:
    """Queue a fit again, unless a newer one of its project is queued."""
    waiting = in_state(db, left.project_id, "queued")
    new: dict[str, Any] = {"state": "queued", "worker": None, "started": None, "heartbeat": None}
    if waiting is not None:
        new = {"state": "cancelled", "finished": time.time()}
    db.execute(fit.update().where(fit.c.id == left.id, fit.c.state == "running").values(**new))


def beat(db: Connection, id: int, worker: str, progress: dict[str, Any]) -> bool:
    """Report that a worker is alive, and how far it is; False if the fit is no longer its own."""
    own = fit.update().where(_own(id, worker))
    return db.execute(own.values(heartbeat=time.time(), progress=progress)).rowcount == 1


def requeue_stale(db: Connection, seconds: float) -> int:
    """Queue again what a worker has left: running fits without a sign of life; return how many."""
    stale = select(*_COLUMNS).where(fit.c.state == "running", fit.c.heartbeat < time.time() - seconds)
    found = [Fit(**row._mapping) for row in db.execute(stale)]
    for left in found:
        _queue_again(db, left)
    return len(found)


def start(db: Connection, id: int, n_annotations: int, last_event: int) -> None:
    """Note which labels a running fit has read."""
    db.execute(fit.update().where(fit.c.id == id).values(n_annotations=n_annotations, last_event=last_event))


def cancel(db: Connection, project_id: int, id: int) -> Fit:
    """Cancel a fit that is queued or running; its worker notices at the next sign of life."""
    open_ = fit.c.id == id, fit.c.project_id == project_id, fit.c.state.in_(("queued", "running"))
    n = db.execute(fit.update().where(*open_).values(state="cancelled", finished=time.time())).rowcount
    found = by_id(db, id, project_id)
    if not n and found.state != "cancelled":
        raise Conflict(f"Fit {id} is {found.state} already.")
    return found


def fail(db: Connection, id: int, worker: str, error: str) -> bool:
    """Note why a fit failed; False if it is no longer the worker's own."""
    own = fit.update().where(_own(id, worker))
    return db.execute(own.values(state="failed", error=error, finished=time.time())).rowcount == 1


def finish(db: Connection, id: int, worker: str, results: Results) -> bool:
    """Store the results; False, and nothing is stored, if the fit is no longer the worker's own."""
    own = fit.update().where(_own(id, worker))
    found = {"model": results.model, "summary": results.summary, "finished": time.time(), "state": "done"}
    if not db.execute(own.values(**found)).rowcount:
        return False
    for table, rows in ((prediction, results.predictions), (question, results.questions)):
        if rows:
            db.execute(table.insert(), [{"fit_id": id, **row} for row in rows])
    _prune(db, by_id(db, id).project_id)
    return True


def _prune(db: Connection, project_id: int) -> None:
    """Remove the results of older fits."""
    done = select(fit.c.id).where(fit.c.project_id == project_id, fit.c.state == "done").order_by(fit.c.id.desc())
    ids = list(db.execute(done).scalars())
    for old in ids[KEPT:]:
        for table in (prediction, question):
            db.execute(table.delete().where(table.c.fit_id == old))
        db.execute(fit.update().where(fit.c.id == old).values(model=None))
    for old in ids[SUMMARIES:]:
        db.execute(fit.update().where(fit.c.id == old).values(summary=None))


# --- questions about fits ----------------------------------------------------------------------------------


def by_id(db: Connection, id: int, project_id: int | None = None) -> Fit:
    """Return a fit, of a project if one is named."""
    query = select(*_COLUMNS).where(fit.c.id == id)
    query = query if project_id is None else query.where(fit.c.project_id == project_id)
    found = _fit(db.execute(query).first())
    if found is None:
        raise NotFound(f"There is no fit {id} in this project.")
    return found


def in_state(db: Connection, project_id: int, state: State) -> Fit | None:
    """Return the newest fit of a project in a state."""
    query = select(*_COLUMNS).where(fit.c.project_id == project_id, fit.c.state == state)
    return _fit(db.execute(query.order_by(fit.c.id.desc()).limit(1)).first())


def newest(db: Connection, project_id: int) -> Fit | None:
    """Return the newest fit of a project that is queued, running or done."""
    hopeful = fit.c.project_id == project_id, fit.c.state.in_(("queued", "running", "done"))
    return _fit(db.execute(select(*_COLUMNS).where(*hopeful).order_by(fit.c.id.desc()).limit(1)).first())


def latest(db: Connection, project_id: int) -> Fit | None:
    """Return the newest fit that is done."""
    return in_state(db, project_id, "done")


def every(db: Connection, project_id: int, limit: int = 50) -> list[Fit]:
    """Return the fits of a project, the newest first."""
    query = select(*_COLUMNS).where(fit.c.project_id == project_id).order_by(fit.c.id.desc()).limit(limit)
    return [Fit(**row._mapping) for row in db.execute(query)]


def summary(db: Connection, id: int) -> str:
    """Return the summary of a fit as JSON."""
    return _result(db, id, "summary")


def model(db: Connection, id: int) -> bytes:
    """Return the model file of a fit."""
    return _result(db, id, "model")


def _result(db: Connection, id: int, name: str) -> Any:
    found = db.execute(select(fit.c[name]).where(fit.c.id == id)).scalar()
    if found is None:
        raise NotFound(f"The {name} of fit {id} is not kept.")
    return found


def predictions(db: Connection, id: int) -> Sequence[Row[Any]]:
    """Return what a fit says of all items: item (its key) and the columns of `prediction`."""
    query = select(item.c.key.label("item"), prediction).join(item, item.c.id == prediction.c.item_id)
    return db.execute(query.where(prediction.c.fit_id == id).order_by(item.c.id)).all()


def prediction_of(db: Connection, id: int, key: str) -> Row[Any] | None:
    """Return what a fit says of an item; None if it was added later."""
    query = select(prediction).join(item, item.c.id == prediction.c.item_id)
    return db.execute(query.where(prediction.c.fit_id == id, item.c.key == key)).first()


def questions(db: Connection, id: int, annotator: str | None = None, limit: int = 100) -> Sequence[Row[Any]]:
    """Return the best questions: rank, item, annotator, information."""
    columns = question.c.rank, item.c.key.label("item"), question.c.annotator, question.c.information
    query = select(*columns).join(item, item.c.id == question.c.item_id).where(question.c.fit_id == id)
    query = query if annotator is None else query.where(question.c.annotator == annotator)
    return db.execute(query.order_by(question.c.rank).limit(limit)).all()


def count(db: Connection, state: State) -> int:
    """Return the number of fits in a state, in all projects."""
    return db.execute(select(func.count()).where(fit.c.state == state)).scalar_one()
