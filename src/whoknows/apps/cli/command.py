"""What all commands share: options, a voice, settings from a file, and messages in place of tracebacks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from whoknows.apps.cli.config import read_config
from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import CommandError, told
from whoknows.apps.cli.memory import bytes_of

_Option = partial(typer.Option, rich_help_panel="Everywhere")
_OWN = ("say", "settings")


def _take_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make the settings of a file the defaults of this run: what is said on the command line wins."""
    if path is not None and not ctx.resilient_parsing:
        names = [p.name for p in ctx.command.params if p.name and p.name not in (*_EVERYWHERE, "help")]
        try:
            repeated = [p.name for p in ctx.command.params if p.name and getattr(p, "multiple", False)]
            ctx.default_map = read_config(path, names, _paths_of(ctx.command.callback), repeated)
        except CommandError as problem:
            raise typer.BadParameter(str(problem)) from None
    return path


def _paths_of(run: Any) -> list[str]:
    """Names of the parameters that are paths."""
    kinds = {p.name: get_args(p.annotation)[0] for p in inspect.signature(run).parameters.values()}
    return [name for name, kind in kinds.items() if _holds_paths(kind)]


def _holds_paths(kind: Any) -> bool:
    """Whether a type is Path, or is made of it, as list[Path] | None is."""
    return kind is Path or any(map(_holds_paths, get_args(kind)))


_EVERYWHERE: dict[str, tuple[Any, Any]] = {
    "quiet": (Annotated[bool, _Option("--quiet", "-q", help="Say nothing on the way.")], False),
    "as_json": (Annotated[bool, _Option("--json", help="Print one JSON object and nothing else.")], False),
    "config": (
        Annotated[
            Path | None,
            _Option(
                "--config",
                metavar="FILE",
                is_eager=True,
                callback=_take_config,
                help="TOML with options by name; those on the command line win.",
            ),
        ],
        None,
    ),
    "max_size": (
        Annotated[
            str | None,
            _Option(
                metavar="SIZE",
                help="Size that a file may have, and may decompress to, such as 8GB; found if not given. "
                "Raise it for files that you trust.",
            ),
        ],
        None,
    ),
    "debug": (Annotated[bool, _Option("--debug", help="Show the traceback of an error.")], False),
}


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Make a function of a voice and of its own options a command.

    The function gets ``say`` and its options; if it has a parameter ``settings``, all of these as a dict,
    too. Every parameter is annotated, those of the command line with an Option or an Argument.
    """
    own = inspect.signature(run, eval_str=True).parameters.values()
    wants_settings = "settings" in [p.name for p in own]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [p.replace(kind=keyword) for p in own if p.name not in _OWN]
    parameters += [
        inspect.Parameter(name, keyword, default=default, annotation=kind)
        for name, (kind, default) in _EVERYWHERE.items()
    ]

    def called(
        *,
        quiet: bool,
        as_json: bool,
        config: Path | None,
        max_size: str | None,
        debug: bool,
        **options: Any,
    ) -> None:
        from whoknows.io.encoding import size_limit

        say = Say(quiet, as_json)
        with told(say, debug), size_limit(max_size and bytes_of(max_size, "--max-size")):
            run(say, **options, **({"settings": options} if wants_settings else {}))

    called.__name__, called.__doc__, called.__module__ = run.__name__, run.__doc__, run.__module__
    called.__signature__ = inspect.Signature(parameters)
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called
