"""Timings of one machine: each cell is measured once, and timings of several machines are never mixed."""

import argparse
import os
from collections.abc import Callable, Sequence

from benchmarks.common import machine
from benchmarks.common.cells import Row, Table
from benchmarks.common.command import add_out, choice

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def parser(doc: str, cells: Sequence[str], default: Sequence[str], limit: float) -> argparse.ArgumentParser:
    """Return a parser with the options of a timing benchmark."""
    command = argparse.ArgumentParser(description=doc.split("\n")[0])
    command.add_argument("--quick", action="store_true", help="one small cell, in seconds")
    command.add_argument("--cells", type=choice(cells), default=list(default), help=f"some of {', '.join(cells)}")
    command.add_argument("--again", action="store_true", help="measure existing cells again")
    command.add_argument("--limit", type=float, default=limit, help=f"limit in CPU seconds; default {limit:g}")
    add_out(command)
    return command


def fill(table: Table, cells: Sequence[tuple[str, ...]], measure: Callable[..., Row], again: bool = False) -> None:
    """Measure cells one after the other, each on one thread, and write each row at once."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # for the processes that are started
    done = begin(table)
    todo = [cell for cell in cells if again or cell not in done]
    print(machine.hardware(machine.describe()))
    print(f"{table.path.name}: {len(cells) - len(todo)} of {len(cells)} cells are done.", flush=True)
    for cell in todo:
        row = measure(*cell)
        table.append([row])
        print(tell(row), flush=True)


def begin(table: Table) -> set[tuple[str, ...]]:
    """Return the keys of the cells in the file.

    If the file was measured on another machine, with other versions or at another commit, it is renamed and a
    new one begins: a table holds one run.
    """
    path = table.path.with_suffix(".machine.json")
    if table.path.exists() and not (machine.is_only_this(path) and _is_of_this_commit(table)):
        aside = table.path.with_suffix(".before.csv")
        table.path.replace(aside)
        path.unlink(missing_ok=True)
        print(f"{table.path.name} is of another machine, version or commit: renamed to {aside.name}.")
    machine.record(path)
    return table.done()


def _is_of_this_commit(table: Table) -> bool:
    """Whether no row carries another commit than the one checked out."""
    return {row["commit"] for row in table.rows() if "commit" in row} <= {machine.stamp()["commit"]}


def tell(row: Row) -> str:
    """Describe a row in one line."""
    what = f"{row['world']}, {row['method']}"
    if row["error"]:
        return f"{what}: {row['error']}"
    cost = f"{row['seconds']:.1f} s, CPU {row['cpu_seconds']:.1f} s, {row['peak_mb']:.0f} MB"
    return f"{what}: {cost}, accuracy {row['consensus']:.3f} / {row['classifier']:.3f}"
