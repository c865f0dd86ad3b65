"""What all commands share: common options, settings from a file, and messages instead of tracebacks."""

from __future__ import annotations

import difflib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperGroup

from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import CommandError, UsageError, as_messages
from whoknows.apps.cli.output import FOUND, read_toml
from whoknows.apps.cli.source import Source, bytes_of

_Common = partial(typer.Option, rich_help_panel="Common options")
_UsageError: Any = typer.BadParameter.__base__  # which Typer does not export


def command(*reading: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a function into a command, whose errors are printed as messages.

    Its options are the fields of `Source` named here, the parameters of the function, and the common options.
    The function gets the console, its own parameters and, if it has a parameter ``settings``, all options but
    the common ones as a dict.
    """

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        @wraps(run)
        def called(**options: Any) -> None:
            _call(run, **options)

        own = {name: p for name, p in _parameters(run).items() if name not in ("console", "settings")}
        fields = {name: p for name, p in _parameters(Source).items() if name in reading}
        parameters = {**fields, **own, **_COMMON}
        called.__signature__ = inspect.Signature([*parameters.values()])
        called.__annotations__ = {name: p.annotation for name, p in parameters.items()}
        return called

    return decorate


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function, to be passed by name, with their annotations."""
    parameters = inspect.signature(function, eval_str=True).parameters
    return {name: p.replace(kind=p.KEYWORD_ONLY) for name, p in parameters.items()}


def _use_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make the settings of a file the defaults of this run."""
    if path is not None and not ctx.resilient_parsing:
        try:
            ctx.default_map = _read_config(ctx, path)
        except CommandError as problem:
            raise typer.BadParameter(str(problem)) from None
    return path


def _read_config(ctx: typer.Context, path: Path) -> dict[str, Any]:
    """Read options by name; paths are relative to the folder of the file, the table `found` is skipped."""
    options = {p.name: p for p in ctx.command.params if p.name not in (*_COMMON, "help")}
    kinds = ctx.command.callback.__annotations__
    given = {key.replace("-", "_"): value for key, value in read_toml(path).items() if key != FOUND}
    for key, value in given.items():
        if key not in options:
            near = difflib.get_close_matches(key, options, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(options))
            raise UsageError(f"{path}: {key!r} is not an option.{hint} Options are {known}.")
        if isinstance(value, dict):  # {label = "severity"} is --column label=severity
            value = [f"{name}={each}" for name, each in value.items()]
        elif isinstance(value, str) and options[key].multiple:
            value = [value]
        given[key] = _relative_to(path.parent, value) if _has_path(kinds[key]) else value
    return given


def _has_path(kind: Any) -> bool:
    """Whether a type is Path, or is composed of it, as list[Path] | None is."""
    return kind is Path or any(map(_has_path, get_args(kind)))


def _relative_to(folder: Path, value: Any) -> Any:
    """Resolve a path, or each path of a list, from a folder; - is standard input or output."""
    if isinstance(value, list):
        return [_relative_to(folder, each) for each in value]
    return os.path.join(folder, value) if isinstance(value, str) and value != "-" else value


_Config = partial(_Common, metavar="FILE", is_eager=True, callback=_use_config)


def _call(
    run: Callable[..., None],
    *,
    quiet: Annotated[bool, _Common("--quiet", "-q", help="Print only results and warnings.")] = False,
    as_json: Annotated[bool, _Common("--json", help="Print one JSON object and nothing else.")] = False,
    config: Annotated[Path | None, _Config(help="TOML file with options; the command line takes precedence.")] = None,
    max_size: Annotated[
        str | None, _Common(metavar="SIZE", help="Largest file to read, also after decompression, e.g. 8GB.")
    ] = None,
    debug: Annotated[bool, _Common("--debug", help="Show the traceback of an error.")] = False,
    **options: Any,
) -> None:
    """Run a command with its options."""
    from whoknows.io.encoding import size_limit

    console = Console(quiet, as_json)
    everything = {**options, "console": console, "settings": options}
    with as_messages(console, debug), size_limit(max_size and bytes_of(max_size, "--max-size")):
        run(**{name: everything[name] for name in inspect.signature(run).parameters})


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


_COMMON = {name: p for name, p in _parameters(_call).items() if name not in ("run", "options")}
