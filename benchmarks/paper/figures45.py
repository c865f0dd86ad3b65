"""Figures 4 and 5 of the paper: accuracy and ROC curves of medical studies.

    WHOKNOWS_DATA=folder python -m benchmarks.paper.figures45 [--quick] [--studies colposcopy,simulated]

The paper's cardiac data are not public. Two studies replace them:

- colposcopy: 98 images, 62 features, quality judged by six physicians. The reference is the published
  consensus: good if at least three of the same six said good. The paper's reference was the vote of its five
  cardiologists. Both favour methods that learn the vote. Five repeats of stratified 5-fold.
- simulated: data with the shape of the cardiac data (220 cases, 24 features, 5 readers, 16 problems), scored
  by the known truth. Stratified 5-fold once; the 16 problems are the repeats.

Results: figures45.csv, one row per cell. ``order`` holds the ROC curve at 20, 50 and 100 % labelled.
"""

from functools import lru_cache
from itertools import product

from benchmarks.common import machine, sets
from benchmarks.common.cells import Table, run
from benchmarks.common.command import choice, parser, run_options
from benchmarks.paper import figures45, simulated_study
from benchmarks.paper.methods import KINDS, METHODS, methods_for
from benchmarks.paper.protocol import FOLDS, PROPORTIONS, VALUES, evaluate, split

KEY = ("study", "problem", "repeat", "fold", "proportion", "method")
ROC_AT = (0.2, 0.5, 1.0)
REPEATS = 5  # of the colposcopies
READERS = {"colposcopy": 6, "simulated": simulated_study.N_READERS}


def table(folder):
    return Table(folder / "figures45.csv", KEY, (*VALUES, "order"))


@lru_cache(maxsize=2)
def study_data(study, problem):
    """X, reference and labels (n_items, n_annotators) of one problem of a study."""
    if study == "simulated":
        return simulated_study.problem(problem)
    data = sets.load("colposcopy_green")
    return data.X, data.z, data.annotations.to_matrix()


def work(group, methods):
    """Compute the rows of one group, (study, problem, repeat, fold, proportion)."""
    study, problem, repeat, fold, proportion = group
    draw = split(*study_data(study, problem), repeat, fold, proportion)
    builders = {method: METHODS[method].build for method in methods}
    return evaluate(draw, builders, with_order=proportion in ROC_AT)


def groups(study, problems, repeats, proportions):
    """List the groups, with the first repeat of all problems before the second."""
    tasks = product(range(repeats), problems, range(FOLDS), proportions)
    return [(study, problem, repeat, fold, proportion) for repeat, problem, fold, proportion in tasks]


def main():
    command = parser(__doc__, "paper", repeats=REPEATS)
    command.add_argument("--studies", type=choice(READERS), default=list(READERS))
    command.add_argument("--methods", type=choice(KINDS), default=KINDS)
    options = command.parse_args()
    proportions = ROC_AT if options.quick else PROPORTIONS
    repeats = 1 if options.quick else options.repeats
    problems = range(1, (2 if options.quick else simulated_study.N_PROBLEMS) + 1)
    plan = {
        "colposcopy": groups("colposcopy", [1], repeats, proportions),
        "simulated": groups("simulated", problems, 1, proportions),
    }
    for study in options.studies:
        study_data(study, 1)  # fail early if the data are missing
    machine.record(options.out / "figures45.machine.json")
    for study in options.studies:
        methods = methods_for(READERS[study], options.methods)
        run(table(options.out), plan[study], methods, figures45.work, **run_options(options))


if __name__ == "__main__":
    main()
