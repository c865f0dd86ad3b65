"""Fits to features in files survive the end of their process: --resume ends with the same results."""

import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.apps.cli import LARGE_FILES, as_json, contents, failure, run

RESULTS = ("model.whoknows", "consensus.parquet", "annotators.csv", "settings.toml")

# States of solvers are kept every few iterations, not every few seconds; members are those of ``few_members``.
WHOKNOWS = """
from whoknows.apps.cli import main
from whoknows.estimators.auto import ensemble
from whoknows.estimators.persistence import checkpoint
checkpoint.PAUSE = 0.02
ensemble.default_members = lambda *given, made=ensemble.default_members: made(*given)[:9]
main()
"""


def fit(files, parts, out, *more):
    return "fit", files / "labels.csv", "--features", parts, "--out", out, *more


def steps(out):
    return {path.name for path in out.glob("checkpoint/*.whoknows")}


def kill(arguments, out, is_time, seconds):
    """Run a fit in a process of its own, and kill it some seconds after its steps say that it is time."""
    command = [sys.executable, "-c", WHOKNOWS, *map(str, arguments), "--quiet"]
    with subprocess.Popen(command) as process:
        while process.poll() is None and not is_time(steps(out)):
            time.sleep(0.01)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL, seconds
    assert not (out / "settings.toml").exists()


def test_after_kill_9_resume_ends_with_the_same_results(files, parts, tmp_path, few_members):
    whole, out, chance = tmp_path / "whole", tmp_path / "out", random.Random(time.time_ns())
    run(*fit(files, parts, whole, "--quiet"))
    assert {path.name for path in whole.iterdir()} == LARGE_FILES
    first, more = chance.randint(1, 12), chance.randint(1, 12)  # of 27 fits without a fold, and others
    kill(fit(files, parts, out), out, lambda done: len(done) >= first, chance.uniform(0, 0.1))
    kill(fit(files, parts, out, "--resume"), out, lambda done: len(done) >= first + more, 0.0)
    last = "consensus-0.whoknows"  # the model is fitted, and results are about to be written
    kill(fit(files, parts, out, "--resume"), out, lambda done: last in done, chance.uniform(0, 0.02))
    said = run(*fit(files, parts, out, "--resume"))
    assert "checkpoint: resuming the interrupted fit." in said.err
    assert {path.name for path in out.iterdir()} == LARGE_FILES
    for name in RESULTS:
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name


def interrupted(files, parts, out, *more):
    """Interrupt a fit in this process once two steps are done."""
    with pytest.MonkeyPatch.context() as patched:
        from whoknows.estimators.persistence import checkpoint

        pack, done = checkpoint.save_step, []

        def packed(thing, path):
            if len(done) == 2:
                raise KeyboardInterrupt
            done.append(path)
            pack(thing, path)

        patched.setattr(checkpoint, "save_step", packed)
        return run(*fit(files, parts, out, *more), code=130)


def test_an_interrupted_fit_says_how_to_go_on(files, parts, tmp_path):
    out = tmp_path / "out"
    said = interrupted(files, parts, out, "--model", "id")
    assert f"The state of the fit is kept in {out / 'checkpoint'}: repeat the command with --resume." in said.err
    assert {path.name for path in out.iterdir()} == {"checkpoint"}
    before = contents(out)
    message = failure(*fit(files, parts, out, "--model", "id", "--resume", "--quiet", "--seed", "1"), code=3)
    assert "checkpoint: is the checkpoint of another fit, with other settings. Remove the folder" in message
    assert contents(out) == before
    said = run(*fit(files, parts, out, "--model", "id"))  # starts again
    assert "removed, with the state of an interrupted fit; see --resume." in said.err
    assert {path.name for path in out.iterdir()} == LARGE_FILES
    assert "resume" not in (out / "settings.toml").read_text("utf-8")


def test_a_mistake_in_the_next_call_costs_nothing(files, parts, tmp_path):
    out = tmp_path / "out"
    interrupted(files, parts, out, "--model", "id")
    before = contents(out)
    failure("fit", files / "none.csv", "--features", parts, "--out", out, "--quiet", code=3)
    assert contents(out) == before


