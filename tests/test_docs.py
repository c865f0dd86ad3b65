"""Every Python block of README.md and docs runs; every command, extra and link named there exists."""

import doctest
import re
import tomllib
from pathlib import Path

import pytest

from tests.apps.cli import run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in p.parts)]
FENCE = re.compile(r"(?ms)^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=fence)`*[ ]*$")
TUTORIAL = ROOT / "docs" / "tutorial.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def blocks(page, *languages):
    """Yield (line number, code) of the page's blocks in these languages."""
    text = page.read_text("utf-8")
    for match in FENCE.finditer(text):
        if match["language"].strip() in languages:
            yield text.count("\n", 0, match.start("code")), match["code"]


def shell(page):
    return "\n".join(code for _, code in blocks(page, "bash", "console", "sh", "shell"))


@every_page
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """Blocks of one page share their names; a traceback shows the page's lines. The tutorial's run as a newcomer's."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page.stem}
    for line, code in [] if page == TUTORIAL else blocks(page, "python"):
        if code.lstrip().startswith(">>>"):
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            example = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), line)
            report = []
            doctest.DocTestRunner(optionflags=flags).run(example, out=report.append, clear_globs=False)
            assert report == [], "".join(report)
            names |= example.globs
        else:
            exec(compile("\n" * line + code, page, "exec"), names)


@every_page
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"^(?:\$ )?make ([a-z-]+)", shell(page), re.MULTILINE)) <= targets


@every_page
def test_commands_exist(page):
    assert PROJECT["scripts"] == {"whoknows": "whoknows.apps.cli:main"}
    for command in sorted(set(re.findall(r"^(?:\$ )?whoknows ([a-z]+)", shell(page), re.MULTILINE))):
        run(command, "--help")


@every_page
def test_extras_exist(page):
    named = re.findall(r"whoknows\[([\w,-]+)\]", page.read_text("utf-8"))
    assert {extra for group in named for extra in group.split(",")} <= set(PROJECT["optional-dependencies"])


def links(page):
    """Yield (file, anchor) of every link to a file of ours."""
    for name, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?", FENCE.sub("", page.read_text("utf-8"))):
        yield (source_of_gallery(name) if name.startswith("gallery/") else page.parent / name if name else page), anchor


def source_of_gallery(name):
    """Return the file that a page of the gallery is made from."""
    stem = Path(name).stem
    return ROOT / "examples" / ("README.rst" if stem == "index" else f"{stem}.py")


def anchors(page):
    """Return the anchors that Sphinx and GitHub give to the headings of a page."""
    headings = re.findall(r"^#{1,3} +(.+)", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", text).lower()).strip() for text in headings]
    return {slug.replace(" ", "-") for slug in slugs}


@every_page
def test_links_lead_somewhere(page):
    assert [target.name for target, _ in links(page) if not target.exists()] == []
    assert [(target.name, anchor) for target, anchor in links(page) if anchor and anchor not in anchors(target)] == []


def test_a_missing_anchor_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One `two`, three\n[right](#one-two-three) [wrong](#one-two)")
    assert [anchor in anchors(target) for target, anchor in links(page)] == [True, False]


def test_the_navigation_has_each_page_once():
    trees = [code for page in PAGES[1:] for _, code in blocks(page, "{toctree}")]
    entries = [
        line.split("<")[-1].rstrip(">") for tree in trees for line in tree.split("\n") if line[:1] not in ("", ":")
    ]
    names = [page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in PAGES[1:]]
    assert sorted(entries) == sorted([*(name for name in names if name != "index"), "gallery/index"])
