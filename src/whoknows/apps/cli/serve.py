"""`whoknows serve`: the web app."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import UsageError

if TYPE_CHECKING:
    from whoknows.apps.web.store import Store

LOOPBACK = ("127.0.0.1", "localhost", "::1")
INSTALL = "The web app needs more packages: pip install 'whoknows[web]'"


@command()
def serve(
    console: Console,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of a fit, or any other, in which the state is kept.")
    ] = Path("whoknows-web"),
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="Port to listen on.")] = 8000,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="postgresql://… instead of a file in the folder.")
    ] = None,
    auth: Annotated[bool, typer.Option("--auth", help="People sign in. Required for other addresses.")] = False,
    label_studio: Annotated[
        bool, typer.Option("--label-studio", help="Show the address to add to Label Studio as a backend.")
    ] = False,
) -> None:
    """Label items, and see who knows what, in a browser.

    The folder of a fit becomes a project; a new folder gets an example.

    For example:

    whoknows serve

    whoknows serve whoknows-out --port 8080
    """
    if host not in LOOPBACK and not auth:
        raise UsageError(f"--host {host} can be reached from other machines: add --auth, so that people sign in.")
    settings = _settings(folder, database, auth, host)
    uvicorn, create_app, Store = _web()
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(settings.url)
    _first_project(store, console)
    console.tell(f"Open http://{host}:{port}/ in a browser. Ctrl+C stops the server.")
    if label_studio:
        console.tell(f"Backend for Label Studio: http://{host}:{port}{_backend_path(store)}")
    uvicorn.run(create_app(settings, store), host=host, port=port, log_level="warning")


def _web() -> Any:
    try:
        import uvicorn

        from whoknows.apps.web.application import create_app
        from whoknows.apps.web.store import Store
    except ModuleNotFoundError:
        raise UsageError(INSTALL) from None
    return uvicorn, create_app, Store


def _settings(folder: Path, database: str | None, auth: bool, host: str) -> Any:
    from whoknows.apps.web.settings import LOOPBACK as NAMES
    from whoknows.apps.web.settings import ServerSettings

    return ServerSettings(folder, database, auth, hosts=(*NAMES, host))


def _backend_path(store: Store) -> str:
    from whoknows.apps.web.label_studio import backend

    with store.write() as db:
        return backend.path(db)


def _first_project(store: Store, console: Console) -> None:
    """Add a project to a store without one."""
    from whoknows.apps.web.example import add_example
    from whoknows.apps.web.store import fits, projects

    with store.write() as db:
        if not projects.every(db):
            fits.request(db, add_example(db).id)
            console.note("There is no project yet: an example was added.")
