"""`whoknows backup` and `whoknows restore`: the state of `whoknows serve` as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console, count
from whoknows.apps.cli.errors import writing

ServedFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of whoknows serve.")]


@command()
def backup(
    console: Console,
    folder: ServedFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; it must not exist.")],
) -> None:
    """Copy the state of a server into one file, also while it runs.

    Labels that were acknowledged before the command are in it. For PostgreSQL, use pg_dump.

    For example:

    whoknows backup whoknows-web monday.db
    """
    from whoknows.apps.web.settings import DATABASE
    from whoknows.apps.web.store.backup import copy

    with writing(out):
        number = copy(folder / DATABASE, out)
    console.tell(f"{out}: {count(number, 'label')}.")
    console.answer({"out": str(out.absolute()), "labels": number})


@command()
def restore(
    console: Console,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that whoknows backup has written.")],
    folder: ServedFolder,
) -> None:
    """Put the state of a server back into a folder that has none.

    For example:

    whoknows restore monday.db whoknows-web
    """
    from whoknows.apps.web.settings import DATABASE
    from whoknows.apps.web.store.backup import copy

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        number = copy(file, folder / DATABASE)
    console.tell(f"{folder}: {count(number, 'label')}. Start it with: whoknows serve {folder}")
    console.answer({"folder": str(folder.absolute()), "labels": number})
