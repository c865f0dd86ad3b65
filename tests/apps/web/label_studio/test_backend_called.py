"""The real Label Studio calls our backend: what people do there arrives in the store."""

import threading
import time

import pytest
import uvicorn

from tests.apps.cli import run
from tests.apps.web.label_studio.stand_in import LEGACY
from tests.apps.web.label_studio.test_sync import answer, make_project, predictions, reviews
from whoknows.apps.web.application import create_app
from whoknows.apps.web.label_studio import backend
from whoknows.apps.web.settings import ServerSettings
from whoknows.apps.web.store import Store, fits, items, labels, projects

PATIENCE = 300  # seconds for what Label Studio does when it sees fit, and for a fit on a busy machine


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Our server on a free port: the address of its backend, and its store."""
    settings = ServerSettings(tmp_path_factory.mktemp("ours"))
    store = Store(settings.url)
    with store.write() as db:
        path = backend.path(db)
    ours = uvicorn.Server(uvicorn.Config(create_app(settings, store), port=0, log_level="warning"))
    thread = threading.Thread(target=ours.run)
    thread.start()
    wait_for(lambda: ours.started)
    port = ours.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}{path}", store
    ours.should_exit = True
    thread.join()


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def stored(store, project):
    """The labels of a project in our store."""
    with store.read() as db:
        found = projects.by_name(db, f"label-studio-{project}")
        return sorted((row.item, row.annotator, row.label) for row in labels.every(db, found.id))


def test_everything_that_happens_arrives(open_server, served, tmp_path):
    url, store = served
    api, project = make_project(open_server, reviews(), maximum_annotations=3)
    how = ("--project", project, "--out", tmp_path, "--model", "id", "--backend", url)
    said = run("sync", "label-studio", open_server.url, "--token", LEGACY, *how)
    assert "The backend is added." in said.err
    assert "24 predictions pushed." in said.out
    said = run("sync", "label-studio", open_server.url, "--token", LEGACY, *how)
    assert "The backend is there already." in said.err
    assert [hook["url"] for hook in api.request("GET", "/api/webhooks/", project=project)] == [f"{url}/webhook"]

    tasks = [str(task["id"]) for task in api.pages("/api/tasks", "tasks", project=project)]
    first, second = tasks[-2:]
    made = [
        api.request("POST", f"/api/tasks/{task}/annotations/", {"result": answer("good")}) for task in (first, second)
    ]
    wait_for(lambda: stored(store, project) == [(first, "1", "good"), (second, "1", "good")])
    api.request("PATCH", f"/api/annotations/{made[0]['id']}/", {"result": answer("bad")})
    wait_for(lambda: stored(store, project) == [(first, "1", "bad"), (second, "1", "good")])
    api.request("DELETE", f"/api/annotations/{made[1]['id']}/")
    wait_for(lambda: stored(store, project) == [(first, "1", "bad")])

    # Predictions are asked for after ours are gone, and bring the annotations that were made before.
    api.request("DELETE", f"/api/projects/{project}/model-versions/", {"model_version": "whoknows"})
    everything = {"selectedItems": {"all": True, "excluded": []}}
    ask = {"id": "retrieve_tasks_predictions", "project": project}
    api.request("POST", "/api/dm/actions", everything, **ask)
    wait_for(lambda: len(stored(store, project)) == 33)
    with store.read() as db:
        ours = projects.by_name(db, f"label-studio-{project}")
        assert items.count(db, ours.id) == 24

    [registered] = api.request("GET", "/api/ml", project=project)
    api.request("POST", f"/api/ml/{registered['id']}/train", {})
    wait_for(lambda: is_done(store, ours.id))
    api.request("POST", "/api/dm/actions", everything, **ask)
    wait_for(lambda: len(predictions(api, project)) == 24)
    assert {p["model_version"] for p in predictions(api, project)} == {"whoknows"}
    assert all(0 <= p["score"] <= 1 for p in predictions(api, project))


def is_done(store, project):
    with store.read() as db:
        return fits.latest(db, project) is not None
