"""Settings in TOML files: read for --config, written next to the results."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from whoknows.apps.cli.errors import USAGE, CommandError

FOUND = "found"  # table of a settings file that holds facts about the data, not options


def read_config(
    path: Path, names: Sequence[str], paths: Sequence[str], repeated: Sequence[str]
) -> dict[str, Any]:
    """Read options by name; the table `found` is skipped.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Options of the command, with underscores.
    paths : sequence of str
        Options that are paths; they are relative to the folder of the file.
    repeated : sequence of str
        Options that may be repeated: a list, or a single value.
    """
    given = {key.replace("-", "_"): value for key, value in read_toml(path).items() if key != FOUND}
    for key, value in given.items():
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(names))
            raise CommandError(f"{path}: {key!r} is not an option.{hint} Options are {known}.", USAGE)
        if isinstance(value, dict):  # {label = "severity"} is --column label=severity
            value = [f"{name}={each}" for name, each in value.items()]
        elif isinstance(value, str) and key in repeated:
            value = [value]
        given[key] = _relative_to(path.parent, value) if key in paths else value
    return given


def _relative_to(folder: Path, value: Any) -> Any:
    """Resolve a path, or each path of a list, from a folder; - is standard input or output."""
    if isinstance(value, list):
        return [_relative_to(folder, each) for each in value]
    return os.path.join(folder, value) if isinstance(value, str) and value != "-" else value


def read_toml(path: Path, code: int = USAGE) -> dict[str, Any]:
    """Read a TOML file; errors have this exit code."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise CommandError(f"{path}: cannot be read ({error.strerror}).", code) from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: is not UTF-8 text, which TOML must be.", code) from None
    except tomllib.TOMLDecodeError as error:
        raise CommandError(f"{path}: is not TOML. {error}.", code) from None


def write_toml(settings: Mapping[str, Any], found: Mapping[str, Any], heading: str) -> str:
    """Return settings and facts as TOML that --config reads; TOML has no null, so None is left out.

    >>> found = {"items": 3, "medians": {"size": 1.5}}
    >>> print(write_toml({"labels": Path("a.csv"), "seed": 0, "gold": None}, found, "whoknows fit"))
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
    return f"# {heading}\n{tomli_w.dumps(_toml({**settings, FOUND: found}))}"


def _toml(value: Any) -> Any:
    """Return a value in types of TOML, without what is empty."""
    if isinstance(value, Mapping):
        return {name: _toml(each) for name, each in value.items() if each not in (None, [], {})}
    if isinstance(value, (list, tuple)):
        return [_toml(each) for each in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value
