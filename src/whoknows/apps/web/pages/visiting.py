"""Who asks, for which project, and the store: what every page begins with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from fastapi import Request
from sqlalchemy import Connection

from whoknows.apps.charts import Html
from whoknows.apps.web.pages.fit_pages import status
from whoknows.apps.web.pages.shell import Visit
from whoknows.apps.web.results import FitResults
from whoknows.apps.web.security.access import store_of, visitor_of
from whoknows.apps.web.store import fits, labels, projects
from whoknows.apps.web.store.fits import Fit
from whoknows.apps.web.store.projects import Project
from whoknows.insight.summary import Summary


@dataclass(frozen=True)
class Scene:
    """A project as one visitor sees it, within one consistent state of the store."""

    db: Connection
    project: Project
    visit: Visit
    results: FitResults

    @cached_property
    def fits(self) -> list[Fit]:
        """Fits of the project, the newest first."""
        return fits.every(self.db, self.project.id)

    @cached_property
    def fit(self) -> Fit | None:
        """The last fit that is done."""
        return fits.latest(self.db, self.project.id)

    @cached_property
    def summary(self) -> Summary | None:
        """Summary of the last fit that is done."""
        return None if self.fit is None else self.results.summary(self.db, self.fit)

    @cached_property
    def n_new(self) -> int:
        """Labels given, changed or removed since the last fit read them."""
        seen = self.fit.last_event if self.fit is not None else 0
        return labels.count_since(self.db, self.project.id, seen or 0)

    @property
    def status(self) -> Html:
        """One line about the fits."""
        return status(self.fits, self.n_new, self.visit)


@contextmanager
def looking_at(request: Request, name: str) -> Iterator[Scene]:
    """Read a project."""
    with store_of(request).read() as db:
        project = projects.by_name(db, name)
        request.state.project = project.name
        yield Scene(db, project, visit_of(request, project), request.app.state.results)


def visit_of(request: Request, project: Project | None = None) -> Visit:
    """Return who asks, and for which project."""
    visitor = visitor_of(request)
    name, title = (project.name, project.title) if project else (None, "")
    return Visit(visitor.csrf, visitor.role, None if visitor.kind == "open" else visitor.name, name, title)
