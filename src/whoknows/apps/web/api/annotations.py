"""Labels: one or many, idempotent, with history."""

from __future__ import annotations

from asyncio import wrap_future
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from whoknows.apps.web.api.common import Filter, Limit, Offset, ProjectName, several
from whoknows.apps.web.api.models import AnswerIn, AnswersIn, EventOut, LabelOut, Stored, TakeBackIn
from whoknows.apps.web.jobs.recording import Recorded, Sent
from whoknows.apps.web.security.access import Caller, State, Visitor, own_name
from whoknows.apps.web.store import labels, projects
from whoknows.apps.web.store.labels import Answer, Submission
from whoknows.apps.web.store.together import Together

router = APIRouter(prefix="/projects/{name}", tags=["labels"])


def _recorder(request: Request) -> Together[Sent, Recorded]:
    return request.app.state.recorder


Recorder = Annotated[Together[Sent, Recorded], Depends(_recorder)]


@router.post("/annotations")
async def label(name: ProjectName, body: AnswerIn | AnswersIn, recorder: Recorder, caller: Caller) -> Stored:
    """Store one label, or several together or not at all; the answer comes when they are on the disk."""
    given = [body] if isinstance(body, AnswerIn) else body.annotations
    answers = [Answer(each.item, own_name(caller, each.annotator), each.label, each.request_id) for each in given]
    found = await wrap_future(recorder.submit(Sent(name, Submission(answers, caller.name))))
    return Stored(outcomes=found.outcomes, refit=found.refit)


@router.delete("/annotations")
def take_back(name: ProjectName, body: TakeBackIn, recorder: Recorder, caller: Caller) -> Stored:
    """Take a label back; the history keeps it."""
    answer = Answer(body.item, own_name(caller, body.annotator), None, body.request_id)
    return record(recorder, name, answer, caller)


def record(recorder: Together[Sent, Recorded], name: str, answer: Answer, caller: Visitor) -> Stored:
    """Store a label, and queue a fit if it is due."""
    found = recorder.submit(Sent(name, Submission([answer], caller.name))).result()
    return Stored(outcomes=found.outcomes, refit=found.refit)


@router.get("/annotations")
def list_labels(
    name: ProjectName,
    store: State,
    item: Filter = None,
    annotator: Filter = None,
    limit: Limit = 1000,
    offset: Offset = 0,
) -> list[LabelOut]:
    """The current labels, in the order in which they came."""
    with store.read() as db:
        project = projects.by_name(db, name)
        return several(LabelOut, labels.every(db, project.id, item, annotator, limit, offset))


@router.get("/history")
def list_events(
    name: ProjectName, store: State, item: Filter = None, annotator: Filter = None, limit: Limit = 1000
) -> list[EventOut]:
    """What was labelled, changed and taken back, the newest first."""
    with store.read() as db:
        project = projects.by_name(db, name)
        return several(EventOut, labels.history(db, project.id, item, annotator, limit))
