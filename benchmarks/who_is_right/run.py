"""Who is right where: how well each method knows whether annotator t is right on item i.

    WHOKNOWS_DATA=folder python -m benchmarks.who_is_right.run [--quick] [--sets bupa,judge_pairs]

The paper's data sets (one repeat of the folds of Fig. 3), real crowds and LLM judges (two draws, 30 % of the
items held out), with 30 % and all of the training items labelled. No method sees the truth, except for
the reference, the true accuracy of each annotator on the training items. Results: who_is_right.csv, one row
per cell, with the commit and the machine. Existing cells are not computed again.
"""

from functools import partial
from itertools import product

import numpy as np

from benchmarks.common import judges, machine
from benchmarks.common.cells import Table, run
from benchmarks.common.command import choice, parser, run_options
from benchmarks.crowds import cases as crowds
from benchmarks.crowds import measure
from benchmarks.crowds.methods import installed
from benchmarks.paper import figure3
from benchmarks.rivals import cases
from benchmarks.who_is_right import run as this_module
from benchmarks.who_is_right import summary
from benchmarks.who_is_right.methods import METHODS, REFERENCE, Rightness, constant, smoothed_share
from benchmarks.who_is_right.scores import FIGURES, score

WHEN = ("before", "after")
VALUES = (
    *(f"{when}_{figure}" for when, figure in product(WHEN, FIGURES)),
    *("cpu_seconds", "version", *machine.STAMP, "error"),
)
SETS = (*figure3.CHEAP_FIRST, *crowds.SETS, *judges.EXPECTED)
FIRST = ("ionosphere", "bupa", "product_matching", *judges.EXPECTED)  # until all are run
SHARES, REPEATS, DRAWS = (0.3, 1.0), 1, 2
QUICK, LIMIT = ("bupa",), 300.0


def table(folder):
    return Table(folder / "who_is_right.csv", cases.KEY, VALUES)


def groups(name, repeats=REPEATS):
    """List the groups of a data set."""
    return cases.groups(name, SHARES, repeats, DRAWS)


def work(group, methods):
    """Compute the rows of one group."""
    case, held_out = cases.draw(*group)
    return [compute(case, held_out, method) for method in methods]


def compute(case, held_out, method):
    """Compute the row of one method, or of the reference, on a case."""
    score = partial(figures, case, held_out)
    if method == REFERENCE:
        return {"method": method, "error": ""} | score(reference(case))
    return measure.row_of(method, METHODS[method], case, LIMIT, score)


def reference(case):
    """The share of each annotator's labels that are right, by the truth of the training items."""
    accuracy = smoothed_share(right_labels(case), case.Y)
    return Rightness(constant(accuracy, len(case.X_new)), accuracy[case.Y.annotator])


def right_labels(case):
    """Whether each label of the training items is right."""
    truth = np.full(case.Y.n_items, -1)
    truth[case.Y.labelled] = case.truth
    return truth[case.Y.item] == case.Y.label


def figures(case, held_out, answer):
    """Scores before and, if there are probabilities for it, after asking."""
    prob = answer.before[held_out.item, held_out.annotator]
    right = case.truth_new[held_out.item] == held_out.label
    found = {"before": score(prob, right, held_out.annotator)}
    if answer.after is not None:
        found["after"] = score(answer.after, right_labels(case), case.Y.annotator)
    return {f"{when}_{name}": value for when, own in found.items() for name, value in own.items()}


def main():
    command = parser(__doc__, ".", repeats=REPEATS)
    command.add_argument("--sets", type=choice(SETS), default=list(FIRST))
    options = command.parse_args()
    names, repeats = (QUICK, 1) if options.quick else (options.sets, options.repeats)
    methods = [REFERENCE, *installed(METHODS, METHODS)]
    machine.record(options.out / "who_is_right.machine.json")
    for name in names:
        run(
            table(options.out),
            groups(name, repeats),
            methods,
            this_module.work,  # by its module's name, so that worker processes can import it
            **run_options(options),
        )
    print(summary.body(options.out))


if __name__ == "__main__":
    main()
