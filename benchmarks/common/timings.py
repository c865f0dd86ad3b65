"""Measurements of one machine: cells are measured once on it, and never stand beside those of another."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.common import machine
from benchmarks.common.cells import Row, Table
from benchmarks.common.command import RESULTS, choice

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def parser(doc: str, cells: Sequence[str], default: Sequence[str], limit: float) -> argparse.ArgumentParser:
    """Options of a benchmark that measures seconds."""
    command = argparse.ArgumentParser(description=doc.split("\n")[0])
    command.add_argument("--quick", action="store_true", help="one small cell, some seconds")
    command.add_argument(
        "--cells", type=choice(cells), default=list(default), help=f"some of {', '.join(cells)}"
    )
    command.add_argument("--again", action="store_true", help="measure cells anew that are there")
    command.add_argument("--limit", type=float, default=limit, help=f"processor seconds; default {limit:g}")
    command.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="where results go")
    return command


def fill(
    table: Table, cells: Sequence[tuple[str, ...]], measure: Callable[..., Row], again: bool = False
) -> None:
    """Measure cells, one after the other, each on one thread; a row is on disk as soon as it is there."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # for the processes to come
    done = begin(table)
    todo = [cell for cell in cells if again or cell not in done]
    print(machine.hardware(machine.describe()))
    print(f"{table.path.name}: {len(cells) - len(todo)} of {len(cells)} cells are done.", flush=True)
    for cell in todo:
        row = measure(*cell)
        table.append([row])
        print(tell(row), flush=True)


def begin(table: Table) -> set[tuple[str, ...]]:
    """Keys of the cells that are measured; from now on the file belongs to this machine.

    Where it holds what another machine measured, or this one with other versions, it is put aside.
    """
    path = table.path.with_suffix(".machine.json")
    if table.path.exists() and not machine.is_only_this(path):
        aside = table.path.with_suffix(".before.csv")
        table.path.replace(aside)
        path.unlink(missing_ok=True)
        print(f"{table.path.name} is of another machine or other versions: put aside as {aside.name}.")
    machine.record(path)
    return table.done()


def tell(row: Row) -> str:
    """One line about a row."""
    what = f"{row['world']}, {row['method']}"
    if row["error"]:
        return f"{what}: {row['error']}"
    cost = f"{row['seconds']:.1f} s, of the processor {row['cpu_seconds']:.1f} s, {row['peak_mb']:.0f} MB"
    return f"{what}: {cost}, right {row['consensus']:.3f} / {row['classifier']:.3f}"
