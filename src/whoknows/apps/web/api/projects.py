"""Projects."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter
from sqlalchemy import Connection

from whoknows.apps.web.api.common import ProjectName
from whoknows.apps.web.api.models import FitOut, ProjectChange, ProjectIn, ProjectOut
from whoknows.apps.web.security.access import Caller, State
from whoknows.apps.web.store import audit, fits, gold, items, labels, projects
from whoknows.apps.web.store.projects import Project

router = APIRouter(prefix="/projects", tags=["projects"])


@router.get("")
def list_projects(store: State) -> list[ProjectOut]:
    """All projects, the newest first."""
    with store.read() as db:
        return [_out(db, each) for each in projects.every(db)]


@router.post("", status_code=201)
def add_project(new: ProjectIn, store: State, caller: Caller) -> ProjectOut:
    """Add a project without items."""
    with store.write() as db:
        project = projects.create(db, new.name, new.title, new.settings.settings())
        audit.note(db, caller.name, "project added", project=new.name)
        return _out(db, project)


@router.get("/{name}")
def get_project(name: ProjectName, store: State) -> ProjectOut:
    """A project, and how far it is."""
    with store.read() as db:
        return _out(db, projects.by_name(db, name))


@router.put("/{name}")
def change_project(name: ProjectName, change: ProjectChange, store: State, caller: Caller) -> ProjectOut:
    """Replace title and settings."""
    with store.write() as db:
        projects.change(db, projects.by_name(db, name), change.title, change.settings.settings())
        audit.note(db, caller.name, "project changed", project=name)
        return _out(db, projects.by_name(db, name))


@router.delete("/{name}", status_code=204)
def delete_project(name: ProjectName, store: State, caller: Caller) -> None:
    """Remove a project with all its labels."""
    with store.write() as db:
        projects.delete(db, projects.by_name(db, name))
        audit.note(db, caller.name, "project deleted", project=name)


def _out(db: Connection, project: Project) -> ProjectOut:
    counts, last = labels.counts(db, project.id), fits.latest(db, project.id)
    return ProjectOut(
        name=project.name,
        title=project.title,
        settings=asdict(project.settings),
        created=project.created,
        n_items=items.count(db, project.id),
        n_labels=sum(counts.values()),
        n_labelled=labels.n_labelled(db, project.id),
        n_gold=len(gold.every(db, project.id)),
        labels_by_annotator=counts,
        n_since_fit=labels.count_since(db, project.id, (last and last.last_event) or 0),
        fit=None if last is None else FitOut(**asdict(last)),
    )
