"""A fit killed at any point while it moves its results: the next run ends with complete results."""

import shutil
import subprocess
import sys

import pytest

from tests.apps.cli import ALL_FILES, LARGE_FILES, contents, failure, run, write

# One process per k works on a copy of an earlier result and kills itself before the k-th rename or deletion
# there, counted from the last result that is written to the draft. The last process reaches its end. The
# processes are forked, which saves the time of the imports.
KILL_AT_EACH_POINT = """
import os, shutil, signal, sys
import pyarrow.parquet, scipy.stats, sklearn.linear_model, whoknows, whoknows.apps.report
from whoknows.apps.cli import main

def kill_before(k, out):
    calls = -1
    def hook(event, args):
        nonlocal calls
        if event not in ("os.rename", "os.remove", "os.rmdir"):
            return
        if calls >= 0 or (event == "os.rename" and args[1].endswith("report.html")):
            calls += args[-1] != -1 or os.fspath(args[0]).startswith(out)  # shutil.rmtree uses dir_fd
        if calls == k:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

earlier, folders, *arguments = sys.argv[1:]
for k in range(100):
    out = os.path.join(folders, f"{k:02d}")
    shutil.copytree(earlier, out)
    if os.fork() == 0:
        kill_before(k, out)
        sys.argv = ["whoknows", *arguments, "--quiet", "--out", out]
        main()
    code = os.waitstatus_to_exitcode(os.wait()[1])
    if code != -signal.SIGKILL:
        sys.exit(code)
"""


def kill_at_each_point(earlier, folders, *arguments):
    """Return the folders of killed fits, and that of the fit that reached its end."""
    command = [sys.executable, "-c", KILL_AT_EACH_POINT, earlier, folders, *arguments]
    assert subprocess.run([*map(str, command)], check=False).returncode == 0
    *killed, undisturbed = sorted(folders.iterdir())
    assert len(killed) >= 9  # one move per file at least
    return killed, undisturbed


def visible(folder):
    return {name: content for name, content in contents(folder).items() if name[0] != "."}


def results(folder):
    return {name: content for name, content in visible(folder).items() if "checkpoint" not in name}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Results of a fit to texts, which writes a file that a fit to numbers does not, and a user's file."""
    folder = tmp_path_factory.mktemp("texts")
    rows = [f"{i},{who},{'ab'[i % 2]},{'cat' if i % 2 else 'car'} {i}" for i in range(20) for who in "xy"]
    labels = write(folder / "labels.csv", "\n".join(["item,annotator,label,text", *rows]))
    run("fit", labels, "--text", "text", "--model", "id", "--out", folder / "out")
    write(folder / "out" / "mine.txt", "keep me")
    return folder / "out"


@pytest.mark.parametrize("in_files", [False, True], ids=["fit", "resume"])
def test_after_kill_9_at_any_point_of_the_move_the_next_run_completes_the_results(
    files, parts, texts, tmp_path, in_files
):
    features = parts if in_files else files / "features.csv"
    given = "--features", features, "--model", "id", "--quiet"
    killed, undisturbed = kill_at_each_point(texts, tmp_path, "fit", files / "labels.csv", *given)
    earlier, complete = contents(texts), contents(undisturbed)
    assert complete.keys() == (LARGE_FILES if in_files else ALL_FILES) | {"mine.txt"}
    for folder in killed:
        left = contents(folder)
        assert "settings.toml" not in left or results(folder) in (earlier, complete)

        refused = shutil.copytree(folder, tmp_path / "refused" / folder.name)
        failure("fit", files / "none.csv", *given, "--out", refused, code=3)
        assert results(refused) in (earlier, complete)
        new = {*left.values()} - {*earlier.values(), b""}  # b"": a file that says which one to delete
        assert new <= {*contents(refused).values()}

        if not in_files:
            run("fit", files / "labels.csv", *given, "--out", folder)
            assert visible(folder) == complete
        elif "checkpoint/checkpoint.json" in left:
            run("fit", files / "labels.csv", *given, "--out", folder, "--resume")
            assert contents(folder) == complete
        else:  # all done but for the removal of an empty folder
            assert left == complete


def test_the_next_run_says_that_it_completed_a_move(files, texts, tmp_path):
    given = files / "labels.csv", "--features", files / "features.csv", "--model", "id", "--out"
    killed, undisturbed = kill_at_each_point(texts, tmp_path, "fit", *given[:-1])
    half = next(folder for folder in killed if "settings.toml" not in contents(folder))
    said = run("fit", *given, half, "--resume", code=2).err
    assert f"{half}: results of an earlier run that was killed while moving them are now complete." in said
    assert "there is nothing to resume" in " ".join(said.split())
    assert contents(half) == contents(undisturbed)
