"""Tables of results, computed from the CSV files of figure3, figures45 and unlabelled.

    python -m benchmarks.paper.summary [--out FOLDER]

A *cell* of Fig. 3 is one data set at one labelled proportion, averaged over repeats and folds: 70 in all. A
method wins a cell if none of the paper's baselines has a higher mean. It wins *clearly* if it exceeds the
best baseline of the cell by more than two standard errors. Differences are paired: same fold, same labels,
same proportion. Standard errors treat repeats × folds as independent. Folds are not, so the standard errors
are somewhat too small.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common.command import RESULTS
from benchmarks.common.tables import LARGER, fixed, larger_class, markdown, read
from benchmarks.paper import figure3, figures45, unlabelled
from benchmarks.paper.methods import NAMES

OURS = "auto"
BASELINES = ("vote", "annotator", "ml-gaussian", "tsvm")  # the paper's four
NOTE = (
    "ID, GP and LGP use Gaussian annotators and a linear map, as in the paper, and differ from the printed "
    "equations: σ ≥ 0.3, since the printed likelihood has no maximum; a ridge on ξ and a population prior on "
    "the annotators; k-nearest-neighbour weights in the graph; and a scaled graph term (LGP: a mean over "
    "edges "
    "with strength 1; GP: a mean degree of one). ± is one standard error over repeats × folds."
)
MEASURES = {"accuracy": "accuracy", "auc": "AUC"}
ORDER = [key for key in NAMES if not key.startswith("annotator")]
ORDER[1:1] = ["annotator", "annotator-best"]
ROUNDING = 1e-12  # of means
CLEAR = 2.0  # standard errors


# --- Fig. 3: cells, wins, ranks, differences ------------------------------------------------------------


def with_annotators(cells: pd.DataFrame, group: Sequence[str]) -> pd.DataFrame:
    """Replace the rows of single annotators by two methods: their mean, and the best of them.

    The best annotator has the highest accuracy over the folds of one draw and proportion. It is chosen by the
    truth of the test items, so it is an optimistic reference that nobody can use in practice. ``group`` lists
    the columns of the key without the method.
    """
    alone = cells["method"].str.startswith("annotator-")
    each = cells[alone].dropna(subset=["accuracy"])
    measures = [name for name in MEASURES if name in cells]
    mean = each.groupby(list(group), as_index=False)[measures].mean().assign(method="annotator")
    place = [column for column in group if column != "fold"]
    skill = each.groupby([*place, "method"], as_index=False)["accuracy"].mean().round(12)
    chosen = skill.loc[skill.groupby(place)["accuracy"].idxmax(), [*place, "method"]]
    best = each.merge(chosen, on=[*place, "method"]).assign(method="annotator-best")
    return pd.concat([cells[~alone], mean, best], ignore_index=True)


def side_by_side(cells: pd.DataFrame, group: Sequence[str], measure: str = "accuracy") -> pd.DataFrame:
    """One row per group, one column per method; NaN where a method has no result."""
    wide = cells.pivot(index=list(group), columns="method", values=measure)
    return wide[[method for method in ORDER if method in wide]]


def cell_means(wide: pd.DataFrame) -> pd.DataFrame:
    """Mean over repeats and folds: one row per (set, proportion). Studies are averaged over problems too."""
    return wide.groupby([wide.index.names[0], "proportion"]).mean()


def set_means(wide: pd.DataFrame) -> pd.DataFrame:
    """One row per set, in the order of the paper, and their unweighted mean; one column per method."""
    means = wide.groupby("set").mean()
    means = means.loc[[name for name in figure3.sets.PAPER if name in means.index]]
    return pd.concat([means, means.mean().to_frame("mean").T]).rename_axis("set")


def won(means: pd.DataFrame, method: str, baselines: Sequence[str] = BASELINES) -> pd.Series:
    """Whether no baseline exceeds the method, for each cell where all of them have a result."""
    compared = means.reindex(columns=list({method: 0} | dict.fromkeys(baselines))).dropna()
    others = compared[[name for name in baselines if name != method]]
    return compared[method] >= others.max(axis=1) - ROUNDING


def against_best(wide: pd.DataFrame, method: str = OURS, baselines: Sequence[str] = BASELINES) -> pd.DataFrame:
    """Compare a method with the best baseline of each cell, by paired differences over repeats and folds.

    Returns
    -------
    DataFrame
        One row per (set, proportion): ``best``, the baseline with the highest mean; ``mean`` and ``sem`` of
        the difference; ``won`` and ``lost``, whether it is more than two standard errors from 0.
    """
    rows = {}
    for cell, folds in wide[[method, *baselines]].dropna().groupby(["set", "proportion"]):
        best = folds[list(baselines)].mean().round(12).idxmax()
        gap = folds[method] - folds[best]
        rows[cell] = {"best": best, "mean": gap.mean(), "sem": gap.sem()}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["set", "proportion"])
    return table.assign(won=table["mean"] > CLEAR * table["sem"], lost=table["mean"] < -CLEAR * table["sem"])


def won_by_chance(wide: pd.DataFrame, method: str, times: int = 500) -> tuple[int, int, int]:
    """Bootstrap the number of cells won over folds: mean, and the 5 % and 95 % quantiles.

    All proportions of a fold are resampled together. Cells that are nearly tied may go either way, so the
    bootstrap mean differs from the number of cells won.
    """
    rng, totals = np.random.default_rng(0), np.zeros(times)
    methods = [method, *BASELINES]
    for _, rows in wide[methods].dropna().groupby("set"):
        of_fold = np.stack([rows[name].unstack("proportion").to_numpy() for name in methods], axis=1)
        for again in range(times):
            drawn = np.nanmean(of_fold[rng.integers(len(of_fold), size=len(of_fold))], axis=0)
            totals[again] += (drawn[0] >= drawn[1:].max(axis=0) - ROUNDING).sum()
    low, high = np.quantile(totals, [0.05, 0.95])
    return round(totals.mean()), round(low), round(high)


def average_rank(means: pd.DataFrame, methods: Sequence[str]) -> pd.Series:
    """Mean rank over the cells where all methods have a result; 1 is best, ties share their ranks."""
    compared = means[list(methods)].dropna().round(12)
    return compared.rank(axis=1, ascending=False).mean()


def paired_difference(wide: pd.DataFrame, method: str, other: str) -> pd.DataFrame:
    """Mean and standard error of the paired difference, per set and overall.

    The standard error is over repeats × folds (× problems). A fold counts once, with its mean over all
    proportions.
    """
    unit = [level for level in wide.index.names if level != "proportion"]
    folds = (wide[method] - wide[other]).dropna().groupby(unit).mean()
    table = folds.groupby(unit[0]).agg(["mean", "sem"])
    n_sets = len(table)
    table.loc["mean"] = [table["mean"].mean(), np.sqrt((table["sem"] ** 2).sum()) / n_sets]
    return table


def failures(cells: pd.DataFrame) -> pd.DataFrame:
    """Count cells without a result by set, method and reason."""
    failed = cells[cells["error"] != ""]
    by = [cells.columns[0], "method", "error"]
    return failed.groupby(by).size().reset_index(name="cells")


# --- Figs. 4, 5 and unlabelled items --------------------------------------------------------------------


def study_curves(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over problems and repeats, after averaging over folds."""
    by, measures = ["study", "proportion", "method"], list(MEASURES)
    units = cells.groupby([*by, "problem", "repeat"])[measures].mean()
    table = units.groupby(by).agg(["mean", "std"])
    table.columns = [f"{measure}_{statistic}" for measure, statistic in table.columns]
    return table.reset_index()


