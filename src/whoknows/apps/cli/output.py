"""Results appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from whoknows.apps.cli.config import FOUND, read_toml, write_toml
from whoknows.apps.cli.errors import USAGE, CommandError, writing

SETTINGS = "settings.toml"  # comes last: a folder without it is not complete
FILES = "files"  # where the settings list what was written


@contextmanager
def folder(out: Path, names: Collection[str], inputs: Iterable[Path]) -> Iterator[Path]:
    """Give an empty folder to write files into; at the end they are moved into ``out``, all or none.

    Made at once, so that a place that cannot be written to is known before the work begins. Files of the
    same names are replaced, or deleted if there is no new one, if they are an earlier result; any others are
    not touched.

    Parameters
    ----------
    out : Path
    names : collection of str
        Files that may be written, the settings among them.
    inputs : iterable of Path
        Files that must not be replaced.
    """
    for path in inputs:
        refuse_to_replace_input([out / name for name in names], path)
    refuse_to_replace_strangers(out, names)
    fresh = not out.exists()
    draft = out / f".{secrets.token_hex(4)}.part"
    with writing(out):
        draft.mkdir(parents=True)
    try:
        yield draft
        with writing(out):
            _move(draft, out, names)
        fresh = False
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if fresh:
            with suppress(OSError):
                out.rmdir()


def refuse_to_replace_input(outputs: Iterable[Path], source: Path) -> None:
    """Refuse to write over a file that is read."""
    for path in outputs:
        if path.exists() and source.exists() and os.path.samefile(path, source):
            raise CommandError(f"{path}: is read, so it cannot be written too. Choose another --out.", USAGE)


def refuse_to_replace_strangers(out: Path, names: Collection[str]) -> None:
    """Refuse a folder that has files of these names, but for those its settings say an earlier run wrote."""
    taken = [name for name in names if os.path.lexists(out / name)]
    ours = _written_before(out / SETTINGS) if taken else ()
    strange = [name for name in taken if name not in ours]
    if strange:
        raise CommandError(
            f"{out}: has {strange[0]!r} already, and no {SETTINGS} by which whoknows wrote it. "
            "Choose another --out, or delete it.",
            USAGE,
        )


def _written_before(settings: Path) -> Collection[str]:
    """Files that an earlier run wrote, as its settings list them."""
    try:
        found = read_toml(settings).get(FOUND)
    except CommandError:  # not there, or not TOML: not ours
        return ()
    files = found.get(FILES) if isinstance(found, dict) and "whoknows" in found else None
    return files if isinstance(files, list) else ()


def write_settings(draft: Path, settings: Mapping[str, Any], found: Mapping[str, Any], heading: str) -> None:
    """Write what was told and found, who wrote it and which files: last of all, once these are there.

    Where the files are is left out: a copy of the folder, told the same again, must not write to the first.
    """
    from whoknows import __version__

    told = {name: value for name, value in settings.items() if name != "out"}
    files = sorted({path.name for path in draft.iterdir()} | {SETTINGS})
    text = write_toml(told, {"whoknows": __version__, FILES: files, **found}, heading)
    (draft / SETTINGS).write_text(text, "utf-8")


def _move(draft: Path, out: Path, names: Collection[str]) -> None:
    """Put finished files in the places of the earlier ones, the settings last."""
    with _undisturbed():
        (out / SETTINGS).unlink(missing_ok=True)
        for name in names:
            if not (draft / name).exists():
                (out / name).unlink(missing_ok=True)
        for path in sorted(draft.iterdir(), key=lambda path: path.name == SETTINGS):
            os.replace(path, out / path.name)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C, and the signal to end, come to nothing in here."""
    before = {}
    with suppress(ValueError):  # only the main thread hears signals
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
