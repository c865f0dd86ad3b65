"""Fits run in a process of their own; cancelled, failed, left and shared ones end as they should."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from tests.apps.web.databases import BOTH
from whoknows.apps.web.jobs.runner import Runner
from whoknows.apps.web.jobs.worker import fit_now
from whoknows.apps.web.store import Store, fits, labels, projects

pytestmark = BOTH


@pytest.fixture
def project(store):
    with store.read() as db:
        return projects.by_name(db, "example")


@pytest.fixture
def runner(store):
    runner = Runner(store)
    runner.start()
    yield runner
    runner.stop()


def queue(store, project):
    with store.write() as db:
        return fits.request(db, project.id).id


def wait(store, id, *states, seconds=180):
    """Wait for a fit to be in one of these states."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with store.read() as db:
            fit = fits.by_id(db, id)
        if fit.state in states:
            return fit
        time.sleep(0.05)
    raise AssertionError(f"still {fit.state}: {fit.error}")


def test_a_cancelled_fit_ends_and_the_next_one_is_carried_out(store, project, runner):
    id = queue(store, project)
    wait(store, id, "running")
    with store.write() as db:
        fits.cancel(db, project.id, id)
    fit = wait(store, queue(store, project), "done", "failed")
    assert fit.state == "done", fit.error
    assert len(fit.progress["bound"]) > 1
    with store.read() as db:
        assert fits.by_id(db, id).state == "cancelled"
        assert fits.predictions(db, id) == []
        assert fit.n_annotations == labels.count(db, project.id)
        assert fits.latest(db, project.id).id == fit.id
        assert len(fits.predictions(db, fit.id)) == 300


def test_a_stopped_server_leaves_its_fit_in_the_queue(store, project):
    runner = Runner(store)
    runner.start()
    id = queue(store, project)
    wait(store, id, "running")
    runner.stop()
    with store.read() as db:
        assert fits.by_id(db, id).state == "queued"


def test_a_fit_that_failed_says_why(store, project, runner):
    with store.write() as db:
        empty = projects.create(db, "empty")
    fit = wait(store, queue(store, empty), "done", "failed")
    assert (fit.state, fit.error[:24]) == ("failed", "There are no labels yet.")


def test_labels_that_the_settings_do_not_allow_any_more_are_named(store, project):
    with store.write() as db:
        projects.change(db, project, "x", replace(project.settings, model="regression"))
    failed = fit_now(store, project.id)
    assert failed.error.startswith("Expected a number; got 'benign', 'malignant'. Change these labels, or")


def test_a_fit_without_sign_of_life_is_queued_again(store, project):
    id = queue(store, project)
    with store.write() as db:
        fits.claim(db, "gone")
        assert fits.requeue_stale(db, 10) == 0
        assert fits.requeue_stale(db, -1) == 1
        assert fits.by_id(db, id).state == "queued"


def test_of_many_servers_one_claims_a_fit(settings, store, project):
    id, ready = queue(store, project), Barrier(6)

    def claim(name):
        other = Store(settings.url)
        ready.wait()
        with other.write() as db:
            claimed = fits.claim(db, name)
        other.close()
        return claimed

    with ThreadPoolExecutor(6) as servers:
        claimed = [fit for fit in servers.map(claim, "abcdef") if fit is not None]
    assert [fit.id for fit in claimed] == [id]
