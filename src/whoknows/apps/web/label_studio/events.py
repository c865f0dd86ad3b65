"""What Label Studio tells a backend, stored: in whatever order it arrives, and however often.

An annotation counts as it was last changed, by the time that Label Studio gives; a deleted one stays deleted, even if
the news of its creation arrive later. The label of an annotator is that of the newest annotation with an answer, and
the newest one that is marked as ground truth is gold.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, or_, select

from whoknows.apps.web.jobs.refit import refit_if_due
from whoknows.apps.web.label_studio.messages import Annotation, Event, Task
from whoknows.apps.web.label_studio.question import Question, question_of
from whoknows.apps.web.store import fits, gold, items, labels, projects
from whoknows.apps.web.store.database import insert
from whoknows.apps.web.store.errors import Conflict, NotFound
from whoknows.apps.web.store.labels import Answer
from whoknows.apps.web.store.projects import Project
from whoknows.apps.web.store.schema import annotation as current
from whoknows.apps.web.store.schema import external_annotation as external
from whoknows.apps.web.store.schema import gold as truths
from whoknows.apps.web.store.schema import project as project_table

SOURCE = "label-studio"
DELETED, TRAIN = "ANNOTATIONS_DELETED", "START_TRAINING"
KEY = ["project_id", "external_id"]


def store(db: Connection, event: Event) -> None:
    """Store what has happened, and queue a fit if one is asked for or due."""
    found = event.project
    project, question = project_of(db, found.id, found.label_config, found.title)
    add_tasks(db, project, question, [*event.task, *event.tasks])
    add_annotations(db, project, question, event.annotation)
    if event.action == DELETED:
        remove_annotations(db, project, [each.id for each in event.annotations])
    if event.action == TRAIN:
        fits.request(db, project.id)
    refit_if_due(db, project)


def project_of(db: Connection, id: int, config: str, title: str = "") -> tuple[Project, Question]:
    """Return our project for one of Label Studio, made or brought up to date, and its question."""
    question, name = question_of(config), f"{SOURCE}-{id}"
    try:
        project = projects.by_name(db, name)
    except NotFound:
        project = _new_project(db, name, title, question)
    db.execute(select(project_table.c.id).where(project_table.c.id == project.id).with_for_update())  # one at a time
    classes = tuple(dict.fromkeys((*project.settings.classes, *question.labels)))
    if (project.settings.classes and classes != project.settings.classes) or title not in ("", project.title):
        projects.change(db, project, title or project.title, replace(project.settings, classes=classes))
        project = projects.by_name(db, name)
    return project, question


def _new_project(db: Connection, name: str, title: str, question: Question) -> Project:
    """Add a project; another message may have done so meanwhile."""
    model: projects.Model = "ordered" if question.kind == "rating" else "auto"
    settings = projects.ProjectSettings(classes=question.labels, question=question.name, model=model)
    with suppress(Conflict), db.begin_nested():
        projects.create(db, name, title or name, settings)
    return projects.by_name(db, name)


def add_tasks(db: Connection, project: Project, question: Question, tasks: Iterable[Task]) -> None:
    """Store tasks as items, with the text that the question is about, and the annotations that come with them."""
    found = list(tasks)
    items.put(db, project.id, [items.Item(str(task.id), question.text_of(task.data)) for task in found])
    add_annotations(db, project, question, [each for task in found for each in task.annotations])


def add_annotations(db: Connection, project: Project, question: Question, given: Iterable[Annotation]) -> None:
    """Store annotations of tasks that are known, as far as they are news."""
    rows = [_row(project, question, each) for each in given]
    for row in rows:
        statement = insert(db, external).values(row)
        newer = or_(external.c.updated.is_(None), external.c.updated < statement.excluded.updated)
        new = {name: statement.excluded[name] for name in row if name not in (*KEY, "deleted")}
        db.execute(statement.on_conflict_do_update(index_elements=KEY, set_=new, where=newer))
    _refresh(db, project, {(row["item"], row["annotator"]) for row in rows})


def remove_annotations(db: Connection, project: Project, ids: Iterable[int]) -> None:
    """Remove annotations, of which only the ids are known, for ever."""
    for id in ids:
        statement = insert(db, external).values(project_id=project.id, external_id=id, deleted=True)
        db.execute(statement.on_conflict_do_update(index_elements=KEY, set_={"deleted": True}))
        whose = select(external.c.item, external.c.annotator).where(*_is(project, external_id=id))
        _refresh(db, project, {(item, who) for item, who in db.execute(whose) if item is not None})


def _row(project: Project, question: Question, given: Annotation) -> dict[str, Any]:
    return {
        "project_id": project.id,
        "external_id": given.id,
        "item": str(given.task),
        "annotator": str(given.completed_by),
        "label": None if given.was_cancelled else question.label(given.result),
        "ground_truth": given.ground_truth,
        "updated": given.updated_at.timestamp(),
        "deleted": False,
    }


# --- from annotations to labels and gold -----------------------------------------------------------------------


def _refresh(db: Connection, project: Project, pairs: Iterable[tuple[str, str]]) -> None:
    """Bring labels and gold in line with the annotations of pairs of item and annotator."""
    pairs = sorted(pairs)
    ids = items.ids_of(db, project.id, [item for item, _ in pairs])
    changes = [_change(db, project, item, ids[item], annotator) for item, annotator in pairs]
    labels.record(db, project, [answer for answer in changes if answer is not None], SOURCE)
    for item in dict.fromkeys(item for item, _ in pairs):
        _refresh_gold(db, project, item, ids[item])


def _change(db: Connection, project: Project, item: str, item_id: int, annotator: str) -> Answer | None:
    """Return what is to be changed of the label for one pair; None if nothing is."""
    label, number = _newest(db, project, item=item, annotator=annotator, ground_truth=False)
    same = current.c.item_id == item_id, current.c.annotator == annotator
    if label == db.execute(select(current.c.label).where(*same)).scalar():
        return None
    return Answer(item, annotator, label, source=SOURCE, external_id=number)


def _refresh_gold(db: Connection, project: Project, item: str, item_id: int) -> None:
    """Bring the gold of an item in line; what a lead has decided here stays."""
    label, _ = _newest(db, project, item=item, ground_truth=True)
    known = db.execute(select(truths.c.label, truths.c.who).where(truths.c.item_id == item_id)).first()
    if known is not None and known.who != SOURCE:
        return
    if label is not None and (known is None or known.label != label):
        gold.decide(db, project, {item: label}, SOURCE)
    if label is None and known is not None:
        gold.withdraw(db, project, item)


def _newest(db: Connection, project: Project, **which: Any) -> tuple[str | None, str | None]:
    """Return the label and the id of the newest annotation with an answer; None if there is none."""
    there = *_is(project, deleted=False, **which), external.c.label.is_not(None)
    query = select(external.c.label, external.c.external_id).where(*there)
    found = db.execute(query.order_by(external.c.updated.desc(), external.c.external_id.desc()).limit(1)).first()
    return (None, None) if found is None else (found.label, str(found.external_id))


def _is(project: Project, **values: Any) -> list[ColumnElement[bool]]:
    """Return the conditions that columns of annotations of a project have these values."""
    return [external.c[name] == value for name, value in {"project_id": project.id, **values}.items()]
