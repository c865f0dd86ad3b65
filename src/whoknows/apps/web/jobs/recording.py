"""Labels that were sent meanwhile are recorded together, and a fit is queued if it is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from whoknows.apps.web.jobs.refit import refit_if_due
from whoknows.apps.web.store import Store, labels, projects
from whoknows.apps.web.store.labels import Outcome, Submission
from whoknows.apps.web.store.together import Together
from whoknows.data.errors import InputError


@dataclass(frozen=True)
class Sent:
    """Labels that were sent for a project."""

    project: str
    submission: Submission


@dataclass(frozen=True)
class Recorded:
    """What became of the labels that were sent, and whether a fit was queued since then."""

    outcomes: list[Outcome]
    refit: bool


def recorder(store: Store) -> Together[Sent, Recorded]:
    """Return the thread that records labels."""
    return Together(store.write, record)


def record(db: Connection, sent: Sequence[Sent]) -> list[Recorded | Exception]:
    """Record what was sent, project by project."""
    places: dict[str, list[int]] = {}
    for place, each in enumerate(sent):
        places.setdefault(each.project, []).append(place)
    found: dict[int, Recorded | Exception] = {}
    for name, own in sorted(places.items()):
        found |= zip(own, _record(db, name, [sent[place].submission for place in own]), strict=True)
    return [found[place] for place in range(len(sent))]


def _record(db: Connection, name: str, submissions: Sequence[Submission]) -> list[Recorded | Exception]:
    try:
        project = projects.by_name(db, name)
    except InputError as error:
        return [error] * len(submissions)
    stored = labels.record_all(db, project, submissions)
    refit = refit_if_due(db, project)
    return [each if isinstance(each, InputError) else Recorded(each, refit) for each in stored]
