"""What leads do with forms: fit, cancel, decide the truth of an item. The API does the same for programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse

from whoknows.apps.web.api import fits as api_fits
from whoknows.apps.web.api import items as api_items
from whoknows.apps.web.api.common import ItemKey, ProjectName
from whoknows.apps.web.api.models import GoldIn, Label
from whoknows.apps.web.pages.shell import PageLinks
from whoknows.apps.web.security.access import Caller, State

router = APIRouter(include_in_schema=False)


def back_to(name: str, *parts: str) -> RedirectResponse:
    """Show a page after a form was carried out, so that loading it again does not repeat the form."""
    return RedirectResponse(PageLinks(name).to(*parts), 303)


@router.post("/projects/{name}/fits")
def fit(name: ProjectName, store: State, caller: Caller) -> RedirectResponse:
    """Queue a fit."""
    api_fits.queue_fit(name, store, caller)
    return back_to(name, "fits")


@router.post("/projects/{name}/fits/{id}/cancel")
def cancel(name: ProjectName, id: api_fits.FitId, store: State, caller: Caller) -> RedirectResponse:
    """Cancel a fit."""
    api_fits.cancel_fit(name, id, store, caller)
    return back_to(name, "fits")


@router.post("/projects/{name}/items/{key:path}")
def decide(
    name: ProjectName, key: ItemKey, store: State, caller: Caller, label: Annotated[Label | None, Form()] = None
) -> RedirectResponse:
    """Decide the truth of an item; without a label, withdraw the decision."""
    if label is None:
        api_items.withdraw(name, key, store, caller)
    else:
        api_items.decide(name, key, GoldIn(label=label), store, caller)
    return back_to(name, "items", key)
