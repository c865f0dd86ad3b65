"""`whoknows report`: the report of a fit, once more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.fitted import REPORT, Fitted, ModelArgument
from whoknows.apps.cli.problems import writing
from whoknows.apps.cli.say import Say


@command
def report(
    say: Say,
    model: ModelArgument,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write it; report.html beside the model if not given."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the report.")] = None,
) -> None:
    """Write the report of a fit again, one HTML file.

    For example:

    whoknows report whoknows-out

    whoknows report whoknows-out --title "Tumours, first round" --out tumours.html
    """
    from whoknows.apps.report import write

    fitted = Fitted(model)
    summary = fitted.summary()
    path = fitted.folder / REPORT if out is None else out
    with writing(path), say.progress("Writing the report"):
        write(summary, path, title)
    say.tell(f"{path}: open it in a browser.")
    say.answer({"out": str(path.absolute())})
