"""Run time, memory and accuracy on simulated data of ten thousand to ten million items, in one run.

    python -m benchmarks.speed.run [--quick] [--cells labelled-100k,annotators-2000] [--limit 600] [--again]

Each cell is one method on one data set, in its own process, on one thread: `AutoCrowdClassifier` on all of
them, other packages on those that they can hold in memory. All have default settings and compute consensus
and classifier. Results: speed.csv, one row per cell, written as soon as it is measured, with the commit and
the machine. Existing cells are not measured again at the same commit unless --again is given; at another
commit, or on another machine, a new file begins. The other packages are installed by pip install
'whoknows[peers]'; missing packages are skipped. The tables of docs/results.md are printed at the end.
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

from benchmarks.common import machine, timings
from benchmarks.common.cells import Table
from benchmarks.common.command import choice
from benchmarks.crowds.measure import memory, run
from benchmarks.crowds.methods import METHODS, installed
from benchmarks.speed import comparison, summary
from benchmarks.speed.body import body
from benchmarks.speed.summary import METHOD
from benchmarks.speed.worlds import BLOCK, COMPARED, EVERY, QUICK, WORLDS
from whoknows import AnchorGraph, AutoCrowdClassifier

LIMIT, LIMIT_OF_OTHERS = 600.0, 180.0  # CPU seconds
N_ANCHORS = 400  # of the default graph, and of the matrix product used as a unit of cost
SAMPLE = 20_000  # items used to place the anchors
ROOM = 2.0  # free disk space needed, relative to the size of the data


def table(folder):
    return Table(folder / "speed.csv", summary.KEY, summary.VALUES)


def measure(name, method, limit):
    """Measure the row of one cell in a new process."""
    world = WORLDS[name]
    limit = limit if method == METHOD else min(limit, LIMIT_OF_OTHERS)
    row = {"world": name, "method": method, "limit": limit, "data_mb": world.data_mb}
    row |= {"version": METHODS[method].version, **machine.stamp()}
    row |= {column: getattr(world, column) for column in summary.SIZES}
    with tempfile.TemporaryDirectory(prefix="whoknows-") as folder:
        if world.on_disk:
            world.write(Path(folder))
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                return row | pool.submit(work, world, folder, limit, method).result()
        except Exception as error:  # any failure, even of the process itself, is recorded in the table
            line = (str(error).strip().splitlines() or [""])[0]
            return row | {"error": f"{type(error).__name__}: {line}"}


def work(world, folder, limit, method=METHOD):
    """Body of the process: return scores and costs."""
    warnings.simplefilter("ignore")
    import_module(METHODS[method].module)
    if world.on_disk:
        import_module("pyarrow.parquet")
    after_imports, groups_read = memory("VmRSS"), []
    X = opened(folder, groups_read.append) if world.on_disk else world.features()
    Y, truth = world.crowd(X[world.labelled])
    groups_read.clear()
    if method == METHOD:
        outcome = run(AutoCrowdClassifier().fit, (X, Y), limit)
    else:
        outcome = run(METHODS[method].answer, (X, Y, world.new()[0]), limit)
    row = {column: getattr(outcome, column) for column in ("seconds", "cpu_seconds", "error")}
    row["peak_mb"] = memory("VmHWM") - after_imports
    if world.on_disk:
        row["reads"] = len(groups_read) / world.n_blocks
    if outcome.answer is None:
        return row
    if method != METHOD:
        return row | score_other(world, outcome.answer, truth)
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


def score_other(world, answer, truth):
    """The same for the answer of another method."""
    return {
        "consensus": float(np.mean(answer.consensus == truth)),
        "classifier": float(np.mean(answer.prob.argmax(axis=1) == world.new()[1])),
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


def cells(names, methods):
    """List the cells: ours on every data set, other methods on those in `COMPARED` and the quick one."""
    return [(name, method) for name in names for method in methods if method == METHOD or name in (*COMPARED, *QUICK)]


def main():
    command = timings.parser(__doc__, list(WORLDS), EVERY, limit=LIMIT)
    command.add_argument("--methods", type=choice(comparison.METHODS), default=comparison.METHODS)
    options = command.parse_args()
    names = [name for name in (QUICK if options.quick else options.cells) if fits_on_disk(name)]
    slow = comparison.SLOW if options.quick else []
    methods = [method for method in installed(options.methods) if method not in slow]
    measured = partial(measure, limit=options.limit)
    timings.fill(table(options.out), cells(names, methods), measured, options.again)
    print(body(options.out))


if __name__ == "__main__":
    main()
