"""A store with the example project, fitted once per session and copied for each test.

Tests marked `BOTH` run on SQLite and on PostgreSQL, which ``.ci/postgres`` starts.
"""

import os
import secrets
import shutil

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import create_engine, text

from whoknows.apps.web.application import create_app
from whoknows.apps.web.example import add_example
from whoknows.apps.web.jobs.worker import fit_now
from whoknows.apps.web.settings import ServerSettings
from whoknows.apps.web.store import Store
from whoknows.apps.web.store.database import database_url

POSTGRES = os.environ.get("WHOKNOWS_TEST_DATABASE")


def fill(url):
    """Add the example project, fitted with the fastest model."""
    store = Store(url)
    with store.write() as db:
        project = add_example(db, model="id")
    fit = fit_now(store, project.id)
    assert fit.state == "done", fit.error
    store.close()


@pytest.fixture(scope="session")
def fitted_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    fill(ServerSettings(folder).url)
    return folder


def on_postgres(*statements):
    """Run statements outside of transactions, as CREATE DATABASE requires."""
    engine = create_engine(database_url(POSTGRES), isolation_level="AUTOCOMMIT")
    with engine.connect() as db:
        for statement in statements:
            db.execute(text(statement))
    engine.dispose()


def url_of(name):
    return database_url(POSTGRES).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def fitted_database():
    """Name of a database that others are copied from."""
    name = f"fitted_{secrets.token_hex(4)}"
    on_postgres(f"CREATE DATABASE {name}")
    fill(url_of(name))
    yield name
    on_postgres(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def folder(fitted_folder, tmp_path):
    """Folder of a server with the example project, to change."""
    shutil.copytree(fitted_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def database(request):
    """URL of a database with the example project; None for the file in the folder."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield None
        return
    if POSTGRES is None:
        pytest.skip("no PostgreSQL in WHOKNOWS_TEST_DATABASE: run .ci/postgres pytest")
    name = f"test_{secrets.token_hex(4)}"
    on_postgres(f"CREATE DATABASE {name} TEMPLATE {request.getfixturevalue('fitted_database')}")
    yield url_of(name)
    on_postgres(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(folder, database):
    return ServerSettings(folder, database, works=False, hosts=("testserver",))


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
