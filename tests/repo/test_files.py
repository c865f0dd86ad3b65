"""The repository stands alone: no file points at one machine."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MACHINE = re.compile(r"(?<![\w.])(/(?:home|mnt|root|tmp|Users|work)/|[A-Z]:\\Users)|\.\./(?:\.\./)*shared\b")


def repository_files():
    """Return what git tracks or would track; without git, all but hidden folders and caches."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        git = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(git, capture_output=True, text=True, check=True).stdout.split("\0")
        return [ROOT / name for name in names if name and (ROOT / name).is_file()]
    private = re.compile(r"^(\..*|__pycache__|_build)$")
    files = (path for path in ROOT.rglob("*") if path.is_file())
    return [path for path in files if not any(map(private.match, path.relative_to(ROOT).parts[:-1]))]


@pytest.mark.parametrize("path", ["home/anna/x", "Users/anna/x", "tmp/x"])
def test_machine_paths_are_recognised(path):
    assert MACHINE.search(f"see /{path}")


@pytest.mark.parametrize("path", ["https://example.org/home/x", "a/home/x", "$HOME/x", "shared"])
def test_other_paths_are_not(path):
    assert not MACHINE.search(path)


def test_no_file_points_at_one_machine():
    found = []
    for path in repository_files():
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            if MACHINE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []
