"""Run time and memory of `AutoCrowdClassifier` on simulated data of ten thousand to ten million items.

    python -m benchmarks.speed.run [--quick] [--cells labelled-100k,annotators-2000] [--limit 600] [--again]

Each cell is one fit with default settings, including the selection of members, in its own process, on one
thread. Results: speed.csv, one row per cell, written as soon as it is measured. Existing cells are not
measured again on the same machine unless --again is given. The table of docs/results.md is printed at the
end.
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

N_ANCHORS = 400  # of the default graph, and of the matrix product used as a unit of cost
SAMPLE = 20_000  # items used to place the anchors
ROOM = 2.0  # free disk space needed, relative to the size of the data


def table(folder):
    return Table(folder / "speed.csv", summary.KEY, summary.VALUES)


def measure(name, method, limit):
    """Measure the row of one cell in a new process."""
    world = WORLDS[name]
    row = {"world": name, "method": method, "limit": limit, "data_mb": world.data_mb}
    row |= {column: getattr(world, column) for column in summary.SIZES}
    with tempfile.TemporaryDirectory(prefix="whoknows-") as folder:
        if world.on_disk:
            world.write(Path(folder))
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                return row | pool.submit(work, world, folder, limit).result()
        except Exception as error:  # any failure, even of the process itself, is recorded in the table
            line = (str(error).strip().splitlines() or [""])[0]
            return row | {"error": f"{type(error).__name__}: {line}"}


def work(world, folder, limit):
    """Body of the process: return scores and costs."""
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
    """Features in the Parquet files of a folder; ``tell`` is called for each row group that is read."""
    from whoknows.io.parquet import ParquetFeatures

    return ParquetFeatures(folder, progress=lambda row, n_rows: tell(row))


def score(world, model, truth):
    """Accuracy on the labelled items and on new items."""
    X_new, truth_new = world.new()
    consensus = model.posterior_[world.labelled].argmax(axis=1)
    return {
        "iterations": model.n_iter_,
        "consensus": float(np.mean(consensus == truth)),
        "classifier": float(np.mean(model.predict_proba(X_new).argmax(axis=1) == truth_new)),
        "ceiling": world.ceiling,
    }


def product(X):
    """CPU seconds of X @ anchors', block by block: a lower bound for one pass over all items."""
    anchors = np.ascontiguousarray(X[:N_ANCHORS].T)
    started = time.process_time()
    for start in range(0, len(X), BLOCK):
        X[start : start + BLOCK] @ anchors
    return time.process_time() - started


def one_pass(X):
    """CPU seconds of the pass of an anchor graph over all items: neighbours and sums."""
    graph = AnchorGraph(anchors=N_ANCHORS).build(X[: min(len(X), SAMPLE)])
    started = time.process_time()
    graph.joined_by(X)
    return time.process_time() - started


def fits_on_disk(name):
    """Whether there is enough disk space for the files of a data set, if it has any."""
    world, place = WORLDS[name], tempfile.gettempdir()
    needed, free = ROOM * world.data_mb * world.on_disk, shutil.disk_usage(place).free / 2**20
    if needed > free:
        print(f"{name} is skipped: it needs {needed:.0f} MB in {place}, where {free:.0f} MB are free.")
    return needed <= free


def main():
    options = timings.parser(__doc__, list(WORLDS), EVERY, limit=600.0).parse_args()
    names = [name for name in (QUICK if options.quick else options.cells) if fits_on_disk(name)]
    cells = [(name, summary.METHOD) for name in names]
    timings.fill(table(options.out), cells, partial(measure, limit=options.limit), options.again)
    print(summary.body(options.out))


if __name__ == "__main__":
    main()
