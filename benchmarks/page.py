"""The page of results, docs/results.md, written from the CSV files of the benchmarks that are there.

    python -m benchmarks.page [--results benchmarks/results] [--out docs/results.md]

Every number on it is computed from those files. A benchmark without a file is «not run yet».
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

# What we aim at, with auto at its defaults and no truth in any fit.
CELLS, RANK, POINTS = 0.8, 1.3, 3.0  # share of cells won; mean rank; over the vote


@dataclass(frozen=True)
class Part:
    """A benchmark: its heading, CSV file under the folder of results, what names a row, and all its draws.

    ``how`` says what was done, ``body`` what came out, from the folder that holds the file; ``images`` are
    names and words; ``seconds`` is the column of processor time.
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
        """Draws that have a row of every method that others of the same set have."""
        rows, (*group, method) = self.read(results), self.key
        there, needed = rows.groupby(group)[method].nunique(), rows.groupby(group[0])[method].nunique()
        return int((there.to_numpy() >= needed.loc[there.index.get_level_values(0)].to_numpy()).sum())

    def is_complete(self, results: Path) -> bool:
        return self.done(results) >= self.draws


# --- what is said of each part --------------------------------------------------------------------------

FIGURE3 = f"""\
Five simulated labelers, each an expert on one k-means cluster and wrong 35 % of the time elsewhere, as in
Sec. 4.1; stratified 5-fold; from 10 % to 100 % of the training items are labelled, by all five. Every method
sees the same folds and labels. AUC stands beside accuracy because some sets are unbalanced: see what always
naming the larger class gets right. A cell is one set at one proportion; *no baseline better* counts those in
which none of the paper's four baselines, other than the method itself, is better; ranks in the first table
are among all methods there. {summary.NOTE}"""

STUDIES = """\
The paper's cardiac data are not public. In their place stand two studies:

- **colposcopy**: 98 images, 62 features, their quality judged by six physicians. The reference is the
  published consensus of the same six, as the paper's was the vote of its five cardiologists; either favours
  methods that learn the vote.
- **simulated**: made up, of the cardiac data's shape (220 cases, 24 features, five readers, 16 problems), and
  not drawn from the model that is fitted. The reference is the truth.

In brackets: the standard deviation over repeats (colposcopy) or over problems (simulated)."""

CROWDS = """\
Real annotators. *Consensus*: the truth of the items they labelled. *Classifier*: items without labels: the
test items that labelme brings, which no method sees beforehand, so that there all labels are one draw;
elsewhere 30 % of the items, held out at random, whose features are among those of all items. 10 %, 30 % and
all of the other labelled items are used; every method has the same features and splits, is at its defaults,
and runs on one thread in a process of its own that does not know the truth. Ours is held against the best of
all others, chosen anew for each figure, by the truth."""

