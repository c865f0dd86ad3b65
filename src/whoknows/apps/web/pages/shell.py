"""What all pages share: head, navigation, forms, links to items and annotators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from whoknows.apps.charts import Html, el, join
from whoknows.apps.report import formatting as fmt

PACKAGE = "whoknows.apps.web.pages"
PAGES = (  # of a project: address, name
    ("", "Overview"),
    ("annotators", "Annotators"),
    ("map", "Map"),
    ("items", "Items"),
    ("ask", "Ask next"),
    ("fits", "Fits"),
    ("data", "Data"),
)


class PageLinks(fmt.Links):
    """Addresses of a project's pages, and names of items and annotators that lead to theirs."""

    def __init__(self, project: str) -> None:
        self.project = project

    def to(self, *parts: str, **query: Any) -> str:
        """Address of a page.

        >>> PageLinks("cats").to("items", "a/b", page=2)
        '/projects/cats/items/a%2Fb?page=2'
        """
        given = {key: str(value) for key, value in query.items() if value not in (None, "")}
        asked = "&".join(f"{key}={quote(value, safe='')}" for key, value in given.items())
        path = "/".join(["/projects", self.project, *(quote(part, safe="") for part in parts)])
        return (path if parts else f"{path}/") + (f"?{asked}" if asked else "")

    def item(self, id: Any) -> Html:
        """Id of an item."""
        return el("a", el("bdi", fmt.name(id)), cls="id", href=self.to("items", str(id)))

    def annotator(self, who: Any, on_map: int | None = None) -> Html:
        """Name of an annotator."""
        return el("a", el("bdi", fmt.name(who)), href=self.to("annotators", str(who)))


@dataclass(frozen=True)
class Visit:
    """Who looks at which project.

    Parameters
    ----------
    csrf : str
        Token that forms of this visitor carry.
    role : {"viewer", "annotator", "lead"}
    account : str, optional
        Name of the visitor; None if nobody signs in on this server.
    project : str, optional
        Name of the project, as in addresses.
    title : str
        Its title.
    """

    csrf: str
    role: str = "lead"
    account: str | None = None
    project: str | None = None
    title: str = ""

    @property
    def links(self) -> PageLinks:
        """Addresses of the project's pages."""
        return PageLinks(self.project or "")

    @property
    def is_lead(self) -> bool:
        """Whether the visitor may change the project."""
        return self.role == "lead"

    def form(self, action: str, *content: Any, **attributes: Any) -> Html:
        """Form that is sent with the visitor's token."""
        token = el("input", type="hidden", name="csrf", value=self.csrf)
        return el("form", token, *content, method="post", action=action, **attributes)

    def page(
        self, title: str, *content: Any, active: str | None = None, scripts: Sequence[str] = (), **more: Any
    ) -> Html:
        """Whole page; ``active`` is its address in the navigation, ``scripts`` are names of static files."""
        named = f"{title} – {self.title}" if self.title and self.title != title else title
        return fmt.fill(
            fmt.asset("templates/shell.html", PACKAGE),
            title=named,
            csrf=self.csrf,
            scripts=[el("script", src=f"/static/{name}", defer=True) for name in scripts],
            navigation=self._navigation(active),
            account=self._account(),
            content=content,
            cls=more.get("cls", ""),
        )

    def _navigation(self, active: str | None) -> Html | None:
        if self.project is None or self.role == "annotator":
            return None
        links = [
            el("a", name, href=self.links.to(*filter(None, [page])), aria_current="page" if page == active else None)
            for page, name in PAGES
        ]
        label = el("a", "Label", href=self.links.to("label"), cls="button") if self.is_lead else None
        title = el("a", self.title, href=self.links.to(), cls="project", dir="auto")
        return join([title, el("nav", links, label, aria_label="Pages of this project")])

    def _account(self) -> Html | None:
        if self.account is None:
            return None
        people = el("a", "People", href="/people") if self.is_lead else None
        button = el("button", "Sign out", cls="link")
        return self.form("/sign-out", people, " ", el("bdi", self.account), " ", button, cls="account")


def heading(title: Any, *more: Any) -> Html:
    """Title of a page, and what stands beside it."""
    return el("div", el("h1", title, dir="auto"), *more, cls="heading")


def section(title: str, *content: Any, id: str | None = None) -> Html:
    """Part of a page."""
    return el("section", el("h2", title), *content, id=id)


def button(text: str, cls: str | None = None, **attributes: Any) -> Html:
    """Button that sends its form."""
    return el("button", text, cls=cls, type="submit", **attributes)


def nothing(title: str, *what_to_do: Any) -> Html:
    """Empty state: what is missing, and what to do."""
    return el("div", el("h2", title), *[el("p", each) for each in what_to_do], cls="nothing")
