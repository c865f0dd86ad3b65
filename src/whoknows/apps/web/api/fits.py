"""Fits: queue, watch, cancel; and what the last one found."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path
from sqlalchemy import Connection

from whoknows.apps.web.api.common import Filter, Limit, ProjectName, several
from whoknows.apps.web.api.models import FitOut, PredictionOut, QuestionOut
from whoknows.apps.web.security.access import Caller, State
from whoknows.apps.web.store import audit, fits, projects
from whoknows.apps.web.store.errors import NotFound
from whoknows.apps.web.store.fits import Fit

router = APIRouter(prefix="/projects/{name}", tags=["fits"])
FitId = Annotated[int, Path(ge=1, le=2**63 - 1)]


@router.post("/fits", status_code=202)
def queue_fit(name: ProjectName, store: State, caller: Caller) -> FitOut:
    """Queue a fit; if one is queued already, it is that one."""
    with store.write() as db:
        fit = fits.request(db, projects.by_name(db, name).id)
        audit.note(db, caller.name, "fit requested", project=name, fit=fit.id)
        return FitOut(**asdict(fit))


@router.get("/fits")
def list_fits(name: ProjectName, store: State) -> list[FitOut]:
    """The fits, the newest first."""
    with store.read() as db:
        return [FitOut(**asdict(fit)) for fit in fits.every(db, projects.by_name(db, name).id)]


@router.get("/fits/{id}")
def get_fit(name: ProjectName, id: FitId, store: State) -> FitOut:
    """A fit: its state and progress."""
    with store.read() as db:
        return FitOut(**asdict(fits.by_id(db, id, projects.by_name(db, name).id)))


@router.delete("/fits/{id}")
def cancel_fit(name: ProjectName, id: FitId, store: State, caller: Caller) -> FitOut:
    """Cancel a fit that is queued or running."""
    with store.write() as db:
        fit = fits.cancel(db, projects.by_name(db, name).id, id)
        audit.note(db, caller.name, "fit cancelled", project=name, fit=id)
        return FitOut(**asdict(fit))


# --- what the last fit found -------------------------------------------------------------------------------


def last_fit(db: Connection, name: str) -> Fit:
    """Return the last fit of a project that is done."""
    found = fits.latest(db, projects.by_name(db, name).id)
    if found is None:
        raise NotFound(f"Project {name!r} is not fitted yet.")
    return found


@router.get("/summary")
def get_summary(name: ProjectName, store: State) -> dict[str, Any]:
    """All numbers and sentences of the last fit."""
    with store.read() as db:
        return json.loads(fits.summary(db, last_fit(db, name).id))


@router.get("/annotators")
def list_annotators(name: ProjectName, store: State) -> list[dict[str, Any]]:
    """The annotators by the last fit, best first."""
    table = get_summary(name, store)["annotators"]
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


@router.get("/consensus")
def list_consensus(name: ProjectName, store: State) -> list[PredictionOut]:
    """What the last fit says of every item."""
    with store.read() as db:
        return several(PredictionOut, fits.predictions(db, last_fit(db, name).id))


@router.get("/questions")
def list_questions(name: ProjectName, store: State, annotator: Filter = None, limit: Limit = 100) -> list[QuestionOut]:
    """The labels most worth asking for, by the last fit."""
    with store.read() as db:
        return several(QuestionOut, fits.questions(db, last_fit(db, name).id, annotator, limit))
