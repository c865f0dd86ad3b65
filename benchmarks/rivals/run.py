"""Stronger rivals with equal preprocessing, on the paper's data sets and on real crowds.

    WHOKNOWS_DATA=folder python -m benchmarks.rivals.run [--quick] [--sets ionosphere,labelme] [--limit 300]

Draws are those of Fig. 3 (one of the repeats that were run once, after the defaults were fixed; 10 %, 30 %
and all training items labelled) and of benchmarks.crowds (two draws, 10 % and 30 %). Every method sees the
same items and labels, on one thread, and is stopped at the limit. Results: rivals.csv, one row per cell, with
the commit and the machine. Existing cells are not computed again. The other packages are installed by pip
install 'whoknows[peers]'; missing packages are skipped.
"""

from functools import partial

from benchmarks.common import machine, sets
from benchmarks.common.cells import Table, run
from benchmarks.common.command import choice, parser, run_options
from benchmarks.crowds import cases as crowds
from benchmarks.crowds import measure
from benchmarks.crowds.methods import installed
from benchmarks.paper import figure3
from benchmarks.rivals import cases, summary
from benchmarks.rivals.methods import METHODS, methods_for

VALUES = ("n_labelled", "n_test", *crowds.SCORES, "cpu_seconds", "version", *machine.STAMP, "error")
SETS = (*figure3.CHEAP_FIRST, *crowds.SETS)
FIRST = ("ionosphere", "bupa", "labelme")  # until all are run
SHARES, CROWD_SHARES = (0.1, 0.3, 1.0), (0.1, 0.3)
REPEATS = 1  # of the paper's data sets, from the first that was not evaluated during development
CROWD_DRAWS = 2
QUICK, LIMIT = ("bupa",), 300.0


def table(folder):
    return Table(folder / "rivals.csv", cases.KEY, VALUES)


def groups(name, repeats=REPEATS):
    """List the groups of a data set."""
    return cases.groups(name, SHARES if name in sets.PAPER else CROWD_SHARES, repeats, CROWD_DRAWS)


def work(group, methods, limit=LIMIT):
    """Compute the rows of one group."""
    case, _ = cases.draw(*group)
    return [compute(case, method, limit) for method in methods]


def compute(case, method, limit):
    """Compute the row of one method on a case."""
    return measure.row_of(method, METHODS[method], case, limit, partial(crowds.score, case))


def main():
    command = parser(__doc__, ".", repeats=REPEATS)
    command.add_argument("--sets", type=choice(SETS), default=list(FIRST))
    command.add_argument("--methods", type=choice(METHODS), default=list(METHODS))
    command.add_argument("--limit", type=float, default=LIMIT, help=f"CPU seconds; default {LIMIT:g}")
    options = command.parse_args()
    names, repeats = (QUICK, 1) if options.quick else (options.sets, options.repeats)
    methods = installed(options.methods, METHODS)
    machine.record(options.out / "rivals.machine.json")
    for name in names:
        able = methods_for(len(sets.EXPECTED[name][1]))
        run(
            table(options.out),
            groups(name, repeats),
            [method for method in methods if method in able],
            partial(work, limit=options.limit),
            **run_options(options),
        )
    print(summary.body(options.out))


if __name__ == "__main__":
    main()
