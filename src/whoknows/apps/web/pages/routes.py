"""Addresses of the pages that show a project."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from whoknows.apps.web.pages.annotators import one_annotator, ranking
from whoknows.apps.web.pages.ask import ask
from whoknows.apps.web.pages.fit_pages import fits_page, progress
from whoknows.apps.web.pages.item_list import item_list
from whoknows.apps.web.pages.item_map import map_page, scripts_of
from whoknows.apps.web.pages.item_page import ItemFacts, item_page
from whoknows.apps.web.pages.overview import Progress, overview
from whoknows.apps.web.pages.shell import heading, nothing
from whoknows.apps.web.pages.visiting import Scene, looking_at
from whoknows.apps.web.security.access import store_of, visitor_of
from whoknows.apps.web.store import fits, gold, items, labels, projects
from whoknows.apps.web.store.errors import NotFound
from whoknows.apps.web.store.search import Search, Show, Sort, search

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@router.get("/")
def home(request: Request) -> Response:
    """Go to the only project, or list all; annotators go where they label."""
    if visitor_of(request).role == "annotator":
        return RedirectResponse("/label", 303)
    with store_of(request).read() as db:
        found = projects.every(db)
    if len(found) == 1:
        return RedirectResponse(f"/projects/{found[0].name}/", 303)
    return RedirectResponse("/projects", 303)


def _page(scene: Scene, title: str, address: str, *content: Any, scripts: tuple[str, ...] = ()) -> HTMLResponse:
    """Page of a project, with a line about its fits."""
    beside = heading(title), scene.status
    return HTMLResponse(scene.visit.page(title, *beside, *content, active=address, scripts=("fit.js", *scripts)))


def _fitted_page(scene: Scene, title: str, address: str, content: Any, scripts: tuple[str, ...] = ()) -> HTMLResponse:
    """Page that shows results; before the first fit, what to do."""
    if scene.summary is None:
        shown = [nothing("No results yet", "Results appear here after the first fit. It needs items with labels.")]
    else:
        shown = list(content(scene.summary, scene.visit.links))
    return _page(scene, title, address, *shown, scripts=scripts)


@router.get("/projects/{name}/")
def overview_page(request: Request, name: str) -> HTMLResponse:
    """Show how far the labelling is, and what the last fit found."""
    with looking_at(request, name) as scene:
        db, id = scene.db, scene.project.id
        counts, n_gold = labels.counts(db, id), len(gold.every(db, id))
        now = Progress(items.count(db, id), labels.n_labelled(db, id), n_gold, counts, scene.n_new if scene.fit else 0)
        shown = overview(scene.summary, now, scene.results.changes(db, id), scene.visit.links)
        return _page(scene, scene.project.title, "", *shown, scripts=("tables.js",))


@router.get("/projects/{name}/annotators")
def annotators_page(request: Request, name: str) -> HTMLResponse:
    """Rank the annotators."""
    with looking_at(request, name) as scene:
        return _fitted_page(scene, "Annotators", "annotators", ranking, ("tables.js",))


@router.get("/projects/{name}/annotators/{annotator:path}")
def annotator_page(request: Request, name: str, annotator: str) -> HTMLResponse:
    """Show one annotator."""
    with looking_at(request, name) as scene:
        history = scene.results.history(scene.db, scene.project.id, annotator)
        if not history and annotator not in labels.counts(scene.db, scene.project.id):
            raise NotFound(f"Nobody called {annotator!r} has labelled in this project.")

        def content(summary: Any, links: Any) -> Any:
            return one_annotator(summary, annotator, history, links)

        return _fitted_page(scene, annotator, "annotators", content, ("tables.js",))


@router.get("/projects/{name}/map")
def map_of_items(request: Request, name: str) -> HTMLResponse:
    """Show where the items lie, and who is best where."""
    with looking_at(request, name) as scene:
        return _fitted_page(scene, "Map", "map", map_page, scripts_of(scene.summary))


@router.get("/projects/{name}/ask")
def ask_page(request: Request, name: str) -> HTMLResponse:
    """Show which labels to ask for."""
    with looking_at(request, name) as scene:
        return _fitted_page(scene, "Ask next", "ask", ask)


@router.get("/projects/{name}/items")
def items_page(
    request: Request,
    name: str,
    q: str = "",
    show: Show = "all",
    consensus: str = "",
    sort: Sort = "added",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> HTMLResponse:
    """List the items."""
    wanted = Search(q, show, consensus, sort, page)
    with looking_at(request, name) as scene:
        fit_id = scene.fit.id if scene.fit else None
        found, n = search(scene.db, scene.project.id, fit_id, wanted)
        shown = item_list(wanted, found, n, labels.classes(scene.db, scene.project), scene.visit.links)
        return _page(scene, "Items", "items", *shown)


@router.get("/projects/{name}/items/{key:path}")
def one_item(request: Request, name: str, key: str) -> HTMLResponse:
    """Show an item, who said what about it, and why the consensus is what it is."""
    with looking_at(request, name) as scene:
        return _page(scene, key, "items", *item_page(_facts(scene, key), scene.visit))


def _facts(scene: Scene, key: str) -> ItemFacts:
    db, project, fit = scene.db, scene.project, scene.fit
    item, said = items.by_key(db, project.id, key), labels.of_item(db, project.id, key)
    prediction = None if fit is None else fits.prediction_of(db, fit.id, key)
    why = None if fit is None or prediction is None else scene.results.why(db, project, fit, item, said)
    truth, history = gold.every(db, project.id).get(key), labels.history(db, project.id, key, limit=50)
    classes, features = labels.classes(db, project), project.settings.features
    return ItemFacts(item, said, classes, truth, prediction, why, history, features)


@router.get("/projects/{name}/fits")
def all_fits(request: Request, name: str) -> HTMLResponse:
    """Show how far the present fit is, and the fits before."""
    with looking_at(request, name) as scene:
        shown = heading("Fits"), *fits_page(scene.fits, scene.n_new, scene.visit)
        return HTMLResponse(scene.visit.page("Fits", *shown, active="fits", scripts=("fit.js",)))


@router.get("/projects/{name}/fits/progress")
def fit_progress(request: Request, name: str) -> HTMLResponse:
    """Part of the page of fits that its script asks for."""
    with looking_at(request, name) as scene:
        newest = scene.fits[:1]
        return HTMLResponse(progress(newest[0] if newest else None, scene.visit))