UNLABELLED = """\
The same model and labels, with the items that nobody labelled and without them: dropped before the fit, from
the scale, the map and the graph. A place is a set with so many labelled items; better and worse mean by more
than two standard errors, which one place in twenty or so is by chance."""


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
        "The paper's sets (Fig. 3)",
        "paper/figure3.csv",
        "benchmarks.paper.figure3",
        figure3.KEY,
        len(figure3.groups(figure3.CHEAP_FIRST, figure3.REPEATS, protocol.PROPORTIONS)),
        FIGURE3,
        lambda folder: tables(summary.figure3_tables(folder)),
        (
            ("paper/figure3.png", "Accuracy against the labelled share, seven sets"),
            ("paper/figure3_auc.png", "AUC against the labelled share, seven sets"),
            ("paper/figure3_models.png", "Accuracy of the paper's models as printed, and of ours"),
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
        "Real crowds, against other packages",
        "crowds.csv",
        "benchmarks.crowds.run",
        cases.KEY,
        len(crowds.cells(cases.SETS, cases.SHARES, cases.DRAWS, ["one"])),
        CROWDS,
        lambda folder: crowds_summary.page(folder).rstrip(),
        (("crowds.png", "Accuracy of consensus and classifier against the labelled share, four crowds"),),
        "cpu_seconds",
    ),
    "unlabelled": Part(
        "What unlabelled items are worth",
        "paper/unlabelled.csv",
        "benchmarks.paper.unlabelled",
        unlabelled.KEY,
        len(unlabelled.groups(list(unlabelled.LABELLED), unlabelled.REPEATS)),
        UNLABELLED,
        unlabelled_body,
        (("paper/unlabelled.png", "Points of accuracy that unlabelled items add, by set and model"),),
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
    """Heading, pictures and words of a part."""
    if not part.is_there(results):
        return f"## {part.heading}\n\nNot run yet (`python -m {part.module}`)."
    note = f"**Not complete: {part.done(results)} of {part.draws} draws. Read the figures accordingly.**"
    pictures = [f"![{words}]({relative(results / name, out)})" for name, words in part.images]
    body = part.body((results / part.file).parent)
    words = [f"## {part.heading}", *([] if part.is_complete(results) else [note]), part.how, *pictures, body]
    return "\n\n".join(words)


# --- what we aimed at -----------------------------------------------------------------------------------


def targets(results: Path) -> str:
    """Our targets: what was aimed at, what came out; and where cells are lost."""
    crowds_too = [crowd_target(results, whole) for whole in (False, True)]
    rows = [*paper_targets(results), *crowds_too]
    columns = ["aim", "came out", ""]
    index = pd.Index([row[0] for row in rows], name=f"{NAMES[summary.OURS]}, nothing set, no truth in a fit")
    return markdown(pd.DataFrame([row[1:] for row in rows], index, columns), words=True)


def comparable(results: Path) -> pd.DataFrame | None:
    """One row a fold of Fig. 3, one column a method; None unless ours and all baselines are there."""
    cells = claims.load(results / "paper").get("figure3")
    wide = None if cells is None else summary.side_by_side(cells, figure3.KEY[:-1])
    needed = [summary.OURS, *summary.BASELINES]
    return wide.dropna(subset=needed) if wide is not None and set(needed) <= set(wide) else None


def paper_targets(results: Path) -> list[tuple[str, str, str, str]]:
    """Against the paper's baselines on its sets: cells won, mean rank, points over the vote."""
    names = [
        ("cells of Fig. 3 in which no baseline of the paper is better", f"at least {CELLS:.0%}"),
        ("its mean rank among them", f"at most {RANK}"),
        ("its mean accuracy over logistic regression on the vote", f"at least {POINTS:+.0f} points"),
    ]
    wide = comparable(results)
    if wide is None:
        return [(*name, "not run yet", "") for name in names]
    means, ours = summary.cell_means(wide), summary.OURS
    held = summary.won(means, ours)
    rank = summary.average_rank(means, [ours, *summary.BASELINES])[ours]
    gain, error = summary.paired_difference(wide, ours, "vote").loc["mean"]
    came_out = [
        (summary.count(held), held.mean() >= CELLS),
        (fixed(rank, 2), rank <= RANK),
        (f"{summary.points(gain, error)} points", 100 * gain >= POINTS),
    ]
    part = PARTS["figure3"]
    return [
        (*name, words, reached(fine, part, results))
        for name, (words, fine) in zip(names, came_out, strict=True)
    ]


def crowd_target(results: Path, whole: bool) -> tuple[str, str, str, str]:
    """On real crowds: at least equal to the best of all others, everywhere."""
    figures = "sets, consensus or classifier, mean over shares," if whole else "figures"
    name = (
        f"real crowds: {figures} in which no other method is better",
        "all, sentiment's consensus within 0.2 points",
    )
    part = PARTS["crowds"]
    rows = part.read(results) if part.is_there(results) else None
    found = pd.DataFrame() if rows is None else crowds_summary.compared(rows, whole)
    if found.empty:
        return (*name, "not run yet", "")
    return (*name, summary.count(found["held"]), reached(found["held"].all(), part, results))


def reached(fine: bool, part: Part, results: Path) -> str:
    return ("reached" if fine else "missed") + ("" if part.is_complete(results) else ", so far")


def lost_cells(results: Path) -> str:
    """Where cells of Fig. 3 are lost, and how many are won against stronger baselines than the paper's."""
    wide = comparable(results)
    if wide is None:
        return ""
    means = summary.cell_means(wide)
    stronger = summary.won(means, summary.OURS, [*summary.BASELINES, "ml-bernoulli", "annotator-best"])
    lost = summary.lost_table(means)
    where = f"Where cells are lost:\n\n{markdown(lost, words=True)}" if len(lost) else "No cell is lost."
    harder = (
        f"Against stronger forms of two baselines as well ({NAMES['ml-bernoulli']}; the best single "
        f"annotator, whom only the truth could name), it is best in {summary.count(stronger)} cells."
    )
    average, low, high = summary.won_by_chance(wide, summary.OURS)
    chance = (
        f"Many cells are close: with folds drawn anew from these, which adds to their noise, it is best in "
        f"{low} to {high} (90 %), {average} on average, as near-ties fall to either side."
    )
    return " ".join([f"{where}\n\n{harder} {chance}", *apart(wide), *constant(wide)])


def apart(wide: pd.DataFrame) -> list[str]:
    """Say what repeats that were looked at on the way show alone, and what the others do, if any."""
    seen = wide.index.get_level_values("repeat") < figure3.LOOKED_AT
    if seen.all():
        return []
    found = []
    for part in (wide[seen], wide[~seen]):
        means = summary.cell_means(part)
        rank = summary.average_rank(means, [summary.OURS, *summary.BASELINES])[summary.OURS]
        found.append(f"{summary.count(summary.won(means, summary.OURS))} cells, mean rank {fixed(rank, 2)}")
    first, rest = found
    return [
        f"The first {figure3.LOOKED_AT} repeats, which were looked at on the way, show {first} by "
        f"themselves; the others, run once when every default stood as it is, {rest}. Fewer folds leave more "
        "of the close cells to luck, which any of four baselines may have."
    ]


def constant(wide: pd.DataFrame) -> list[str]:
    """Say where always naming the larger class gets more right than ours; nothing if nowhere."""
    ours = summary.set_means(wide)[summary.OURS].drop("mean")
    found = [f"{name} ({fixed(larger_class(name), 3)})" for name in ours.index
             if larger_class(name) > ours[name]]  # fmt: skip
    few = "more than ours does on average, so that there is little to win there but the ranking (AUC)"
    return [f"Always naming the larger class gets {' and '.join(found)} right: {few}."] if found else []


# --- how the numbers were made --------------------------------------------------------------------------


def machines(results: Path, part: Part) -> list[dict[str, str]]:
    """What a part ran on."""
    path = results / Path(part.file).with_suffix(".machine.json")
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def effort(results: Path) -> str:
    """One row a part: draws done, processor time, machine."""
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
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["draws", "processor time", "machine"])
    return markdown(table.rename_axis("part"), words=True) if rows else "Nothing was run yet."


