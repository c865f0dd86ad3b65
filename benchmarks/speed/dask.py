"""Time per iteration over many labelled items, in this process and on a local Dask cluster.

    python -m benchmarks.speed.dask [--items 1000000] [--workers 2] [--iterations 6] [--solvers vb,crossfit]

(Run it as a module: as a script it would shadow the dask package.) Labelled items have 64 features and three
labels each by some of 200 annotators; expertise depends on 20 of the features. Chunks are generated on the
workers that hold them. Wall-clock time per iteration is a median; CPU time is a mean, summed over processes,
and does not depend on other programs. `empty` is the overhead of the cluster: a sum over empty chunks.
`alike` is the largest difference between the parameters of the two fits.

With the solver "vb", rows are written to engines.csv, with the commit and the machine: the two times per
iteration, and the costs per item, per chunk and per sum, from which docs/results.md extrapolates to more
items and workers.
"""

import argparse
import time
import warnings
from contextlib import closing

import numpy as np

from benchmarks.common import machine
from benchmarks.common.command import add_out
from benchmarks.speed import engines
from whoknows import Annotations, DidNotConverge
from whoknows.fit.dask import DaskEngine
from whoknows.fit.engines import ITEMS_A_CHUNK, Chunks, Serial
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve
from whoknows.model.annotators import BernoulliAnnotators, ConfusionAnnotators
from whoknows.model.truth import LogisticTruth

N_FEATURES, N_DIRECTIONS, N_ANNOTATORS, PER_ITEM = 64, 20, 200, 3
CLASSES = {"vb": 2, "crossfit": 4}


def make(part, n_classes):
    """Generate the items of one chunk from its seed and size."""
    seed, n_items = part
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n_items, N_FEATURES)), np.ones(n_items)])
    slopes = np.random.default_rng(0).normal(size=(N_FEATURES + 1, n_classes))
    z = (0.5 * X @ slopes + rng.gumbel(size=(n_items, n_classes))).argmax(axis=1).astype(np.int32)
    who = np.sort(rng.integers(0, N_ANNOTATORS // PER_ITEM, size=(n_items, PER_ITEM)), axis=1)
    who = (who + np.arange(PER_ITEM) * (N_ANNOTATORS // PER_ITEM)).astype(np.int32).ravel()
    item = np.repeat(np.arange(n_items, dtype=np.int32), PER_ITEM)
    wrong = (z[item] + rng.integers(1, n_classes, size=len(item))) % n_classes
    label = np.where(rng.random(len(item)) < 0.6 + 0.3 * who / N_ANNOTATORS, z[item], wrong).astype(np.int32)
    names = np.arange(n_items), np.arange(N_ANNOTATORS), np.arange(n_classes)
    seen = np.column_stack([X[:, :N_DIRECTIONS], X[:, -1]])
    return Items(X, seen, Annotations(item, who, label, *names))


def model_of(n_classes):
    annotators = BernoulliAnnotators() if n_classes == 2 else ConfusionAnnotators()
    truth = LogisticTruth().for_classes(n_classes)
    nowhere = np.zeros((1, N_FEATURES))
    return Model(annotators.for_classes(n_classes), truth.prepare(nowhere, np.ones((1, N_FEATURES + 1))))


def measure(engine, cpu, n_items, n_chunks, solver, n_iterations):
    """Return the solution, wall-clock and CPU seconds per iteration, and seconds to load the chunks."""
    sizes = np.diff(np.linspace(0, n_items, n_chunks + 1).astype(int)).tolist()
    started = time.perf_counter()
    kept = Chunks(engine.keep(make, list(enumerate(sizes, start=1)), CLASSES[solver]), engine)
    loaded = time.perf_counter() - started
    wall, work = [], []

    def tick(iteration, *_):
        work.append(cpu() if iteration in (1, n_iterations) else np.nan)
        wall.append(time.perf_counter())

    monitor = Monitor(n_iterations, 0.0, callback=tick)
    fitted = solve(model_of(CLASSES[solver]), kept, None, monitor, solver)
    return fitted, float(np.median(np.diff(wall))), (work[-1] - work[0]) / (n_iterations - 1), loaded


def nothing(chunk):
    return (0.0,)


def overhead(engine, n_chunks, repeats=9):
    """Median seconds of a sum over empty chunks."""
    chunks = engine.keep(abs, list(range(n_chunks)))
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        engine.sum(nothing, chunks)
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))


def compare(solver, n_items, n_workers, n_iterations):
    """Print one line; return the rows of engines.csv."""
    import distributed

    n_chunks = -(-n_items // ITEMS_A_CHUNK)
    sizes = n_items, n_chunks, solver, n_iterations
    here, wall_here, cpu_here, _ = measure(Serial(), time.process_time, *sizes)
    settings = {"dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    with (
        distributed.LocalCluster(n_workers, **settings) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        closing(DaskEngine(client)) as engine,
    ):

        def cpu():
            return time.process_time() + sum(client.run(time.process_time).values())

        there, wall_there, cpu_there, loaded = measure(engine, cpu, *sizes)
        few, many = overhead(engine, n_workers), overhead(engine, 4 * n_chunks)
    pieces = "annotators", "truth"
    alike = max(np.abs(getattr(here, p).mean - getattr(there, p).mean).max() for p in pieces)
    cells = "{:<9}{:>9}{:>8} |{:>9.2f}{:>8.2f} |{:>9.2f}{:>8.2f}{:>8.2f} |{:>8.1f}{:>9.0f}{:>8.0e}"
    times = wall_here, cpu_here, wall_there, cpu_there, wall_there / wall_here
    print(cells.format(solver, n_items, n_chunks, *times, loaded, 1e3 * few, alike), flush=True)
    about = {"items": n_items, "labels": PER_ITEM * n_items}
    note = f"parameters differ by {alike:.0e} from those of one process"
    task = max((many - few) / (4 * n_chunks - n_workers), 0.0)
    return [
        engines.row(engines.DASK, "one iteration, in one process", wall_here, workers=1, **about),
        engines.row(engines.DASK, "one iteration, on the cluster", wall_there, workers=n_workers, note=note, **about),
        engines.row(engines.DASK, engines.PER_ITEM, cpu_there / n_items, note="CPU seconds"),
        engines.row(engines.DASK, engines.PER_CHUNK, task),
        engines.row(engines.DASK, engines.PER_SUM, few),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--solvers", default="vb,crossfit")
    add_out(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DidNotConverge)
    print(machine.hardware(machine.describe()))
    print("                           |    in process    |       on a cluster       |")
    print("solver       items  chunks |   wall s   cpu s |   wall s   cpu s   ratio |  load s empty ms   alike")
    for solver in arguments.solvers.split(","):
        rows = compare(solver, arguments.items, arguments.workers, arguments.iterations)
        if solver == "vb":
            engines.table(arguments.out).replace(rows)


if __name__ == "__main__":
    main()
