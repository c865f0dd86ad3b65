"""The error for anything that is wrong with a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any

from whoknows.data.errors import InputError, Message
from whoknows.data.vocabulary import show

Path = str | PathLike[str]


class FileError(InputError):
    """A file cannot be read or written; the message names it, says why and what to do.

    Parameters
    ----------
    path : str or path
        The file, as the user gave it.
    problem : str
        A sentence or two, in one or more parts as in `InputError`.

    Examples
    --------
    >>> from whoknows.io import read_labels
    >>> read_labels("nowhere.csv")
    Traceback (most recent call last):
    ...
    whoknows.io.errors.FileError: nowhere.csv: there is no such file.
    """

    def __init__(self, path: Path, *problem: str) -> None:
        super().__init__(fspath(path), *problem)
        self.path = fspath(path)
        self.problem = Message(*problem)

    @property
    def message(self) -> Message:
        """The message with its parts."""
        return Message(f"{self.path}: ", self.problem)


class UnwritableError(FileError):
    """A place that cannot be written to, such as a full disk."""


class SeveralLabels(InputError):
    """One answer that holds several labels."""

    def __init__(self, labels: Sequence[Any]) -> None:
        super().__init__(f"Expected one label per answer, got {show(labels)}.")
        self.labels = labels


@contextmanager
def naming(path: Path, *words: str) -> Iterator[None]:
    """Turn an error about the data into one that names the file that they are from."""
    try:
        yield
    except FileError:
        raise
    except InputError as error:
        raise FileError(path, *words, error.message) from None


@contextmanager
def reading(path: Path, problem: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn errors of the system, and errors of some types, into a `FileError`.

    Parameters
    ----------
    path : str or path
    problem : str
        What the error means, with {} for the reason.
    *errors : types
    """
    expected: tuple[type[Exception], ...] = (OSError, *errors)
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(path, "there is no such file.") from None
    except IsADirectoryError:
        raise FileError(path, "is a folder; expected a file.") from None
    except PermissionError as error:
        raise FileError(path, f"cannot be read ({error.strerror}).") from None
    except expected as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0].rstrip(".")[:200]
        raise FileError(path, problem.format(reason)) from None


def import_pyarrow(path: Path) -> Any:
    """Import pyarrow, or raise an error that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise FileError(path, "needs pyarrow. Run: pip install 'whoknows[io]'") from None
    return pyarrow