def software(results: Path) -> str:
    """Versions, once each."""
    every = [machine for part in PARTS.values() for machine in machines(results, part)]
    known = ("processor", "cores", "memory", "system")
    versions = [f"{name} {m[name]}" for m in every for name in m if name not in known]
    return f"Versions: {', '.join(dict.fromkeys(versions))}.\n\n" if versions else ""


HOW = """\
- **Draws** of simulated labelers, folds and labels of the paper's sets have seeds from {seed} on; the
  simulated study and the real crowds have seeds of their own, in their files. A cell of Fig. 3 is a mean over
  repeats and folds. Standard errors take repeats × folds as independent, which they are not quite: they are
  somewhat small.
- **Truth** makes folds and scores. No method sees it; only «annotator t, best» is chosen by it.
- **The paper's baselines.** Logistic regression at scikit-learn's defaults, on standardised features, taught
  by the vote or by one annotator alone; the baseline «annotator t» is the mean over annotators. ML original:
  Gaussian annotators, as in the paper, and the library's fixed priors; so too ID, GP and LGP as printed. For
  SVM-light stands a transductive linear SVM of our own; its penalty and its weight of unlabelled items are
  chosen by grid search on held-out votes, as in the paper.
- **Other packages** are at their defaults. Those without a classifier get logistic regression. As its usual
  penalty is too weak where features are many, the vote, Dawid-Skene and CROWDLAB are there with a tuned one,
  too: chosen by cross-validation.
- **Ours.** Nothing is set. `AutoCrowdClassifier` weighs its members by annotations that it holds out itself.
- **Clusters.** The paper's labelers are experts on one of five k-means clusters. Some of auto's members let
  expertise differ between four or eight clusters, which they find by k-means, too: Fig. 3 suits them.
- **What was tuned on what.** The library's defaults (maps, priors, members and how they are averaged) were
  settled with an eye on the truth: on the paper's seven sets, digits, two moons and these real crowds. Rules
  were chosen on other draws of labelers, folds and labels than those reported here (of labelme with all its
  labels there is but one); and what came out of the reported ones was looked at, several times, and Y
  where to look further. So trust differences between our own models less than those to the baselines, and do
  not take these figures for those of data never looked at. No baseline was weakened; no draw, cell or set was
  picked or left out.
"""

INTRODUCTION = """\
# Results

<!-- Written by `python -m benchmarks.page` from the CSV files of the benchmarks. Do not edit. -->

What comes out when the paper's experiments are run again, what this library does on real crowds beside other
packages, what items without labels are worth, and what all this costs in seconds and memory. All numbers are
computed from the CSV files in `{results}`, one row a fit; a test holds docs/results.md against them.
{machine}

```sh
make bench        # all of it, for hours; stopped, it goes on where it was
make bench-quick  # a small part, in minutes, with a page like this one in benchmarks/results-quick
```

`WHOKNOWS_DATA` names the folder of the [data sets]({data_sets}); without it, some of them are downloaded.
"""


def page(results: Path, out: Path) -> str:
    """The whole page, to be written to ``out``, to which its links are relative."""
    named = results.resolve()
    shown = named.relative_to(ROOT).as_posix() if named.is_relative_to(ROOT) else named.name
    every = [m for part in PARTS.values() for m in machines(results, part)]
    ran_on = " and on ".join(dict.fromkeys(map(hardware, every)))
    machine = f"They were run on {ran_on}." if ran_on else "Nothing was run yet."
    sections = [section(part, results, out) for part in PARTS.values()]
    judged = f"## Which of the paper's claims hold\n\n{claims.page(results / 'paper')}"
    parts = [
        INTRODUCTION.format(results=shown, machine=machine, data_sets=relative(DATA_SETS, out)).rstrip(),
        f"## What we aimed at\n\n{targets(results)}",
        lost_cells(results),
        *sections[:2],
        judged,
        *sections[2:],
        f"## How the numbers were made\n\n{effort(results)}",
        software(results) + HOW.format(seed=protocol.SEED).rstrip(),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def relative(path: Path, out: Path) -> str:
    """Path as a link on the page."""
    return Path(os.path.relpath(path.resolve(), out.resolve().parent)).as_posix()


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="of the CSV files")
    command.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="where the page goes")
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
