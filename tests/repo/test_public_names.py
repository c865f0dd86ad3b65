"""The public face: few names, each importable, each in docs/api.md."""

import re
from pathlib import Path

import whoknows

ROOT = Path(__file__).parents[2]


def test_public_names_are_few():
    assert len(whoknows.__all__) <= 20


def test_public_names_can_be_imported():
    assert [name for name in whoknows.__all__ if not hasattr(whoknows, name)] == []


def test_public_names_are_documented():
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    assert [name for name in whoknows.__all__ if not re.search(rf"(`|whoknows\.){name}\b", page)] == []


def test_public_objects_explain_themselves():
    objects = {name: getattr(whoknows, name) for name in whoknows.__all__}
    assert [name for name, thing in objects.items() if callable(thing) and not thing.__doc__] == []
