"""The command line every benchmark has."""

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def parser(doc: str, out: str, repeats: int) -> argparse.ArgumentParser:
    """Options all of them take; ``out`` is the folder under benchmarks/results."""
    command = argparse.ArgumentParser(description=doc.split("\n")[0])
    command.add_argument("--quick", action="store_true", help="a small part of the work, a few minutes")
    command.add_argument("--repeats", type=_count, default=repeats, help=f"default {repeats}")
    command.add_argument("--jobs", type=_count, default=os.cpu_count(), help="processes; default one a core")
    command.add_argument("--retry", action="store_true", help="try cells again that failed before")
    command.add_argument(
        "--again", action="store_true", help="compute cells anew that are there; stopped, go on without it"
    )
    command.add_argument("--out", type=Path, default=RESULTS / out, metavar="FOLDER", help="where results go")
    return command


def choice(allowed: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a type for an option: some of these words, parted by commas, in their own order."""
    allowed = list(allowed)

    def some(text: str) -> list[str]:
        asked = text.split(",")
        strange = [word for word in asked if word not in allowed]
        if strange:
            raise argparse.ArgumentTypeError(
                f"expected some of {', '.join(allowed)}; got {', '.join(strange)}"
            )
        return [word for word in allowed if word in asked]

    return some


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0; got {text}")
    return int(text)
