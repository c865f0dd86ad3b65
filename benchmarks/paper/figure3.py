"""Figure 3 of the paper: accuracy against the labelled share of training items, on its seven data sets.

    WHOKNOWS_DATA=folder python -m benchmarks.paper.figure3 [--quick] [--sets bupa,pima] [--methods lgp,auto]

The paper's five labelers, each an expert on one k-means cluster and wrong 35 % of the time elsewhere, are
redrawn for each repeat. Stratified 5-fold; 10 %, 20 %, … 100 % of the training items are labelled, by all
five labelers. Every method sees the same folds and labels. The first repeat of all data sets is computed
before the second, so an interrupted run is smaller but balanced. Results: figure3.csv, one row per cell.
"""

from functools import lru_cache
from itertools import product

from benchmarks.common import machine, sets
from benchmarks.common.cells import Table, run
from benchmarks.common.command import choice, parser, run_options
from benchmarks.paper import figure3
from benchmarks.paper.methods import KINDS, METHODS, methods_for
from benchmarks.paper.protocol import FOLDS, PROPORTIONS, SEED, VALUES, evaluate, split
from whoknows.data.simulate import cluster_experts

KEY = ("set", "repeat", "fold", "proportion", "method")
N_ANNOTATORS, REPEATS = 5, 8
LOOKED_AT = 5  # repeats that were evaluated during development; the others ran once, with final defaults
CHEAP_FIRST = ("wpbc60", "wpbc24", "bupa", "ionosphere", "housing", "pima", "dim")
QUICK_SETS, QUICK_PROPORTIONS = ("wpbc60", "ionosphere"), (0.1, 0.5, 1.0)


def table(folder):
    return Table(folder / "figure3.csv", KEY, VALUES)


@lru_cache(maxsize=2)
def labelled_set(name, repeat):
    """X, z and the labels of the paper's labelers for one data set and repeat."""
    data = sets.load(name)
    labels = cluster_experts(data.X, data.z, N_ANNOTATORS, random_state=SEED + repeat)
    return data.X, data.z, labels


def draw(name, repeat, fold, proportion):
    return split(*labelled_set(name, repeat), repeat, fold, proportion)


def work(group, methods):
    """Compute the rows of one group, (set, repeat, fold, proportion)."""
    return evaluate(draw(*group), {method: METHODS[method].build for method in methods})


def groups(names, repeats, proportions):
    """List the groups in the order of work: by repeat, then cheap data sets first."""
    cheap_first = [name for name in CHEAP_FIRST if name in names]
    tasks = product(range(repeats), cheap_first, range(FOLDS), proportions)
    return [(name, repeat, fold, proportion) for repeat, name, fold, proportion in tasks]


def main():
    command = parser(__doc__, "paper", repeats=REPEATS)
    command.add_argument("--sets", type=choice(sets.PAPER), default=list(sets.PAPER))
    command.add_argument("--methods", type=choice(KINDS), default=KINDS)
    options = command.parse_args()
    names, repeats, proportions = options.sets, options.repeats, PROPORTIONS
    if options.quick:
        names, repeats, proportions = QUICK_SETS, 1, QUICK_PROPORTIONS
    sizes = {name: len(sets.load(name).X) for name in names}  # fails early if one is missing
    machine.record(options.out / "figure3.machine.json")
    run(
        table(options.out),
        groups(names, repeats, proportions),
        methods_for(N_ANNOTATORS, options.methods),
        figure3.work,  # by its module's name, so that worker processes can import it and keep its caches
        cost=lambda group: sizes[group[0]] + 250,  # roughly proportional to the run time
        **run_options(options),
    )


if __name__ == "__main__":
    main()
