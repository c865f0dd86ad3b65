"""A table of cells in a CSV file, computed group by group in parallel.

A cell is one row: its key columns identify it, the others hold the result. Cells that share a draw of data
form a group. A group is computed in one process with one thread, and written as soon as it is finished. If a
run is interrupted, even by a power cut, only the groups in progress are lost; the same command continues.
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

from benchmarks.common.machine import stamp

Row = dict[str, Any]
Work = Callable[[tuple, tuple[str, ...]], list[Row]]

EVERY = 30  # seconds between two lines of progress without a terminal


@dataclass(frozen=True)
class Table:
    """A CSV file of cells.

    Parameters
    ----------
    path : Path
    key : tuple of str
        Columns that identify a cell: those of the group, then the method.
    values : tuple of str
        The other columns. ``error`` must be one of them; it is empty or tells why there is no result.
    """

    path: Path
    key: tuple[str, ...]
    values: tuple[str, ...]

    def done(self, failed_too: bool = True, commit: str = "") -> set[tuple[str, ...]]:
        """Keys of the cells in the file, as text; without ``failed_too``, of those with a result; or of one commit."""
        rows = [row for row in self.rows() if not commit or row["commit"] == commit]
        return {tuple(row[column] for column in self.key) for row in rows if failed_too or not row["error"]}

    def missing(
        self, cells: Iterable[tuple], retry: bool = False, again: bool = False, renew: bool = False
    ) -> list[tuple]:
        """Return the cells that are not in the file and have to be computed.

        With ``retry``, cells that failed are included. With ``again``, all cells are removed from the file
        and returned. With ``renew``, cells of another commit are included; they stay until they are computed.
        """
        cells = list(cells)
        if again:
            self.forget({tuple(map(str, cell)) for cell in cells})
        done = self.done(failed_too=not retry, commit=stamp()["commit"] if renew else "")
        return [cell for cell in cells if tuple(map(str, cell)) not in done]

    def rows(self) -> list[dict[str, str]]:
        """All cells in the file, none if there is no file; of several rows with one key the last counts."""
        if not self.path.exists():
            return []
        self._mend()
        with self.path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is not None and tuple(reader.fieldnames) != self.key + self.values:
                raise ValueError(
                    f"{self.path.name}: expected the columns {', '.join(self.key + self.values)}, got "
                    f"{', '.join(reader.fieldnames)}. Move the file away, or name another folder with --out."
                )
            return list({tuple(row[column] for column in self.key): row for row in reader}.values())

    def append(self, rows: Iterable[Row]) -> None:
        """Append rows in one write and flush them to disk."""
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

    def replace(self, rows: Iterable[Row]) -> None:
        """Append rows in place of those with the same keys."""
        rows = list(rows)
        self.forget({tuple(str(row[column]) for column in self.key) for row in rows})
        self.append(rows)

    def forget(self, cells: set[tuple[str, ...]]) -> None:
        """Rewrite the file without these cells."""
        if cells:
            self._rewrite([row for row in self.rows() if tuple(row[column] for column in self.key) not in cells])

    def compact(self) -> None:
        """Rewrite the file with one row per cell, the last one."""
        self._rewrite(self.rows())

    def _rewrite(self, kept: list[Row]) -> None:
        aside = Table(self.path.with_suffix(".part"), self.key, self.values)
        aside.path.unlink(missing_ok=True)
        aside.append(kept)
        aside.path.replace(self.path)

    def _mend(self) -> None:
        """Remove an incomplete last line, left by a run that was killed."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.path, whole)


def _one_line(value: Any) -> Any:
    """Keep a row on one line, so that an incomplete row can be detected."""
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
    renew: bool = False,
) -> None:
    """Compute the cells (group × method) that the table lacks, groups in the order given.

    ``work(group, methods)`` returns one row per method; ``cost`` estimates the run time of a group, in any
    unit. With ``retry``, failed cells are computed again; with ``again``, all cells are; with ``renew``, those of
    another commit. Each row gets the commit and the machine.
    """
    stamped = stamp()  # before the work, during which another commit may be checked out
    missing = table.missing(((*group, method) for group in groups for method in methods), retry, again, renew)
    todo = [(group, tuple(cell[-1] for cell in cells)) for group, cells in groupby(missing, lambda c: c[:-1])]
    print(f"{table.path.name}: {len(groups) - len(todo)} of {len(groups)} groups are done.", flush=True)
    progress = Progress(sum(cost(group) for group, _ in todo), len(todo))
    finished = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_compute)(work, group, mine, os.getpid()) for group, mine in todo
    )
    for group, rows in finished:
        named = dict(zip(table.key[:-1], group, strict=True))
        table.append([named | stamped | row for row in rows])
        progress.add(cost(group), " ".join(map(str, group)))
    if renew:
        table.compact()


def _compute(work: Work, group: tuple, methods: tuple[str, ...], main: int) -> tuple[tuple, list[Row]]:
    if os.getppid() == main:
        _end_with(main)
    with threadpool_limits(1):  # there are as many processes as cores
        return group, work(group, methods)


@cache
def _end_with(parent: int) -> None:
    """End this process when its parent is gone, as a parent that is killed cannot stop its children."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(2)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


class Progress:
    """Progress and remaining time: one changing line on a terminal, else a new line every 30 seconds."""

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
        return f"{_words(passed)} elapsed, {_words(left)} left"


def _words(seconds: float) -> str:
    """Format seconds as 1:02:03."""
    minutes, seconds = divmod(round(max(seconds, 0)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
