"""Servers for the tests: a stand-in and, if WHOKNOWS_LABEL_STUDIO names a virtual environment with it, the real one."""

import os

import pytest

from tests.apps.web.label_studio.real import RealLabelStudio
from tests.apps.web.label_studio.stand_in import StandIn

REAL = os.environ.get("WHOKNOWS_LABEL_STUDIO")
collect_ignore = [] if REAL else ["test_backend_called.py"]  # a stand-in calls nobody


@pytest.fixture(scope="module", params=["stand-in", *(["real"] if REAL else [])])
def server(request, tmp_path_factory):
    """A server with default settings, except that legacy tokens are enabled."""
    started = StandIn() if request.param == "stand-in" else RealLabelStudio(REAL, tmp_path_factory.mktemp("real"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    """The real server, with the settings that a backend on this machine needs."""
    started = RealLabelStudio(REAL, tmp_path_factory.mktemp("open"), reaches_local_backends=True)
    yield started
    started.close()
