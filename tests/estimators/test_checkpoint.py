"""A fit that is interrupted, anywhere and any number of times, ends with the same model."""

import json
import os
import shutil
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from whoknows import AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.auto import cross_validation
from whoknows.estimators.auto.members import Member
from whoknows.estimators.persistence import checkpoint
from whoknows.estimators.persistence.checkpoint import ABOUT, forget
from whoknows.fit import solve, variational
from whoknows.fit.monitor import DidNotConverge
from whoknows.fit.solve import parameters_of
from whoknows.io import FileError
from whoknows.model import distances

MEMBERS = [Member("linear", 3.0, True), Member("rbf 2", 10.0, False), Member("spectral", 3.0, False)]


def world(n_classes=2, n_items=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3))
    z = (X[:, 0] > 0).astype(int) + (n_classes > 2) * (X[:, 1] > 0.5)
    wrong = rng.integers(0, n_classes, (n_items, 4))
    y = np.where(rng.random((n_items, 4)) < 0.75, z[:, None], wrong).astype(float)
    y[rng.random(n_items) < 0.3] = np.nan
    return X, y


class Interrupted(Exception):
    """What stands for Ctrl-C, or for the end of a process."""


def after(n_calls, callback=None):
    """A callback that lets some calls pass, and then interrupts."""
    calls = 0

    def count(*at):
        nonlocal calls
        calls += 1
        if calls > n_calls:
            raise Interrupted
        return None if callback is None else callback(*at)

    return count


def interrupted_at(monkeypatch, n_writes):
    """Let the process end at a write: after so many of them, before the next one is whole."""
    write, count = checkpoint.save_step, after(n_writes)

    def dying(thing, path):
        try:
            count()
        except Interrupted:
            folder, name = os.path.split(path)
            with open(os.path.join(folder, f".{name}.0123abcd.part"), "wb") as file:
                file.write(b"PK\x03\x04 torn")
            raise
        write(thing, path)

    monkeypatch.setattr(checkpoint, "save_step", dying)


def xi_of(model):
    return parameters_of(model._pair.prepared.model, model._pair.solution).xi


def same(one, other):
    """Whether two fitted models are the same, bit for bit."""
    members = (getattr(model, "members_", [model]) for model in (one, other))
    return np.array_equal(one.posterior_, other.posterior_) and all(
        a.bound_history_ == b.bound_history_
        and np.array_equal(a._pair.solution.annotators.mean, b._pair.solution.annotators.mean)
        and np.array_equal(xi_of(a), xi_of(b))
        for a, b in zip(*members, strict=True)
    )


@pytest.fixture(autouse=True)
def every_iteration(monkeypatch):
    """States of solvers are kept at every iteration, not every few seconds."""
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "checkpoint"


ESTIMATORS = {
    "lgp": (2, lambda: CrowdClassifier("lgp", tol=1e-5)),
    "gp": (2, lambda: CrowdClassifier("gp", tol=1e-4)),
    "parameters": (2, lambda: CrowdClassifier("id", "confusion", "linear", stop="parameters", tol=1e-3)),
    "three classes": (3, lambda: CrowdClassifier("id", map="linear", tol=1e-3)),
    "auto": (2, lambda: AutoCrowdClassifier(members=MEMBERS, tol=1e-4)),
    "auto, three classes": (3, lambda: AutoCrowdClassifier(members=MEMBERS[:1], tol=1e-2)),
}


@pytest.mark.parametrize("which", ESTIMATORS)
def test_a_fit_interrupted_again_and_again_ends_with_the_same_model(which, folder, monkeypatch, tmp_path):
    n_classes, make = ESTIMATORS[which]
    X, y = world(n_classes)
    plain, whole = make().fit(X, y), make().fit(X, y, checkpoint=tmp_path / "whole")
    assert same(plain, whole)
    times = 0
    while True:
        model = make()
        try:
            with monkeypatch.context() as patched:
                interrupted_at(patched, times * (3 if "auto" in which else 1))
                model.fit(X, y, checkpoint=folder)
            break
        except Interrupted:
            times += 1
            assert not hasattr(model, "posterior_")
    assert times >= 2
    assert same(model, plain)
    assert same(make().fit(X, y, checkpoint=folder), plain)
    for name, found in (("whole", whole), ("again", model)):
        found.save(tmp_path / f"{name}.whoknows")
    assert (tmp_path / "whole.whoknows").read_bytes() == (tmp_path / "again.whoknows").read_bytes()


def test_iterations_that_were_done_are_not_done_again(tmp_path, monkeypatch):
    X, y = world()
    make = lambda: CrowdClassifier("id", map="linear", tol=1e-7)  # noqa: E731
    told, done, expectation = [], [], variational.expectation
    plain = make().fit(X, y, lambda *at: told.append(at[:2]))

    def counted(items, *args):
        done.extend([1] * (items.X_truth.shape[1] > 1))  # fits to the labels alone do not count
        return expectation(items, *args)

    monkeypatch.setattr(variational, "expectation", counted)
    needed = []
    for n_iterations in range(8):
        folder, heard = tmp_path / f"after-{n_iterations}", []
        with pytest.raises(Interrupted):
            make().fit(X, y, after(n_iterations), checkpoint=folder)
        done.clear()
        model = make().fit(X, y, lambda *at: heard.append(at[:2]), checkpoint=folder)  # noqa: B023
        needed.append(len(done))
        assert same(model, plain)
        assert heard == told  # the callback hears of all of them
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] <= needed[0] - 6
    assert same(make().fit(X, y, checkpoint=folder), plain)
    assert len(done) == needed[-1]


