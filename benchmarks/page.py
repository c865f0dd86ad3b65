"""Write docs/results.md from the CSV files of the benchmarks.

    python -m benchmarks.page [--results benchmarks/results] [--out docs/results.md]

Every number on the page is computed from those files. A benchmark without a file is shown as not run yet.
"""

import argparse
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks.against import summary as against
from benchmarks.common.command import RESULTS
from benchmarks.common.machine import hardware
from benchmarks.common.tables import fixed, larger_class, markdown, read
from benchmarks.crowds import cases
from benchmarks.crowds import run as crowds
from benchmarks.crowds import summary as crowds_summary
from benchmarks.paper import claims, figure3, figures45, protocol, simulated_study, summary, unlabelled
from benchmarks.paper.methods import NAMES
from benchmarks.speed import summary as speed
from benchmarks.speed.worlds import EVERY as WORLDS

ROOT = Path(__file__).parents[1]
PAGE, DATA_SETS = ROOT / "docs" / "results.md", ROOT / "docs" / "data_sets.md"
LINK = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")  # of an image

# Targets that the project set for `AutoCrowdClassifier` with default settings.
CELLS, RANK, POINTS = 0.8, 1.3, 3.0  # share of cells won; mean rank; points over the vote


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
Five simulated labelers as in Sec. 4.1: each is an expert on one k-means cluster and wrong 35 % of the time
elsewhere. Stratified 5-fold cross-validation; all five labelers label 10 % to 100 % of the training items.
Every method sees the same folds and labels. Some data sets are unbalanced, so AUC is shown next to accuracy,
and the last row of the accuracy table is the majority-class rate. A cell is one data set at one proportion. A
method wins a cell if none of the paper's four baselines, other than the method itself, has a higher mean.
Ranks in the first table are among all methods of that table. {summary.NOTE}"""

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
truth. `AutoCrowdClassifier` is compared with the best other method, which is picked by the truth separately
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
            ("paper/figure3_models.png", "Accuracy of the paper's models and of ours"),
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
        "Speed",
        "speed.csv",
        "benchmarks.speed.run",
        speed.KEY,
        len(WORLDS),
        speed.HOW,
        speed.body,
        (),
        "cpu_seconds",
    ),
    "against": Part(
        "Speed of other packages",
        "against.csv",
        "benchmarks.against.run",
        against.KEY,
        len(against.WORLDS),
        against.HOW,
        against.body,
        (),
        "cpu_seconds",
    ),
}


def section(part: Part, results: Path, out: Path) -> str:
    """Heading, description, pictures and tables of a benchmark."""
    if not part.is_there(results):
        return f"## {part.heading}\n\nNot run yet (`python -m {part.module}`)."
    note = f"**Not complete: {part.done(results)} of {part.draws} draws.**"
    pictures = [f"![{words}]({relative(results / name, out)})" for name, words in part.images]
    body = part.body((results / part.file).parent)
    words = [f"## {part.heading}", *([] if part.is_complete(results) else [note]), part.how, *pictures, body]
    return "\n\n".join(words)


# --- summary --------------------------------------------------------------------------------------------


def comparable(results: Path) -> pd.DataFrame | None:
    """One row per fold of Fig. 3, one column per method; None unless ours and all baselines have results."""
    cells = claims.load(results / "paper").get("figure3")
    wide = None if cells is None else summary.side_by_side(cells, figure3.KEY[:-1])
    needed = [summary.OURS, *summary.BASELINES]
    return wide.dropna(subset=needed) if wide is not None and set(needed) <= set(wide) else None


def overview(results: Path) -> str:
    """The section that summarises all results."""
    wide = comparable(results)
    paper = ["Fig. 3 of the paper: not run yet."] if wide is None else paper_summary(results, wide)
    parts = [*paper, crowd_summary(results), claims.not_reproduced(results / "paper")]
    return "\n\n".join(["## Summary", *filter(None, parts)])


def paper_summary(results: Path, wide: pd.DataFrame) -> list[str]:
    """Paragraphs and tables on the cells of Fig. 3."""
    note = "" if PARTS["figure3"].is_complete(results) else " The run is not complete."
    means = summary.cell_means(wide)
    lost = summary.lost_table(means)
    where = f"Cells in which a baseline has a higher mean:\n\n{markdown(lost, words=True)}"
    return [
        clear_cells(wide) + note,
        " ".join([*history(wide), resampled(wide)]),
        targets(wide),
        where if len(lost) else "No baseline has a higher mean in any cell.",
        " ".join([stronger_baselines(means), *majority_class(wide)]),
    ]


def clear_cells(wide: pd.DataFrame) -> str:
    """Count the cells that are clearly won, tied and clearly lost against the best baseline of each."""
    table = summary.against_best(wide)
    won, lost = table["won"].sum(), table["lost"].sum()
    tied = len(table) - won - lost
    worse = ", ".join(f"{name} at {share:.0%}" for name, share in table.index[table["lost"]])
    return (
        f"**Paper's data sets.** `AutoCrowdClassifier` runs with default settings and without ground truth. "
        f"In each of the {len(table)} cells of Fig. 3 we compare it with the best of the paper's four "
        f"baselines, picked by the truth. It is clearly more accurate in {won}, tied in {tied} and clearly "
        f"less accurate in {lost}{f' ({worse})' if worse else ''}. *Clearly* means by more than "
        f"{summary.CLEAR:.0f} standard errors of the paired difference over {n_repeats(wide)} repeats of "
        "5-fold cross-validation."
    )


def n_repeats(wide: pd.DataFrame) -> int:
    return wide.index.get_level_values("repeat").nunique()


def stages(wide: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rows after the first run, and after the repeats that were added to it, by a heading."""
    first = wide[wide.index.get_level_values("repeat") < figure3.LOOKED_AT]
    parts = {f"{n_repeats(part)} repeats": part for part in (first, wide)}
    return parts if len(first) else {f"{n_repeats(wide)} repeats": wide}


