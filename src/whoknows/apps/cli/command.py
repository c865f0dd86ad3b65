"""What all commands share: common options, settings from a file, and messages instead of tracebacks."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperGroup

from whoknows.apps.cli.config import read_config
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import CommandError, told
from whoknows.apps.cli.memory import bytes_of

_Common = partial(typer.Option, rich_help_panel="Common options")
_COMMON = ("quiet", "as_json", "config", "max_size", "debug", "help")
_UsageError: Any = typer.BadParameter.__base__  # which Typer does not export


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Turn a function into a command: add the common options, and report its errors.

    The function gets the console, its own options and, if it has a parameter ``settings``, all of its options
    as a dict.
    """

    def called(
        *,
        quiet: Annotated[bool, _Common("--quiet", "-q", help="Print only results and warnings.")] = False,
        as_json: Annotated[bool, _Common("--json", help="Print one JSON object and nothing else.")] = False,
        config: Annotated[
            Path | None,
            _Common(
                metavar="FILE",
                is_eager=True,
                callback=_use_config,
                help="TOML file with options; the command line takes precedence.",
            ),
        ] = None,
        max_size: Annotated[
            str | None,
            _Common(
                metavar="SIZE",
                help="Maximum size of a file, also after decompression, e.g. 8GB. Raise it for files that "
                "you trust.",
            ),
        ] = None,
        debug: Annotated[bool, _Common("--debug", help="Show the traceback of an error.")] = False,
        **options: Any,
    ) -> None:
        from whoknows.io.encoding import size_limit

        console = Console(quiet, as_json)
        settings = {"settings": options} if "settings" in [p.name for p in own] else {}
        with told(console, debug), size_limit(max_size and bytes_of(max_size, "--max-size")):
            run(console, **options, **settings)

    _, *own = inspect.signature(run, eval_str=True).parameters.values()
    *common, _ = inspect.signature(called, eval_str=True).parameters.values()
    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in own if p.name != "settings"] + common
    called.__name__, called.__doc__, called.__module__ = run.__name__, run.__doc__, run.__module__
    called.__signature__ = inspect.Signature(parameters)
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


def _use_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make the settings of a file the defaults of this run."""
    if path is not None and not ctx.resilient_parsing:
        options = [p for p in ctx.command.params if p.name not in _COMMON]
        repeated = [p.name for p in options if p.multiple]
        paths = [name for name, kind in ctx.command.callback.__annotations__.items() if _has_path(kind)]
        try:
            ctx.default_map = read_config(path, [p.name for p in options], paths, repeated)
        except CommandError as problem:
            raise typer.BadParameter(str(problem)) from None
    return path


def _has_path(kind: Any) -> bool:
    """Whether a type is Path, or is composed of it, as list[Path] | None is."""
    return kind is Path or any(map(_has_path, get_args(kind)))


class Commands(TyperGroup):
    """Typer's group of commands; with --json, usage errors are JSON too."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run a command."""
        given = sys.argv[1:] if args is None else list(args)
        if "--json" not in given or not options.get("standalone_mode", True):
            return super().main(args, *rest, **options)
        try:
            code = super().main(args, *rest, **{**options, "standalone_mode": False})
        except _UsageError as error:
            code = error.exit_code
            Console(as_json=True).problem(error.format_message(), code)
        sys.exit(code or 0)
