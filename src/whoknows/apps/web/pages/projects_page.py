"""List of projects, and a form for a new one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from whoknows.apps.charts import Html, bullets, el
from whoknows.apps.web.pages.shell import PageLinks, Visit, button, heading, nothing, section
from whoknows.apps.web.store.projects import Project


def projects_page(projects: Sequence[Project], visit: Visit) -> Html:
    """Page that lists all projects."""
    links = [el("a", each.title, href=PageLinks(each.name).to(), dir="auto") for each in projects]
    listed = bullets(links, cls="projects") if links else nothing("No project yet", "A lead can add one.")
    return visit.page("Projects", heading("Projects"), listed, _new(visit) if visit.is_lead else None)


def _new(visit: Visit) -> Html:
    title = el("label", "Title ", el("input", type="text", name="title", required=True, maxlength=200))
    return section("New project", visit.form("/projects", title, button("Add"), cls="tools"))


def name_from(title: str) -> str:
    """Name of a project in addresses.

    >>> name_from("Größe & Gewicht, 2. Runde"), name_from("…")
    ('grosse-gewicht-2-runde', 'project')
    """
    plain = unicodedata.normalize("NFKD", title.replace("ß", "ss")).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", plain).strip("-")[:60] or "project"