def history(wide: pd.DataFrame) -> list[str]:
    """Tell how many cells were won at each stage, in the order of events."""
    seen = wide.index.get_level_values("repeat") < figure3.LOOKED_AT
    if seen.all() or not seen.any():
        return []
    first, rest, every = (
        summary.count(summary.won(summary.cell_means(part), summary.OURS))
        for part in (wide[seen], wide[~seen], wide)
    )
    return [
        f"Counting every cell in which no baseline has a higher mean, the first {n_repeats(wide[seen])} "
        f"repeats "
        f"gave {first} with the final defaults. These repeats had been evaluated several times during "
        f"development. Then {n_repeats(wide[~seen])} more repeats were run once. They give {rest} on their "
        f"own, "
        f"and all {n_repeats(wide)} repeats together give {every}."
    ]


def targets(wide: pd.DataFrame) -> str:
    """Table of the targets that the project set itself, with the values at each stage."""
    columns = {"target": [f"at least {CELLS:.0%}", f"at most {RANK}", f"at least {POINTS:+.0f} points"]}
    for stage, rows in stages(wide).items():
        means = summary.cell_means(rows)
        rank = summary.average_rank(means, [summary.OURS, *summary.BASELINES])[summary.OURS]
        gain = summary.paired_difference(rows, summary.OURS, "vote").loc["mean"]
        won = summary.count(summary.won(means, summary.OURS))
        columns[stage] = [won, fixed(rank, 2), f"{summary.points(*gain)} points"]
    names = [
        "cells won",
        "mean rank among the baselines",
        "mean accuracy over logistic regression on the vote",
    ]
    index = pd.Index(names, name="paper's data sets")
    return f"Targets that we set ourselves:\n\n{markdown(pd.DataFrame(columns, index), words=True)}"


def stronger_baselines(means: pd.DataFrame) -> str:
    """Count the cells won against stronger forms of two of the baselines too."""
    stronger = summary.won(means, summary.OURS, [*summary.BASELINES, "ml-bernoulli", "annotator-best"])
    return (
        f"With stronger forms of two baselines added ({NAMES['ml-bernoulli']}; the best single annotator, "
        f"picked by the truth), it wins {summary.count(stronger)} cells."
    )