def gains(cells: pd.DataFrame) -> pd.DataFrame:
    """Gain in accuracy from unlabelled items: mean, standard error and number of pairs."""
    wide = cells.pivot(index=["set", "labelled", "method", "repeat"], columns="unlabelled", values="accuracy").dropna()
    wide["gain"] = wide["with"] - wide["without"]
    by = wide.groupby(["set", "labelled", "method"])
    table = by[["with", "without"]].mean()
    table["gain"], table["error"], table["pairs"] = by["gain"].mean(), by["gain"].sem(), by.size()
    return table.reset_index()


# --- tables to read -------------------------------------------------------------------------------------


def methods_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row per method: mean accuracy and AUC, mean rank among all methods, cells won."""
    rows: dict[str, dict[str, str]] = {}
    for measure, name in MEASURES.items():
        wide = side_by_side(cells, figure3.KEY[:-1], measure)
        means, over_sets = cell_means(wide), set_means(wide).loc["mean"]
        full = [method for method in wide if len(wide[method].dropna()) == len(wide)]
        ranks = average_rank(means, full)
        for method in wide:
            row = rows.setdefault(NAMES[method], {})
            row[name] = fixed(over_sets[method], 4) if method in full else "not on all"
            row[f"{name}, mean rank"] = fixed(ranks[method], 1) if method in full else "–"
            row[f"{name}, cells won"] = count(won(means, method))
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def sets_table(cells: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Mean per method and set; for accuracy also the majority-class rate."""
    table = set_means(side_by_side(cells, figure3.KEY[:-1], measure)).T.rename(index=NAMES)
    if measure == "accuracy":
        shares = [larger_class(name) for name in table.columns.drop("mean")]
        table.loc[LARGER] = [*shares, np.mean(shares)]
    return table.map(lambda value: "–" if np.isnan(value) else fixed(value, 3)).rename_axis("method")


