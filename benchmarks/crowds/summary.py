"""What came out, in numbers and words: a table for each set, and whether ours holds its own.

    python -m benchmarks.crowds.summary [--out FOLDER]

A *figure* is the accuracy of consensus or classifier on one set at one share, mean over draws. Ours is
compared with the best of all others in the same run, for each figure anew: nobody could have chosen that one
beforehand, so the comparison leans to their side. Over all shares of a set together less is left to chance.
± is one standard error over draws, of the difference; draws of a set share items, so chance is a bit larger.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common.command import RESULTS
from benchmarks.common.tables import LARGER, fixed, larger_class, markdown, read
from benchmarks.crowds.cases import KEY, SETS
from benchmarks.crowds.measure import ABSENT, LATE
from benchmarks.crowds.methods import METHODS

OURS = "AutoCrowdClassifier"  # the one with nothing to choose
BOTH = ("consensus", "classifier")
RARE = ("product_matching",)  # one class is rare there: accuracy alone says little
BY_VOTE = "colposcopy_green"  # its reference is the vote of its annotators, who tie now and then
NOTES = {
    BY_VOTE: " The reference is the annotators' own vote, so its consensus is shown but not judged.",
    "sentiment_polarity": " Within 0.2 points of the best its consensus counts as level, as aimed.",
}
LEVEL = {("sentiment_polarity", "consensus"): 0.2}  # points behind the best that were allowed beforehand
NO_MATTER = 1e-7  # points: rounding of means
NOT_RUN = "not run"


def draws(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """One row a (set, share, repeat), one column a method."""
    wide = rows.pivot(index=["set", "share", "repeat"], columns="method", values=column)
    return wide[[method for method in METHODS if method in wide]]


def means(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean over draws: one row a (set, share), one column a method; NaN unless there are all draws."""
    return draws(rows, column).groupby(["set", "share"]).agg(lambda column: column.mean(skipna=False))


