"""Real crowds: accuracy of consensus and classifier, compared with other packages.

    WHOKNOWS_DATA=folder python -m benchmarks.crowds.run [--quick] [--sets labelme] [--limit 300]

10 %, 30 % and all of the labelled items are used, with all their labels; several draws of each. The
classifier of labelme is scored on its own test items, which no method sees during training, so there is one
draw with all labels. For the other data sets it is scored on 30 % of the items, whose labels are held out and
whose features are available as unlabelled items. A method runs in its own process, on one thread, without
access to the truth.

Results: crowds.csv, one row per cell, with commit and machine, written as soon as it is computed. Existing cells
are not computed again. The other packages are installed by pip install 'whoknows[peers]'; missing packages are skipped.
"""

import os
from functools import cache
from itertools import product

from joblib import Parallel, delayed

from benchmarks.common import machine, sets
from benchmarks.common.cells import Table
from benchmarks.common.command import choice, parser
from benchmarks.common.timings import ONE_THREAD
from benchmarks.crowds.cases import DRAWS, KEY, SCORES, SETS, SHARES, make_case, n_draws, score
from benchmarks.crowds.measure import ABSENT, measure
from benchmarks.crowds.methods import METHODS, installed
from benchmarks.crowds.summary import page

COST = ("seconds", "cpu_seconds", "peak_mb")
VALUES = ("n_labelled", "n_test", *SCORES, *COST, "version", *machine.STAMP, "error")
QUICK_SETS, QUICK_SHARES = ("colposcopy_green", "product_matching"), (0.1,)

load = cache(sets.load)


def table(folder):
    return Table(folder / "crowds.csv", KEY, VALUES)


def cells(names, shares, repeats, methods):
    """List the cells in the order of work, small shares first."""
    return [
        (name, share, repeat, method)
        for share, name in product(shares, names)
        for repeat, method in product(range(n_draws(name, share, repeats)), methods)
    ]


def compute(cell, limit):
    """Compute the row of one cell, (set, share, repeat, method)."""
    name, share, repeat, method = cell
    case = make_case(load(name), share, repeat)
    outcome = measure(case, method, limit)
    row = dict(zip(KEY, cell, strict=True)) | {column: getattr(outcome, column) for column in (*COST, "error")}
    row["version"] = METHODS[method].version
    return row if outcome.answer is None else row | score(case, outcome.answer)


def installed_since(folder):
    """Keys of the cells whose method was not installed when they were run, and is now."""
    rows = [row for row in table(folder).rows() if row["error"].startswith(ABSENT)]
    return {tuple(row[column] for column in KEY) for row in rows if METHODS[row["method"]].is_installed}


def tell(row):
    """Describe a row in one line."""
    what = f"{row['set']} {row['share']:.0%} draw {row['repeat']}, {row['method']}"
    if row["error"]:
        return f"{what}: {row['error']}"
    scores = f"{row['consensus_accuracy']:.3f} / {row['classifier_accuracy']:.3f}"
    return f"{what}: {scores}, {row['cpu_seconds']:.1f} s, {row['peak_mb']:.0f} MB"


def main():
    command = parser(__doc__, ".", repeats=DRAWS)
    command.add_argument("--sets", type=choice(SETS), default=list(SETS))
    command.add_argument("--methods", type=choice(METHODS), default=list(METHODS))
    command.add_argument("--limit", type=float, default=300.0, help="CPU seconds per cell; default 300")
    options = command.parse_args()
    names, shares, repeats = options.sets, SHARES, options.repeats
    if options.quick:
        names, shares, repeats = QUICK_SETS, QUICK_SHARES, 1
    for name in names:  # fail early if a data set is missing
        load(name)
    installed(options.methods)  # names what is missing; its rows say so
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # for the processes that are started
    machine.record(options.out / "crowds.machine.json")
    stamped = machine.stamp()  # before the work, during which another commit may be checked out
    every = cells(names, shares, repeats, options.methods)
    table(options.out).forget(installed_since(options.out))
    todo = table(options.out).missing(every, options.retry, options.again, options.renew)
    print(f"crowds.csv: {len(every) - len(todo)} of {len(every)} cells are done.", flush=True)
    rows = Parallel(options.jobs, backend="threading", return_as="generator_unordered")(
        delayed(compute)(cell, options.limit) for cell in todo
    )
    for row in rows:
        table(options.out).append([stamped | row])
        print(tell(row), flush=True)
    table(options.out).compact()
    print(page(options.out))


if __name__ == "__main__":
    main()
