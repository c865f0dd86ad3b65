"""Modules, objects and files that the docs name exist."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

import pytest

import whoknows

ROOT = Path(__file__).parents[2]
DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
PACKAGES = [each.name for each in walk_packages(whoknows.__path__, "whoknows.") if each.ispkg]
# `fit.starts.vote`, `auto.members`: the first part is a package, called by the last part of its name.
BY_LAST_PART = {name.rpartition(".")[2]: name for name in ["whoknows", *PACKAGES]}
DOTTED = re.compile(r"(?<![\w./'\"-])([a-z_]+(?:\.[A-Za-z_]\w*)+)(?![\w(\[='\"/-])")
FILE = re.compile(r"(?<![\w./-])((?:[\w-]+/)+[\w-]+\.(?:py|md|toml|csv|js|html))(?![\w/])")
TO_BE_WRITTEN = {"src/whoknows/model/annotators/guessing.py"}  # by the reader of docs/add_a_model.md
ENDS = {"md", "csv", "json", "toml", "py", "html", "npy", "npz", "parquet", "whoknows", "xlsx", "jsonl", "db"}


def names_of_modules(text: str) -> set[str]:
    """Dotted names in code that start with a package; names of files and methods of ``model`` are others."""
    code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    names = {name for part in code for name in DOTTED.findall(part)}
    return {
        name
        for name in names
        if name.partition(".")[0] in BY_LAST_PART and name.rpartition(".")[2] not in ENDS and not name.endswith("_")
    }


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an object in one."""
    package, _, rest = name.partition(".")
    found = import_module(BY_LAST_PART[package])
    for part in rest.split("."):
        path = f"{found.__name__}.{part}" if hasattr(found, "__path__") else ""
        if path and find_spec(path):
            found = import_module(path)
        elif hasattr(found, part):
            found = getattr(found, part)
        else:
            return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_named_in_docs_exist(page):
    wrong = sorted(name for name in names_of_modules(page.read_text("utf-8")) if not exists(name))
    assert not wrong, f"{page.name} names {', '.join(wrong)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_the_repository_named_in_docs_exist(page):
    rooms = [path.name for path in (ROOT / "src/whoknows").iterdir() if path.is_dir()]
    own = ("src/", "tests/", "benchmarks/", "docs/", "examples/", *(f"{room}/" for room in rooms))
    named = {path for path in FILE.findall(page.read_text("utf-8")) if path.startswith(own)} - TO_BE_WRITTEN
    wrong = [path for path in named if not any((base / path).is_file() for base in (ROOT, ROOT / "src/whoknows"))]
    assert not wrong, f"{page.name} names {', '.join(sorted(wrong))}"


def test_the_check_finds_names_that_do_not_exist():
    text = "`fit.starts.vote`, `auto.stacking`, `io.consensus`, `model.posterior_` and `data.csv`"
    assert names_of_modules(text) == {"fit.starts.vote", "auto.stacking", "io.consensus"}
    assert [name for name in sorted(names_of_modules(text)) if not exists(name)] == ["auto.stacking", "io.consensus"]


def test_the_drawing_of_the_rooms_names_modules():
    text = (ROOT / "docs" / "how_it_works.md").read_text("utf-8").partition("## The rooms")[2]
    drawing = text.partition("```text\n")[2].partition("```")[0]
    modules = {path.stem for path in (ROOT / "src/whoknows").rglob("*.py")}
    folders = {f"{path.name}/" for path in (ROOT / "src/whoknows").rglob("*") if path.is_dir()}
    rooms = {name for name in BY_LAST_PART if BY_LAST_PART[name].count(".") == 1}
    named = {name for line in drawing.splitlines() for name in re.findall(r"[a-z_]+/?", line[:55])}
    assert named - modules - folders - rooms == set()
    assert rooms <= named
