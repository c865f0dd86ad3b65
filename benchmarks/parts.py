"""The benchmarks and their sections on the page of results."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks.common.tables import read
from benchmarks.crowds import cases
from benchmarks.crowds import run as crowds
from benchmarks.crowds import summary as crowds_summary
from benchmarks.paper import figure3, figures45, protocol, simulated_study, summary, unlabelled
from benchmarks.rivals import run as rivals
from benchmarks.rivals import summary as rivals_summary
from benchmarks.speed import engine_tables, engines
from benchmarks.speed import summary as speed
from benchmarks.speed.body import body as speed_body
from benchmarks.speed.worlds import EVERY as WORLDS
from benchmarks.who_is_right import run as who_is_right
from benchmarks.who_is_right import summary as who_is_right_summary


@dataclass(frozen=True)
class Part:
    """A benchmark and its section on the page.

    Attributes
    ----------
    heading, file, module : str
        Heading of the section, CSV file in the folder of results, and module that computes it.
    key : tuple of str
        Columns that identify a row.
    draws : int
        Number of draws of a complete run.
    how : str
        Description of the experiment.
    body : callable(folder) → str
        Tables of results, from the folder that holds the CSV file.
    images : tuple of (name, alternative text)
    seconds : str
        Column that holds CPU seconds.
    """

    heading: str
    file: str
    module: str
    key: tuple[str, ...]
    draws: int
    how: str
    body: Callable[[Path], str]
    images: tuple[tuple[str, str], ...]
    seconds: str = "seconds"

    def is_there(self, results: Path) -> bool:
        return (results / self.file).exists()

    def read(self, results: Path) -> pd.DataFrame:
        return read(results / self.file, self.key)

    def done(self, results: Path) -> int:
        """Number of draws that have a row for every method run on the same data set."""
        rows, (*group, method) = self.read(results), self.key
        there, needed = rows.groupby(group)[method].nunique(), rows.groupby(group[0])[method].nunique()
        return int((there.to_numpy() >= needed.loc[there.index.get_level_values(0)].to_numpy()).sum())

    def is_complete(self, results: Path) -> bool:
        return self.done(results) >= self.draws


# --- description of each benchmark ----------------------------------------------------------------------

FIGURE3 = f"""\
Five simulated annotators as in Sec. 4.1 of the paper: each is an expert on one k-means cluster and wrong 35 %
of the time elsewhere. Stratified 5-fold cross-validation; all five label 10 % to 100 % of the training items.
Every method sees the same folds and labels. Some data sets are unbalanced, so AUC is shown next to accuracy,
and the last row of the accuracy table is the share of the larger class. A *cell* is one data set at one
proportion. A method wins a cell if none of the paper's four baselines, other than the method itself, has a
higher mean. Ranks in the first table are among all methods of that table. {summary.NOTE}"""

STUDIES = """\
The paper's cardiac data are not public. Two studies replace them:

- **colposcopy**: 98 images with 62 features, whose quality was judged by six physicians. The reference is the
  published consensus of the same six physicians. In the paper it was the vote of its five cardiologists. Both
  favour methods that learn the vote.
- **simulated**: data with the shape of the cardiac data (220 cases, 24 features, five readers, 16 problems),
  not drawn from the model that is fitted. The reference is the truth.

