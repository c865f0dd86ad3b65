"""`whoknows serve`: the web app."""

from __future__ import annotations

import sys
from contextlib import suppress
from errno import EADDRINUSE
from pathlib import Path
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import CommandError, UsageError, writing

if TYPE_CHECKING:
    from whoknows.apps.web.settings import ServerSettings
    from whoknows.apps.web.store import Store

INSTALL = "The web app needs more packages: pip install 'whoknows[web]'"
NEEDED = ("fastapi", "uvicorn", "sqlalchemy", "multipart", "python_multipart")


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
    auth: Annotated[bool, typer.Option("--auth", help="Ask people to sign in. Required with other hosts.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name by which browsers may call the server; may be repeated."),
    ] = None,
    https: Annotated[
        bool, typer.Option("--https", help="Browsers reach the server over HTTPS, through a proxy.")
    ] = False,
    add_user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Set the password of a new or old account, and exit.")
    ] = None,
    role: Annotated[
        Literal["viewer", "annotator", "lead"], typer.Option(metavar="ROLE", help="viewer, annotator or lead.")
    ] = "lead",
    label_studio: Annotated[
        bool, typer.Option("--label-studio", help="Show the address to add to Label Studio as a backend.")
    ] = False,
) -> None:
    """Label items, and see who knows what, in a browser.

    The folder of a fit becomes a project; a new folder gets an example.

    For example:

    whoknows serve

    whoknows serve whoknows-out --port 8080

    whoknows serve team --add-user lea

    whoknows serve team --auth --host 0.0.0.0 --allow-host labels.example.org --https
    """
    if folder.is_file():
        how = f"the folder of a fit, or a new one. First fit the file: whoknows fit {folder}"
        raise UsageError(f"{folder} is a file. Expected a folder: {how}")
    settings = _settings(folder, database, auth, host, allow_host or [], https)
    store = _store(settings)
    if add_user is not None:
        _add_user(store, add_user, role, console)
        return
    if auth:
        _require_a_lead(store, folder)
    server = _bound(host, port)
    port = server.getsockname()[1]
    _first_project(store, folder, console)
    console.tell(f"Open http://{_in_address(host)}:{port}/ in a browser. Ctrl+C stops the server.")
    if label_studio:
        console.tell(f"Backend for Label Studio: http://{_in_address(host)}:{port}{_backend_path(store)}")
    _run(settings, store, server)


def _settings(
    folder: Path, database: str | None, auth: bool, host: str, names: list[str], https: bool
) -> ServerSettings:
    try:
        from whoknows.apps.web.settings import LOOPBACK, ServerSettings
    except ModuleNotFoundError as error:
        raise _install(error) from None
    if _in_address(host) not in LOOPBACK and not auth:
        raise UsageError(f"--host {host} can be reached from other machines: add --auth, so that people sign in.")
    hosts = *LOOPBACK, _in_address(host), *(name.lower() for name in names)
    return ServerSettings(folder, database, auth, hosts=hosts, secure=https)


def _install(error: ModuleNotFoundError) -> Exception:
    return UsageError(INSTALL) if error.name in NEEDED else error


def _in_address(host: str) -> str:
    """Return a host as addresses have it: [::1] for ::1."""
    return f"[{host}]" if ":" in host else host


def _store(settings: ServerSettings) -> Store:
    """Open the store; what is wrong with it is said in one line."""
    try:
        from sqlalchemy.exc import DBAPIError

        from whoknows.apps.web.store import Store
    except ModuleNotFoundError as error:
        raise _install(error) from None
    try:
        with writing(settings.folder):
            settings.folder.mkdir(parents=True, exist_ok=True)
        return Store(settings.url)
    except DBAPIError as error:
        raise CommandError(f"The database cannot be opened: {str(error.orig).splitlines()[0]}") from None


def _bound(host: str, port: int) -> socket:
    """Take the port before anything is promised; 0 takes a free one."""
    server = socket(AF_INET6 if ":" in host else AF_INET)
    server.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)  # a port that another server has just left is free
    try:
        server.bind((host, port))
    except OSError as error:
        server.close()
        why = "another program uses this port" if error.errno == EADDRINUSE else error.strerror or error
        raise UsageError(
            f"Cannot listen on {_in_address(host)}:{port}: {why}. Choose another --port or --host."
        ) from None
    return server


def _run(settings: ServerSettings, store: Store, server: socket) -> None:
    try:
        import uvicorn

        from whoknows.apps.web.application import create_app
    except ModuleNotFoundError as error:
        raise _install(error) from None
    from whoknows.apps.web.observing import log_to_stderr

    log_to_stderr()
    app = create_app(settings, store)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    running = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):  # it has shut down by then
        running.run([server])
    if not running.started:
        raise CommandError("The server could not start; the reason is above.")


def _backend_path(store: Store) -> str:
    from whoknows.apps.web.label_studio import backend

    with store.write() as db:
        return backend.path(db)


# --- accounts ----------------------------------------------------------------------------------------------


def _add_user(store: Store, name: str, role: str, console: Console) -> None:
    """Add an account, or set a new password; without a password it signs in by links of a lead."""
    from whoknows.apps.web.security.passwords import hashed
    from whoknows.apps.web.store import accounts, audit

    password = _password(name)
    with store.write() as db:
        done = accounts.add_or_set_password(db, name, role, hashed(password) if password else None)
        audit.note(db, "command line", done, name=name)
    how = "with the password" if password else "by a link, which a lead makes"
    console.tell(f"{name} may sign in {how}: {done}.")


def _password(name: str) -> str:
    """Ask for a password; without a terminal it is the first line of standard input."""
    if sys.stdin.isatty():
        return str(typer.prompt(f"Password of {name} (none: links only)", "", hide_input=True, show_default=False))
    return sys.stdin.readline().rstrip("\n")


def _require_a_lead(store: Store, folder: Path) -> None:
    from whoknows.apps.web.store import accounts

    with store.read() as db:
        if not any(account.role == "lead" for account in accounts.every(db)):
            what = "No account has the role lead, so nobody could manage the projects"
            raise UsageError(f"{what}. Add one: whoknows serve {folder} --add-user NAME")


# --- the first project -------------------------------------------------------------------------------------


def _first_project(store: Store, folder: Path, console: Console) -> None:
    """Add a project to a store without one: the fit in the folder, or an example."""
    from whoknows.apps.cli.results import MODEL
    from whoknows.apps.web.example import add_example
    from whoknows.apps.web.store import fits, projects

    with store.read() as db:
        if projects.every(db):
            return
    if (folder / MODEL).is_file():
        from whoknows.apps.cli.served_fit import add_fit

        return add_fit(store, folder, console)
    with store.write() as db:
        if not projects.every(db):  # another server may have been faster
            fits.request(db, add_example(db).id)
            console.note("There is no project yet: an example was added.")
