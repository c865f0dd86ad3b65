"""Output tables, and output folders whose files appear together or not at all.

A run writes into a draft folder. Once the draft is complete, it is renamed to ``FINISHED``. Moving the files
from there into the output folder can be repeated from any point, so a run that finds ``FINISHED``, left by a
killed process, first completes the move.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from whoknows.apps.cli.config import FOUND, read_toml, write_toml
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import USAGE, CommandError, writing

SETTINGS = "settings.toml"  # moved last: a folder without it is not complete
FINISHED = ".whoknows-finished"  # complete results that are being moved into the folder that holds it
OUTDATED = ".outdated"  # suffix of an empty file in it: the file of that name is to be deleted
FILES = "files"  # where the settings list what was written
STDOUT = Path("-")
TABLES = (".csv", ".tsv", ".parquet", ".jsonl")


# --- folders -----------------------------------------------------------------------------------------


@contextmanager
def folder(out: Path, names: Collection[str], inputs: Iterable[Path]) -> Iterator[Path]:
    """Yield an empty draft folder; on success its files are moved into ``out``.

    The draft is created immediately, so that a location without write access is reported before the work
    begins. Files of the same names from an earlier run are replaced, or deleted if there is no new one. No
    other file is touched.

    Parameters
    ----------
    out : Path
    names : collection of str
        Files that may be written, including the settings.
    inputs : iterable of Path
        Files that must not be replaced.
    """
    complete_move(out)
    for path in inputs:
        refuse_to_replace_input([out / name for name in names], path)
    refuse_to_replace_other_files(out, names)
    fresh = not out.exists()
    draft = out / f".{secrets.token_hex(4)}.part"
    with writing(out):
        draft.mkdir(parents=True)
    try:
        yield draft
        with writing(out), _undisturbed():
            _finish(draft, out, names)
            complete_move(out)
        fresh = False
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if fresh:
            with suppress(OSError):
                out.rmdir()


def complete_move(out: Path) -> bool:
    """Move finished results into ``out``, if there are any; return whether there were.

    A kill at any point leaves a state from which another call continues.
    """
    finished = out / FINISHED
    with writing(out), _undisturbed():
        if not finished.is_dir():
            return False
        if (finished / SETTINGS).exists():  # otherwise all files are moved
            _move(finished, out)
        shutil.rmtree(finished)
    return True


def refuse_to_replace_input(outputs: Iterable[Path], source: Path) -> None:
    """Raise if an output would replace an input."""
    for path in outputs:
        if path.exists() and source.exists() and os.path.samefile(path, source):
            raise CommandError(
                f"{path}: is an input, so it cannot be an output too. Choose another --out.", USAGE
            )


def refuse_to_replace_other_files(out: Path, names: Collection[str]) -> None:
    """Raise if files of these names exist, except for those listed in the settings of an earlier run."""
    existing = [name for name in names if os.path.lexists(out / name)]
    written = _written_before(out / SETTINGS) if existing else ()
    for name in existing:
        if name not in written:
            raise CommandError(
                f"{out}: already contains {name!r}, which no {SETTINGS} of whoknows lists. "
                "Choose another --out, or delete the file.",
                USAGE,
            )


def _written_before(settings: Path) -> Collection[str]:
    """Return the files that the settings of an earlier run list."""
    try:
        found = read_toml(settings).get(FOUND)
    except CommandError:  # missing, or not written by whoknows
        return ()
    files = found.get(FILES) if isinstance(found, dict) and "whoknows" in found else None
    return files if isinstance(files, list) else ()


def write_settings(draft: Path, settings: Mapping[str, Any], found: Mapping[str, Any], heading: str) -> None:
    """Write options, facts, the version and the list of files; called once all other files are written.

    The output folder itself is left out: a run with the settings of a copied folder must not write to the
    original.
    """
    from whoknows import __version__

    options = {name: value for name, value in settings.items() if name != "out"}
    files = sorted({path.name for path in draft.iterdir()} | {SETTINGS})
    text = write_toml(options, {"whoknows": __version__, FILES: files, **found}, heading)
    (draft / SETTINGS).write_text(text, "utf-8", errors="replace")  # file names may not be UTF-8


def _finish(draft: Path, out: Path, names: Collection[str]) -> None:
    """Declare the files of a draft the results, in one rename."""
    for name in names:
        if not (draft / name).exists() and os.path.lexists(out / name):
            (draft / f"{name}{OUTDATED}").touch()
    complete_move(out)  # left by another run that was killed in the meantime
    os.rename(draft, out / FINISHED)


def _move(finished: Path, out: Path) -> None:
    """Replace earlier files by the finished ones, the settings last."""
    (out / SETTINGS).unlink(missing_ok=True)
    for path in sorted(finished.iterdir()):
        if path.suffix == OUTDATED:
            (out / path.stem).unlink(missing_ok=True)
        elif path.name != SETTINGS:
            os.replace(path, out / path.name)
    os.replace(finished / SETTINGS, out / SETTINGS)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM."""
    before = {}
    with suppress(ValueError):  # signal handlers can be set in the main thread only
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- tables ------------------------------------------------------------------------------------------


def check_table(out: Path | None, *inputs: Path) -> None:
    """Raise if no table can be written to ``out``, or if it would replace an input."""
    if out is None:
        return
    if out != STDOUT and out.suffix.lower() not in TABLES:
        raise CommandError(f"{out}: expected a name that ends in {', '.join(TABLES)}.", USAGE)
    for path in inputs:
        refuse_to_replace_input([out], path)


def write(columns: Mapping[str, Any], out: Path | None, console: Console) -> None:
    """Write a table, if it has a destination."""
    from whoknows.io import write_table

    if out is not None:
        with destination(out, console) as path:
            write_table(columns, path)


@contextmanager
def destination(out: Path, console: Console) -> Iterator[Path]:
    """Yield the file to write a table to; for ``-`` its content is printed at the end, except with --json."""
    if out != STDOUT:
        with writing(out):
            yield out
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        yield path
        if not console.as_json:
            sys.stdout.flush()
            sys.stdout.buffer.write(path.read_bytes())
            sys.stdout.buffer.flush()
