"""Tables that a command writes to a file, or prints."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import USAGE, CommandError, writing

STDOUT = Path("-")
SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl")

TableOption = Annotated[
    Path,
    typer.Option(metavar="FILE", help="Ends in .csv, .tsv, .parquet or .jsonl; - prints CSV."),
]


def check_name(out: Path) -> None:
    """Refuse at once a name that no table can be written to."""
    if out != STDOUT and out.suffix.lower() not in SUFFIXES:
        raise CommandError(f"{out}: expected a name that ends in {', '.join(SUFFIXES)}.", USAGE)


def write(columns: Mapping[str, Any], out: Path, say: Say) -> None:
    """Write a table, whole or not at all, or print it; with --json the answer holds what would be printed."""
    from whoknows.io.labels import write_table

    with destination(out, say) as path:
        write_table(columns, path)


@contextmanager
def destination(out: Path, say: Say) -> Iterator[Path]:
    """Give the file to write a table to: that of the user, or one that is printed at the end."""
    if out != STDOUT:
        with writing(out):
            yield out
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        yield path
        if not say.as_json:
            sys.stdout.flush()
            sys.stdout.buffer.write(path.read_bytes())
            sys.stdout.buffer.flush()