def test_labels_of_items_in_no_file_are_allowed_once_more(files, parts, tmp_path):
    labels = (files / "labels.csv").read_text("utf-8")
    (tmp_path / "labels.csv").write_text(f"{labels}x1,anna,yes\n", "utf-8")
    whole, out, allowed = tmp_path / "whole", tmp_path / "out", ("--model", "id", "--allow-missing")
    run(*fit(tmp_path, parts, whole, *allowed, "--quiet"))
    interrupted(tmp_path, parts, out, *allowed)
    before = contents(out)
    message = failure(*fit(tmp_path, parts, out, "--model", "id", "--resume", "--quiet"), code=3)
    assert "have no features: 'x1'" in message
    assert "--allow-missing" in message
    assert contents(out) == before
    said = run(*fit(tmp_path, parts, out, *allowed, "--resume"))
    assert "have no features; their labels are left out: 'x1'" in said.err
    assert "resuming the interrupted fit." in said.err
    for name in RESULTS:
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name


# $1 is the folder, $2 the size of its disk; the rest is the command.
ON_A_SMALL_DISK = 'mount -t tmpfs -o size="$2" none "$1" && shift 2 && exec "$@"'


@pytest.fixture(scope="module")
def namespace(tmp_path_factory):
    """How to start a process with mounts of its own."""
    for unshare in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        try:
            tried = [*unshare, "sh", "-c", ON_A_SMALL_DISK, "sh", tmp_path_factory.mktemp("disk"), "16k", "true"]
            if subprocess.run(tried, capture_output=True, check=False).returncode == 0:
                return unshare
        except FileNotFoundError:
            pytest.skip("there is no program unshare")
    pytest.skip("this machine does not let a process mount a disk")


def test_a_disk_that_is_full_at_a_checkpoint_is_not_wrong_input(files, parts, namespace, tmp_path):
    (small := tmp_path / "small").mkdir()
    command = [sys.executable, "-c", WHOKNOWS, *map(str, fit(files, parts, small / "out", "--model", "id", "--quiet"))]
    disk = [*namespace, "sh", "-c", ON_A_SMALL_DISK, "sh", small, "16k"]
    said = subprocess.run([*disk, *command], capture_output=True, text=True, check=False)
    assert said.returncode == 4, said.stderr
    assert "out/checkpoint/" in said.stderr
    assert "cannot be written (No space left on device)." in said.stderr.replace("\n", " ")


def test_resume_takes_any_spelling_of_the_same_paths(files, parts, tmp_path, monkeypatch):
    whole, out = tmp_path / "whole", tmp_path / "out"
    run(*fit(files, parts, whole, "--model", "id", "--quiet"))
    (tmp_path / "link").symlink_to(files)
    monkeypatch.chdir(files)
    for spelling in ("parts", "./parts", "parts/", tmp_path / "link" / "parts", f"../{files.name}/parts"):
        interrupted(files, parts, out, "--model", "id")
        labels = ["./labels.csv", "--features", spelling, "--out", f"{out}/.", "--model", "id"]
        assert "resuming the interrupted fit." in run("fit", *labels, "--resume").err, spelling
        for name in ("model.whoknows", "consensus.parquet", "annotators.csv"):
            assert (out / name).read_bytes() == (whole / name).read_bytes(), (spelling, name)


def test_nothing_to_resume(files, parts, tmp_path):
    out = tmp_path / "out"
    message = failure(*fit(files, parts, out, "--resume", "--quiet"), code=2)
    assert "there is nothing to resume: it has no checkpoint of an interrupted fit." in message
    assert "Without --resume a fit starts from the beginning." in message
    assert not out.exists()
    (out / "checkpoint").mkdir(parents=True)
    (out / "checkpoint" / "weights.pt").write_bytes(b"somebody else's")
    assert "nothing to resume" in failure(*fit(files, parts, out, "--resume", "--quiet"), code=2)
    assert "holds other files" in failure(*fit(files, parts, out, "--quiet"), code=3)
    as_json("fit", files / "labels.csv", "--features", files / "features.csv", "--model", "id", "--out", out)
    assert (out / "checkpoint" / "weights.pt").read_bytes() == b"somebody else's"


@pytest.mark.parametrize("model", ["id", "regression"])
def test_other_models(files, parts, tmp_path, model):
    labels = files / "labels.csv"
    if model == "regression":
        labels = tmp_path / "amounts.csv"
        rng = np.random.default_rng(0)
        rows = [f"i{i:02d},{who},{rng.normal():.2f}" for i in range(40) for who in ("anna", "bob")]
        labels.write_text("\n".join(["item,annotator,label", *rows]) + "\n", "utf-8")
    out = tmp_path / "out"
    run("fit", labels, "--features", parts, "--model", model, "--out", out, "--quiet")
    assert {path.name for path in out.iterdir()} == LARGE_FILES
