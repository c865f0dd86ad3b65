"""`whoknows report`: write the report of a fit again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import UsageError, writing
from whoknows.apps.cli.output import refuse_to_replace_inputs
from whoknows.apps.cli.results import REPORT, FitFolder, ModelArgument
from whoknows.apps.cli.source import Source


@command()
def report(
    console: Console,
    model: ModelArgument,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="HTML file. Default: report.html next to the model.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
) -> None:
    """Write the HTML report of a fit again.

    For example:

    whoknows report whoknows-out

    whoknows report whoknows-out --title "Tumours, first round" --out tumours.html
    """
    from whoknows.apps.report import page, save

    fitted = FitFolder(model)
    path = fitted.folder / REPORT if out is None else out
    knows_files = fitted.has_settings and "labels" in fitted.settings
    source = fitted.source if knows_files else None
    _check(path, fitted, source)
    with console.progress("Writing the report"):
        with fitted.as_written():
            html = page(fitted.summary(), title or (source and source.title))
        with writing(path):
            save(html, path)
    console.tell(f"{path}: open it in a browser.")
    console.answer({"out": str(path.absolute())})


def _check(path: Path, fitted: FitFolder, source: Source | None) -> None:
    """Raise if the file is not HTML, or would replace the model or an input of the fit."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: expected a name that ends in .html or .htm.")
    refuse_to_replace_inputs([path], [fitted.path, *(source.files.values() if source else ())])
