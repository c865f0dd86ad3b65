"""Fits on a real cluster, processes that speak TCP: the same numbers, also when a worker is killed."""

import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

import numpy as np
import pytest

from tests.fit.test_many_items import world
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier, LogisticTruth, NotCompatible
from whoknows.estimators.auto import cross_validation
from whoknows.estimators.auto.members import Member
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.prepared_model import prepare_classifier
from whoknows.fit import dask as on_dask
from whoknows.fit import em, engines
from whoknows.fit import solve as solving
from whoknows.fit.dask import DaskEngine
from whoknows.fit.engines import Serial, opened, resolve_engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve, split_into_chunks
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators

distributed = pytest.importorskip("distributed")

N_CHUNKS = 5
CLASSES = {"vb": 2, "em": 2, "lbfgs": 2, "crossfit": 3}


QUIET = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def engine(client):
    client.wait_for_workers(2, timeout=60)  # after a test that killed some
    return DaskEngine(client)


def problem(n_classes=2, n_items=400):
    """A model and labelled items."""
    X, y = world(n_items, n_classes=n_classes)
    features = np.column_stack([X, np.ones(n_items)])
    annotators = BernoulliAnnotators() if n_classes == 2 else ConfusionAnnotators()
    truth = LogisticTruth().for_classes(n_classes).prepare(X, features)
    said = Annotations.from_matrix(y, labels=range(n_classes))
    return Model(annotators.for_classes(n_classes), truth), Items(features, features, said).labelled()


def same(found, wanted):
    np.testing.assert_allclose(found.annotators.mean, wanted.annotators.mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.truth.mean, wanted.truth.mean, rtol=0, atol=1e-8)


def fit(engine, solver, callback=None):
    """A few iterations, which is what a cluster takes long for."""
    model, items = problem(CLASSES[solver])
    monitor = Monitor(12 if solver == "vb" else 3, 1e-5, callback=callback, warn=False)
    return solve(model, split_into_chunks(items, N_CHUNKS, engine), None, monitor, solver), monitor


@pytest.fixture(autouse=True)
def short_m_steps(monkeypatch):
    monkeypatch.setattr(em, "INNER_ITERATIONS", 3)


# --- sums -----------------------------------------------------------------------------------------


def test_sums_are_those_of_one_process_to_the_last_digit(engine):
    def moments(chunk, shift):  # inside the test: it travels whole
        return float((chunk + shift).sum()), np.outer(chunk[:3], chunk[:3]), [float(chunk[0])]

    numbers = list(np.random.default_rng(0).normal(size=(11, 1000)))
    found, wanted = (e.sum(moments, e.keep(np.exp, numbers), 0.1) for e in (engine, Serial()))
    assert found[0] == wanted[0]
    np.testing.assert_array_equal(found[1], wanted[1])
    assert found[2] == wanted[2]  # lists add up in the order of the chunks


def test_chunks_are_spread_and_what_is_made_of_them_stays_beside_them(engine):
    chunks = engine.keep(np.ones, [10_000] * 4)
    where = engine.client.who_has(chunks)
    assert len({where[chunk.key] for chunk in chunks}) == 2
    made = engine.keep(np.negative, chunks)
    beside = engine.client.who_has(made)
    assert [beside[b.key] for b in made] == [where[a.key] for a in chunks]


def test_parts_that_nobody_keeps_can_be_added_up_in_passing(engine, monkeypatch):
    monkeypatch.setattr(on_dask, "TOGETHER", 3)  # so that workers add up for each other
    numbers = list(np.random.default_rng(1).normal(size=(13, 50)))
    found, wanted = (e.sum(lambda part: (part, [part[0]]), numbers) for e in (engine, Serial()))
    np.testing.assert_array_equal(found[0], wanted[0])
    assert found[1] == [part[0] for part in numbers]


def test_an_error_in_a_chunk_is_the_error_of_the_fit(engine):
    def read(part):
        raise FileNotFoundError(f"no file {part}")

    with pytest.raises(FileNotFoundError, match="no file 1"):
        engine.keep(read, [1])
    with pytest.raises(FileNotFoundError, match="no file 2"):
        engine.sum(read, [2])


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", CLASSES)
def test_a_fit_ends_where_it_ends_in_one_process(engine, solver):
    found, here = fit(engine, solver)
    wanted, there = fit(Serial(), solver)
    same(found, wanted)
    np.testing.assert_array_equal(here.history, there.history)
    if solver == "crossfit":
        np.testing.assert_array_equal(found.truth.held_out, wanted.truth.held_out)


