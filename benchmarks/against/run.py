"""Run time, memory and accuracy of other packages on the simulated data of benchmarks.speed.

    python -m benchmarks.against.run [--quick] [--cells labelled-10k] [--methods CROWDLAB] [--limit 180]

Each method computes the consensus of the labelled items and a classifier, as in benchmarks.crowds, with its
default settings, in its own process, on one thread, and is stopped at the limit. Results: against.csv, one
row per cell. Cells are not measured again on the same machine unless --again is given. The other packages are
installed by pip install 'whoknows[peers]'; missing packages are skipped.
"""

from functools import cache, partial

from benchmarks.against import summary
from benchmarks.common import timings
from benchmarks.common.cells import Table
from benchmarks.common.command import choice
from benchmarks.crowds.cases import Case, score
from benchmarks.crowds.measure import measure
from benchmarks.crowds.methods import METHODS
from benchmarks.speed.worlds import QUICK, WORLDS


def table(folder):
    return Table(folder / "against.csv", summary.KEY, summary.VALUES)


@cache
def make_case(name):
    """Return simulated data in the form that the methods of benchmarks.crowds take."""
    world = WORLDS[name]
    X, new = world.features(), world.new()
    Y, truth = world.crowd(X[world.labelled])
    return Case(X, Y, new[0], truth, new[1])


def compute(name, method, limit):
    """Compute the row of one cell."""
    outcome = measure(make_case(name), method, limit)
    row = {"world": name, "method": method, "limit": limit, "version": METHODS[method].version}
    row |= {column: getattr(outcome, column) for column in (*summary.COST, "error")}
    if outcome.answer is None:
        return row
    figures = score(make_case(name), outcome.answer)
    return row | {what: figures[f"{what}_accuracy"] for what in summary.SCORES}


def installed(methods):
    """Return the methods whose packages are installed, and name the missing packages."""
    absent = [method for method in methods if not METHODS[method].is_installed]
    for package in dict.fromkeys(METHODS[method].package for method in absent):
        print(f"{package} is not installed and is skipped. To install it: pip install 'whoknows[peers]'")
    return [method for method in methods if method not in absent]


def main():
    command = timings.parser(__doc__, summary.KNOWN, summary.WORLDS, limit=180.0)
    command.add_argument("--methods", type=choice(summary.METHODS), default=summary.METHODS)
    options = command.parse_args()
    names, methods = options.cells, installed(options.methods)
    if options.quick:
        names, methods = QUICK, [method for method in methods if method not in summary.SLOW]
    cells = [(name, method) for name in names for method in methods]
    timings.fill(table(options.out), cells, partial(compute, limit=options.limit), options.again)
    print(summary.body(options.out))


if __name__ == "__main__":
    main()
