"""`whoknows convert`: labels from one format to another, or the consensus of a fit to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from whoknows.apps.cli import inputs, output
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console, count
from whoknows.apps.cli.errors import CommandError, UsageError
from whoknows.apps.cli.results import FitFolder
from whoknows.apps.cli.source import LABEL_OPTIONS, Source

To = Literal["long", "wide", "crowdkit", "label-studio"]
IN = "Labels in any format, or the folder of a fit."
OUT = "Output table: .csv, .tsv, .parquet or .jsonl, for label-studio .json; - prints CSV."
TO = "Layout of labels (default: long); label-studio: the consensus of a fit as predictions."


@command(*LABEL_OPTIONS)
def convert(
    console: Console,
    settings: dict[str, Any],
    labels: Annotated[Path, typer.Argument(metavar="IN", help=IN)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help=OUT)],
    to: Annotated[To | None, typer.Option(help=TO)] = None,
) -> None:
    """Convert labels to another format, or export the consensus of a fit.

    For example:

    whoknows convert export.json labels.csv

    whoknows convert labels.csv labels.parquet --to wide

    whoknows convert whoknows-out consensus.parquet

    whoknows convert whoknows-out predictions.json --to label-studio
    """
    _check(out, to, labels, console)
    if (labels / output.SETTINGS).is_file():
        written = _convert_fit(FitFolder(labels), out, to, console)
        what = f"the consensus of {count(written, 'item')}"
    else:
        written = _convert_labels(Source.of(settings), out, to or "long", console)
        what = count(written, "label")
    if out != output.STDOUT:
        console.tell(f"{out}: {what}.")
    console.answer({"out": str(out.absolute()), "written": written})


def _check(out: Path, to: To | None, labels: Path, console: Console) -> None:
    """Raise if the layout cannot be written to ``out``."""
    if to != "label-studio":
        output.check_table(out)
    elif out.suffix.lower() != ".json":
        raise UsageError(f"{out}: expected a name that ends in .json, which Label Studio imports.")
    if out == output.STDOUT and console.as_json:
        raise UsageError("OUT is -, but with --json standard output is for JSON: name a file.")
    output.refuse_to_replace_inputs([out], [labels])


def _convert_labels(source: Source, out: Path, to: To, console: Console) -> int:
    """Write labels in another layout, with a note about what it cannot represent."""
    from whoknows.io import write_labels

    if to == "label-studio":
        raise UsageError("--to label-studio requires the folder of a fit as IN.")
    annotations = inputs.read_annotations(source, console).annotations
    with output.destination(out, console) as path:
        console.all(write_labels(annotations, path, to))
    return annotations.n_annotations


def _convert_fit(fitted: FitFolder, out: Path, to: To | None, console: Console) -> int:
    """Write the consensus of a fit as a table, or as predictions that Label Studio imports."""
    from whoknows.io import write_predictions

    if to is None:
        return _write_consensus(fitted, out, console)
    if to != "label-studio":
        raise UsageError(f"--to {to} is a layout of labels; the consensus of a fit has one label per item.")
    if fitted.found.get("format") != "label-studio":
        raise CommandError(f"{fitted.path}: its labels did not come from Label Studio's JSON export.")
    source, consensus = fitted.source, fitted.consensus()
    output.refuse_to_replace_inputs([out], [source.labels])
    columns = consensus["item"], consensus["consensus"], consensus["confidence"]
    return write_predictions(source.labels, out, *columns, columns=source.columns)


def _write_consensus(fitted: FitFolder, out: Path, console: Console) -> int:
    """Write the consensus as a table; that of an out-of-core fit in blocks."""
    if fitted.consensus_of_many is None:
        consensus = fitted.consensus()
        output.write(consensus, out, console)
        return len(consensus["item"])
    import pyarrow as pa
    from pyarrow import parquet

    from whoknows.io.writing import write_blocks

    with parquet.ParquetFile(fitted.consensus_of_many) as table:
        kinds = {field.name: pa.array([], field.type) for field in table.schema_arrow}
        with output.destination(out, console) as path:
            write_blocks((block.to_pydict() for block in table.iter_batches(output.BLOCK)), path, kinds)
        return int(table.metadata.num_rows)
