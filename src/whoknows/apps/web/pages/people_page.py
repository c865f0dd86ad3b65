"""People: accounts, and the links by which annotators sign in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whoknows.apps.charts import Html, el, fold, lead, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.web.pages.shell import Visit, button, heading, section
from whoknows.apps.web.store.accounts import Account

ROLES = {"annotator": "labels, and sees nothing else", "viewer": "sees everything", "lead": "may do everything"}


def people_page(accounts: Sequence[Account], visit: Visit, link: str | None = None) -> Iterator[Html]:
    """Content of the page; ``link`` is one that was just made, and is shown this once."""
    yield heading("People")
    if link is not None:
        shown = el("code", link, id="link")
        yield el(
            "p", "Send this link; it signs in for 30 days, and is shown only now: ", shown, role="status", cls="enough"
        )
    rows = [
        (el("bdi", fmt.name(each.name)), each.role, fmt.name(each.annotator), _actions(each, visit))
        for each in accounts
    ]
    yield table(("name", "role", "labels as", ""), rows, cls="people")
    yield section("Add somebody", _new(visit))


def _actions(account: Account, visit: Visit) -> Html:
    name = el("input", type="hidden", name="account", value=account.name)
    link = button("New link", name="act", value="link")
    more = fold(
        "More",
        button("Revoke links and sign out", name="act", value="revoke"),
        button("Remove", name="act", value="remove"),
    )
    return visit.form("/people/account", name, link, more, cls="tools")


def _new(visit: Visit) -> Html:
    roles = [el("option", f"{role}: {what}", value=role) for role, what in ROLES.items()]
    return visit.form(
        "/people",
        el("label", el("span", "Name"), el("input", type="text", name="name", required=True, maxlength=200)),
        el("label", el("span", "Role"), el("select", roles, name="role")),
        button("Add"),
        cls="fields",
    )


def nobody_signs_in(visit: Visit) -> Iterator[Html]:
    """Content of the page on a server without accounts."""
    yield heading("People")
    yield lead("Nobody signs in on this server: everybody on this machine may do everything.")
    yield note("Start it with whoknows serve --auth to give people accounts and sign-in links.")