def errors(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Standard error of those means; NaN of a single draw."""
    return draws(rows, column).groupby(["set", "share"]).sem()


def words(rows: pd.DataFrame) -> pd.DataFrame:
    """Why there is no mean, in a word or two, empty if there is one: rows and columns as in `means`."""
    wide = rows.pivot(index=["set", "share", "repeat"], columns="method", values="error").fillna(NOT_RUN)
    return wide.groupby(["set", "share"]).agg(lambda draws: next(filter(None, map(_word, draws)), ""))


def _word(error: str) -> str:
    known = error.partition(":")[0]
    return known if known in ("", NOT_RUN, LATE, ABSENT) else "failed"


# --- the verdict --------------------------------------------------------------------------------------------


def compared(rows: pd.DataFrame, whole: bool = False) -> pd.DataFrame:
    """One row a figure that another method has: the best of them, theirs, ours, by how many points, ± what.

    ``held`` says whether ours is at least equal.

    Where ours went past the limit or failed it has no points, and ``why`` says so. With ``whole`` a figure is
    the mean over all shares of a set.
    """
    parts, why = [], words(rows)
    if whole:
        why = why.groupby("set").agg(lambda shares: next(filter(None, shares), ""))
    for what in BOTH:
        each, table = draws(rows, f"{what}_accuracy"), means(rows, f"{what}_accuracy")
        if what == "consensus":
            table = table.drop(BY_VOTE, level="set", errors="ignore")
        if whole:
            table = table.groupby("set").agg(lambda shares: shares.mean(skipna=False))
        others = table[[method for method in table if not METHODS[method].ours]].dropna(how="all").round(12)
        if OURS in table and len(others):
            part = pd.DataFrame({"best": others.idxmax(axis=1), "theirs": others.max(axis=1)})
            part = part.assign(what=what, ours=table[OURS], why=why[OURS])
            part["points"] = 100 * (part["ours"] - part["theirs"])
            gaps = 100 * each.rsub(each[OURS], axis=0)
            level = [LEVEL.get((name, what), NO_MATTER) for name in part.index.get_level_values("set")]
            part["held"] = part["points"] >= -np.array(level)
            part["error"] = [_error(gaps[best], figure) for figure, best in part["best"].items()]
            parts.append(part[part["why"] != NOT_RUN].reset_index())
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _error(gaps: pd.Series, figure: tuple[str, float] | str) -> float:
    """Return the standard error of the mean of gaps, one a (set, share, repeat).

    ``figure`` is a set and a share, or a set: then each draw's mean over the shares counts; a share drawn but
    once has the same gap in every draw.
    """
    own = gaps.loc[figure]
    if not isinstance(figure, str):
        return float(own.sem())
    by_share = own.unstack("share")
    return float(by_share.fillna(by_share.iloc[0]).mean(axis=1).sem())


def verdict(rows: pd.DataFrame) -> str:
    """One line: is ours at least equal to the best of the others, in consensus and classifier, or not?"""
    figures = compared(rows)
    if figures.empty:
        return f"No verdict: no figure of {OURS} stands beside one of another method."
    held = figures["held"]
    counts = [f"{what} at {each.sum()} of {len(each)}" for what, each in held.groupby(figures["what"])]
    answer = "yes" if held.all() else "no"
    return f"{OURS} at least equal to the best of the others: {answer} ({', '.join(counts[::-1])})."


def behind(rows: pd.DataFrame) -> str:
    """Where ours is behind, by how many points, and whom; empty if nowhere."""
    figures = compared(rows)
    if figures.empty:
        return ""
    lost = figures[~figures["held"]].sort_values("points", na_position="first")
    cells = [
        f"{row.what} {row.share:.0%} {row.why or _points(row.points, row.error)} ({row.best})"
        for row in lost.itertuples()
    ]
    return f" Behind, in points: {'; '.join(cells)}." if cells else ""


def over_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours and the best of the others, mean over the shares of a set; empty where there is nothing to say."""
    figures = compared(rows, whole=True)
    if figures.empty:
        return figures
    figures = figures.set_index(pd.Index(figures["set"] + ", " + figures["what"], name="mean over shares"))
    table = pd.DataFrame({OURS: [fixed(value, 4) for value in figures["ours"]]}, figures.index)
    table["best of the others"] = figures["best"]
    table["theirs"] = [fixed(value, 4) for value in figures["theirs"]]
    table["points"] = [_points(*both) for both in zip(figures["points"], figures["error"], strict=True)]
    return table


def _points(points: float, error: float) -> str:
    """Points, and ± where there is more than one draw."""
    return fixed(points, 1, "+") + ("" if pd.isna(error) else f" ± {fixed(error, 1)}")


# --- tables to read -----------------------------------------------------------------------------------------


def set_table(rows: pd.DataFrame, figure: str, costs: bool = False) -> pd.DataFrame:
    """Methods down, ours first; consensus and classifier at each share across, the best in bold.

    Below stands the share of the larger class, of all items of the set.
    With ``costs`` also processor seconds and MB at the largest share.
    """
    name, shares, why = rows["set"].iloc[0], sorted(rows["share"].unique()), words(rows)
    methods = [method for method in METHODS if method in set(rows["method"])]
    table = pd.DataFrame(index=pd.Index(methods, name="method"))
    for what in BOTH:
        wide = means(rows, f"{what}_{figure}")
        for share in shares:
            cell = wide.loc[(name, share)], why.loc[(name, share)]
            table[f"{what} {share:.0%}"] = [_text(*cell, method, bold=True) for method in methods]
    for column, head in (("cpu_seconds", "s"), ("peak_mb", "MB")) if costs else ():
        wide, share = means(rows, column), shares[-1]
        cell = wide.loc[(name, share)], why.loc[(name, share)]
        table[f"{head} at {share:.0%}"] = [_text(*cell, method, digits=1) for method in methods]
    if figure == "accuracy":
        share = fixed(larger_class(name), 3)
        table.loc[LARGER] = [share if column.startswith("classifier") else "–" for column in table]
    return table


def _text(values: pd.Series, why: pd.Series, method: str, digits: int = 3, bold: bool = False) -> str:
    if why[method]:
        return why[method]
    if pd.isna(values[method]):
        return "–"
    text, best = fixed(values[method], digits), fixed(values[why == ""].max(), digits)
    return f"**{text}**" if bold and text == best else text


def sizes(rows: pd.DataFrame) -> str:
    """How many items and draws stand behind the figures."""
    parts = []
    for share, there in rows.groupby("share"):
        counts = there[["n_labelled", "n_test"]].max()
        items = "nothing yet" if counts.isna().any() else "{:.0f} labelled items, {:.0f} test".format(*counts)
        parts.append(f"{share:.0%}: {items}, draws: {there['repeat'].nunique()}")
    return "; ".join(parts) + "."


def page(folder: Path) -> str:
    """Everything as markdown with headings."""
    rows = read(folder / "crowds.csv", KEY)
    parts, whole = [f"**{verdict(rows)}**"], over_shares(rows)
    if len(whole):
        parts.append(markdown(whole))
    for name in [name for name in SETS if name in set(rows["set"])]:
        own = rows[rows["set"] == name]
        parts += [f"### {name}", verdict(own) + behind(own), sizes(own) + NOTES.get(name, "")]
        parts.append(f"Accuracy:\n\n{markdown(set_table(own, 'accuracy', costs=True))}")
        if name in RARE:
            parts += [f"{kind.upper()}:\n\n{markdown(set_table(own, kind))}" for kind in ("f1", "auc")]
    versions = sorted(rows["version"].dropna().unique())
    parts.append(f"Processor seconds (s) are for consensus and classifier together. {', '.join(versions)}.")
    return "\n\n".join(parts) + "\n"


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="of crowds.csv")
    print(page(command.parse_args().out))


if __name__ == "__main__":
    main()
