"""Errors and warnings as messages with an exit code; tracebacks only with --debug."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from whoknows.apps.cli.console import Console, in_flags

FAILED = 1  # a bug, or a limit of the machine
USAGE = 2  # wrong options
BAD_INPUT = 3  # wrong content of a file
CANNOT_WRITE = 4
INTERRUPTED = 130
BROKEN_PIPE = 141

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CommandError(Exception):
    """A message for the user about the content of a file; subclasses have other exit codes."""

    code = BAD_INPUT


class UsageError(CommandError):
    """Wrong options."""

    code = USAGE


class WriteError(CommandError):
    """A place that cannot be written to."""

    code = CANNOT_WRITE


@contextmanager
def as_messages(console: Console, debug: bool) -> Iterator[None]:
    """Turn errors inside into a message and an exit code, and warnings into messages."""
    try:
        with _warnings_to(console):
            yield
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        if debug or isinstance(error, (typer.Exit, typer.Abort, typer.BadParameter)):
            raise
        if isinstance(error, BrokenPipeError):
            # Nobody reads standard output any more; Python would fail to flush it when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        text, code = describe(error)
        console.problem(text, code)
        raise typer.Exit(code) from None


@contextmanager
def writing(path: Any) -> Iterator[None]:
    """Turn errors of files inside into an error about a place that cannot be written to."""
    from whoknows.io import FileError

    try:
        yield
    except FileError as error:
        raise WriteError(in_flags(error.message)) from None
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        reason = "the disk is full" if error.errno in _NO_ROOM else error.strerror or str(error)
        raise WriteError(f"{os.fspath(path)}: cannot be written ({reason}).") from None


def describe(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit code of an error."""
    from whoknows.data.errors import InputError
    from whoknows.io.errors import UnwritableError

    if isinstance(error, CommandError):
        return str(error), error.code
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted. No results were written.", INTERRUPTED
    if isinstance(error, InputError):
        return in_flags(error.message), CANNOT_WRITE if isinstance(error, UnwritableError) else BAD_INPUT
    if isinstance(error, FloatingPointError):  # the fit diverged
        return str(error), BAD_INPUT
    if isinstance(error, MemoryError):
        return "There is not enough memory. Close other programs, or use fewer features or items.", FAILED
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        what = str(error.strerror or error).rstrip(".")
        return f"{where}{what}.", CANNOT_WRITE if error.errno in _NO_ROOM else BAD_INPUT
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"This should not have happened ({what}). Run it again with --debug to see where.", FAILED


@contextmanager
def _warnings_to(console: Console) -> Iterator[None]:
    """Show each warning once, without the line of code; of a class of its own, only the first."""
    shown: set[Any] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)

        def show(message: Any, category: Any, *rest: Any) -> None:
            text = in_flags(message.args[0])
            kind = text if category is UserWarning else category
            if kind not in shown:
                shown.add(kind)
                console.warn(text)

        warnings.showwarning = show
        yield
