"""The set of commands; a call that means nothing is told in JSON where JSON is read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from whoknows.apps.cli.console import Say

_UsageError: Any = typer.BadParameter.__base__  # which Typer does not export


class Commands(TyperGroup):
    """Typer's group of commands, but for the errors it finds before a command runs."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run a command; with --json among its arguments, errors of usage are an object, not a box."""
        given = sys.argv[1:] if args is None else list(args)
        if "--json" not in given or not options.get("standalone_mode", True):
            return super().main(args, *rest, **options)
        try:
            code = super().main(args, *rest, **{**options, "standalone_mode": False})
        except _UsageError as error:
            code = error.exit_code
            Say(as_json=True).problem(error.format_message(), code)
        sys.exit(code or 0)
