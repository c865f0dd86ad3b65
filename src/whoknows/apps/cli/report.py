"""`whoknows report`: write the report of a fit again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import CommandError, UsageError, writing
from whoknows.apps.cli.output import refuse_to_replace_inputs
from whoknows.apps.cli.results import REPORT, SUMMARY, FitFolder, ModelArgument


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
    from whoknows.apps.report import write
    from whoknows.data.errors import InputError

    fitted = FitFolder(model)
    path = fitted.folder / REPORT if out is None else out
    _check(path, fitted)
    summary = fitted.summary()
    with writing(path), console.progress("Writing the report"):
        try:
            write(summary, path, title)
        except InputError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            why = f"{type(error).__name__}: {str(error)[:200]}"
            changed = fitted.folder / SUMMARY
            raise CommandError(f"{changed}: is not as a fit has written it ({why}). Fit again.") from None
    console.tell(f"{path}: open it in a browser.")
    console.answer({"out": str(path.absolute())})


def _check(path: Path, fitted: FitFolder) -> None:
    """Raise if the file is not HTML, or would replace the model or an input of the fit."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: expected a name that ends in .html or .htm.")
    known = fitted.has_settings and "labels" in fitted.settings
    refuse_to_replace_inputs([path], [fitted.path, *(fitted.source.files.values() if known else ())])