Standard deviations are in brackets: over repeats (colposcopy) or over problems (simulated)."""

CROWDS = """\
Real annotators. *Consensus* is accuracy on the items that they labelled, *classifier* accuracy on items
without labels. LabelMe comes with test items that no method sees during training, so there is a single draw
with all labels. For the other data sets, 30 % of the items are held out at random and their features are
available as unlabelled items. 10 %, 30 % and all of the remaining labelled items are used. Every method has
the same features and splits, runs with default settings on one thread, in a process that has no access to the
truth. `AutoCrowdClassifier` is compared with the best other method, which is chosen with the true labels separately
for each comparison."""

UNLABELLED = """\
The same model and the same labels, fitted with and without the unlabelled items. Without them, scaling, map
and graph see only the labelled items. A setting is one data set with a given number of labelled items.
*Clearly* means by more than two standard errors, which happens by chance in about one setting of twenty."""


def tables(parts: dict[str, str]) -> str:
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts.items())


def unlabelled_body(folder: Path) -> str:
    words = summary.gains_in_words(read(folder / "unlabelled.csv", unlabelled.KEY))
    return f"{words}\n\n{tables(summary.unlabelled_tables(folder))}"


def planned_studies() -> int:
    simulated = range(1, simulated_study.N_PROBLEMS + 1)
    plans = [("colposcopy", [1], figures45.REPEATS), ("simulated", simulated, 1)]
    return sum(len(figures45.groups(*plan, protocol.PROPORTIONS)) for plan in plans)


PARTS = {
    "figure3": Part(
        "The paper's data sets (Fig. 3)",
        "paper/figure3.csv",
        "benchmarks.paper.figure3",
        figure3.KEY,
        len(figure3.groups(figure3.CHEAP_FIRST, figure3.REPEATS, protocol.PROPORTIONS)),
        FIGURE3,
        lambda folder: tables(summary.figure3_tables(folder)),
        (
            ("paper/figure3.png", "Accuracy against labelled share, seven data sets"),
            ("paper/figure3_auc.png", "AUC against labelled share, seven data sets"),
            ("paper/figure3_models.png", "Accuracy of the paper's models and of this library"),
        ),
    ),
    "figures45": Part(
        "Medical studies (Figs. 4 and 5)",
        "paper/figures45.csv",
        "benchmarks.paper.figures45",
        figures45.KEY,
        planned_studies(),
        STUDIES,
        lambda folder: tables(summary.study_tables(folder)),
        (
            ("paper/figure4.png", "Accuracy in two studies: mean and standard deviation"),
            ("paper/figure4_auc.png", "AUC in two studies: mean and standard deviation"),
            ("paper/figure5.png", "ROC curves with 20, 50 and 100 % labelled"),
        ),
    ),
    "crowds": Part(
        "Real crowds, compared with other packages",
        "crowds.csv",
        "benchmarks.crowds.run",
        cases.KEY,
        len(crowds.cells(cases.SETS, cases.SHARES, cases.DRAWS, ["one"])),
        CROWDS,
        lambda folder: crowds_summary.page(folder).rstrip(),
        (("crowds.png", "Accuracy of consensus and classifier against labelled share, four crowds"),),
        "cpu_seconds",
    ),
    "rivals": Part(
        "Stronger rivals, equal preprocessing",
        "rivals.csv",
        "benchmarks.rivals.run",
        rivals_summary.KEY,
        sum(len(rivals.groups(name)) for name in rivals.FIRST),
        rivals_summary.HOW,
        rivals_summary.body,
        (),
        "cpu_seconds",
    ),
    "who_is_right": Part(
        "Who is right where",
        "who_is_right.csv",
        "benchmarks.who_is_right.run",
        who_is_right_summary.KEY,
        sum(len(who_is_right.groups(name)) for name in who_is_right.FIRST),
        who_is_right_summary.HOW,
        who_is_right_summary.body,
        (),
        "cpu_seconds",
    ),
    "unlabelled": Part(
        "Gain from unlabelled items",
        "paper/unlabelled.csv",
        "benchmarks.paper.unlabelled",
        unlabelled.KEY,
        len(unlabelled.groups(list(unlabelled.LABELLED), unlabelled.REPEATS)),
        UNLABELLED,
        unlabelled_body,
        (("paper/unlabelled.png", "Gain in accuracy from unlabelled items, per data set and model"),),
    ),
    "speed": Part(
        "Speed", "speed.csv", "benchmarks.speed.run", speed.KEY, len(WORLDS), speed.HOW, speed_body, (), "cpu_seconds"
    ),
    "engines": Part(
        "GPU and cluster",
        "engines.csv",
        "benchmarks.speed.gpu",
        engines.KEY,
        len([engines.GPU, engines.DASK]),
        engine_tables.HOW,
        engine_tables.body,
        (),
    ),
}
