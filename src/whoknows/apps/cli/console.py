"""Output of a command: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO
from unicodedata import category

FIRST_LINE, PAUSE = 1.0, 5.0  # seconds before the first and between later lines of progress if not a terminal

Update = Callable[[float, float | None], None]  # how much is done, of how much if that is known

KEPT = "\n\t\u200c\u200d"  # line break, tab, and two that join or separate letters within words
_ASCII = str.maketrans({"\u202f": " ", "—": "-", "…": "...", "±": "+-"})


class Console:
    """Output of one run of a command.

    Parameters
    ----------
    quiet : bool
        Print only results that were asked for, warnings and errors.
    as_json : bool
        Print one JSON object on standard output.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet or as_json, as_json
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def note(self, text: str) -> None:
        """Print a message about the progress of the command."""
        self.notes.append(text)
        if not self.quiet:
            _print(text, sys.stderr)

    def all(self, notes: Iterable[str]) -> None:
        """Print messages of the library, indented below the last note."""
        for note in notes:
            self.note(f"  {in_flags(note)}")

    def warn(self, text: str) -> None:
        """Print a warning, even if quiet."""
        self.warnings.append(text)
        if not self.as_json:
            _print(text, sys.stderr, "Warning: ", "yellow")

    def problem(self, text: str, code: int) -> None:
        """Print an error, with --json also as an object."""
        if self.as_json:
            self._write_json({"error": text, "exit_code": code})
        _print(text, sys.stderr, "Error: ", "bold red")

    def failed(self, text: str) -> None:
        """Print why a check failed; its results are printed before."""
        _print(text, sys.stderr, "Failed: ", "bold red")

    def tell(self, *lines: str) -> None:
        """Print a summary of the results, unless quiet."""
        if not self.quiet:
            self.show(*lines)

    def show(self, *lines: str) -> None:
        """Print results that were asked for, even if quiet."""
        if not self.as_json:
            for line in lines:
                _print(line, sys.stdout)

    def answer(self, results: Mapping[str, Any]) -> None:
        """Print the results as JSON, if that was asked for."""
        if self.as_json:
            self._write_json({**results, "notes": self.notes, "warnings": self.warnings})

    def _write_json(self, record: Mapping[str, Any]) -> None:
        text = json.dumps(record, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))
        record = json.loads(text, parse_constant=lambda name: None)  # JSON has no NaN
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()

    @contextmanager
    def progress(self, what: str) -> Iterator[Update]:
        """Show the progress of a task: as a bar on a terminal, otherwise as a line every few seconds."""
        if self.quiet:
            yield lambda done, of: None
            return
        from rich.console import Console as RichConsole
        from rich.markup import escape
        from rich.progress import Progress, TimeElapsedColumn

        on_terminal, what, due = sys.stderr.isatty(), _printable(what, sys.stderr), FIRST_LINE
        with Progress(
            *Progress.get_default_columns(),
            TimeElapsedColumn(),
            console=RichConsole(stderr=True),
            speed_estimate_period=math.inf,  # updates of a slow fit are minutes apart
            transient=True,
            disable=not on_terminal,
            get_time=time.monotonic,
        ) as bar:
            bar.add_task(escape(what), total=None)
            [task] = bar.tasks

            def update(done: float, of: float | None) -> None:
                nonlocal due
                share = done if of is None else min(done / of if of > 0 else 1.0, 1.0)
                total = None if of is None else 1.0
                bar.update(task.id, total=total, completed=max(task.completed, share))  # never backwards
                if not on_terminal and task.elapsed >= due and task.completed and not task.finished:
                    due = task.elapsed + PAUSE
                    _print(_line(what, task), sys.stderr)

            yield update


def _line(what: str, task: Any) -> str:
    """Return the state of a task of ``rich`` as text."""
    if task.total is None:
        return f"{what}: iteration {task.completed:.0f} after {task.elapsed:.0f} s"
    seconds = task.remaining / task.speed if task.speed else 0
    left = f", about {seconds:.0f} s left" if seconds >= 1 else ""
    return f"{what}: {task.percentage:.0f}% after {task.elapsed:.0f} s{left}"


def _print(text: str, stream: TextIO, prefix: str = "", style: str = "") -> None:
    """Print a line; on a terminal wrapped between words and, unless NO_COLOR is set, in colour."""
    text = _printable(text, stream)
    if not stream.isatty():
        stream.write(f"{prefix}{text}\n")
        return
    from rich.console import Console as RichConsole
    from rich.text import Text

    RichConsole(file=stream).print(Text.assemble((prefix, style), text))


def _printable(text: str, stream: TextIO) -> str:
    """Replace control characters, also those that change the direction of text, by their escapes.

    Characters that the stream cannot encode are replaced, too.
    """
    text = "".join(ascii(c)[1:-1] if category(c) in ("Cc", "Cs", "Cf") and c not in KEPT else c for c in text)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII)
    return text.encode(encoding, "replace").decode(encoding)


# --- wording ---------------------------------------------------------------------------------------------


def count(n: int, noun: str) -> str:
    """Return "1 item" or "2 items".

    >>> count(1, "item"), count(2, "item")
    ('1 item', '2 items')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def in_flags(text: str) -> str:
    """Return a message of the library with its advice in terms of options.

    >>> from whoknows.data.errors import Advice, Message
    >>> in_flags(Message("Use ", Advice("predictions", "predictions=True"), " to include models."))
    'Use --predictions to include models.'
    """
    from whoknows.data.errors import Message

    return text.reworded(OPTIONS) if isinstance(text, Message) else text


# Advice of the library in terms of options.
OPTIONS = {
    "all_levels": "--levels A,B,C",
    "allow_missing": "--allow-missing",
    "annotators": "--annotators A,B,…",
    "classifier": "another --model",
    "columns": "--column {role}={name}",
    "columns_or_format": (
        "Name the columns: --column item=NAME --column annotator=NAME --column label=NAME; or the format: --format NAME"
    ),
    "duplicates": "--duplicates 'first'",
    "encoding": "--encoding NAME",
    "id_column": "--id-column NAME",
    "ids": "Name the ids of the features with --id-column or --items",
    "ignore": "--ignore {name!r}",
    "label_column": "name the column of the labels with --column label=NAME",
    "levels": "--levels ",
    "max_iter": "Increase --max-iter if that matters.",
    "max_size": "--max-size 8GB",
    "missing_label": "--missing={value}",
    "n_iterations": "{value}",
    "n_splits": "--folds {value}",
    "ordered": "--model ordered",
    "other_class": "name an item of it with --gold FILE; for another column, use --column label=NAME",
    "predictions": "--predictions",
    "regression": "--model regression",
    "save": "whoknows fit, as model.whoknows",
    "strict": "--strict",
    "text": "If it is text, use --text with the name of the column.",
    "vector": "--vector NAME",
}