def differences_table(cells: pd.DataFrame, measure: str, method: str = OURS) -> pd.DataFrame:
    """Difference to each baseline in percentage points, per set, with standard errors."""
    wide = side_by_side(cells, figure3.KEY[:-1], measure)
    others = [other for other in BASELINES if {method, other} <= set(wide)]
    columns = {NAMES[other]: paired_difference(wide, method, other) for other in others}
    words = {name: _with_error(table["mean"], table["sem"]) for name, table in columns.items()}
    order = [name for name in (*figure3.sets.PAPER, "mean") if any(name in w.index for w in words.values())]
    return pd.DataFrame(words).reindex(order).fillna("–").rename_axis("set")


def _with_error(gain: pd.Series, error: pd.Series) -> pd.Series:
    return pd.Series([points(g, e) for g, e in zip(gain, error, strict=True)], index=gain.index, dtype=object)


def points(gain: float, error: float) -> str:
    """Percentage points ± standard error; without the error if there is only one value."""
    return fixed(100 * gain, 1, "+") + ("" if np.isnan(error) else f" ± {fixed(100 * error, 1)}")


def count(held: pd.Series) -> str:
    """Write "12 of 70", or a dash if there is nothing to count."""
    return f"{held.sum()} of {len(held)}" if len(held) else "–"


def wins_table(cells: pd.DataFrame, method: str = OURS) -> pd.DataFrame:
    """Cells won per set, by accuracy and by AUC."""
    columns = {}
    for measure, name in MEASURES.items():
        by_set = won(cell_means(side_by_side(cells, figure3.KEY[:-1], measure)), method).groupby("set")
        columns[name] = by_set.agg(count)
    order = [name for name in figure3.sets.PAPER if name in columns["accuracy"].index]
    return pd.DataFrame(columns).reindex(order).fillna("–").rename_axis("set")


def studies_table(cells: pd.DataFrame, study: str, measure: str) -> pd.DataFrame:
    """Mean (standard deviation) of one study per method, at the proportions of the ROC curves."""
    curves = study_curves(with_annotators(cells, figures45.KEY[:-1]))
    curves = curves[(curves["study"] == study) & curves["proportion"].isin(figures45.ROC_AT)]
    both = zip(curves[f"{measure}_mean"], curves[f"{measure}_std"], strict=True)
    curves["text"] = [fixed(mean, 3) + ("" if np.isnan(std) else f" ({fixed(std, 3)})") for mean, std in both]
    wide = curves.pivot(index="method", columns="proportion", values="text")
    wide = wide.loc[[method for method in ORDER if method in wide.index]].rename(index=NAMES)
    if study == "colposcopy" and measure == "accuracy":
        wide.loc[LARGER] = fixed(larger_class("colposcopy_green"), 3)
    return wide.rename(columns=lambda share: f"{share:.0%} labelled").fillna("–")


