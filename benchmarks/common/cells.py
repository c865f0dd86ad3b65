"""An experiment is a table of cells: computed group by group in parallel, kept in a CSV file, never twice.

A cell is one row: the columns of its key say which, the others what came out. Cells that share a draw of data
are one group, computed in one process with one thread, and written together as soon as they are finished.
Whatever ends a run, a power cut included, costs at most the groups in flight: the same command goes on from
there.
"""

import csv
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

Row = dict[str, Any]
Work = Callable[[tuple, tuple[str, ...]], list[Row]]

EVERY = 30  # seconds between two lines of progress where there is no terminal


@dataclass(frozen=True)
class Table:
    """A CSV file of cells.

    Parameters
    ----------
    path : Path
    key : tuple of str
        Columns that name a cell; the last one is the method, those before it the group.
    values : tuple of str
        The other columns. ``error`` must be one of them: empty, or why there is no result.
    """

    path: Path
    key: tuple[str, ...]
    values: tuple[str, ...]

    def done(self, failed_too: bool = True) -> set[tuple[str, ...]]:
        """Keys of the cells in the file, as text; without ``failed_too``, of those that have a result."""
        return {
            tuple(row[column] for column in self.key) for row in self.rows() if failed_too or not row["error"]
        }

    def missing(self, cells: Iterable[tuple], retry: bool = False, again: bool = False) -> list[tuple]:
        """Return those of the cells that are to be computed: the file lacks them.

        With ``retry`` also those that failed; with ``again`` all, and the file forgets what it has of them.
        """
        cells = list(cells)
        if again:
            self.forget({tuple(map(str, cell)) for cell in cells})
        done = self.done(failed_too=not retry)
        return [cell for cell in cells if tuple(map(str, cell)) not in done]

    def rows(self) -> list[dict[str, str]]:
        """All cells in the file, none without a file; a cell computed again counts once, as it is now."""
        if not self.path.exists():
            return []
        self._mend()
        with self.path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is not None and tuple(reader.fieldnames) != self.key + self.values:
                raise ValueError(
                    f"{self.path.name}: expected the columns {', '.join(self.key + self.values)}; found "
                    f"{', '.join(reader.fieldnames)}. Move the file away, or name another folder with --out."
                )
            return list({tuple(row[column] for column in self.key): row for row in reader}.values())

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows in one write; when this returns they are on disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self.key + self.values, lineterminator="\n")
        with self.path.open("ab") as file:
            if file.tell() == 0:
                writer.writeheader()
            writer.writerows({name: _one_line(value) for name, value in row.items()} for row in rows)
            file.write(text.getvalue().encode())
            file.flush()
            os.fsync(file.fileno())

    def forget(self, cells: set[tuple[str, ...]]) -> None:
        """Write the file anew without these cells."""
        if not cells:
            return
        kept = [row for row in self.rows() if tuple(row[column] for column in self.key) not in cells]
        aside = Table(self.path.with_suffix(".part"), self.key, self.values)
        aside.path.unlink(missing_ok=True)
        aside.append(kept)
        aside.path.replace(self.path)

    def _mend(self) -> None:
        """Cut off a last line that a killed run left half written."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.path, whole)


def _one_line(value: Any) -> Any:
    """A row is one line of the file, so that a half-written one can be told."""
    return " ".join(value.split()) if isinstance(value, str) else value


def run(
    table: Table,
    groups: Sequence[tuple],
    methods: Sequence[str],
    work: Work,
    *,
    jobs: int,
    cost: Callable[[tuple], float] = lambda group: 1.0,
    retry: bool = False,
    again: bool = False,
) -> None:
    """Compute the cells (group × method) that the table lacks, groups in the order given.

    ``work(group, methods)`` gives one row a method; ``cost`` foretells how long a group takes, in any unit.
    With ``retry``, cells that failed are tried again; with ``again``, all are computed anew.
    """
    missing = table.missing(((*group, method) for group in groups for method in methods), retry, again)
    todo = [(group, tuple(cell[-1] for cell in cells)) for group, cells in groupby(missing, lambda c: c[:-1])]
    print(f"{table.path.name}: {len(groups) - len(todo)} of {len(groups)} groups are done.", flush=True)
    progress = Progress(sum(cost(group) for group, _ in todo), len(todo))
    finished = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_compute)(work, group, mine, os.getpid()) for group, mine in todo
    )
    for group, rows in finished:
        named = dict(zip(table.key[:-1], group, strict=True))
        table.append([named | row for row in rows])
        progress.add(cost(group), " ".join(map(str, group)))


def _compute(work: Work, group: tuple, methods: tuple[str, ...], main: int) -> tuple[tuple, list[Row]]:
    if os.getppid() == main:
        _end_with(main)
    with threadpool_limits(1):  # as many processes as cores: more threads only wait for each other
        return group, work(group, methods)


@cache
def _end_with(parent: int) -> None:
    """Have this process end when the one that started it is gone: killed, it cannot say so itself."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(2)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


class Progress:
    """How far a run is and how long it will still take: one changing line, or now and then a new one."""

    def __init__(self, cost: float, groups: int, stream: Any = None) -> None:
        self.cost, self.groups = cost, groups
        self.stream = sys.stdout if stream is None else stream
        self.done_cost, self.done_groups = 0.0, 0
        self.started = self.last = time.monotonic()

    def add(self, cost: float, what: str) -> None:
        """Count one group."""
        self.done_cost, self.done_groups = self.done_cost + cost, self.done_groups + 1
        now, ends = time.monotonic(), self.done_groups == self.groups
        line = f"{self.done_groups}/{self.groups}  {self._left(now)}  {what}"
        if self.stream.isatty():
            print(f"\r\x1b[K{line}", end="\n" if ends else "", file=self.stream, flush=True)
        elif ends or self.done_groups == 1 or now - self.last >= EVERY:
            print(line, file=self.stream, flush=True)
            self.last = now

    def _left(self, now: float) -> str:
        passed = now - self.started
        left = passed * (self.cost - self.done_cost) / self.done_cost
        return f"{_words(passed)} passed, {_words(left)} left"


def _words(seconds: float) -> str:
    """Hours, minutes and seconds as 1:02:03."""
    minutes, seconds = divmod(round(max(seconds, 0)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
