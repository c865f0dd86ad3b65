"""A store with the example project, fitted once per session and copied for each test."""

import shutil

import pytest
from fastapi.testclient import TestClient

from whoknows.apps.web.application import create_app
from whoknows.apps.web.example import add_example
from whoknows.apps.web.jobs.worker import fit_now
from whoknows.apps.web.settings import ServerSettings
from whoknows.apps.web.store import Store


@pytest.fixture(scope="session")
def fitted_folder(tmp_path_factory):
    """Folder of a server with the example project, fitted with the fastest model."""
    folder = tmp_path_factory.mktemp("served")
    store = Store(ServerSettings(folder).url)
    with store.write() as db:
        project = add_example(db, model="id")
    fit = fit_now(store, project.id)
    assert fit.state == "done", fit.error
    store.close()
    return folder


@pytest.fixture
def folder(fitted_folder, tmp_path):
    """A copy of it, to change."""
    shutil.copytree(fitted_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def settings(folder):
    return ServerSettings(folder, works=False, hosts=("testserver",))


@pytest.fixture
def store(settings):
    store = Store(settings.url)
    yield store
    store.close()


@pytest.fixture
def client(settings, store):
    """A browser of that server, without its own worker."""
    with TestClient(create_app(settings, store)) as client:
        yield client
