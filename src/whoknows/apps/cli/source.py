"""Which files a command reads, and how: the options that several commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from whoknows.apps.cli.errors import UsageError

LABEL_OPTIONS = (
    *("labels", "format", "column", "duplicates", "missing", "predictions", "strict"),
    *("annotators", "ignore", "encoding"),
)
FEATURE_OPTIONS = ("features", "text", "items", "id_column", "vector", "allow_missing")

SHARE = 4  # features may use a quarter of the memory: a fit holds several copies
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

File = partial(typer.Option, metavar="FILE")
_Input = partial(typer.Option, rich_help_panel="Input files")
_Text = partial(typer.Option, metavar="COLUMN")
_Column = partial(_Input, metavar="COLUMN")
_Folder = partial(_Input, metavar="FOLDER", exists=True, file_okay=False)


@dataclass(frozen=True)
class Source:
    """Which files to read, and how; each field is the option of the same name."""

    labels: Annotated[
        Path, typer.Argument(metavar="LABELS", help="Labels: a table, or the export of a labelling tool.")
    ]
    features: Annotated[
        Path | None, File(help="Features of the items: CSV, Excel, JSON, Parquet (file or folder), .npy, .npz.")
    ] = None
    text: Annotated[str | None, _Text(help="Column of texts; without --features, features are computed from them.")] = (
        None
    )
    items: Annotated[
        Path | None, File(help="Table of the items: texts, images, and the ids of the rows of a .npy matrix.")
    ] = None
    gold: Annotated[Path | None, File(help="True labels of some items (gold labels).")] = None
    format: Annotated[
        str | None, _Input(metavar="NAME", help="Format of the labels, such as wide. Default: detected.")
    ] = None
    column: Annotated[
        list[str] | None,
        _Input(metavar="ROLE=NAME", help="Column of item, annotator, label, text, confidence; repeatable."),
    ] = None
    duplicates: Annotated[
        Literal["error", "first", "last", "majority"] | None,
        _Input(metavar="RULE", help="If an annotator labelled an item twice: error, first, last or majority."),
    ] = None
    missing: Annotated[
        list[str] | None,
        _Input(metavar="VALUE", help="Value that stands for a missing label, e.g. -1; may be repeated."),
    ] = None
    predictions: Annotated[
        bool, _Input("--predictions", help="Use model predictions in the file of labels as annotators, too.")
    ] = False
    strict: Annotated[bool, _Input("--strict", help="Refuse a file if any answer in it holds several labels.")] = False
    annotators: Annotated[str | None, _Input(metavar="A,B,…", help="Columns of a wide table that are annotators.")] = (
        None
    )
    ignore: Annotated[str | None, _Input(metavar="A,B,…", help="Columns that are neither annotators nor features.")] = (
        None
    )
    encoding: Annotated[
        str | None, _Input(metavar="NAME", help="Encoding of text files, such as cp1252. Default: detected.")
    ] = None
    id_column: Annotated[str | None, _Column(help="Column of item ids in the features or the table of items.")] = None
    vector: Annotated[str | None, _Column(help="Column of feature vectors, stored as lists.")] = None
    image: Annotated[str | None, _Column(help="Column of paths or URLs of images of the items.")] = None
    image_folder: Annotated[
        list[Path] | None, _Folder(help="Folder whose images the report may embed; may be repeated.")
    ] = None
    memory: Annotated[
        str | None, _Input(metavar="SIZE", help="Larger features are used out of core. Default: 1/4 of the memory.")
    ] = None
    allow_missing: Annotated[
        bool, _Input("--allow-missing", help="Drop labels of items without features, with a warning.")
    ] = False

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Source:
        """Select the settings of a command that concern reading."""
        return cls(**{field.name: settings[field.name] for field in fields(cls) if field.name in settings})

    @property
    def columns(self) -> dict[str, str]:
        """Columns of the labels by role."""
        from whoknows.data.vocabulary import show
        from whoknows.io.labels.format import ROLES

        named = {}
        for given in self.column or []:
            role, _, name = given.partition("=")
            if not name:
                raise UsageError(f"--column expects ROLE=NAME, such as label=severity; got {role!r}.")
            if role not in ROLES:
                raise UsageError(f"--column expects the roles {show(ROLES)}; got {role!r}.")
            named[role] = name
        if self.text is not None and self.items is None and self.features is None:
            named.setdefault("text", self.text)
        return named

    @property
    def text_column(self) -> str:
        """Column of the texts that features are computed from."""
        named = self.columns.get("text") if self.items is None else None
        return self.text or named or "text"

    @property
    def has_names(self) -> bool:
        """Whether features have names, as the columns of a table; those of arrays and lists are numbered."""
        assert self.features is not None
        if self.vector is not None:
            return False
        return not (self.features.is_file() and is_array(self.features))  # a pipe can be read only once

    @property
    def title(self) -> str:
        """Title of a report: the file of labels, and the folder that it is in."""
        return f"Who knows what: {'/'.join(self.labels.absolute().parts[-2:])}"

    @property
    def files(self) -> dict[str, Path]:
        """Files that are read, by option."""
        named = {name: getattr(self, name) for name in ("labels", "features", "items", "gold")}
        return {name: path for name, path in named.items() if path is not None}


def names_in(listed: str | None) -> list[str]:
    """Return the names in a list that is separated by commas."""
    return [name.strip() for name in (listed or "").split(",") if name.strip()]


def is_array(path: Path) -> bool:
    """Whether a file is .npy or .npz, by its content."""
    with open(path, "rb") as file:
        head = file.read(100)
    return head.startswith(b"\x93NUMPY") or (head.startswith(b"PK") and b".npy" in head)


FIT_OPTIONS = tuple(field.name for field in fields(Source))


def bytes_of(size: str | None, option: str = "--memory") -> int:
    """Return the number of bytes of a size; a share of the machine's memory if none is given.

    >>> bytes_of("500MB"), bytes_of("1.5 GiB"), bytes_of("64")
    (500000000, 1610612736, 64)
    """
    if size is None:
        return _machine_memory() // SHARE
    match = re.fullmatch(r"(\d+\.?\d*) ?([kmgt]?)(i?)b?", size.strip().lower())
    if match is None or float(match[1]) <= 0:
        raise UsageError(f"{option} expects a size such as 500MB or 8GB; got {size!r}.")
    return max(int(float(match[1]) * (BINARY if match[3] else UNITS)[match[2]]), 1)


def _machine_memory() -> int:
    """Return the bytes of memory that this process may use; 8 GiB if the system does not report it."""
    found = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limit = Path("/sys/fs/cgroup/memory.max")  # of a container
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        found.append(int(text))
    return min(found, default=8 << 30)
