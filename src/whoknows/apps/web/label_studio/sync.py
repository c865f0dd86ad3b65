"""A project of Label Studio: its tasks with their annotations, and predictions that order them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from whoknows.apps.web.label_studio.client import Client, LabelStudioError, NotFound, Refused
from whoknows.apps.web.label_studio.question import Question, question_of

VERSION = "whoknows"  # of our predictions, and the title of our backend and tab
BATCH = 1_000  # predictions per request
SAMPLING = "Uncertainty sampling"  # Label Studio's name for: lowest score first
ORDER = "tasks:predictions_score"
PRIVATE = (
    "With its default settings Label Studio calls no backend on this machine or in a private network. Start it with "
    "both ML_BLOCK_LOCAL_IP=false and SSRF_PROTECTION_ENABLED=false, or leave out --backend: pulling needs neither."
)

Task = dict[str, Any]


class NothingToFit(LabelStudioError):
    """There are not enough annotations yet; there may be later."""


@dataclass(frozen=True)
class Prediction:
    """What is pushed for one task.

    Parameters
    ----------
    task : int
    label : object
        The consensus.
    score : float
        From 0, to be labelled first, to 1, nothing to learn.
    """

    task: int
    label: Any
    score: float


def score(bits: float, n_classes: int) -> float:
    """Return the score of a task: the share of a question that the next label is expected to leave open."""
    return 1 - bits / math.log2(n_classes)


@dataclass(frozen=True)
class Project:
    """A project on a server.

    Parameters
    ----------
    client : Client
    id : int
    title : str
    question : Question
    """

    client: Client
    id: int
    title: str
    question: Question

    @classmethod
    def open(cls, client: Client, id: int, question: str | None = None) -> Self:
        """Return a project; errors say which ones there are, and which questions whoknows can work on."""
        try:
            record = client.request("GET", f"/api/projects/{id}/")
        except NotFound:
            raise LabelStudioError(f"{client.url}: there is no project {id}{_known_projects(client)}.") from None
        if not isinstance(record, dict) or not {"label_config", "title"} <= record.keys():
            raise LabelStudioError(f"{client.url}: does not answer as Label Studio does. Is it another server?")
        try:
            asked = question_of(record["label_config"], question)
        except LabelStudioError as error:
            raise LabelStudioError(f"{client.url}, project {id}: {error}") from None
        return cls(client, id, str(record["title"]), asked)

    def __str__(self) -> str:
        return f"{self.client.url}, project {self.id} {self.title!r}"

    # --- pull ----------------------------------------------------------------------------------------------

    def tasks(self) -> list[Task]:
        """Return all tasks with their annotations, whose annotators are named by e-mail address where known."""
        users = self._users()
        tasks = list(self.client.pages("/api/tasks", "tasks", project=self.id, fields="all"))
        for annotation in (each for task in tasks for each in task["annotations"]):
            who = annotation.get("completed_by")
            annotation["completed_by"] = users.get(who, who) if isinstance(who, int) else who
        self._check_labels(tasks)
        return tasks

    def _users(self) -> dict[Any, dict[str, Any]]:
        """Return users by id; none if the token may not list them."""
        try:
            users = self.client.request("GET", "/api/users/")
        except Refused:
            return {}
        return {user["id"]: {"id": user["id"], "email": user.get("email")} for user in users}

    def _check_labels(self, tasks: Iterable[Task]) -> None:
        """Raise if there is nothing to fit: no label, or always the same one."""
        given = [each for task in tasks for each in task["annotations"] if not each.get("was_cancelled")]
        labels = {self.question.label(each.get("result")) for each in given} - {None}
        if not labels:
            raise NothingToFit(
                f"{self}: has no annotation of {self.question.name!r} yet. Label some tasks, then sync again."
            )
        if len(labels) == 1:
            raise NothingToFit(f"{self}: every annotation so far is {labels.pop()!r}. Two different labels are needed.")

    # --- push ----------------------------------------------------------------------------------------------

    def push(self, predictions: Sequence[Prediction], tasks: Iterable[Task], prelabel: bool = False) -> int:
        """Replace our predictions by new ones, and have tasks served by their score; return how many are new.

        Parameters
        ----------
        predictions : sequence of Prediction
        tasks : iterable of dict
            As pulled, with the predictions that the server has: if these are the same, none is pushed.
        prelabel : bool
            Whether annotators see the predicted label before they answer.
        """
        records = [self._record(prediction) for prediction in predictions]
        is_new = _ours(tasks) != _by_task(records)
        if is_new:
            self._replace(records)
        self._serve_by_score(prelabel)
        return len(records) if is_new else 0

    def _record(self, prediction: Prediction) -> dict[str, Any]:
        result = self.question.result(prediction.label)
        score = round(float(prediction.score), 6)
        return {"task": prediction.task, "model_version": VERSION, "score": score, "result": result}

    def _replace(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Delete our predictions and import new ones; the server drops those with an unknown label in silence."""
        self.client.request("DELETE", f"/api/projects/{self.id}/model-versions/", {"model_version": VERSION})
        created = 0
        for start in range(0, len(records), BATCH):
            batch = records[start : start + BATCH]
            answer = self.client.request("POST", f"/api/projects/{self.id}/import/predictions", batch)
            created += answer["created"]
        if created < len(records):
            raise LabelStudioError(
                f"{self}: took {created} of {len(records)} predictions. Does its configuration lack a label that was "
                "used before?"
            )

    def _serve_by_score(self, prelabel: bool) -> None:
        """Order the tasks of the project, and of a tab in its data manager, by our scores.

        Two requests, since hiding predictions also resets the version to show.
        """
        path = f"/api/projects/{self.id}/"
        self.client.request("PATCH", path, {"sampling": SAMPLING, "show_collab_predictions": prelabel})
        self.client.request("PATCH", path, {"model_version": VERSION})
        views = self.client.request("GET", "/api/dm/views/", project=self.id)
        if not any(view["data"].get("title") == VERSION for view in views):
            tab = {"title": VERSION, "type": "list", "target": "tasks", "ordering": [ORDER]}
            self.client.request("POST", "/api/dm/views/", {"project": self.id, "data": tab})

    def allow_labels(self, number: int) -> None:
        """Have every task labelled by so many people; the free edition has no page for it."""
        self.client.request("PATCH", f"/api/projects/{self.id}/", {"maximum_annotations": number})

    # --- backend -------------------------------------------------------------------------------------------

    def register(self, url: str) -> bool:
        """Add whoknows as the machine learning backend of the project; False if it is one already."""
        if urlsplit(url).scheme not in ("http", "https"):
            raise LabelStudioError("Expected the address that `whoknows serve` shows for Label Studio as --backend.")
        is_new = not self._has("/api/ml", url)
        try:
            if is_new:
                self.client.request("POST", "/api/ml", {"project": self.id, "url": url, "title": VERSION})
            self._add_webhook(f"{url.rstrip('/')}/webhook")
        except Refused as error:
            raise Refused(f"{error} {PRIVATE}") from None
        return is_new

    def _add_webhook(self, url: str) -> None:
        """Add the webhook of the backend, unless it is there: with one of the two settings the server made none."""
        if not self._has("/api/webhooks/", url):
            everything = {"send_payload": True, "send_for_all_actions": True}
            self.client.request("POST", "/api/webhooks/", {"project": self.id, "url": url, **everything})

    def _has(self, path: str, url: str) -> bool:
        """Whether a list of the project holds an address."""
        entries = self.client.request("GET", path, project=self.id)
        return any(entry["url"].rstrip("/") == url.rstrip("/") for entry in entries)


def _known_projects(client: Client) -> str:
    """Return the ids and titles of some projects, for a message."""
    answer = client.request("GET", "/api/projects/", page_size=20)
    projects = answer.get("results") if isinstance(answer, dict) else None
    known = ", ".join(f"{project['id']} {project['title']!r}" for project in projects or ())
    return f"; there are {known}" if known else "; this token sees none"


def _ours(tasks: Iterable[Task]) -> dict[int, Any]:
    """Return our predictions on the server, comparable with those to push."""
    records = [dict(each) for task in tasks for each in task.get("predictions") or () if isinstance(each, dict)]
    return _by_task([each for each in records if each.get("model_version") == VERSION])


def _by_task(records: Iterable[Mapping[str, Any]]) -> dict[int, Any]:
    """Return scores and labels of predictions by task, several as a list."""
    found: dict[int, Any] = {}
    for each in records:
        labels = [answer.get("value") for answer in each["result"]]
        found.setdefault(each["task"], []).append((round(each["score"] or 0, 6), labels))
    return found
