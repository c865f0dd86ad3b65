"""Projects: one task with its items, classes and settings."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Row, select
from sqlalchemy.exc import IntegrityError

from whoknows.apps.web.store import schema
from whoknows.apps.web.store.errors import Conflict, NotFound
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import show

Model = Literal["auto", "lgp", "id", "gp", "ordered", "regression"]
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True)
class ProjectSettings:
    """What a lead can choose.

    Parameters
    ----------
    classes : tuple of str
        The labels that can be given, in the order of the number keys; for ordinal labels lowest first. Empty if
        labels are numbers.
    question : str
        What annotators are asked.
    model : {"auto", "lgp", "id", "gp", "ordered", "regression"}
        As --model of the command line.
    seed, max_iter : int
        Of the fit.
    refit_every : int
        New labels after which a fit is queued; 0 for never.
    enough : float
        Expected information of a label, in bits, below which an annotator is told that it is enough.
    features : tuple of str
        Names of the features of the items.
    """

    classes: tuple[str, ...] = ()
    question: str = ""
    model: Model = "auto"
    seed: int = 0
    max_iter: int = 200
    refit_every: int = 20
    enough: float = 0.01
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "features", tuple(self.features))
        if self.model not in get_args(Model):
            raise InputError(f"Expected a model among {show(get_args(Model), 10)}; got {self.model!r}.")
        if len(set(self.classes)) < len(self.classes):
            raise InputError(f"Expected classes that differ; got {show(self.classes, 10)}.")

    def problem_of(self, labels: Iterable[str]) -> str | None:
        """Return what is wrong with labels, if anything: they are classes, or numbers for a regression."""
        if self.model == "regression":
            others, expected = [label for label in labels if not is_number(label)], "a number"
        else:
            others = [label for label in labels if self.classes and label not in self.classes]
            expected = f"a label among {show(self.classes, 10)}"
        return f"Expected {expected}; got {show(others, 3)}." if others else None


def is_number(text: str) -> bool:
    """Whether a label can be read as a number."""
    try:
        return isfinite(float(text))
    except ValueError:
        return False


@dataclass(frozen=True)
class Project:
    """A project, as it is stored."""

    id: int
    name: str
    title: str
    settings: ProjectSettings = field(default_factory=ProjectSettings)
    created: float = 0.0


def create(db: Connection, name: str, title: str = "", settings: ProjectSettings | None = None) -> Project:
    """Add a project; its name is part of addresses."""
    if not NAME.fullmatch(name):
        raise InputError(f"Expected a name of lower-case letters, digits and hyphens; got {name!r}.")
    row = {"name": name, "title": title or name, "created": time.time()}
    statement = schema.project.insert().values(**row, settings=asdict(settings or ProjectSettings()))
    try:
        db.execute(statement)
    except IntegrityError:
        raise Conflict(f"There is a project {name!r} already. Choose another name.") from None
    return by_name(db, name)


def every(db: Connection) -> list[Project]:
    """Return all projects, the newest first."""
    return [_project(row) for row in db.execute(select(schema.project).order_by(schema.project.c.id.desc()))]


def by_name(db: Connection, name: str) -> Project:
    """Return a project."""
    row = db.execute(select(schema.project).where(schema.project.c.name == name)).first()
    if row is None:
        raise NotFound(f"There is no project {name!r}.")
    return _project(row)


def by_id(db: Connection, id: int) -> Project:
    """Return a project."""
    return _project(db.execute(select(schema.project).where(schema.project.c.id == id)).one())


def change(db: Connection, project: Project, title: str, settings: ProjectSettings) -> None:
    """Replace title and settings."""
    new = {"title": title, "settings": asdict(settings)}
    db.execute(schema.project.update().where(schema.project.c.id == project.id).values(**new))


def delete(db: Connection, project: Project) -> None:
    """Remove a project with everything in it."""
    db.execute(schema.project.delete().where(schema.project.c.id == project.id))


def _project(row: Row[Any]) -> Project:
    known = {each.name for each in fields(ProjectSettings)}
    settings = ProjectSettings(**{name: value for name, value in row.settings.items() if name in known})
    return Project(row.id, row.name, row.title, settings, row.created)
