"""What a command says: its answer on standard output, everything on the way there on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO
from unicodedata import category

from whoknows.apps.cli.words import in_flags

PATIENCE = 1.0  # seconds before anything is said of progress where it cannot be drawn
PAUSE = 5.0  # seconds between two lines of it
TELLING = 0.1  # share that must be done before the time left can be told

Update = Callable[[float, float], None]  # how much is done, of how much


class Say:
    """The voice of one run of a command.

    Parameters
    ----------
    quiet : bool
        Say nothing but what is asked for, and what went wrong.
    as_json : bool
        Say everything in one JSON object on standard output.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet or as_json, as_json
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def note(self, text: str) -> None:
        """Say something worth knowing."""
        self.notes.append(text)
        if not self.quiet:
            _print(text, sys.stderr)

    def all(self, notes: Iterable[str]) -> None:
        """Say what was noticed about the thing just named."""
        for note in notes:
            self.note(f"  {in_flags(note)}")

    def warn(self, text: str) -> None:
        """Say that something may be wrong; heard even if quiet."""
        self.warnings.append(text)
        if not self.as_json:
            _print(text, sys.stderr, "Warning: ", "yellow")

    def problem(self, text: str, code: int) -> None:
        """Say what went wrong, and as JSON too if that is what is read."""
        if self.as_json:
            self._write_json({"error": text, "exit_code": code})
        _print(text, sys.stderr, "Error: ", "bold red")

    def tell(self, *lines: str) -> None:
        """Say what became of it; not if quiet."""
        if not self.quiet:
            self.show(*lines)

    def show(self, *lines: str) -> None:
        """Say what was asked for, quiet or not."""
        if not self.as_json:
            for line in lines:
                _print(line, sys.stdout)

    def answer(self, found: Mapping[str, Any]) -> None:
        """Say what was found as JSON, if that is wanted."""
        if self.as_json:
            self._write_json({**found, "notes": self.notes, "warnings": self.warnings})

    def _write_json(self, record: Mapping[str, Any]) -> None:
        sys.stdout.write(json.dumps(plain(record), allow_nan=False) + "\n")
        sys.stdout.flush()

    @contextmanager
    def progress(self, what: str) -> Iterator[Update]:
        """Show how far something is: a bar with the time left on a terminal, else a line now and then."""
        if self.quiet:
            yield lambda done, of: None
        elif sys.stderr.isatty():
            from whoknows.apps.cli.bar import bar

            with bar(what) as update:
                yield update
        else:
            yield _lines(what)


def plain(value: Any) -> Any:
    """Python values that JSON can hold: arrays are lists, NaN is null."""
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _print(text: str, stream: TextIO, prefix: str = "", style: str = "") -> None:
    """Print a line; on a terminal wrapped between words and, if the user allows it, in colour."""
    text = _printable(text, stream)
    if not stream.isatty():
        stream.write(f"{prefix}{text}\n")
        return
    from rich.console import Console
    from rich.text import Text

    Console(file=stream).print(Text.assemble((prefix, style), text))


def _printable(text: str, stream: TextIO) -> str:
    """Text in characters that the stream's encoding has; control characters are shown, not obeyed."""
    shown = "".join(repr(c)[1:-1] if category(c) in ("Cc", "Cs") and c not in "\n\t" else c for c in text)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        for fancy, simple in _SIMPLE.items():
            shown = shown.replace(fancy, simple)
    return shown.encode(encoding, "replace").decode(encoding)


_SIMPLE = {"\u202f": " ", "—": "-", "…": "...", "±": "+-"}


class Pace:
    """How far something is, and how long the rest may take.

    The clock starts when the first part is done: what comes before, such as reading, is not of the same pace.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self._first: tuple[float, float] | None = None

    def at(self, done: float, of: float) -> float | None:
        """Take note of what is done; return the seconds left, None while that cannot be told.

        The share never falls and is 1 at most, even if there turns out to be less to do than was said.
        """
        self.share = min(max(self.share, done / of if of > 0 else 1.0), 1.0)
        now = time.monotonic()
        if self._first is None:
            self._first = now, self.share
        begun, before = self._first
        if self.share < TELLING or self.share == before:
            return None
        return (now - begun) * (1 - self.share) / (self.share - before)


def _lines(what: str) -> Update:
    """Print a line every few seconds."""
    started = time.monotonic()
    last = started + PATIENCE - PAUSE
    pace = Pace()

    def update(done: float, of: float) -> None:
        nonlocal last
        left, now = pace.at(done, of), time.monotonic()
        if now - last < PAUSE or not 0 < pace.share < 1:
            return
        last = now
        rest = "" if left is None else f", about {left:.0f} s left"
        _print(f"{what}: {pace.share:.0%} after {now - started:.0f} s{rest}", sys.stderr)

    return update
