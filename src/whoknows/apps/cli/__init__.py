"""The command line, `whoknows`.

Heavy libraries are imported inside the commands, so that ``whoknows --help`` is fast.
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

from whoknows.apps.cli.agreement import agreement
from whoknows.apps.cli.ask import ask
from whoknows.apps.cli.backup import backup, restore
from whoknows.apps.cli.command import Commands
from whoknows.apps.cli.compare import compare
from whoknows.apps.cli.convert import convert
from whoknows.apps.cli.fit import fit
from whoknows.apps.cli.judges import judges
from whoknows.apps.cli.predict import predict
from whoknows.apps.cli.report import report
from whoknows.apps.cli.serve import serve
from whoknows.apps.cli.simulate import demo, simulate
from whoknows.apps.cli.sync import sync

app = typer.Typer(
    name="whoknows",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, fit, predict, report, ask, serve, backup, restore, judges, agreement, compare, convert, simulate):
    app.command()(command)
app.add_typer(sync, name="sync")


def _show_version(asked: bool) -> None:
    if asked:
        from whoknows import __version__

        typer.echo(f"whoknows {__version__}")
        raise typer.Exit


@app.callback()
def whoknows(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Estimate true labels, and the expertise of each annotator, from the labels of several annotators.

    Start with **whoknows demo**, or with a file of your own labels: **whoknows agreement labels.csv**
    """


def main() -> None:
    """Run the command line; on SIGTERM it cleans up before it exits."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    app()
