"""Fits: queue, watch, cancel."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path

from whoknows.apps.web.api.common import ProjectName
from whoknows.apps.web.api.models import FitOut
from whoknows.apps.web.security.access import Caller, State
from whoknows.apps.web.store import audit, fits, projects

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
