"""`whoknows convert`: labels from any tool's format, or the consensus of a fit, to another file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from whoknows.apps.cli import inputs, options
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import BAD_INPUT, USAGE, CommandError
from whoknows.apps.cli.output import SETTINGS, refuse_to_replace_input
from whoknows.apps.cli.results import FitFolder
from whoknows.apps.cli.tables import STDOUT, check_name, destination, write
from whoknows.apps.cli.words import count

To = Literal["long", "wide", "crowdkit", "label-studio"]
OUT = "Ends in .csv, .tsv, .parquet or .jsonl, for label-studio in .json; - prints CSV."


@command
def convert(
    say: Say,
    settings: dict[str, Any],
    labels: Annotated[
        Path,
        typer.Argument(metavar="IN", help="Labels in any format, or the folder of a fit for its consensus."),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help=OUT)],
    to: Annotated[
        To | None,
        typer.Option(
            help="Layout of labels, long if not given; label-studio: a fit's consensus as predictions."
        ),
    ] = None,
    format: options.FormatOption = None,
    column: options.ColumnOption = None,
    duplicates: options.DuplicatesOption = None,
    missing: options.MissingOption = None,
    predictions: options.PredictionsOption = False,
) -> None:
    """Convert labels of any tool, or the consensus of a fit.

    For example:

    whoknows convert export.json labels.csv

    whoknows convert labels.csv labels.parquet --to wide

    whoknows convert whoknows-out consensus.parquet

    whoknows convert whoknows-out predictions.json --to label-studio
    """
    _check_out(out, to, say)
    refuse_to_replace_input([out], labels)
    if (labels / SETTINGS).is_file():
        written = _convert_fit(FitFolder(labels), out, to, say)
        what = f"the consensus of {count(written, 'item')}"
    else:
        written = _convert_labels(inputs.Source.of(settings), out, to or "long", say)
        what = count(written, "label")
    if out != STDOUT:
        say.tell(f"{out}: {what}.")
    say.answer({"out": str(out.absolute()), "written": written})


def _check_out(out: Path, to: To | None, say: Say) -> None:
    """Refuse at once a name that does not go with the layout."""
    if to == "label-studio" and out.suffix.lower() != ".json":
        raise CommandError(f"{out}: expected a name that ends in .json, which Label Studio imports.", USAGE)
    if to != "label-studio":
        check_name(out)
    if out == STDOUT and say.as_json:
        raise CommandError("OUT is -, but with --json standard output is for JSON: name a file.", USAGE)


def _convert_labels(source: inputs.Source, out: Path, to: To, say: Say) -> int:
    """Write labels in another layout; say what the file cannot keep."""
    from whoknows.io.labels import write_labels

    if to == "label-studio":
        raise CommandError(
            "--to label-studio writes the consensus of a fit: IN must be the folder of one.", USAGE
        )
    said = inputs.read_annotations(source, say).annotations
    with destination(out, say) as path:
        say.all(write_labels(said, path, to))
    return said.n_annotations


def _convert_fit(fitted: FitFolder, out: Path, to: To | None, say: Say) -> int:
    """Write the consensus of a fit as a table, or as predictions that Label Studio imports."""
    from whoknows.io.labels import write_predictions

    if to is None:
        return _write_consensus(fitted, out, say)
    if to != "label-studio":
        raise CommandError(
            f"--to {to} is a layout of labels; the consensus of a fit has one label an item.", USAGE
        )
    source = fitted.source
    if fitted.found.get("format") != "label-studio":
        raise CommandError(
            f"{fitted.path}: its labels did not come from Label Studio's JSON export.", BAD_INPUT
        )
    refuse_to_replace_input([out], source.labels)
    consensus = fitted.consensus()
    columns = consensus["item"], consensus["consensus"], consensus["confidence"]
    return write_predictions(source.labels, out, *columns, columns=source.columns)


def _write_consensus(fitted: FitFolder, out: Path, say: Say) -> int:
    """Write the consensus as a table; of very many items a block after the other."""
    if fitted.consensus_of_many is None:
        consensus = fitted.consensus()
        write(consensus, out, say)
        return len(consensus["item"])
    import pyarrow as pa
    from pyarrow import parquet

    from whoknows.io.tables import write_blocks

    with parquet.ParquetFile(fitted.consensus_of_many) as table:
        kinds = {field.name: pa.array([], field.type) for field in table.schema_arrow}
        with destination(out, say) as path:
            write_blocks((block.to_pydict() for block in table.iter_batches(100_000)), path, kinds)
        return int(table.metadata.num_rows)
