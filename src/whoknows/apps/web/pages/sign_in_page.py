"""Page on which people sign in."""

from __future__ import annotations

from whoknows.apps.charts import Html, el, note
from whoknows.apps.web.pages.shell import Visit, button, heading

FIELDS = (("Name", "name", "text", "username"), ("Password", "password", "password", "current-password"))


def sign_in_page(problem: str) -> Html:
    """Page with the form, and what went wrong, if anything."""
    fields = [
        el(
            "label",
            title,
            el("input", name=name, type=kind, autocomplete=hint, required=True, autofocus=name == "name"),
        )
        for title, name, kind, hint in FIELDS
    ]
    said = el("p", problem, role="alert", cls="problem") if problem else None
    form = el("form", said, *fields, button("Sign in", cls="primary"), method="post", action="/sign-in", cls="sign-in")
    hint = note("Annotators need no password: they open the link that a lead has sent them.")
    return Visit("").page("Sign in", heading("Sign in"), form, hint)
