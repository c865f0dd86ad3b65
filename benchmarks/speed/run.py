"""How long our default takes, and how much memory: made-up worlds from ten thousand to ten million items.

    python -m benchmarks.speed.run [--quick] [--cells labelled-100k,annotators-2000] [--limit 600] [--again]

Each cell is a fit of AutoCrowdClassifier with its defaults, choice of members included, in a process of its
own, on one thread. Results: speed.csv, one row a cell, written as soon as it is there and not measured again
on the same machine unless asked; at the end a table, as docs/results.md shows it.
"""

import shutil
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.common import timings
from benchmarks.common.cells import Table
from benchmarks.crowds.measure import memory, run
from benchmarks.speed import summary
from benchmarks.speed.worlds import BLOCK, EVERY, QUICK, WORLDS
from whoknows import AnchorGraph, AutoCrowdClassifier

N_ANCHORS = 400  # of the default graph: what the bare product compares items with
SAMPLE = 20_000  # items that anchors are placed among
ROOM = 2.0  # times its size that a world on disk needs to be free


def table(folder):
    return Table(folder / "speed.csv", summary.KEY, summary.VALUES)


def measure(name, method, limit):
    """Row of one cell, measured in a new process."""
    world = WORLDS[name]
    row = {"world": name, "method": method, "limit": limit, "data_mb": world.data_mb}
    row |= {column: getattr(world, column) for column in summary.SIZES}
    with tempfile.TemporaryDirectory(prefix="whoknows-") as folder:
        if world.on_disk:
            world.write(Path(folder))
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                return row | pool.submit(work, world, folder, limit).result()
        except Exception as error:  # whatever it is, a death of the process too, it goes into the table
            line = (str(error).strip().splitlines() or [""])[0]
            return row | {"error": f"{type(error).__name__}: {line}"}


def work(world, folder, limit):
    """Body of the process: what came out, and what it cost."""
    warnings.simplefilter("ignore")
    if world.on_disk:
        import_module("pyarrow.parquet")
    after_imports, groups_read = memory("VmRSS"), []
    X = opened(folder, groups_read.append) if world.on_disk else world.features()
    Y, truth = world.crowd(X[world.labelled])
    groups_read.clear()
    outcome = run(AutoCrowdClassifier().fit, (X, Y), limit)
    row = {column: getattr(outcome, column) for column in ("seconds", "cpu_seconds", "error")}
    row["peak_mb"] = memory("VmHWM") - after_imports
    if world.on_disk:
        row["reads"] = len(groups_read) / world.n_blocks
    if outcome.answer is None:
        return row
    row |= score(world, outcome.answer, truth) | {"product_seconds": product(X)}
    return row if world.on_disk else row | {"pass_seconds": one_pass(X)}


def opened(folder, tell):
    """Features in the Parquet files of a folder; ``tell`` hears of each row group that is read."""
    from whoknows.io.parquet import ParquetFeatures

    return ParquetFeatures(folder, progress=lambda row, n_rows: tell(row))


def score(world, model, truth):
    """Share of the labelled items, and of new ones, whose class is right."""
    X_new, truth_new = world.new()
    consensus = model.posterior_[world.labelled].argmax(axis=1)
    return {
        "iterations": model.n_iter_,
        "consensus": float(np.mean(consensus == truth)),
        "classifier": float(np.mean(model.predict_proba(X_new).argmax(axis=1) == truth_new)),
        "ceiling": world.ceiling,
    }


def product(X):
    """Processor seconds of X @ anchors', block after block: the least that one look at every item costs."""
    anchors = np.ascontiguousarray(X[:N_ANCHORS].T)
    started = time.process_time()
    for start in range(0, len(X), BLOCK):
        X[start : start + BLOCK] @ anchors
    return time.process_time() - started


def one_pass(X):
    """Processor seconds of the pass over all items that an anchor graph takes: neighbours and all sums."""
    graph = AnchorGraph(anchors=N_ANCHORS).build(X[: min(len(X), SAMPLE)])
    started = time.process_time()
    graph.joined_by(X)
    return time.process_time() - started


def fits_on_disk(name):
    """Whether there is room for the files of a world, if it has any."""
    world, place = WORLDS[name], tempfile.gettempdir()
    needed, free = ROOM * world.data_mb * world.on_disk, shutil.disk_usage(place).free / 2**20
    if needed > free:
        print(f"{name} is left out: it needs {needed:.0f} MB in {place}, where {free:.0f} MB are free.")
    return needed <= free


def main():
    options = timings.parser(__doc__, list(WORLDS), EVERY, limit=600.0).parse_args()
    names = [name for name in (QUICK if options.quick else options.cells) if fits_on_disk(name)]
    cells = [(name, summary.METHOD) for name in names]
    timings.fill(table(options.out), cells, partial(measure, limit=options.limit), options.again)
    print(summary.body(options.out))


if __name__ == "__main__":
    main()
