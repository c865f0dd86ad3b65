"""Several servers on one PostgreSQL, and connections to it that break."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from sqlalchemy import text

from benchmarks.web.server import Client, Server
from tests.apps.web.conftest import on_postgres
from whoknows.apps.web.store import database, fits, items, labels, projects
from whoknows.apps.web.store.labels import Answer
from whoknows.apps.web.store.projects import ProjectSettings

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
PATIENCE = 120  # seconds for fits on a busy machine


@pytest.fixture
def servers(tmp_path, database):
    """Two processes of whoknows serve on one database."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(2) as starting:
        started = list(starting.map(lambda folder: Server(folder, database), folders))
    yield started
    for server in started:
        server.stop()


def queue_fit(server, name):
    with closing(Client(server.port)) as client:
        status, answer = client.call("POST", f"/api/v1/projects/{name}/fits", {})
    assert status == 202
    return json.loads(answer)["id"]


def add_small_project(store):
    with store.write() as db:
        project = projects.create(db, "small", "", ProjectSettings(("no", "yes"), model="id"))
        items.put(db, project.id, [items.Item(str(i), features=[float(i)]) for i in range(8)])
        given = [Answer(str(i), who, ("no", "yes")[i > 3]) for i in range(8) for who in "abc"]
        labels.record(db, project, given, "test")


def wait_until_running(store, id, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with store.read() as db:
            if fits.by_id(db, id).state != "queued":
                return
        time.sleep(0.02)
    raise AssertionError(f"fit {id} is still queued")


def watched(store, ids, seconds=PATIENCE):
    """Wait until fits are done; return them, and the largest number that ran at once by project."""
    most, end = {}, time.monotonic() + seconds
    while time.monotonic() < end:
        with store.read() as db:
            found = [fits.by_id(db, id) for id in ids]
        running = [fit.project_id for fit in found if fit.state == "running"]
        most |= {project: max(most.get(project, 0), running.count(project)) for project in running}
        if all(fit.state == "done" for fit in found):
            return found, most
        time.sleep(0.02)
    raise AssertionError(found)


def test_two_servers_share_the_fits_and_never_fit_one_project_at_once(store, servers):
    add_small_project(store)
    with ThreadPoolExecutor(4) as people:
        wanted = list(people.map(lambda k: queue_fit(servers[k % 2], ("example", "small")[k // 2]), range(4)))
    wait_until_running(store, wanted[0])
    again = queue_fit(servers[1], "example")
    done, most = watched(store, sorted({*wanted, again}))
    assert set(most.values()) == {1}
    workers = {fit.worker for fit in done}
    assert len(workers) == 2
    for one in done:
        later = [fit for fit in done if fit.project_id == one.project_id and fit.id > one.id]
        assert all(fit.started >= one.finished for fit in later)
    for server in servers:
        server.stop()
    ended = [line for server in servers for line in server.events() if line["event"] == "fit"]
    assert sorted((line["fit"], line["state"]) for line in ended) == [(fit.id, "done") for fit in done]


def test_connections_that_broke_are_replaced(store, monkeypatch):
    monkeypatch.setattr(database, "IDLE", 0.0)
    with store.read() as one, store.read() as other:
        pids = [db.execute(text("SELECT pg_backend_pid()")).scalar() for db in (one, other)]
    on_postgres(*(f"SELECT pg_terminate_backend({pid})" for pid in pids))
    for _ in range(3):
        with store.read() as db:
            assert projects.by_name(db, "example")