@pytest.mark.parametrize("solver", ["vb", "crossfit"])
def test_a_fit_to_many_items_rehearses_on_the_same_few(engine, solver, monkeypatch):
    monkeypatch.setattr(solving, "MANY", 100)
    monkeypatch.setattr(solving, "SAMPLE", 80)
    found, wanted = (fit(e, solver)[0] for e in (engine, Serial()))
    same(found, wanted)


# --- estimators -----------------------------------------------------------------------------------


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(engines, "ITEMS_A_CHUNK", 100)


@pytest.mark.parametrize(
    ("settings", "n_classes"),
    [({"truth": "id", "map": "rbf", "max_iter": 9}, 2), ({"truth": "id", "map": "linear", "max_iter": 2}, 3)],
    ids=["vb", "crossfit"],
)
@pytest.mark.filterwarnings("ignore::whoknows.DidNotConverge")
def test_an_estimator_learns_the_same_on_a_cluster(engine, small_chunks, settings, n_classes):
    X, y = world(350, n_classes=n_classes)
    y[::7] = np.nan
    there, here = (CrowdClassifier(**settings, engine=e).fit(X, y) for e in (engine.client, None))
    assert there.bound_history_ == here.bound_history_
    np.testing.assert_allclose(there.posterior_, here.posterior_, atol=1e-8)
    for found, wanted in zip(*(m.expertise(X, return_interval=True) for m in (there, here)), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_features_in_files_are_read_by_the_workers(engine, small_chunks, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from whoknows.io.parquet import ParquetFeatures

    X, y = world(350)
    for number, rows in enumerate(np.array_split(X, 3)):
        parquet.write_table(pa.table(dict(zip("ab", rows.T, strict=True))), tmp_path / f"{number}.parquet")
    given = TrainingData(Annotations.from_matrix(y))
    learnt = prepare_classifier(CrowdClassifier("id", map="linear"), X, given.annotations)
    rows = np.flatnonzero(given.informed)
    wanted = learnt.chunks(X, rows, given, Serial())
    assert len(wanted.chunks) == 4
    found = engine.client.gather(learnt.chunks(ParquetFeatures(tmp_path), rows, given, engine).chunks)
    for mine, theirs in zip(found, wanted.chunks, strict=True):
        np.testing.assert_array_equal(mine.X_truth, theirs.X_truth)
        np.testing.assert_array_equal(mine.Y.label, theirs.Y.label)


def test_auto_fits_the_members_it_chose_on_the_cluster(engine, small_chunks, monkeypatch):
    monkeypatch.setattr(cross_validation, "MOST_SCORED", 60)
    X, y = world(350)
    few = [Member("linear", 10.0, False), Member("rbf 2", 10.0, False)]
    there, here = (AutoCrowdClassifier(members=few, tol=1e-4, engine=e).fit(X, y) for e in (engine, None))
    np.testing.assert_allclose(there.posterior_, here.posterior_, atol=1e-8)
    assert [m.engine for m in there.members_] == [None] * len(there.members_)
    more = np.full_like(y, np.nan)
    more[:50] = y[:50]
    np.testing.assert_allclose(there.update(X, more).posterior_, here.update(X, more).posterior_, atol=1e-8)


def test_items_that_hang_together_stay_in_this_process(engine):
    X, y = world(30)
    with pytest.raises(NotCompatible, match=r"GraphTruth couples all items.*DaskEngine\. Use engine=None"):
        CrowdClassifier("gp", engine=engine).fit(X, y)


# --- when something is missing --------------------------------------------------------------------


def test_where_nobody_listens_the_error_says_so_at_once(monkeypatch):
    assert on_dask.CONNECT <= 10
    monkeypatch.setattr(on_dask, "CONNECT", 0.5)
    started = time.perf_counter()
    with pytest.raises(ConnectionError, match=r"No Dask scheduler answered at tcp://127\.0\.0\.1:9 within"):
        CrowdClassifier(engine="tcp://127.0.0.1:9").fit(*world(30))
    assert time.perf_counter() - started < 5


def test_a_cluster_without_workers_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(on_dask, "WORKERS", 0.3)
    with distributed.LocalCluster(n_workers=0, **QUIET) as empty:
        with pytest.raises(ConnectionError, match=r"has had no worker.*dask worker tcp://"):
            resolve_engine(empty.scheduler_address)
        assert empty.scheduler.clients.keys() <= {"fire-and-forget"}  # ours is closed again


def test_a_scheduler_that_goes_in_the_middle_of_a_fit_is_an_error():
    def close(iteration, *_):
        if iteration == 2:
            cluster.close()

    with (
        distributed.LocalCluster(n_workers=1, processes=False, **QUIET) as cluster,
        closing(resolve_engine(cluster.scheduler_address)) as engine,
        pytest.raises(ConnectionError, match=r"Dask (scheduler was lost|client is)"),
    ):
        fit(engine, "vb", callback=close)


def test_a_client_that_is_closed_is_refused():
    with distributed.LocalCluster(n_workers=0, processes=False, **QUIET) as cluster:
        client = distributed.Client(cluster, set_as_default=False)
        client.close()
        with pytest.raises(ConnectionError, match="The Dask client is closed"):
            CrowdClassifier(engine=client).fit(*world(30))


def test_workers_with_another_whoknows_are_refused(client, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: "9.9")
    with pytest.raises(RuntimeError, match=r"need the same version of whoknows as this process, 9\.9; tcp.* has 0\."):
        DaskEngine(client)


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'whoknows\[dask\]'"):
        CrowdClassifier(engine="dask").fit(*world(30))


def test_what_is_no_engine_is_refused():
    with pytest.raises(ValueError, match=r"engine must be None, 'dask', the address .*got 'cluster'"):
        CrowdClassifier(engine="cluster").fit(*world(30))


# --- workers that are lost ------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["vb", "crossfit"])
def test_a_worker_that_is_killed_changes_nothing(engine, solver):
    wanted, quiet = fit(Serial(), solver)
    killed = []

    def kill(iteration, *_):
        if iteration == 2:
            killed.extend(engine.client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    found, monitor = fit(engine, solver, callback=kill)
    assert len(killed) == 2
    assert monitor.history == quiet.history
    same(found, wanted)


@pytest.mark.parametrize("solver", ["vb", "crossfit"])
def test_a_fit_goes_on_when_all_workers_are_killed_and_others_come(engine, solver, monkeypatch):
    monkeypatch.setattr(on_dask, "LOOK", 0.5)
    wanted, quiet = fit(Serial(), solver)
    killed = []

    def kill(iteration, *_):
        if iteration == 2:
            killed.extend(engine.client.run(os.getpid).values())
            for worker in killed:
                os.kill(worker, signal.SIGKILL)

    found, monitor = fit(engine, solver, callback=kill)
    assert len(killed) == 2
    assert not set(killed) & set(engine.client.run(os.getpid).values())
    np.testing.assert_allclose(monitor.history, quiet.history, rtol=1e-12)
    same(found, wanted)


def test_a_fit_ends_with_an_error_when_all_workers_are_killed_and_none_come(monkeypatch):
    monkeypatch.setattr(on_dask, "LOOK", 0.5)

    def kill(iteration, *_):
        if iteration == 2:
            monkeypatch.setattr(on_dask, "WORKERS", 2.0)
            for worker in workers:
                worker.kill()

    with distributed.LocalCluster(n_workers=0, **QUIET) as cluster:
        start = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        alone = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]  # nobody starts them again
        workers = [subprocess.Popen([*start, *alone], stderr=subprocess.DEVNULL) for _ in range(2)]
        try:
            with (
                closing(resolve_engine(cluster.scheduler_address)) as engine,
                pytest.raises(ConnectionError, match=r"has had no worker for 2 s.*dask worker tcp://"),
            ):
                fit(engine, "vb", callback=kill)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


def test_what_takes_down_every_worker_is_an_error(engine, monkeypatch):
    def die(chunk):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(engine.client.cluster.scheduler, "allowed_failures", 0)
    chunks = engine.keep(np.ones, [3])
    with pytest.raises(RuntimeError, match="killed several Dask workers"):
        engine.sum(die, chunks)


# --- who opens and who closes ---------------------------------------------------------------------


def test_dask_is_the_client_at_hand_or_a_cluster_of_this_machine_for_as_long_as_it_takes(client, monkeypatch):
    with client.as_current(), opened("dask") as engine:
        assert engine.client is client
    assert client.status == "running"
    monkeypatch.setattr(distributed, "LocalCluster", partial(distributed.LocalCluster, n_workers=1))
    with opened("dask") as engine:
        assert list(engine.client.nthreads().values()) == [1]
        ((chunk,),) = engine.sum(lambda chunk: ([chunk],), engine.keep(np.ones, [3]))
        np.testing.assert_array_equal(chunk, np.ones(3))
    assert engine.client.status == "closed"
