"""List of projects."""

from __future__ import annotations

from collections.abc import Sequence

from whoknows.apps.charts import Html, bullets, el
from whoknows.apps.web.pages.shell import PageLinks, Visit, heading, nothing
from whoknows.apps.web.store.projects import Project


def projects_page(projects: Sequence[Project], visit: Visit) -> Html:
    """Page that lists all projects."""
    if not projects:
        return visit.page("Projects", heading("Projects"), nothing("No project yet", "A lead can create one."))
    links = (el("a", each.title, href=PageLinks(each.name).to(), dir="auto") for each in projects)
    return visit.page("Projects", heading("Projects"), bullets(links, cls="projects"))
