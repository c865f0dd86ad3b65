"""Output tables, settings, and output folders whose files appear together or not at all.

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
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import tomli_w
import typer

from whoknows.apps.cli.console import Console, Update
from whoknows.apps.cli.errors import CommandError, UsageError, writing

MAX_TOML = 1 << 24  # bytes of settings; the medians of many features are among them
SETTINGS = "settings.toml"  # moved last: a folder without it is not complete
FINISHED = ".whoknows-finished"  # complete results that are being moved into the folder that holds it
OUTDATED = ".outdated"  # suffix of an empty file in it: the file of that name is to be deleted
FOUND = "found"  # table of the settings that holds facts about the data, not options
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
    refuse_to_replace_inputs([out / name for name in names], inputs)
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


def refuse_to_replace_inputs(outputs: Iterable[Path], inputs: Iterable[Path | None]) -> None:
    """Raise if an output would replace an input."""
    read = [path for path in inputs if path is not None and path.exists()]
    for path in outputs:
        if path.exists() and any(os.path.samefile(path, each) for each in read):
            raise UsageError(f"{path}: is an input, so it cannot be an output too. Choose another --out.")


def refuse_to_replace_other_files(out: Path, names: Collection[str]) -> None:
    """Raise if files of these names exist, except for those listed in the settings of an earlier run."""
    existing = [name for name in names if os.path.lexists(out / name)]
    written = _written_before(out / SETTINGS) if existing else ()
    for name in existing:
        if name not in written:
            raise UsageError(
                f"{out}: already contains {name!r}, which no {SETTINGS} of whoknows lists. "
                "Choose another --out, or delete the file."
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

BLOCK = 100_000  # rows of a large table in memory at a time
_Table = typer.Option(metavar="FILE", help="Output table: .csv, .tsv, .parquet or .jsonl; - prints CSV.")
TableOption = Annotated[Path, _Table]
OptionalTableOption = Annotated[Path | None, _Table]


def check_table(out: Path | None, *inputs: Path | None) -> None:
    """Raise if no table can be written to ``out``, or if it would replace an input."""
    if out is None:
        return
    if out != STDOUT and out.suffix.lower() not in TABLES:
        raise UsageError(f"{out}: expected a name that ends in {', '.join(TABLES)}.")
    refuse_to_replace_inputs([out], inputs)


def write(columns: Mapping[str, Any], out: Path | None, console: Console, what: str = "") -> None:
    """Write a table, if it has a destination, and say what it holds."""
    from whoknows.io import write_table

    if out is not None:
        with destination(out, console) as path:
            write_table(columns, path)
        if what and out != STDOUT:
            console.tell(f"{out}: {what}.")


def write_and_answer(
    columns: Mapping[str, Any], out: Path, console: Console, lines: Iterable[str], **facts: Any
) -> None:
    """Write a table that is the result of a command; print lines about it, or with --json facts."""
    write(columns, out, console)
    if out == STDOUT:
        console.answer({**facts, "table": columns})
    else:
        console.tell(*lines)
        console.answer({"out": str(out.absolute()), **facts})


def write_items(
    table: Callable[[slice], Mapping[str, Any]], n_items: int, out: Path, update: Update, types: Any = None
) -> None:
    """Write a table of many items block by block; ``table`` returns the columns of some of them."""
    from whoknows.io.writing import write_blocks

    def blocks() -> Iterator[Mapping[str, Any]]:
        for start in range(0, n_items, BLOCK):
            rows = slice(start, min(start + BLOCK, n_items))
            yield table(rows)
            update(rows.stop, n_items)

    write_blocks(blocks(), out, types)


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


# --- settings ------------------------------------------------------------------------------------------


def read_toml(path: Path, error_type: type[CommandError] = UsageError) -> dict[str, Any]:
    """Read a TOML file; errors are of this type."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TOML + 1)
        if len(data) > MAX_TOML:
            raise error_type(f"{path}: is larger than {MAX_TOML >> 20} MiB; expected settings.")
        return tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise error_type(f"{path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise error_type(f"{path}: is not UTF-8 text, which TOML must be.") from None
    except tomllib.TOMLDecodeError as error:
        raise error_type(f"{path}: is not TOML. {str(error)[:200]}.") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or lists in lists
        raise error_type(f"{path}: holds a number or a list that is too long or too deep for settings.") from None


def write_toml(settings: Mapping[str, Any], found: Mapping[str, Any], heading: str) -> str:
    """Return settings and facts as TOML that --config reads; None is left out, and paths are absolute.

    >>> found = {"items": 3, "medians": {"size": 1.5}}
    >>> print(write_toml({"labels": Path("/a.csv"), "seed": 0, "gold": None}, found, "whoknows fit"))
    # whoknows fit
    labels = "/a.csv"
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
    return os.fspath(value.absolute()) if isinstance(value, Path) else value
