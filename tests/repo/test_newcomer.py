"""A newcomer installs the wheel into a new environment and follows README and tutorial to the letter."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_docs import ROOT, TUTORIAL, blocks

README = ROOT / "README.md"
IN_A_CLONE = ("make ", "pip install ")  # the environment is there already
NEXT_BLOCK = "--- next block ---"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", folder, ROOT], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new environment with the wheel and what it declares to need, copied from here instead of the network."""
    folder = tmp_path_factory.mktemp("newcomer") / "env"
    venv.create(folder)
    subprocess.run([*pip_of(folder), "install", "--quiet", "--no-compile", "--no-deps", wheel], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for name in needed_by(next(metadata.distributions(path=[str(site)]))):
        for file in metadata.distribution(name).files:
            if file.parts[0] != "..":  # programs, of which a newcomer uses ours only
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file.locate(), site / file)
    return folder


def needed_by(distribution):
    """Return the names of the installed distributions that one requires, directly or not, without extras."""
    found, todo = set(), [distribution]
    while todo:
        for each in map(Requirement, todo.pop().requires or []):
            name = canonicalize_name(each.name)
            if name not in found and (each.marker is None or each.marker.evaluate({"extra": ""})):
                found.add(name)
                todo.append(metadata.distribution(name))
    return found


def pip_of(environment):
    """Return the call of pip for an environment that has none of its own."""
    return [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def follow(environment):
    """Run a script in the environment of the wheel, in an empty folder; return what it prints."""
    programs = environment / "bin"
    outside = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}

    def run(*call, folder):
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(call, cwd=folder, env=outside | {"PATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_wheel_holds_the_package_and_its_files(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    kept = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert {name for name in kept if "__pycache__" not in name} <= names
    assert "whoknows/py.typed" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"whoknows"}


def test_commands_and_lines_of_readme_run(follow, tmp_path):
    commands = [line for _, code in blocks(README, "sh") for line in code.splitlines() if line and line[0] not in "# "]
    script = "\n".join(line for line in commands if not line.startswith(IN_A_CLONE))
    follow("bash", "-e", "-c", script, folder=tmp_path)
    code = "\n".join(re.sub(r"(?m)^(>>> |\.\.\. )", "", code) for _, code in blocks(README, "python"))
    follow("python", "-c", code, folder=tmp_path)


def test_the_tutorial_runs_to_the_letter(follow, tmp_path):
    """Commands and Python, in order; what the page shows is what they print, up to numbers."""
    commands = {line: code for line, code in blocks(TUTORIAL, "sh") if not code.startswith(IN_A_CLONE)}
    python = dict(blocks(TUTORIAL, "python"))
    printed = {line: follow("bash", "-e", "-c", code, folder=tmp_path) for line, code in commands.items()}
    lines = follow("python", "-c", f"print({NEXT_BLOCK!r})\n".join(python.values()), folder=tmp_path)
    printed |= zip(python, lines.split(NEXT_BLOCK), strict=True)
    for line, text in blocks(TUTORIAL, "text"):
        above = printed[max(each for each in printed if each < line)]
        shown, really = (re.sub(r"\d+(\.\d+)?", "#", each).split() for each in (text, above))
        assert shown == really or (shown.pop() == "..." and shown == really[: len(shown)])


def test_the_package_is_found_in_the_new_environment_and_is_light(follow, environment, tmp_path):
    where = Path(follow("python", "-c", "import whoknows; print(whoknows.__file__)", folder=tmp_path).strip())
    assert not where.is_relative_to(ROOT)
    subprocess.run([*pip_of(environment), "check"], check=True)
    installed = subprocess.check_output([*pip_of(environment), "list", "--format=freeze"], text=True).lower()
    assert "scikit-learn==" in installed
    assert not re.search(r"(?m)^(torch|pandas|pyarrow|fastapi|altair)==", installed)
    assert sum(path.stat().st_size for path in where.parents[1].rglob("*") if path.is_file()) < 330e6
