"""The store: labels with history, idempotent requests, fits that one worker owns."""

from threading import Event

import numpy as np
import pytest
from sqlalchemy import inspect, select

from tests.apps.web.databases import BOTH
from whoknows.apps.web.jobs.recording import Recorded, Sent, record
from whoknows.apps.web.store import fits, gold, items, labels, projects
from whoknows.apps.web.store.errors import NotFound
from whoknows.apps.web.store.labels import Answer, Submission
from whoknows.apps.web.store.migrations import STEPS, migrate
from whoknows.apps.web.store.schema import attempt, schema_version
from whoknows.apps.web.store.together import Together
from whoknows.data.errors import InputError
from whoknows.insight.summary import Summary

pytestmark = BOTH


@pytest.fixture
def project(store):
    with store.read() as db:
        return projects.by_name(db, "example")


def test_the_example_is_fitted(store, project):
    with store.read() as db:
        fit = fits.latest(db, project.id)
        summary = Summary.from_json(fits.summary(db, fit.id))
        predictions = fits.predictions(db, fit.id)
        assert fit.n_annotations == labels.count(db, project.id) == sum(labels.counts(db, project.id).values())
        assert fit.last_event == labels.last_event(db, project.id)
        assert len(predictions) == items.count(db, project.id) == 300
        assert [row.label for row in predictions] == summary.consensus["consensus"]
        assert np.allclose([sum(row.probabilities.values()) for row in predictions], 1, atol=1e-3)
        asked = fits.questions(db, fit.id, limit=1000)
    assert {row.annotator for row in asked} == {"anna", "bruno", "chloe", "dmitri", "emeka"}
    bits = [row.information for row in asked]
    assert bits == sorted(bits, reverse=True)


def test_a_repeated_request_changes_nothing(store, project):
    answer = Answer("tumour 001", "zoe", "benign", request_id="r1")
    with store.write() as db:
        assert labels.record(db, project, [answer, answer], "zoe") == ["stored", "repeated"]
        assert labels.record(db, project, [answer], "zoe") == ["repeated"]
        assert len(labels.history(db, project.id, annotator="zoe")) == 1
        later = [Answer("tumour 001", "zoe", "malignant"), Answer("tumour 001", "zoe", None)]
        labels.record(db, project, later, "zoe")
        assert [row.kind for row in labels.history(db, project.id, "tumour 001", "zoe")] == ["delete", "set", "set"]
        assert "zoe" not in labels.counts(db, project.id)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (Answer("tumour 001", "zoe", "maybe"), InputError, "'benign', 'malignant'.*'maybe'"),
        (Answer("nowhere", "zoe", "benign"), NotFound, "no item 'nowhere'"),
    ],
)
def test_what_cannot_be_a_label_is_refused(store, project, answer, error, message):
    with pytest.raises(error, match=message), store.write() as db:
        labels.record(db, project, [Answer("tumour 002", "zoe", "benign"), answer], "zoe")
    with store.read() as db:
        assert "zoe" not in labels.counts(db, project.id)


def test_labels_of_a_regression_are_numbers(store):
    with store.write() as db:
        rated = projects.create(db, "rated", settings=projects.ProjectSettings(model="regression"))
        items.put(db, rated.id, [items.Item("a")])
        labels.record(db, rated, [Answer("a", "zoe", "-1.5e3")], "zoe")
        for wrong in ("good", "nan", "1e999", ""):
            with pytest.raises(InputError, match="Expected a number; got"):
                labels.record(db, rated, [Answer("a", "max", wrong)], "max")
            with pytest.raises(InputError, match="Expected a number; got"):
                gold.decide(db, rated, {"a": wrong}, "lea")