def test_many_items_need_no_second_rehearsal(folder, monkeypatch):
    monkeypatch.setattr(solve, "MANY", 40)
    monkeypatch.setattr(solve, "SAMPLE", 30)
    X, y = world()
    make = lambda: CrowdClassifier("id", map="linear")  # noqa: E731
    plain = make().fit(X, y)
    with pytest.raises(Interrupted):
        make().fit(X, y, after(2), checkpoint=folder)

    def none_with_features(problem, name):
        assert problem.size.n_truth_features[0] == 1, "the fit was rehearsed again"
        return rehearse(problem, name)

    rehearse = solve._solution_of_sample
    monkeypatch.setattr(solve, "_solution_of_sample", none_with_features)
    assert same(make().fit(X, y, checkpoint=folder), plain)


@pytest.mark.parametrize("which", ["lgp", "auto"])
def test_the_consensus_of_many_items_is_remembered_piece_by_piece(which, folder, monkeypatch):
    monkeypatch.setattr(distances, "ENOUGH", 20)
    monkeypatch.setattr(checkpoint, "BLOCKS_PER_PIECE", 2)
    (X, y), make = world(), ESTIMATORS[which][1]
    plain = make().fit(X, y)
    with monkeypatch.context() as patched:
        written = checkpoint.save_step

        def dying(thing, path):
            if path.endswith("consensus-80.whoknows"):
                raise Interrupted
            written(thing, path)

        patched.setattr(checkpoint, "save_step", dying)
        with pytest.raises(Interrupted):
            make().fit(X, y, checkpoint=folder)
    assert {path.name for path in folder.glob("consensus*")} == {f"consensus-{n}.whoknows" for n in (0, 40)}
    assert same(make().fit(X, y, checkpoint=folder), plain)


def test_members_side_by_side(folder, monkeypatch):
    monkeypatch.setattr(cross_validation, "MOST_SCORED", 40)
    X, y = world()
    make = lambda: AutoCrowdClassifier(members=MEMBERS, tol=1e-4)  # noqa: E731
    plain = make().fit(X, y)
    for n_fits in (0, 1, 4):
        with pytest.raises(Interrupted):
            make().fit(X, y, after(n_fits), checkpoint=folder)
    seen = []
    model = make().fit(X, y, lambda *at: seen.append(at[:2]), checkpoint=folder)
    assert same(model, plain)
    assert np.array_equal(model.weights_, plain.weights_)
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_tried_in_stages(n_classes, folder, monkeypatch):
    monkeypatch.setattr(cross_validation, "MOST_SCORED", 40)
    X, y = world(n_classes)
    make = lambda: AutoCrowdClassifier(tol=1e-3)  # noqa: E731
    plain = make().fit(X, y)
    for n_fits in (0, 1, 3, 4):
        with pytest.raises(Interrupted):
            make().fit(X, y, after(n_fits), checkpoint=folder)
    assert same(make().fit(X, y, checkpoint=folder), plain)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fewer_items_than_features(n_classes, folder):
    X, y = world(n_classes)
    wide = np.column_stack([X, np.random.default_rng(1).normal(size=(len(X), 100))])
    make = lambda: CrowdClassifier("id", map="linear", tol=1e-4)  # noqa: E731
    plain = make().fit(wide, y)
    for n_iterations in (1, 4):
        with pytest.raises(Interrupted):
            make().fit(wide, y, after(n_iterations), checkpoint=folder)
    assert same(make().fit(wide, y, checkpoint=folder), plain)


def test_a_fit_that_a_callback_stopped_goes_on(folder):
    X, y = world()
    make = lambda: CrowdClassifier("id", map="linear", tol=1e-7)  # noqa: E731
    plain = make().fit(X, y)
    assert make().fit(X, y, lambda n, *_: n == 3, checkpoint=folder).n_iter_ == 3
    assert same(make().fit(X, y, checkpoint=folder), plain)


def test_that_a_fit_did_not_converge_is_said_again(folder):
    X, y = world()
    for _ in range(2):
        with pytest.warns(DidNotConverge, match="max_iter=3"):
            CrowdClassifier("id", map="linear", max_iter=3, tol=0.0).fit(X, y, checkpoint=folder)


# --- what does not belong together ------------------------------------------------------------------------


@pytest.fixture
def remembered(folder):
    X, y = world()
    CrowdClassifier("id", map="linear").fit(X, y, checkpoint=folder)
    return X, y, folder


