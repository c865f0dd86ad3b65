"""Command-line options shared by the benchmarks."""

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"


def parser(doc: str, out: str, repeats: int) -> argparse.ArgumentParser:
    """Return a parser with the shared options; ``out`` is the folder in benchmarks/results."""
    command = argparse.ArgumentParser(description=doc.split("\n")[0])
    command.add_argument("--quick", action="store_true", help="run a small part, in a few minutes")
    command.add_argument("--repeats", type=_count, default=repeats, help=f"default {repeats}")
    command.add_argument(
        "--jobs", type=_count, default=os.cpu_count(), help="number of processes; default one per core"
    )
    command.add_argument("--retry", action="store_true", help="compute failed cells again")
    command.add_argument(
        "--again", action="store_true", help="recompute existing cells; leave it out to continue an interrupted run"
    )
    command.add_argument(
        "--renew", action="store_true", help="recompute cells of other commits; continues where it stopped"
    )
    add_out(command, RESULTS / out)
    return command


def add_out(command: argparse.ArgumentParser, folder: Path = RESULTS) -> None:
    """Add the option that names the folder of the results."""
    command.add_argument("--out", type=Path, default=folder, metavar="FOLDER", help="folder of the results")


def run_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return those of the shared options that `cells.run` takes."""
    return {name: getattr(options, name) for name in ("jobs", "retry", "again", "renew")}


def choice(allowed: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the type of an option that takes a comma-separated subset of ``allowed``."""
    allowed = list(allowed)

    def some(text: str) -> list[str]:
        asked = text.split(",")
        unknown = [word for word in asked if word not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(f"expected some of {', '.join(allowed)}; got {', '.join(unknown)}")
        return [word for word in allowed if word in asked]

    return some


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text}")
    return int(text)
