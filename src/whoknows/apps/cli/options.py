"""Options of several commands: which files to read and write, and how."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

_File = partial(typer.Option, metavar="FILE")
_Input = partial(typer.Option, rich_help_panel="Input files")
_Column = partial(_Input, metavar="COLUMN")

TABLE = "Output table: .csv, .tsv, .parquet or .jsonl; - prints CSV."

LabelsArgument = Annotated[
    Path, typer.Argument(metavar="LABELS", help="Labels: a table, or the export of a labelling tool.")
]
FeaturesOption = Annotated[
    Path | None, _File(help="Features of the items: CSV, JSON, Parquet (file or folder), .npy or .npz.")
]
TextOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column of texts; without --features, they are turned into features."
    ),
]
ItemsOption = Annotated[
    Path | None, _File(help="Table of the items: texts, images, and the ids of the rows of a .npy matrix.")
]
GoldOption = Annotated[Path | None, _File(help="True labels of some items (gold labels).")]
TableOption = Annotated[Path, _File(help=TABLE)]
OptionalTableOption = Annotated[Path | None, _File(help=TABLE)]
FormatOption = Annotated[
    str | None, _Input(metavar="NAME", help="Format of LABELS, e.g. wide or label-studio. Default: detected.")
]
ColumnOption = Annotated[
    list[str] | None,
    _Input(
        metavar="ROLE=NAME",
        help="Column of LABELS for item, annotator, label, text or confidence, e.g. label=severity; "
        "may be repeated.",
    ),
]
DuplicatesOption = Annotated[
    Literal["error", "first", "last", "majority"] | None,
    _Input(metavar="RULE", help="For repeated labels of an annotator: error, first, last or majority."),
]
MissingOption = Annotated[
    str | None, _Input(metavar="VALUE", help="Value in LABELS that stands for a missing label, e.g. -1.")
]
PredictionsOption = Annotated[
    bool, _Input("--predictions", help="Use model predictions in LABELS as annotators, too.")
]
IdColumnOption = Annotated[str | None, _Column(help="Column with the item ids in the features or items.")]
VectorOption = Annotated[str | None, _Column(help="Column of lists that holds the feature vectors.")]
ImageOption = Annotated[str | None, _Column(help="Column with the path or URL of the image of an item.")]
ImageFolderOption = Annotated[
    list[Path] | None,
    _Input(
        metavar="FOLDER",
        exists=True,
        file_okay=False,
        help="Folder whose images the report may embed; may be repeated. Other images are shown by name.",
    ),
]
AllowMissingOption = Annotated[
    bool,
    _Input(
        "--allow-missing",
        help="Drop labels of items without features, with a warning, where this is an error by default: if "
        "features are out of core or have no item ids.",
    ),
]
MemoryOption = Annotated[
    str | None,
    _Input(
        metavar="SIZE",
        help="Parquet and .npy features larger than this, e.g. 8GB, are read in blocks (out of core). "
        "Default: a quarter of the machine's memory.",
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Continue an interrupted out-of-core fit; give the same options again."),
]
