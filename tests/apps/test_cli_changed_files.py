"""A summary that was changed gives a report or one sentence."""

import json
import shutil

import numpy as np
from typer.testing import CliRunner

from tests.apps.cli import failure, write
from whoknows.apps.cli import app


def places(value, path=()):
    """Paths of all values within dicts and lists; of long lists, the first two."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def changed(value, path, new):
    """Copy with another value at a path."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def test_a_changed_summary_gives_a_report_or_one_sentence(fitted, tmp_path):
    whole = json.loads((fitted[0] / "summary.json").read_text("utf-8"))
    copy = shutil.copytree(fitted[0], tmp_path / "copy")
    every, seen = [path for path in places(whole) if path], set()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(every), 60, replace=False):
        new = [None, [], {}, "x", -1, 1e308, [None], {"x": []}][place % 8]
        write(copy / "summary.json", json.dumps(changed(whole, every[place], new)))
        result = CliRunner().invoke(app, ["report", str(copy), "--quiet"])
        assert result.exit_code in (0, 3), (every[place], new, result.stderr)
        seen.add(result.exit_code)
        if result.exit_code:
            assert "summary.json: " in result.stderr
            assert len(result.stderr.splitlines()) == 1
    assert seen == {0, 3}


def test_a_changed_consensus_is_not_converted(fitted, tmp_path):
    whole = json.loads((fitted[0] / "summary.json").read_text("utf-8"))
    copy = shutil.copytree(fitted[0], tmp_path / "copy")
    whole["consensus"]["item"] = whole["consensus"]["item"][:-1]
    write(copy / "summary.json", json.dumps(whole))
    message = failure("convert", copy, tmp_path / "c.csv", code=3)
    assert "summary.json: is not as whoknows fit wrote it. Fit again." in message


def test_a_changed_summary_stops_ask(fitted, tmp_path):
    whole = json.loads((fitted[0] / "summary.json").read_text("utf-8"))
    copy = shutil.copytree(fitted[0], tmp_path / "copy")
    write(copy / "summary.json", json.dumps(whole | {"consensus": {}}))
    message = failure("ask", copy, "--out", tmp_path / "ask.csv", "--quiet", code=3)
    assert "summary.json: is not as whoknows fit wrote it. Fit again." in message
