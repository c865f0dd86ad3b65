"""A newcomer installs the wheel into a new environment and follows README and tutorial to the letter."""

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.test_docs import ROOT, blocks

PAGES = [page for page in (ROOT / "README.md", ROOT / "docs" / "tutorial.md") if page.is_file()]
IN_A_CLONE = ("make ", "pip install ")  # the environment is there already


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", folder, ROOT], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def follow(wheel, tmp_path_factory):
    """Run a script in the environment of the wheel, in an empty folder; return what it prints."""
    environment = tmp_path_factory.mktemp("newcomer") / "env"
    venv.create(environment, with_pip=True)
    programs = environment / "bin"
    pip = [programs / "python", "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_lines_of_a_page_run(page, follow, tmp_path):
    commands = [line for _, code in blocks(page, "sh") for line in code.splitlines() if line and line[0] not in "# "]
    script = "\n".join(line for line in commands if not line.startswith(IN_A_CLONE))
    follow("bash", "-e", "-c", script, folder=tmp_path)
    code = "\n".join(re.sub(r"(?m)^(>>> |\.\.\. )", "", code) for _, code in blocks(page, "python"))
    follow("python", "-c", code, folder=tmp_path)


def test_the_package_is_found_in_the_new_environment_and_is_light(follow, tmp_path):
    where = Path(follow("python", "-c", "import whoknows; print(whoknows.__file__)", folder=tmp_path).strip())
    assert not where.is_relative_to(ROOT)
    installed = follow("python", "-m", "pip", "list", "--format=freeze", folder=tmp_path).lower()
    assert not re.search(r"(?m)^(torch|pandas|pyarrow|fastapi|altair)==", installed)
    assert sum(path.stat().st_size for path in where.parents[1].rglob("*") if path.is_file()) < 330e6
