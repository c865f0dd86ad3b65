"""The section of the page that summarises all results."""

from pathlib import Path

import pandas as pd

from benchmarks.common.tables import fixed, larger_class, markdown
from benchmarks.crowds import summary as crowds_summary
from benchmarks.paper import claims, figure3, summary
from benchmarks.paper.methods import NAMES
from benchmarks.parts import PARTS
from benchmarks.rivals import summary as rivals
from benchmarks.who_is_right import summary as who_is_right

# Targets that the project set for `AutoCrowdClassifier` with default settings.
CELLS, RANK, POINTS = 0.8, 1.3, 3.0  # share of cells won; mean rank; points over the vote


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
    parts = [*paper, crowd_summary(results), *newer(results), claims.not_reproduced(results / "paper")]
    return "\n\n".join(["## Summary", *filter(None, parts)])


def newer(results: Path) -> list[str]:
    """Paragraphs on stronger rivals and on who is right, if they were run."""
    lead = {"rivals": rivals.headline, "who_is_right": who_is_right.headline}
    there = [name for name in lead if PARTS[name].is_there(results)]
    told = {PARTS[name].heading: lead[name](PARTS[name].read(results)) for name in there}
    return [f"**{heading}.** {words}" for heading, words in told.items() if words]


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
        summary.count(summary.won(summary.cell_means(part), summary.OURS)) for part in (wide[seen], wide[~seen], wide)
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
    names = ["cells won", "mean rank among the baselines", "mean accuracy over logistic regression on the vote"]
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
    each, whole = (pd.DataFrame() if rows is None else crowds_summary.compared(rows, w) for w in (False, True))
    if each.empty:
        return "**Real crowds**: not run yet."
    note = "" if part.is_complete(results) else " The run is not complete."
    tolerances = " and ".join(
        f"{points} points on the {what} of {name}" for (name, what), points in crowds_summary.TOLERANCE.items()
    )
    return (
        f"**Real crowds.** `AutoCrowdClassifier` is at least as accurate as the best other method in "
        f"{summary.count(each['held'])} comparisons of one data set and labelled share, and in "
        f"{summary.count(whole['held'])} means over shares.[^tolerance]{note}\n\n"
        f"[^tolerance]: The developers of this library set a tolerance of {tolerances}. With it the counts "
        f"are {summary.count(each['tolerated'])} and {summary.count(whole['tolerated'])}."
    )
