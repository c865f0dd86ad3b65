"""Settings in a TOML file: read for --config, written beside the results."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whoknows.apps.cli.errors import USAGE, CommandError

FOUND = "found"  # the table of a written file that holds facts and not settings


def read_config(
    path: Path, names: Sequence[str], paths: Sequence[str], repeated: Sequence[str]
) -> dict[str, Any]:
    """Read settings, each under the name of its option; a table called `found` is passed over.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Options of the command, with underscores.
    paths : sequence of str
        Those of them that are paths: taken from the folder of the file, not the current one.
    repeated : sequence of str
        Those that may be said several times: once, one word is enough.
    """
    given = {key.replace("-", "_"): value for key, value in read_toml(path).items() if key != FOUND}
    for key, value in given.items():
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(names))
            raise CommandError(f"{path}: has {key!r}, which is no option.{hint} There are {known}.", USAGE)
        if isinstance(value, dict):  # as its option would have it
            given[key] = [f"{name}={each}" for name, each in value.items()]
            continue
        if isinstance(value, str) and key in repeated:
            given[key] = value = [value]
        if key in paths:
            given[key] = _seen_from(path.parent, value)
    return given


def _seen_from(folder: Path, value: Any) -> Any:
    """Return a path, or each path of a list, relative to a folder; - is standard input or output."""
    if isinstance(value, list):
        return [_seen_from(folder, each) for each in value]
    return os.path.join(folder, value) if isinstance(value, str) and value != "-" else value


def read_toml(path: Path, code: int = USAGE) -> dict[str, Any]:
    """Read a TOML file, or say why it cannot be read, with this exit code."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise CommandError(f"{path}: cannot be read ({error.strerror}).", code) from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: is not UTF-8 text, which TOML must be.", code) from None
    except tomllib.TOMLDecodeError as error:
        raise CommandError(f"{path}: is not TOML. {error}.", code) from None


def write_toml(settings: Mapping[str, Any], found: Mapping[str, Any], heading: str) -> str:
    """Settings, and what was found, as TOML that --config takes.

    >>> found = {"items": 3, "medians": {"size": 1.5}}
    >>> print(write_toml({"labels": "a.csv", "seed": 0, "gold": None}, found, "whoknows fit"))
    # whoknows fit
    labels = "a.csv"
    seed = 0
    <BLANKLINE>
    [found]
    items = 3
    <BLANKLINE>
    [found.medians]
    size = 1.5
    <BLANKLINE>
    """
    tables = {name: value for name, value in found.items() if isinstance(value, Mapping) and value}
    facts = {name: value for name, value in found.items() if name not in tables}
    lines = [f"# {heading}", *_rows(settings), "", f"[{FOUND}]", *_rows(facts)]
    for name, table in tables.items():
        lines += ["", f"[{FOUND}.{name}]", *_rows(table)]
    return "\n".join(lines) + "\n"


def _rows(values: Mapping[str, Any]) -> list[str]:
    return [
        f"{_key(name)} = {_value(value)}" for name, value in values.items() if value not in (None, [], {})
    ]


def _key(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isascii() and bare.isalnum() else _value(name)


def _value(value: Any) -> str:
    """Value in TOML, which writes text, numbers and lists as JSON does."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode()
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