def resampled(wide: pd.DataFrame) -> str:
    """Tell how much the number of cells won varies when folds are resampled."""
    average, low, high = summary.won_by_chance(wide, summary.OURS)
    return (
        f"Many cells are close, so the count is uncertain: in a bootstrap over the folds of all repeats it "
        f"is "
        f"{low} to {high} (90 % interval), {average} on average."
    )


def majority_class(wide: pd.DataFrame) -> list[str]:
    """Name the data sets where always predicting the majority class is more accurate than ours."""
    ours = summary.set_means(wide)[summary.OURS].drop("mean")
    rates = {name: larger_class(name) for name in ours.index}
    found = [f"{name} ({fixed(rate, 3)})" for name, rate in rates.items() if rate > ours[name]]
    if not found:
        return []
    return [
        f"Always predicting the majority class is more accurate than our mean on {' and '.join(found)}, so "
        "accuracy says little there; see AUC."
    ]


def crowd_summary(results: Path) -> str:
    """Paragraph on real crowds: strict counts, and the counts within a tolerance as a footnote."""
    part = PARTS["crowds"]
    rows = part.read(results) if part.is_there(results) else None
    each, whole = (
        pd.DataFrame() if rows is None else crowds_summary.compared(rows, w) for w in (False, True)
    )
    if each.empty:
        return "**Real crowds**: not run yet."
    note = "" if part.is_complete(results) else " The run is not complete."
    tolerances = " and ".join(
        f"{points} points on the {what} of {name}"
        for (name, what), points in crowds_summary.TOLERANCE.items()
    )
    return (
        f"**Real crowds.** `AutoCrowdClassifier` is at least as accurate as the best other method in "
        f"{summary.count(each['held'])} comparisons of one data set and labelled share, and in "
        f"{summary.count(whole['held'])} means over shares.[^tolerance]{note}\n\n"
        f"[^tolerance]: The developers of this library set a tolerance of {tolerances}. With it the counts "
        f"are {summary.count(each['tolerated'])} and {summary.count(whole['tolerated'])}."
    )


# --- how the numbers were made --------------------------------------------------------------------------


def machines(results: Path, part: Part) -> list[dict[str, str]]:
    """Machines that a benchmark ran on."""
    path = results / Path(part.file).with_suffix(".machine.json")
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def effort(results: Path) -> str:
    """One row per benchmark: draws done, CPU time, machine."""
    rows = {}
    for part in PARTS.values():
        if part.is_there(results):
            hours = part.read(results)[part.seconds].sum() / 3600
            ran_on = [hardware(machine) for machine in machines(results, part)]
            rows[part.heading] = [
                f"{part.done(results)} of {part.draws}",
                f"{fixed(hours, 1)} h",
                "; ".join(dict.fromkeys(ran_on)),
            ]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["draws", "CPU time", "machine"])
    return markdown(table.rename_axis("benchmark"), words=True) if rows else "Nothing was run yet."


def software(results: Path) -> str:
    """Versions of the libraries, without repetitions."""
    every = [machine for part in PARTS.values() for machine in machines(results, part)]
    known = ("processor", "cores", "memory", "system")
    versions = [f"{name} {m[name]}" for m in every for name in m if name not in known]
    return f"Versions: {', '.join(dict.fromkeys(versions))}.\n\n" if versions else ""


