"""The one exception for whatever is wrong with a file."""

from __future__ import annotations

from os import PathLike, fspath

Path = str | PathLike[str]


class FileError(ValueError):
    """A file cannot be read or written as asked; the message names it, says why and what to do.

    Parameters
    ----------
    path : str or path
        The file, as the user gave it.
    problem : str
        A sentence or two.

    Examples
    --------
    >>> from whoknows.io.labels import read_labels
    >>> read_labels("nowhere.csv")
    Traceback (most recent call last):
    ...
    whoknows.io.errors.FileError: nowhere.csv: there is no such file.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(fspath(path), problem)
        self.path = fspath(path)
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"
