"""What can go wrong, said in one sentence and as an exit code; never as a traceback unless asked for."""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from whoknows.apps.cli.console import Say
from whoknows.apps.cli.words import in_flags

FAILED = 1  # a bug, or something that this machine lacks
USAGE = 2  # what the command was called with
BAD_INPUT = 3  # what a file holds
CANNOT_WRITE = 4
INTERRUPTED = 130
NOBODY_READS = 141

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CommandError(Exception):
    """Something to tell the user, and the exit code that goes with it."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


@contextmanager
def told(say: Say, debug: bool) -> Iterator[None]:
    """Turn whatever goes wrong inside into a message and an exit code; warnings into lines."""
    try:
        with _heard(say):
            yield
        sys.stdout.flush()
    except Exception as error:
        if debug or isinstance(error, (typer.Exit, typer.Abort, typer.BadParameter)):
            raise
        if isinstance(error, BrokenPipeError):
            _mute_output()
            raise typer.Exit(NOBODY_READS) from None
        text, code = describe(error)
        say.problem(in_flags(text), code)
        raise typer.Exit(code) from None
    except KeyboardInterrupt:
        if debug:
            raise
        say.problem("Interrupted. No results were written.", INTERRUPTED)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def writing(path: Any) -> Iterator[None]:
    """Whatever goes wrong with files in here is a place that cannot be written to."""
    from whoknows.io.labels import FileError

    try:
        yield
    except FileError as error:
        raise CommandError(str(error), CANNOT_WRITE) from None
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        reason = "the disk is full" if error.errno in _NO_ROOM else error.strerror or str(error)
        raise CommandError(f"{os.fspath(path)}: cannot be written ({reason}).", CANNOT_WRITE) from None


def describe(error: Exception) -> tuple[str, int]:
    """Sentence and exit code of an error."""
    from whoknows.io.labels import FileError

    if isinstance(error, CommandError):
        return str(error), error.code
    if isinstance(error, FileError):
        return str(error), BAD_INPUT
    if isinstance(error, MemoryError):
        return (
            "There is not enough memory for this. Close other programs, or take fewer features or items.",
            FAILED,
        )
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        what = str(error.strerror or error).rstrip(".")
        return f"{where}{what}.", CANNOT_WRITE if error.errno in _NO_ROOM else BAD_INPUT
    if isinstance(error, (ValueError, FloatingPointError)) and _is_worded(error):
        return str(error), BAD_INPUT
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"This should not have happened ({what}). Run it again with --debug to see where.", FAILED


def _is_worded(error: Exception) -> bool:
    """Whether whoknows itself raised an error: then it says what was expected, what came and what to do."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and str(frame.tb_frame.f_globals.get("__name__", "")).startswith("whoknows.")


@contextmanager
def _heard(say: Say) -> Iterator[None]:
    """Say each warning once, whatever numbers are in it, without the line of code it came from."""
    said: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)

        def hear(message: Any, category: Any, *rest: Any) -> None:
            text = in_flags(str(message))
            kind = re.sub(r"-?\d\S*", "#", text)
            if kind not in said:
                said.add(kind)
                say.warn(text)

        warnings.showwarning = hear
        yield


def _mute_output() -> None:
    """Nobody reads any more: keep Python from trying again when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
