"""The parts of a format: how files are recognised, read and written."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import ALIASES
from whoknows.data.errors import Advice, InputError
from whoknows.data.vocabulary import Ids, show
from whoknows.io.containers import Content
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.label_file import RawLabels

ROLES = ("item", "annotator", "label", "text", "confidence")


@dataclass(frozen=True)
class Options:
    """Options of a user for reading a file.

    Parameters
    ----------
    columns : mapping from role to name
        The column, key or question of the file for some of the `ROLES`.
    predictions : bool
        Whether models whose predictions a file holds are treated as annotators.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    predictions: bool = False

    def __post_init__(self) -> None:
        unknown = [role for role in self.columns if role not in ROLES]
        if unknown:
            raise InputError(f"columns= expects the keys {show(ROLES)}; got {unknown[0]!r}.")


@dataclass(frozen=True)
class Format:
    """A format of label files.

    Parameters
    ----------
    name : str
        Its name for the user.
    description : str
        What such files look like, for the message if no format fits.
    recognise : function from Content and Options to bool
    read : function from Content and Options to RawLabels
    columns : function from Annotations to named columns, optional
        The table to write; None for formats that are only read.
    """

    name: str
    description: str
    recognise: Callable[[Content, Options], bool]
    read: Callable[[Content, Options], RawLabels]
    columns: Callable[[Annotations], Mapping[Any, Ids]] | None = None


def must_have(names: Sequence[str], wanted: str, what: str, path: Path) -> str:
    """Return the wanted name if it exists; else raise an error that lists the existing names."""
    if wanted in names:
        return wanted
    near = difflib.get_close_matches(wanted, names[:1000], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    seen = f"There are {show(names, 20)}." if names else "There is none."
    raise FileError(path, f"has no {what} {wanted!r}.{hint} {seen}")


def item_column(names: Sequence[str]) -> str | None:
    """Return the column of ids: item, an alias of it, or a first column without a name, as pandas writes."""
    bare = {name.strip().lower(): name for name in reversed(names)}
    found = next((bare[name] for name in ("item", *ALIASES["item"]) if name in bare), None)
    return names[0] if found is None and names and names[0] in ("", "Unnamed: 0") else found


def choose(names: Sequence[str], given: str | None, what: str, path: Path) -> str:
    """Return the question that the user named, or the only one."""
    if given is not None:
        return must_have(names, given, what, path)
    if len(names) == 1:
        return names[0]
    if not names:
        raise FileError(path, f"has no {what} with one answer that could be a label.")
    advice = Advice("columns", f"columns={{'label': {names[0]!r}}}", role="label", name=repr(names[0]))
    raise FileError(path, f"has {len(names)} {what}s: {show(names, 20)}. Choose one: ", advice, ".")
