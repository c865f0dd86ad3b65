"""A fit killed at any point while it moves its results: the next run ends with complete results."""

import shutil
import signal
import subprocess
import sys
from functools import cache

import pytest

from tests.apps.cli import ALL_FILES, LARGE_FILES, contents, failure, run, write

# One process works on a copy of an earlier result. Before each rename or deletion there, counted from the last
# result that is written to the draft, it keeps a copy: what a kill at this point would leave. At the point
# ``last`` it kills itself.
KEEP_EACH_POINT = """
import os, shutil, signal, sys
from whoknows.apps.cli import main

earlier, folders, last, *arguments = sys.argv[1:]
out = os.path.join(folders, "out")
shutil.copytree(earlier, out)
calls = -1

def hook(event, args):
    global calls
    if event not in ("os.rename", "os.remove", "os.rmdir"):
        return
    if calls >= 0 or (event == "os.rename" and args[1].endswith("report.html")):
        if args[-1] != -1 or os.fspath(args[0]).startswith(out):  # shutil.rmtree uses dir_fd
            calls += 1
            if calls == int(last):
                os.kill(os.getpid(), signal.SIGKILL)
            shutil.copytree(out, os.path.join(folders, f"{calls:02d}"))

sys.addaudithook(hook)
sys.argv = ["whoknows", *arguments, "--quiet", "--out", out]
main()
"""


def killed_at_each_point(earlier, folders, *arguments, last=-1):
    """Return folders as fits leave them that are killed, one per point, and the folder of the process."""
    folders.mkdir()
    command = [sys.executable, "-c", KEEP_EACH_POINT, earlier, folders, last, *arguments]
    code = subprocess.run([*map(str, command)], check=False).returncode
    assert code == (0 if last < 0 else -signal.SIGKILL)
    *killed, out = sorted(folders.iterdir())
    return killed, out


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


@pytest.fixture(scope="module")
def points(files, parts, texts, tmp_path_factory):
    """Fits that are killed at each point, and one that is not: with features in memory, and in files."""

    def of(in_files):
        given = files / "labels.csv", "--features", parts if in_files else files / "features.csv", "--model", "id"
        folders = tmp_path_factory.mktemp("points") / "folders"
        return given, *killed_at_each_point(texts, folders, "fit", *given)

    return cache(of)


@pytest.mark.parametrize("in_files", [False, True], ids=["fit", "resume"])
def test_after_kill_9_at_any_point_of_the_move_the_next_run_completes_the_results(
    files, texts, points, tmp_path, in_files
):
    given, killed, undisturbed = points(in_files)
    assert len(killed) >= 9  # one move per file at least
    half = len(killed) // 2
    _, dead = killed_at_each_point(texts, tmp_path / "dead", "fit", *given, last=half)
    assert contents(dead).keys() == contents(killed[half]).keys()
    earlier, complete = contents(texts), contents(undisturbed)
    assert complete.keys() == (LARGE_FILES if in_files else ALL_FILES) | {"mine.txt"}
    for place, at_this_point in enumerate((*killed, dead)):
        folder = shutil.copytree(at_this_point, tmp_path / "left" / str(place))
        left = contents(folder)
        assert "settings.toml" not in left or results(folder) in (earlier, complete)

        refused = shutil.copytree(folder, tmp_path / "refused" / folder.name)
        failure("fit", files / "none.csv", *given[1:], "--quiet", "--out", refused, code=3)
        assert results(refused) in (earlier, complete)
        new = {*left.values()} - {*earlier.values(), b""}  # b"": a file that says which one to delete
        assert new <= {*contents(refused).values()}

        if not in_files:
            run("fit", *given, "--quiet", "--out", folder)
            assert visible(folder) == complete
        elif "checkpoint/checkpoint.json" in left:
            run("fit", *given, "--quiet", "--out", folder, "--resume")
            assert contents(folder) == complete
        else:  # all done but for the removal of an empty folder
            assert left == complete


def test_the_next_run_says_that_it_completed_a_move(points, tmp_path):
    given, killed, undisturbed = points(False)
    left = next(folder for folder in killed if "settings.toml" not in contents(folder))
    half = shutil.copytree(left, tmp_path / "half")
    said = run("fit", *given, "--out", half, "--resume", code=2).err
    assert f"{half}: results of an earlier run that was killed while moving them are now complete." in said
    assert "there is nothing to resume" in " ".join(said.split())
    assert contents(half) == contents(undisturbed)
