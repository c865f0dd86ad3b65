"""Re-run a sample of the published benchmark rows and compare them with the CSV files, digit by digit.

    WHOKNOWS_DATA=folder python -m benchmarks.reproduce [--draws 20] [--seed 0] [--longest 60]

A draw is one row of figure3.csv, figures45.csv or crowds.csv: one method on one split of one data set. The
sample takes the methods of this library and its baselines in turn, so that each of them is covered. Draws
that took longer than ``--longest`` CPU seconds when they were published are left out. Scores, counts and
warnings must be equal as text; timings, memory and version numbers are not compared. Results are written to
a temporary folder. The exit status is 1 if any draw differs.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common.cells import Row, Table
from benchmarks.common.command import RESULTS
from benchmarks.common.machine import STAMP
from benchmarks.common.timings import ONE_THREAD
from benchmarks.crowds import run as crowds
from benchmarks.paper import figure3, figures45

NOT_COMPARED = ("seconds", "cpu_seconds", "peak_mb", "version", *STAMP)
LIMIT = 600.0  # CPU seconds after which a method of the real crowds is stopped


@dataclass(frozen=True)
class Benchmark:
    """A published CSV file and how one of its rows is computed.

    Attributes
    ----------
    table : Table
    methods : tuple of str
        Methods to draw from, in this order.
    types : tuple of type
        Types of the key's columns, the method left out.
    compute : callable(group, method) → Row
    cost : str
        Column that holds the CPU seconds.
    """

    table: Table
    methods: tuple[str, ...]
    types: tuple[type, ...]
    compute: Callable[[tuple, str], Row]
    cost: str

    def group(self, row: dict[str, str]) -> tuple:
        """Return the key of a row without its method."""
        texts = [row[column] for column in self.table.key[:-1]]
        return tuple(kind(text) for kind, text in zip(self.types, texts, strict=True))

    def again(self, row: dict[str, str], folder: Path) -> dict[str, str]:
        """Compute a row again, write it to a file in ``folder`` and read it back as text."""
        group, method = self.group(row), row["method"]
        key = dict(zip(self.table.key, (*group, method), strict=True))
        copy = Table(folder / self.table.path.name, self.table.key, self.table.values)
        copy.append([key | self.compute(group, method)])
        return copy.rows()[-1]


def of_paper(module: Any, group: tuple, method: str) -> Row:
    """Compute one row of figure3 or figures45."""
    (row,) = module.work(group, (method,))
    return row


def of_crowds(group: tuple, method: str) -> Row:
    """Compute one row of crowds, in a process of its own."""
    return crowds.compute((*group, method), LIMIT)


def benchmarks(results: Path) -> list[Benchmark]:
    """List the benchmarks whose CSV files are in the folder."""
    models = ("auto", "default", "lgp", "gp")
    baselines = ("vote", "annotator-1", "ml-gaussian", "tsvm")
    estimators = ("AutoCrowdClassifier", "CrowdClassifier", "majority vote + LR", "Dawid-Skene + LR")
    paper = results / "paper"
    every = [
        Benchmark(
            figure3.table(paper), models + baselines, (str, int, int, float), partial(of_paper, figure3), "seconds"
        ),
        Benchmark(
            figures45.table(paper),
            models + baselines,
            (str, int, int, int, float),
            partial(of_paper, figures45),
            "seconds",
        ),
        Benchmark(crowds.table(results), estimators, (str, float, int), of_crowds, "cpu_seconds"),
    ]
    return [benchmark for benchmark in every if benchmark.table.path.exists()]


def sample(every: list[Benchmark], n_draws: int, seed: int, longest: float) -> list[tuple[Benchmark, dict[str, str]]]:
    """Draw rows at random: one per benchmark and method in turn; cheap ones first."""
    rng = np.random.default_rng(seed)
    piles = [list(_shuffled(each, method, rng, longest)) for each in every for method in each.methods]
    order = sorted((place, pile) for pile, rows in enumerate(piles) for place in range(len(rows)))
    chosen = [piles[pile][place] for place, pile in order[:n_draws]]
    return sorted(chosen, key=lambda draw: float(draw[1][draw[0].cost]))


def _shuffled(
    benchmark: Benchmark, method: str, rng: np.random.Generator, longest: float
) -> Iterator[tuple[Benchmark, dict[str, str]]]:
    rows = [row for row in benchmark.table.rows() if row["method"] == method and not row["error"]]
    for place in rng.permutation(len(rows)):
        if float(rows[place][benchmark.cost]) <= longest:
            yield benchmark, rows[place]


def differences(stored: dict[str, str], now: dict[str, str]) -> list[str]:
    """Say for each column that differs what is stored and what was computed now."""
    compared = [column for column in stored if column not in NOT_COMPARED]
    return [f"{name} {stored[name]} → {now[name]}" for name in compared if stored[name] != now[name]]


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("--draws", type=int, default=20, help="rows to re-run; default 20")
    command.add_argument("--seed", type=int, default=0, help="seed of the sample; default 0")
    command.add_argument("--longest", type=float, default=60.0, help="CPU seconds of a draw; default 60")
    command.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="the CSV files")
    options = command.parse_args()
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # for the processes that are started
    draws = sample(benchmarks(options.results), options.draws, options.seed, options.longest)
    equal = 0
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for benchmark, row in draws:
            started = time.perf_counter()
            found = differences(row, benchmark.again(row, Path(folder)))
            equal += not found
            name = " ".join([benchmark.table.path.stem, *(row[column] for column in benchmark.table.key)])
            seconds = time.perf_counter() - started
            print(f"{name}: {'; '.join(found) or 'equal'} ({seconds:.1f} s)", flush=True)
    print(f"{equal} of {len(draws)} draws are equal to the published rows in every digit.")
    sys.exit(equal < len(draws))


if __name__ == "__main__":
    main()
