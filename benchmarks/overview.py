"""Conclusions from all results, for the first page; and the counts of cells of Fig. 3, for its own page."""

from pathlib import Path

import pandas as pd

from benchmarks.common.tables import fixed, larger_class, markdown
from benchmarks.crowds import summary as crowds_summary
from benchmarks.paper import claims, figure3, summary
from benchmarks.paper.methods import NAMES
from benchmarks.parts import PARTS
from benchmarks.rivals import summary as rivals
from benchmarks.speed import summary as speed
from benchmarks.who_is_right import summary as who_is_right

LARGEST, COMPARED = "labelled-1m", "labelled-100k"  # simulated data sets with labels for all items


def comparable(results: Path) -> pd.DataFrame | None:
    """One row per fold of Fig. 3, one column per method; None unless ours and all baselines have results."""
    cells = claims.load(results / "paper").get("figure3")
    wide = None if cells is None else summary.side_by_side(cells, figure3.KEY[:-1])
    needed = [summary.OURS, *summary.BASELINES]
    return wide.dropna(subset=needed) if wide is not None and set(needed) <= set(wide) else None


def conclusions(results: Path) -> dict[str, str]:
    """One paragraph per benchmark that was run, by the name of its part; claims of the paper last."""
    tell = {
        "figure3": lambda rows: paper_conclusion(results),
        "crowds": crowd_conclusion,
        "rivals": rivals.headline,
        "who_is_right": who_is_right.headline,
        "unlabelled": unlabelled_conclusion,
        "speed": speed_conclusion,
    }
    there = {name: tell[name](PARTS[name].read(results)) for name in tell if PARTS[name].is_there(results)}
    told = there | {"claims": claims.not_reproduced(results / "paper")}
    return {name: words for name, words in told.items() if words}


def paper_conclusion(results: Path) -> str:
    """Cells clearly won, and the mean difference to the vote."""
    wide = comparable(results)
    if wide is None:
        return ""
    gain = summary.points(*summary.paired_difference(wide, summary.OURS, "vote").loc["mean"]).removeprefix("+")
    over = f" On average it is {gain} points more accurate than logistic regression on the vote."
    return clear_cells(wide) + over


def unlabelled_conclusion(rows: pd.DataFrame) -> str:
    """In how many settings unlabelled items clearly help and hurt the ensemble."""
    table = summary.gains(rows)
    own = table[table["method"] == summary.OURS]
    if own.empty:
        return ""
    up, down = ((sign * own["gain"] > summary.CLEAR * own["error"]).sum() for sign in (1, -1))
    best = own.loc[own["gain"].idxmax()]
    return (
        f"The unlabelled items make `AutoCrowdClassifier` clearly more accurate in {up} of {len(own)} settings and "
        f"clearly less accurate in {down}. The largest gain is {fixed(100 * best['gain'], 1)} points "
        f"({best['set']}, {best['labelled']} labelled)."
    )


def speed_conclusion(rows: pd.DataFrame) -> str:
    """Cost of the largest fit with labels for all items, and who is faster and slower than that on a smaller one."""
    largest = speed.measured(rows, (LARGEST,))
    if largest.empty:
        return ""
    row = largest.iloc[0]
    cost = f"{fixed(row['cpu_seconds'], 0)} CPU seconds and {fixed(row['peak_mb'] / 1024, 1)} GB"
    others = rows[rows["world"] == COMPARED].set_index("method")["cpu_seconds"]
    groups = {"faster": others < others.get(speed.METHOD), "slower": others > others.get(speed.METHOD)}
    beside = "; ".join(f"{word} are {', '.join(others.index[which])}" for word, which in groups.items() if which.any())
    return (
        f"In one thread, `{speed.METHOD}` fits {speed.whole(row['n_items'])} items with "
        f"{speed.whole(row['n_labels'])} labels in {cost}."
        + (f" On {speed.whole(len_of(rows))} items: {beside}." if beside else "")
    )


def len_of(rows: pd.DataFrame) -> float:
    """Number of items of the data set on which methods are compared."""
    return float(rows.loc[rows["world"] == COMPARED, "n_items"].iloc[0])


def paper_summary(results: Path) -> str:
    """Paragraphs and tables on the cells of Fig. 3."""
    wide = comparable(results)
    if wide is None:
        return ""
    note = "" if PARTS["figure3"].is_complete(results) else " The run is not complete."
    means = summary.cell_means(wide)
    lost = summary.lost_table(means)
    where = f"Cells in which a baseline has a higher mean:\n\n{markdown(lost, words=True)}"
    parts = [
        clear_cells(wide) + note,
        " ".join([*history(wide), resampled(wide)]),
        growing(wide),
        where if len(lost) else "No baseline has a higher mean in any cell.",
        " ".join([stronger_baselines(means), *majority_class(wide)]),
    ]
    return "\n\n".join(parts)


def clear_cells(wide: pd.DataFrame) -> str:
    """Count the cells that are clearly won, tied and clearly lost against the best baseline of each."""
    table = summary.against_best(wide)
    won, lost = table["won"].sum(), table["lost"].sum()
    tied = len(table) - won - lost
    worse = ", ".join(f"{name} at {share:.0%}" for name, share in table.index[table["lost"]])
    return (
        f"`AutoCrowdClassifier` runs with default settings and without ground truth. In each of the {len(table)} "
        f"cells of Fig. 3 it is compared with the best of the paper's four baselines, chosen with the true labels. It "
        f"is clearly more accurate in {won}, tied in {tied} and clearly less accurate "
        f"in {lost}{f' ({worse})' if worse else ''}. *Clearly* means by more than "
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


def growing(wide: pd.DataFrame) -> str:
    """Table of the counts at each stage."""
    columns = {}
    for stage, rows in stages(wide).items():
        means = summary.cell_means(rows)
        rank = summary.average_rank(means, [summary.OURS, *summary.BASELINES])[summary.OURS]
        gain = summary.paired_difference(rows, summary.OURS, "vote").loc["mean"]
        won = summary.count(summary.won(means, summary.OURS))
        columns[stage] = [won, fixed(rank, 2), f"{summary.points(*gain)} points"]
    names = ["cells won", "mean rank among the baselines", "mean accuracy over logistic regression on the vote"]
    return markdown(pd.DataFrame(columns, pd.Index(names, name="`AutoCrowdClassifier`")), words=True)


def stronger_baselines(means: pd.DataFrame) -> str:
    """Count the cells won against stronger forms of two of the baselines too."""
    stronger = summary.won(means, summary.OURS, [*summary.BASELINES, "ml-bernoulli", "annotator-best"])
    return (
        f"With stronger forms of two baselines added ({NAMES['ml-bernoulli']}; the best single annotator, "
        f"chosen with the true labels), it wins {summary.count(stronger)} cells."
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


def crowd_conclusion(rows: pd.DataFrame) -> str:
    """Counts of comparisons in which ours is at least as accurate as the best other method."""
    each, whole = (crowds_summary.compared(rows, over_shares) for over_shares in (False, True))
    if each.empty:
        return ""
    return (
        f"`AutoCrowdClassifier` is at least as accurate as the best other method, chosen with the true labels, in "
        f"{summary.count(each['held'])} comparisons of one data set and labelled share, and in "
        f"{summary.count(whole['held'])} means over shares."
    )