def gains_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Gain from unlabelled items in points of accuracy ± standard error, per set and number of labels."""
    table = gains(cells)
    table["text"] = _with_error(table["gain"], table["error"])
    table["place"] = table["set"] + ", " + table["labelled"].astype(str)
    wide = table.pivot(index="place", columns="method", values="text")
    order = [f"{name}, {count}" for name, counts in unlabelled.LABELLED.items() for count in counts]
    wide = wide.loc[[place for place in order if place in wide.index], list(unlabelled.MODELS)]
    return wide.rename(columns=unlabelled.NAMES).fillna("–").rename_axis("set, labelled items")


def gains_in_words(cells: pd.DataFrame) -> str:
    """For each model, the number of settings where unlabelled items clearly help, and where they hurt."""
    table = gains(cells)
    clear = {sign: sign * table["gain"] > CLEAR * table["error"] for sign in (1, -1)}
    lines = []
    for model in [model for model in unlabelled.MODELS if model in set(table["method"])]:
        own = table["method"] == model
        up, down = ((clear[sign] & own).sum() for sign in (1, -1))
        lines.append(
            f"- {unlabelled.NAMES[model]}: clearly better in {up}, clearly worse in {down} of {own.sum()} settings"
        )
    return "\n".join(lines)


def lost_table(means: pd.DataFrame, method: str = OURS) -> pd.DataFrame:
    """Cells lost per set: how many, to which baselines, and by how many points on average."""
    held = won(means, method)
    lost = means.loc[held.index[~held]].round(12)
    others = lost[list(BASELINES)]
    rival, behind = others.idxmax(axis=1), 100 * (others.max(axis=1) - lost[method])
    rows = {}
    for name in [name for name in figure3.sets.PAPER if name in lost.index.get_level_values("set")]:
        cells = {key: (rival.loc[name] == key).sum() for key in BASELINES}
        to = sorted((key for key in BASELINES if cells[key]), key=lambda key: -cells[key])
        rows[name] = {
            "cells lost": count(~held.loc[name]),
            "to": ", ".join(f"{NAMES[key]} ({cells[key]})" for key in to),
            "mean difference, points": fixed(behind.loc[name].mean(), 1),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("set")


def figure3_tables(folder: Path) -> dict[str, str]:
    """Markdown tables of Fig. 3, keyed by title."""
    raw = read(folder / "figure3.csv", figure3.KEY)
    cells = with_annotators(raw, figure3.KEY[:-1])
    tables = {"Mean over data sets and proportions": methods_table(cells)}
    for measure, name in MEASURES.items():
        tables[f"Mean {name} per data set"] = sets_table(cells, measure)
        title = f"{NAMES[OURS]} minus the paper's baselines, points of {name}"
        tables[title] = differences_table(cells, measure)
    tables["Cells won per data set"] = wins_table(cells)
    failed = failures(raw)
    if len(failed):
        tables["Cells without a result"] = failed.set_index("set")
    return {title: markdown(table) for title, table in tables.items()}


def study_tables(folder: Path) -> dict[str, str]:
    """Markdown tables of Figs. 4 and 5, keyed by title."""
    cells = read(folder / "figures45.csv", figures45.KEY)
    return {
        f"{study}, {name}": markdown(studies_table(cells, study, measure))
        for study in figures45.READERS
        if study in set(cells["study"])
        for measure, name in MEASURES.items()
    }


def unlabelled_tables(folder: Path) -> dict[str, str]:
    """Markdown table of the gain from unlabelled items, keyed by title."""
    cells = read(folder / "unlabelled.csv", unlabelled.KEY)
    return {"Gain from unlabelled items, points of accuracy": markdown(gains_table(cells))}


TABLES = {"figure3.csv": figure3_tables, "figures45.csv": study_tables, "unlabelled.csv": unlabelled_tables}


def page(folder: Path) -> str:
    """All tables of the CSV files that exist, as markdown with headings; empty if there are none."""
    parts = [make(folder) for file, make in TABLES.items() if (folder / file).exists()]
    tables = [f"### {title}\n\n{text}" for part in parts for title, text in part.items()]
    return "\n\n".join([NOTE, *tables] if tables else [])


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument(
        "--out", type=Path, default=RESULTS / "paper", metavar="FOLDER", help="folder of the CSV files"
    )
    folder = command.parse_args().out
    text = page(folder)
    print(text or f"There are no results in {folder}.")


if __name__ == "__main__":
    main()