def test_the_checkpoint_of_another_fit_is_refused(remembered):
    X, y, folder = remembered
    make = lambda **told: CrowdClassifier("id", map="linear", **told)  # noqa: E731
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    other = np.where(np.arange(len(y))[:, None] == np.flatnonzero(~np.isnan(y[:, 0]))[0], 1 - y, y)
    gold = np.where(np.arange(len(y)) == 0, 1.0, np.nan)
    for what, fit in {
        "labels": lambda: make().fit(X, other, checkpoint=folder),
        "labels\\.": lambda: make().fit(X, y, gold=gold, checkpoint=folder),
        "labels\\. ": lambda: make().fit(X, y, sample_weight=np.full(len(y), 2.0), checkpoint=folder),
        "features": lambda: make().fit(X + 1e-9, y, checkpoint=folder),
        "settings": lambda: make(tol=1e-5).fit(X, y, checkpoint=folder),
        "settings\\.": lambda: make(random_state=1).fit(X, y, checkpoint=folder),
        "settings and labels": lambda: AutoCrowdClassifier().fit(X, other, checkpoint=folder),
    }.items():
        with pytest.raises(FileError, match=f"another fit, with other {what}.*Remove the folder to start"):
            fit()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    make(engine=None, device=None).fit(X, y, checkpoint=folder)


def test_another_version_is_refused(remembered, monkeypatch):
    X, y, folder = remembered
    monkeypatch.setattr("whoknows.__version__", "99.0")
    with pytest.raises(FileError, match=r"with other version of whoknows \(.*; this is 99\.0\)"):
        CrowdClassifier("id", map="linear").fit(X, y, checkpoint=folder)


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    X, y = world()
    (tmp_path / "thesis.txt").write_text("years of work")
    for taken in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(FileError, match="holds other files; expected a checkpoint or an empty folder"):
            CrowdClassifier("id", map="linear").fit(X, y, checkpoint=taken)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
def test_draws_that_cannot_be_repeated_are_refused(random_state, folder):
    X, y = world()
    with pytest.raises(ValueError, match="needs an integer random_state"):
        AutoCrowdClassifier(random_state=random_state).fit(X, y, checkpoint=folder)
    assert not folder.exists()


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"no zip", None])
def test_a_damaged_step_is_done_again_and_said_so(remembered, damage):
    X, y, folder = remembered
    plain = CrowdClassifier("id", map="linear").fit(X, y)
    for step in sorted(folder.glob("*.whoknows")):
        whole = step.read_bytes()
        step.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
        with pytest.warns(UserWarning, match=f"{step.name}: .* It is computed again."):
            model = CrowdClassifier("id", map="linear").fit(X, y, checkpoint=folder)
        assert same(model, plain)
        assert step.read_bytes() == whole


def test_a_checkpoint_that_does_not_say_what_it_is_of_is_refused(remembered):
    X, y, folder = remembered
    for text in ("", "[]", "[1]", "{", "{}"):
        (folder / ABOUT).write_text(text)
        with pytest.raises(FileError, match="Remove the folder to start again"):
            CrowdClassifier("id", map="linear").fit(X, y, checkpoint=folder)


def test_forgetting_takes_its_own_files_only(remembered):
    _, _, folder = remembered
    (folder / ".fit.whoknows.0123abcd.part").write_bytes(b"torn")
    (folder / "thesis.txt").write_text("years of work")
    copy = shutil.copytree(folder, folder.parent / "copy")
    forget(folder)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]
    (copy / "thesis.txt").unlink()
    forget(copy)
    assert not copy.exists()


# --- what it costs ----------------------------------------------------------------------------------------


def test_no_checkpoint_touches_no_file(monkeypatch):
    monkeypatch.setattr(checkpoint, "save_step", None)
    monkeypatch.setattr(checkpoint, "_checksum", None)
    X, y = world()
    CrowdClassifier("id", map="linear").fit(X, y)


def test_states_are_kept_every_few_seconds_and_removed_at_the_end(folder, monkeypatch):
    monkeypatch.setattr(checkpoint, "PAUSE", 3600.0)
    X, y = world()
    names = []
    pack = checkpoint.save_step
    monkeypatch.setattr(
        checkpoint, "save_step", lambda thing, path: (names.append(os.path.basename(path)), pack(thing, path))
    )
    CrowdClassifier("id", map="linear").fit(X, y, checkpoint=folder)
    assert names == ["view.whoknows", "fit.whoknows", "consensus-0.whoknows"]
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    forget(folder)
    model = CrowdClassifier("id", map="linear").fit(X, y, checkpoint=folder)
    assert 2 < names.count("fit.state.whoknows") <= model.n_iter_
    assert sorted(path.name for path in folder.iterdir()) == sorted([ABOUT, *names[:3]])
    assert json.loads((folder / ABOUT).read_text())["whoknows"]


def test_warnings_are_heard_after_threads_have_read(remembered):
    path, before, pause = str(remembered[2] / "fit.whoknows"), list(warnings.filters), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(checkpoint._load, [path] * 64))
    finally:
        sys.setswitchinterval(pause)
    assert list(warnings.filters) == before
