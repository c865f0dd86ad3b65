"""What the last fit found, and why."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from sqlalchemy import Connection

from whoknows._array import Array
from whoknows.apps.web.api.common import Filter, ItemKey, Limit, ProjectName, several
from whoknows.apps.web.api.models import (
    AnnotatorOut,
    ChangesOut,
    ContributionOut,
    PredictionOut,
    QuestionOut,
    Storable,
    WhyOut,
)
from whoknows.apps.web.results import FitResults, Why, profile_of, row_of
from whoknows.apps.web.security.access import State
from whoknows.apps.web.store import fits, items, labels, projects
from whoknows.apps.web.store.errors import NotFound
from whoknows.apps.web.store.fits import Fit

router = APIRouter(prefix="/projects/{name}", tags=["results"])
AnnotatorName = Annotated[str, Path(max_length=200), Storable]


def _results(request: Request) -> FitResults:
    return request.app.state.results


Results = Annotated[FitResults, Depends(_results)]


def last_fit(db: Connection, name: str) -> Fit:
    """Return the last fit of a project that is done."""
    found = fits.latest(db, projects.by_name(db, name).id)
    if found is None:
        raise NotFound(f"Project {name!r} is not fitted yet.")
    return found


@router.get("/summary")
def get_summary(name: ProjectName, store: State) -> dict[str, Any]:
    """All numbers and sentences of the last fit."""
    with store.read() as db:
        return json.loads(fits.summary(db, last_fit(db, name).id))


@router.get("/annotators")
def list_annotators(name: ProjectName, store: State) -> list[dict[str, Any]]:
    """The annotators by the last fit, best first."""
    table = get_summary(name, store)["annotators"]
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


@router.get("/consensus")
def list_consensus(name: ProjectName, store: State) -> list[PredictionOut]:
    """What the last fit says of every item."""
    with store.read() as db:
        return several(PredictionOut, fits.predictions(db, last_fit(db, name).id))


@router.get("/questions")
def list_questions(name: ProjectName, store: State, annotator: Filter = None, limit: Limit = 100) -> list[QuestionOut]:
    """The labels most worth asking for, by the last fit."""
    with store.read() as db:
        return several(QuestionOut, fits.questions(db, last_fit(db, name).id, annotator, limit))


@router.get("/changes")
def what_changed(name: ProjectName, store: State, results: Results) -> ChangesOut:
    """What the last fit changed, compared with the one before."""
    with store.read() as db:
        found = results.changes(db, projects.by_name(db, name).id)
    if found is None:
        raise NotFound(f"Project {name!r} has no two fits to compare yet.")
    return ChangesOut(**found)


@router.get("/annotators/{annotator:path}")
def get_annotator(name: ProjectName, annotator: AnnotatorName, store: State, results: Results) -> AnnotatorOut:
    """An annotator: place in the ranking, regions and confusions, and the ranking of earlier fits."""
    with store.read() as db:
        fit = last_fit(db, name)
        summary, history = results.summary(db, fit), results.history(db, fit.project_id, annotator)
    row = row_of(summary.annotators, annotator)
    if row is None:
        raise NotFound(f"The last fit of project {name!r} does not know the annotator {annotator!r}.")
    return AnnotatorOut(ranking=row, profile=profile_of(summary, annotator), history=history)


@router.get("/why/{key:path}")
def explain(name: ProjectName, key: ItemKey, store: State, results: Results) -> WhyOut:
    """Why an item has its consensus: what its features and each of its labels contribute to the posterior."""
    with store.read() as db:
        project, fit = projects.by_name(db, name), last_fit(db, name)
        said = labels.of_item(db, project.id, key)
        found = results.why(db, project, fit, items.by_key(db, project.id, key), said)
    if found is None:
        raise NotFound(f"Contributions to item {key!r} are not known: labels are numbers, or the item is new.")
    return _why_out(found)


def _why_out(why: Why) -> WhyOut:
    def by_class(prob: Array) -> dict[str, float]:
        return dict(zip(why.classes, prob.tolist(), strict=True))

    found = why.contributions
    parts = zip(why.labels, found.without, strict=True)
    labels = [ContributionOut(annotator=row.annotator, label=row.label, without=by_class(p)) for row, p in parts]
    return WhyOut(posterior=by_class(found.posterior), from_features=by_class(found.from_features), labels=labels)
