"""Every equation of the paper can be found: in the code, in docs/equations.md, in a test.

The tag is ``Eq. (16)``, or ``Eqs. (16), (17)`` on one line; a range does not count.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAPER = set(range(1, 19))
TAG = re.compile(r"\bEqs?\. (\(\d+\)(?:, \(\d+\))*)")
TEST = re.compile(r"\btest_eq_(\d\d)_\w+")


def text(*paths):
    return "\n".join(path.read_text("utf-8") for path in paths)


def sources(folder):
    return text(*(ROOT / folder).rglob("*.py"))


def tags(source):
    return {int(n) for group in TAG.findall(source) for n in re.findall(r"\d+", group)}


def named_tests(source):
    return {match[0] for match in TEST.finditer(source)}


def test_tag_reads_one_equation_or_a_list():
    assert tags("Eq. (4); Eqs. (16), (17). Eqs. (9)–(13)") == {4, 9, 16, 17}


def test_every_equation_is_tagged_in_the_code():
    assert sorted(PAPER - tags(sources("src/whoknows"))) == []


def test_every_equation_is_listed_in_the_docs():
    listed = {int(n) for n in re.findall(r"\((\d+)\)", text(ROOT / "docs" / "equations.md"))}
    assert sorted(PAPER - listed) == []


def test_every_equation_has_a_test():
    tested = {int(n) for n in re.findall(r"^\s*def test_eq_(\d\d)_", sources("tests/paper"), re.MULTILINE)}
    assert sorted(PAPER - tested) == []


def test_docs_name_only_tests_that_exist():
    named, existing = map(named_tests, (text(ROOT / "docs" / "equations.md"), sources("tests/paper")))
    assert sorted(named - existing) == []
