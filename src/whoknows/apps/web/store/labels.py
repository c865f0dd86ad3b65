"""Labels: given, changed and deleted by requests that may be repeated, with their history."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from sqlalchemy import Connection, Row, and_, func, or_, select

from whoknows.apps.web.store import items
from whoknows.apps.web.store.database import insert, upsert
from whoknows.apps.web.store.errors import NotFound
from whoknows.apps.web.store.projects import Project
from whoknows.apps.web.store.schema import annotation, annotation_event, item, skip
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import show

Outcome = Literal["stored", "repeated"]


@dataclass(frozen=True)
class Answer:
    """What an annotator said about an item.

    Parameters
    ----------
    item : str
        Its key.
    annotator : str
    label : str or None
        None takes the label back.
    request_id : str, optional
        Of the request: one that was carried out already changes nothing.
    source : str
        Where it comes from: web, api, import or label-studio.
    external_id : str, optional
        Its id there.
    """

    item: str
    annotator: str
    label: str | None
    request_id: str | None = None
    source: str = "web"
    external_id: str | None = None

    def __post_init__(self) -> None:
        """Number a request without id: it may be carried out again if its transaction fails."""
        object.__setattr__(self, "request_id", self.request_id or secrets.token_hex(16))


@dataclass(frozen=True)
class Submission:
    """Answers that are stored together or not at all, and who sent them."""

    answers: Sequence[Answer]
    who: str


def record(db: Connection, project: Project, answers: Sequence[Answer], who: str) -> list[Outcome]:
    """Store answers, in their order; return for each whether it is new or was stored before."""
    (found,) = record_all(db, project, [Submission(answers, who)])
    if isinstance(found, InputError):
        raise found
    return found


def record_all(db: Connection, project: Project, submissions: Sequence[Submission]) -> list[list[Outcome] | InputError]:
    """Store submissions, in their order; return for each what became of its answers, or why nothing is stored of it.

    However many they are, the number of statements is the same.
    """
    ids = items.known(db, project.id, [answer.item for each in submissions for answer in each.answers])
    problems = [_problem(project, each.answers, ids) for each in submissions]
    now = time.time()
    events = [
        [] if problem else [_event(project, answer, ids[answer.item], each.who, now) for answer in each.answers]
        for each, problem in zip(submissions, problems, strict=True)
    ]
    new = _store(db, list(chain.from_iterable(events)))
    return [
        problem or [_outcome(new, event["request_id"]) for event in own]
        for problem, own in zip(problems, events, strict=True)
    ]


def _store(db: Connection, events: list[dict[str, Any]]) -> set[str]:
    """Store events whose requests are new, and what follows for the labels; return the ids of these requests."""
    if not events:
        return set()
    first = {event["request_id"]: event for event in reversed(events)}
    in_order = [event for event in events if first[event["request_id"]] is event]
    new = _add_events(db, in_order)
    last = {(event["item_id"], event["annotator"]): event for event in in_order if event["request_id"] in new}
    _apply(db, [last[pair] for pair in sorted(last)])  # in one order everywhere: no two servers wait for each other
    return new


def _outcome(new: set[str], request_id: str) -> Outcome:
    """Return whether a request is new; from then on it is not."""
    if request_id not in new:
        return "repeated"
    new.remove(request_id)
    return "stored"


def _problem(project: Project, answers: Sequence[Answer], ids: dict[str, int]) -> InputError | None:
    """Return why answers cannot be stored; ``ids`` are those of the items that are known."""
    problem = project.settings.problem_of(answer.label for answer in answers if answer.label is not None)
    if problem:
        return InputError(problem)
    unknown = [key for key in dict.fromkeys(answer.item for answer in answers) if key not in ids]
    return NotFound(f"There is no item {show(unknown, 3)} in this project.") if unknown else None


def _event(project: Project, answer: Answer, item_id: int, who: str, now: float) -> dict[str, Any]:
    return {
        "project_id": project.id,
        "item_id": item_id,
        "annotator": answer.annotator,
        "kind": "delete" if answer.label is None else "set",
        "label": answer.label,
        "request_id": answer.request_id,
        "source": answer.source,
        "external_id": answer.external_id,
        "who": who,
        "created": now,
    }


def _add_events(db: Connection, events: list[dict[str, Any]]) -> set[str]:
    """Append to the history what was not requested before; return the ids of these requests."""
    statement = insert(db, annotation_event).on_conflict_do_nothing(index_elements=["project_id", "request_id"])
    return set(db.execute(statement.returning(annotation_event.c.request_id), events).scalars())


def _apply(db: Connection, events: list[dict[str, Any]]) -> None:
    """Bring the current labels in line with the last event of each item and annotator."""
    names = ("project_id", "item_id", "annotator", "label", "source", "external_id", "created")
    given = [{name: event[name] for name in names} for event in events if event["kind"] == "set"]
    upsert(db, annotation, given, ("project_id", "item_id", "annotator"))
    for event in events:
        if event["kind"] == "delete":
            same = annotation.c.item_id == event["item_id"], annotation.c.annotator == event["annotator"]
            db.execute(annotation.delete().where(*same))


# --- questions about labels --------------------------------------------------------------------------------


def every(
    db: Connection,
    project_id: int,
    key: str | None = None,
    annotator: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> Sequence[Row[Any]]:
    """Return the current labels, perhaps of one item or annotator: item_id, item, annotator, label, source, created."""
    columns = (annotation.c.item_id, item.c.key.label("item"), annotation.c.annotator, annotation.c.label)
    query = select(*columns, annotation.c.source, annotation.c.created).join(item, item.c.id == annotation.c.item_id)
    query = query.where(annotation.c.project_id == project_id)
    query = query if key is None else query.where(item.c.key == key)
    query = query if annotator is None else query.where(annotation.c.annotator == annotator)
    return db.execute(query.order_by(annotation.c.id).limit(limit).offset(offset)).all()


def of_item(db: Connection, project_id: int, key: str) -> Sequence[Row[Any]]:
    """Return the current labels of an item: annotator, label, source, created."""
    columns = annotation.c.annotator, annotation.c.label, annotation.c.source, annotation.c.created
    query = select(*columns).join(item, item.c.id == annotation.c.item_id)
    same = item.c.project_id == project_id, item.c.key == key
    return db.execute(query.where(*same).order_by(annotation.c.annotator)).all()


def history(
    db: Connection, project_id: int, key: str | None = None, annotator: str | None = None, limit: int = 1000
) -> Sequence[Row[Any]]:
    """Return the newest events first: id, item, annotator, kind, label, source, who, created."""
    event = annotation_event.c
    columns = event.id, item.c.key.label("item"), event.annotator, event.kind, event.label, event.source, event.who
    query = select(*columns, event.created).join(item, item.c.id == event.item_id)
    query = query.where(event.project_id == project_id)
    query = query if key is None else query.where(item.c.key == key)
    query = query if annotator is None else query.where(event.annotator == annotator)
    return db.execute(query.order_by(event.id.desc()).limit(limit)).all()


def count(db: Connection, project_id: int) -> int:
    """Return the number of current labels."""
    return db.execute(select(func.count()).where(annotation.c.project_id == project_id)).scalar_one()


def counts(db: Connection, project_id: int) -> dict[str, int]:
    """Return the number of current labels by annotator."""
    query = select(annotation.c.annotator, func.count()).where(annotation.c.project_id == project_id)
    return {name: n for name, n in db.execute(query.group_by(annotation.c.annotator).order_by(annotation.c.annotator))}


def classes(db: Connection, project: Project) -> tuple[str, ...] | None:
    """Return the classes of a project, those of its labels if none are set; None if labels are numbers."""
    if project.settings.model == "regression":
        return None
    query = select(annotation.c.label).where(annotation.c.project_id == project.id).distinct()
    return project.settings.classes or tuple(sorted(db.execute(query).scalars()))


def n_labelled(db: Connection, project_id: int) -> int:
    """Return the number of items with a label."""
    query = select(func.count(annotation.c.item_id.distinct())).where(annotation.c.project_id == project_id)
    return db.execute(query).scalar_one()


def last_event(db: Connection, project_id: int) -> int:
    """Return the id of the newest event; 0 if there is none."""
    query = select(func.max(annotation_event.c.id)).where(annotation_event.c.project_id == project_id)
    return db.execute(query).scalar_one() or 0


def count_since(db: Connection, project_id: int, event_id: int) -> int:
    """Return the number of events after one."""
    newer = annotation_event.c.project_id == project_id, annotation_event.c.id > event_id
    return db.execute(select(func.count()).where(*newer)).scalar_one()


def last_of(db: Connection, project_id: int, annotator: str) -> Row[Any] | None:
    """Return the label that an annotator gave last and has not taken back: item_id, item, label."""
    columns = annotation.c.item_id, item.c.key.label("item"), annotation.c.label
    query = select(*columns).join(item, item.c.id == annotation.c.item_id)
    own = annotation.c.project_id == project_id, annotation.c.annotator == annotator
    return db.execute(query.where(*own).order_by(annotation.c.created.desc(), annotation.c.id.desc()).limit(1)).first()


def put_aside(db: Connection, project: Project, key: str, annotator: str) -> None:
    """Remember that an annotator skips an item."""
    item_id = items.ids_of(db, project.id, [key])[key]
    row = {"project_id": project.id, "item_id": item_id, "annotator": annotator, "created": time.time()}
    upsert(db, skip, [row], ("item_id", "annotator"))


def answered(project_id: int, annotator: str) -> Any:
    """Return the condition that an item has been answered, or skipped, by an annotator."""
    said = select(annotation.c.item_id).where(
        and_(annotation.c.project_id == project_id, annotation.c.annotator == annotator)
    )
    put_off = select(skip.c.item_id).where(and_(skip.c.project_id == project_id, skip.c.annotator == annotator))
    return or_(item.c.id.in_(said), item.c.id.in_(put_off))
