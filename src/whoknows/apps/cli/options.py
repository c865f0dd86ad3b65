"""Options that say which files to read, and how."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

_Reading = partial(typer.Option, rich_help_panel="How to read the files")

LabelsArgument = Annotated[
    Path, typer.Argument(metavar="LABELS", help="Who said what: a file of any labelling tool.")
]
FeaturesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Numbers for each item: CSV, Parquet or a folder of it, JSON, .npy or .npz."
    ),
]
TextOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="In place of features: make them from the text in this column."),
]
ItemsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A table of the items: their text or image, and the ids of the rows of a .npy matrix.",
    ),
]
GoldOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The true label of some items, where it is known.")
]
FormatOption = Annotated[
    str | None,
    _Reading(metavar="NAME", help="Format of LABELS, such as wide or label-studio; found if not given."),
]
ColumnOption = Annotated[
    list[str] | None,
    _Reading(
        metavar="ROLE=NAME",
        help="Column of LABELS for item, annotator, label, text or confidence: label=severity.",
    ),
]
DuplicatesOption = Annotated[
    Literal["error", "first", "last", "majority"] | None,
    _Reading(
        metavar="WORD",
        help="What to do with several labels of one annotator on one item: error, first, last or majority.",
    ),
]
MissingOption = Annotated[
    str | None, _Reading(metavar="VALUE", help="A label that means that there is none, such as -1.")
]
PredictionsOption = Annotated[
    bool, _Reading("--predictions", help="Models whose predictions LABELS holds are annotators, too.")
]
IdColumnOption = Annotated[
    str | None, _Reading(metavar="COLUMN", help="Column of the items' ids in the features or items.")
]
VectorOption = Annotated[
    str | None, _Reading(metavar="COLUMN", help="Which column of lists of numbers holds the features.")
]
ImageOption = Annotated[
    str | None, _Reading(metavar="COLUMN", help="Column with the path or address of an item's image.")
]
ImageFolderOption = Annotated[
    list[Path] | None,
    _Reading(
        metavar="FOLDER",
        exists=True,
        file_okay=False,
        help="Folder whose images the report may include; may be repeated. Images elsewhere are only named.",
    ),
]
AllowMissingOption = Annotated[
    bool,
    _Reading(
        "--allow-missing",
        help="Labels of items that are in no file of features, where these stay in their files or name no "
        "items, are left out with a warning; refused if not given.",
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with an interrupted fit to features that stay in their files: say the same as then.",
    ),
]
MemoryOption = Annotated[
    str | None,
    _Reading(
        metavar="SIZE",
        help="Features in Parquet or .npy that take more than this, such as 8GB, stay in their files and are "
        "read a block at a time; a quarter of the machine's memory if not given.",
    ),
]
