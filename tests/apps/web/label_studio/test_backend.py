"""The backend that Label Studio calls: nothing is lost, doubled or delayed, in whatever order the news arrive."""

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import pytest
from fastapi.testclient import TestClient

from tests.apps.web.databases import BOTH
from whoknows.apps.web.application import create_app
from whoknows.apps.web.jobs.worker import fit_now
from whoknows.apps.web.label_studio import backend, events
from whoknows.apps.web.label_studio.messages import Event
from whoknows.apps.web.store import Store, fits, gold, items, labels, projects
from whoknows.apps.web.store.schema import external_annotation

REQUESTS = [json.loads(line) for line in Path(__file__).with_name("requests.jsonl").read_text("utf-8").splitlines()]
LIMIT = 0.2  # seconds for an answer; a fit takes many times as long


@pytest.fixture
def server(client, store):
    """A browser of a server, the address of its backend, and its store."""
    with store.write() as db:
        return client, backend.path(db), store


def send(server, requests):
    client, path, _ = server
    answers = [client.request(each["method"], path + each["path"], json=each["body"]) for each in requests]
    assert {answer.status_code for answer in answers} <= {200, 201}
    return [answer.json() for answer in answers]


def state(store):
    """Everything that the requests may change, except for the history and numbers of rows."""
    found = {}
    with store.read() as db:
        for project in projects.every(db):
            found[project.name] = {
                "settings": project.settings,
                "items": sorted((item.key, item.text) for _, item in items.every(db, project.id)),
                "labels": sorted((row.item, row.annotator, row.label) for row in labels.every(db, project.id)),
                "gold": gold.every(db, project.id),
            }
        rows = db.execute(external_annotation.select().order_by(external_annotation.c.external_id)).all()
    del found["example"]
    return found | {"annotations": [{**row._mapping, "project_id": None} for row in rows]}


@BOTH
def test_requests_as_recorded_leave_the_labels_of_label_studio(server):
    send(server, REQUESTS)
    found = state(server[2])["label-studio-1"]
    assert found["settings"].classes == ("good", "bad")
    assert found["settings"].question == "mood"
    # 1 changed their mind, the annotation of 2 was deleted, that of 3 has no answer, 4 answered twice, 5 skipped.
    assert found["labels"] == [("1", "1", "bad"), ("2", "1", "good"), ("2", "4", "bad"), ("3", "4", "good")]
    assert found["gold"] == {"4": "bad"}
    assert ("1", "Not what I had hoped for") in found["items"]


def shuffled(requests, seed):
    """Every request twice, in some order."""
    return random.Random(seed).sample(requests * 2, 2 * len(requests))


@BOTH
def test_twice_and_shuffled_is_the_same_as_once_in_order(server):
    store = server[2]
    send(server, REQUESTS)
    expected = state(store)
    send(server, shuffled(REQUESTS, 0))
    assert state(store) == expected
    news = [Event.model_validate(each["body"]) for each in REQUESTS if each["path"] == "/webhook"]
    for seed in range(3):
        with store.write() as db:
            projects.delete(db, projects.by_name(db, "label-studio-1"))
        with ThreadPoolExecutor(4) as pool:  # at the same time, too
            list(pool.map(partial(take, store), shuffled(news, seed)))
        assert state(store) == expected


def take(store, event):
    with store.write() as db:
        events.store(db, event)


def test_tokens_are_not_stored(server, tmp_path):
    send(server, REQUESTS)
    assert any("throwaway" in json.dumps(each) for each in REQUESTS)
    assert all(b"throwaway" not in path.read_bytes() for path in tmp_path.iterdir())


def quick_model(store):
    """Have the project fitted with the fastest model; return it."""
    with store.write() as db:
        project = projects.by_name(db, "label-studio-1")
        projects.change(db, project, project.title, replace(project.settings, model="id"))
        return project


def test_training_queues_a_fit_and_predictions_come_from_it(server):
    store = server[2]
    question = next(each for each in REQUESTS if each["path"] == "/predict")
    [before] = send(server, [question])
    assert before["results"] == [[]] * len(question["body"]["tasks"])
    send(server, REQUESTS)
    project = quick_model(store)
    with store.read() as db:
        assert fits.in_state(db, project.id, "queued") is not None
    assert fit_now(store, project.id).state == "done"
    [after] = send(server, [question])
    found = [prediction for [prediction] in after["results"]]
    assert {prediction["result"][0]["value"]["choices"][0] for prediction in found} <= {"good", "bad"}
    assert all(0 <= prediction["score"] <= 1 for prediction in found)
    scores = {task["id"]: each["score"] for task, each in zip(question["body"]["tasks"], found, strict=True)}
    assert scores[4] == 1  # the truth is known
    assert scores[1] < 1


def test_answers_come_at_once_while_the_project_is_fitted(server, settings):
    send(server, REQUESTS)
    news = [each for each in REQUESTS if each["path"] == "/webhook" and each["body"]["action"] != "START_TRAINING"]
    seconds, project = [], quick_model(server[2])
    settings = replace(settings, works=True)  # this one fits, in a process of its own
    with TestClient(create_app(settings, Store(settings.url))) as client:
        while not is_running(server[2], project):
            time.sleep(0.05)
        for each in news * 3:
            start = time.perf_counter()
            send((client, *server[1:]), [each])
            seconds.append(time.perf_counter() - start)
    assert len(seconds) > 50
    assert median(seconds) < LIMIT


def is_running(store, project):
    """Whether the project is being fitted."""
    with store.read() as db:
        return fits.in_state(db, project.id, "running") is not None


def test_only_those_who_know_the_secret_are_answered(server):
    client, path, _ = server
    assert client.get(f"{path}/health").json()["status"] == "UP"
    for method, route in (("GET", "/health"), ("POST", "/setup"), ("POST", "/predict"), ("POST", "/webhook")):
        for wrong in (f"{path[:-1]}", "/label-studio/x", "/label-studio/%C3%A9"):
            assert client.request(method, wrong + route, json={}).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"action": "ANNOTATION_CREATED"},
        {"action": "ANNOTATION_CREATED", "project": {"id": 1, "label_config": "no xml"}},
        {"action": "ANNOTATION_CREATED", "project": {"id": "x", "label_config": "<View/>"}},
        [1, 2],
        "text",
    ],
)
def test_odd_news_are_refused_and_change_nothing(server, body):
    client, path, store = server
    assert client.post(f"{path}/webhook", json=body).status_code == 422
    assert state(store) == {"annotations": []}


def test_an_annotation_of_an_unknown_task_is_refused(server):
    client, path, store = server
    event = next(each["body"] for each in REQUESTS if each["body"].get("action") == "ANNOTATION_CREATED")
    assert client.post(f"{path}/webhook", json={**event, "task": None}).status_code == 404
    assert state(store) == {"annotations": []}


def test_a_question_without_one_answer_is_refused_at_setup(server):
    client, path, _ = server
    config = '<View><Text name="t" value="$text"/><Labels name="spans" toName="t"><Label value="a"/></Labels></View>'
    said = client.post(f"{path}/setup", json={"project": "7.123", "schema": config})
    assert said.status_code == 422
    assert "<Labels name='spans'>" in said.json()["detail"]