HOW = """\
- **Seeds.** Simulated labelers, folds and labels of the paper's data sets are drawn with seeds from {seed}
  upwards; smaller seeds were used to choose the library's defaults. The simulated study and the real crowds
  have their own seeds, stated in their modules. Standard errors treat repeats × folds as independent. They
  are not, so the standard errors are somewhat too small.
- **Truth** is used to stratify folds and to compute scores. No method sees it. Only "single annotator, best"
  is selected by it.
- **The paper's baselines.** Logistic regression with scikit-learn's defaults on standardised features,
  trained on the majority vote or on one annotator. "Single annotator, mean" averages over annotators. ML
  original has Gaussian annotators, as in the paper, and the library's fixed priors. SVM-light is replaced by
  a transductive linear SVM of this library; its penalty and the weight of unlabelled items are chosen by grid
  search on held-out votes, as in the paper.
- **Other packages** run with default settings. Methods without a classifier are followed by logistic
  regression on their consensus. With many features its default penalty is too weak, so the vote, Dawid-Skene
  and CROWDLAB are also shown with a penalty tuned by cross-validation ("tuned LR").
- **This library** runs with default settings. `AutoCrowdClassifier` weights its members by annotations that
  it holds out itself.
- **Clusters.** The paper's labelers are experts on one of five k-means clusters. Some members of
  `AutoCrowdClassifier` let expertise vary between four or eight k-means clusters, so Fig. 3 favours them.
- **What was tuned on what.** The library's defaults (maps, priors, members and how they are averaged) were
  chosen by looking at the truth of the paper's seven data sets, digits, two moons and these real crowds.
  Rules were chosen on other draws of labelers, folds and labels than those reported here, except for LabelMe
  with all labels, which has only one draw. The reported results were also inspected several times during
  development and guided it. So trust differences between our own models less than differences to the
  baselines, and do not read these results as results on unseen data. No baseline was weakened, and no draw,
  cell or data set was selected or left out.
- **Reproducing.** `python -m benchmarks.reproduce` re-runs a sample of the published rows and compares every
  digit.
"""

INTRODUCTION = """\
# Results

<!-- Written by `python -m benchmarks.page` from the CSV files of the benchmarks. Do not edit. -->

This page reports the paper's experiments repeated with this library, a comparison with other packages on real
crowds, the gain from unlabelled items, and run time and memory. All numbers are computed from the CSV files
in `{results}`, which have one row per fit. A test checks that docs/results.md agrees with them.
{machine}

```sh
make bench        # everything; takes hours, and continues where it was stopped
make bench-quick  # a small part in minutes; writes a page like this one to benchmarks/results-quick
```

`WHOKNOWS_DATA` names the folder of the [data sets]({data_sets}); without it, some of them are downloaded.
"""


def page(results: Path, out: Path) -> str:
    """The whole page; links are relative to ``out``, the file it is written to."""
    named = results.resolve()
    shown = named.relative_to(ROOT).as_posix() if named.is_relative_to(ROOT) else named.name
    every = [m for part in PARTS.values() for m in machines(results, part)]
    ran_on = " and on ".join(dict.fromkeys(map(hardware, every)))
    machine = f"The benchmarks ran on {ran_on}." if ran_on else "Nothing was run yet."
    sections = [section(part, results, out) for part in PARTS.values()]
    judged = f"## Which of the paper's claims hold\n\n{claims.page(results / 'paper')}"
    parts = [
        INTRODUCTION.format(results=shown, machine=machine, data_sets=relative(DATA_SETS, out)).rstrip(),
        overview(results),
        *sections[:2],
        judged,
        *sections[2:],
        f"## How the numbers were made\n\n{effort(results)}",
        software(results) + HOW.format(seed=protocol.SEED).rstrip(),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def relative(path: Path, out: Path) -> str:
    """Return a path as a link on the page."""
    return Path(os.path.relpath(path.resolve(), out.resolve().parent)).as_posix()


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument(
        "--results", type=Path, default=RESULTS, metavar="FOLDER", help="folder of the CSV files"
    )
    command.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="page to write")
    options = command.parse_args()
    text = page(options.results, options.out)
    missing = [link for link in LINK.findall(text) if not (options.out.parent / link).exists()]
    if missing:
        raise SystemExit(
            f"{', '.join(missing)}: not drawn yet. Run python -m benchmarks.paper.charts and "
            "python -m benchmarks.crowds.charts first."
        )
    options.out.write_text(text, encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