def test_one_fit_is_queued_and_one_runs(store, project):
    with store.write() as db:
        first = fits.request(db, project.id)
        assert fits.request(db, project.id).id == first.id
        assert fits.claim(db, "a").id == first.id
        second = fits.request(db, project.id)
        assert second.id != first.id
        assert fits.claim(db, "b") is None
        assert not fits.beat(db, first.id, "b", {})
        assert fits.beat(db, first.id, "a", {"done": 1, "total": None, "bound": [-3.0]})
        fits.cancel(db, project.id, first.id)
        assert not fits.beat(db, first.id, "a", {})
        assert not fits.finish(db, first.id, "a", fits.Results(b"", "", [], []))
        assert fits.claim(db, "b").id == second.id


def test_gold_is_decided_and_withdrawn(store, project):
    with store.write() as db:
        gold.decide(db, project, {"tumour 003": "benign"}, "lea")
        gold.decide(db, project, {"tumour 003": "malignant"}, "lea")
        assert gold.every(db, project.id) == {"tumour 003": "malignant"}
        gold.withdraw(db, project, "tumour 003")
        assert gold.every(db, project.id) == {}


def version(store):
    with store.read() as db:
        return db.execute(select(schema_version.c.version)).scalar_one()


def test_an_older_database_gets_the_steps_that_it_lacks_once(store):
    done = []
    steps = tuple(lambda db, number=number: done.append(number) for number in range(len(STEPS), len(STEPS) + 2))
    for _ in range(2):
        with store.write() as db:
            migrate(db, (*STEPS, *steps))
    assert done == [len(STEPS), len(STEPS) + 1]
    assert version(store) == 1 + len(STEPS) + 2
    with pytest.raises(InputError, match="Install a newer one"), store.write() as db:
        migrate(db)


def test_a_database_of_the_first_version_gets_the_table_of_attempts(store):
    with store.write() as db:
        attempt.drop(db)
        db.execute(schema_version.update().values(version=1))
        migrate(db)
        assert inspect(db).has_table("attempt")
    assert version(store) == 1 + len(STEPS)


def test_a_step_that_fails_leaves_the_database_as_it_was(store):
    def fails(db):
        db.execute(schema_version.update().values(version=99))
        raise RuntimeError("power cut")

    before = version(store)
    with pytest.raises(RuntimeError), store.write() as db:
        migrate(db, (*STEPS, fails))
    assert version(store) == before
    assert before == 1 + len(STEPS)


def test_labels_that_share_a_commit_succeed_and_fail_on_their_own(store):
    def give(item, label, name="example", **more):
        return Sent(name, Submission([Answer(item, "zoe", label, **more)], "zoe"))

    sent = [
        give("tumour 001", "benign", request_id="r"),
        give("nowhere", "benign"),
        give("tumour 002", "maybe"),
        give("tumour 003", "benign", "no-project"),
        give("tumour 001", "malignant", request_id="r"),
        give("tumour 004", "benign"),
    ]
    with store.write() as db:
        found = record(db, sent)
    assert [type(each) for each in found] == [Recorded, NotFound, InputError, NotFound, Recorded, Recorded]
    assert [found[k].outcomes for k in (0, 4, 5)] == [["stored"], ["repeated"], ["stored"]]
    with store.read() as db:
        stored = labels.every(db, projects.by_name(db, "example").id, annotator="zoe")
    assert [(row.item, row.label) for row in stored] == [("tumour 001", "benign"), ("tumour 004", "benign")]


def test_requests_that_fail_together_are_repeated_one_by_one(store):
    all_are_there, batches = Event(), []

    def work(db, requests):
        all_are_there.wait()
        batches.append(len(requests))
        if 3 in requests:
            raise ZeroDivisionError(len(requests))
        return [2 * each for each in requests]

    writer = Together(store.write, work)
    futures = [writer.submit(each) for each in range(5)]
    all_are_there.set()
    writer.close()
    assert [futures[k].result() for k in (0, 1, 2, 4)] == [0, 2, 4, 8]
    assert futures[3].exception().args == (1,)
    assert max(batches) > 1
