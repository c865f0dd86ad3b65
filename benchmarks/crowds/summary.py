"""Results on real crowds: one table per data set, and a comparison with the best other method.

    python -m benchmarks.crowds.summary [--out FOLDER]

A *comparison* is the accuracy of the consensus or of the classifier on one data set at one labelled share,
averaged over draws. `AutoCrowdClassifier` is compared with the best other method of the same run. That method
is chosen with the true labels, separately for each comparison, which favours the other methods. Averaging over all
shares of a data set reduces the noise. ± is one standard error of the paired difference over draws. Draws of
a data set share items, so the standard errors are somewhat too small.
"""

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.common.command import RESULTS
from benchmarks.common.tables import LARGER, fixed, larger_class, markdown, read
from benchmarks.crowds.cases import KEY, SETS
from benchmarks.crowds.measure import ABSENT, LATE
from benchmarks.crowds.methods import METHODS

OURS = "AutoCrowdClassifier"
BOTH = ("consensus", "classifier")
RARE = ("product_matching",)  # one class is rare, so F1 and AUC are shown too
BY_VOTE = "colposcopy_green"  # its reference is the majority vote of its own annotators
NOTES = {BY_VOTE: " The reference is the annotators' own vote, so the consensus is shown but not compared."}
ROUNDING = 1e-7  # points
NOT_RUN = "not run"


def draws(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """One row per (set, share, repeat), one column per method."""
    wide = rows.pivot(index=["set", "share", "repeat"], columns="method", values=column)
    return wide[[method for method in METHODS if method in wide]]


def means(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean over draws: one row per (set, share), one column per method; NaN if any draw is missing."""
    return draws(rows, column).groupby(["set", "share"]).agg(lambda column: column.mean(skipna=False))


def errors(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Standard error of those means; NaN for a single draw."""
    return draws(rows, column).groupby(["set", "share"]).sem()


def words(rows: pd.DataFrame) -> pd.DataFrame:
    """Reason why a mean is missing, empty if there is one; rows and columns as in `means`."""
    wide = rows.pivot(index=["set", "share", "repeat"], columns="method", values="error").fillna(NOT_RUN)
    return wide.groupby(["set", "share"]).agg(lambda draws: next(filter(None, map(_word, draws)), ""))


def _word(error: str) -> str:
    known = error.partition(":")[0]
    return known if known in ("", NOT_RUN, LATE, ABSENT) else "failed"


# --- comparison with the best other method ------------------------------------------------------------------


def compared(rows: pd.DataFrame, whole: bool = False) -> pd.DataFrame:
    """Compare `OURS` with the best other method: one row per set, share and consensus or classifier.

    Columns: the ``best`` other method, its accuracy (``theirs``), ``ours``, the difference in ``points`` and
    its standard ``error``. ``held`` tells whether ours is at least as accurate. If ours failed or exceeded
    the time limit, ``why`` says so and ``points`` is NaN. With ``whole``, accuracies are averaged over all
    shares of a set.
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
            part["held"] = part["points"] >= -ROUNDING
            part["error"] = [_error(gaps[best], figure) for figure, best in part["best"].items()]
            parts.append(part[part["why"] != NOT_RUN].reset_index())
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _error(gaps: pd.Series, figure: tuple[str, float] | str) -> float:
    """Return the standard error of the mean of ``gaps``, which have one value per (set, share, repeat).

    ``figure`` is a set and a share, or a set alone. For a set alone, each draw counts with its mean over the
    shares; a share with a single draw has the same gap in every draw.
    """
    own = gaps.loc[figure]
    if not isinstance(figure, str):
        return float(own.sem())
    by_share = own.unstack("share")
    return float(by_share.fillna(by_share.iloc[0]).mean(axis=1).sem())


def verdict(rows: pd.DataFrame) -> str:
    """Count the comparisons in which ours is at least as accurate as the best other method, in words."""
    figures = compared(rows)
    if figures.empty:
        return f"No comparison: {OURS} and another method have no result in common."
    held = figures["held"]
    parts = [f"{what} {each.sum()} of {len(each)}" for what, each in held.groupby(figures["what"])]
    total = f"{held.sum()} of {len(held)} comparisons ({', '.join(parts[::-1])})"
    return f"{OURS} is at least as accurate as the best other method in {total}."


def behind(rows: pd.DataFrame) -> str:
    """List the comparisons in which another method is more accurate; empty if there are none."""
    figures = compared(rows)
    if figures.empty:
        return ""
    lost = figures[~figures["held"]].sort_values("points", na_position="first")
    cells = [
        f"{row.what} {row.share:.0%} {row.why or _points(row.points, row.error)} ({row.best})"
        for row in lost.itertuples()
    ]
    return f" Less accurate, in points: {'; '.join(cells)}." if cells else ""


def over_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours and the best other method, averaged over the shares of each set; empty without results."""
    figures = compared(rows, whole=True)
    if figures.empty:
        return figures
    figures = figures.set_index(pd.Index(figures["set"] + ", " + figures["what"], name="mean over shares"))
    table = pd.DataFrame({OURS: [fixed(value, 4) for value in figures["ours"]]}, figures.index)
    table["best other method"] = figures["best"]
    table["its accuracy"] = [fixed(value, 4) for value in figures["theirs"]]
    table["points"] = [_points(*both) for both in zip(figures["points"], figures["error"], strict=True)]
    return table


def _points(points: float, error: float) -> str:
    """Percentage points, with ± if there is more than one draw."""
    return fixed(points, 1, "+") + ("" if pd.isna(error) else f" ± {fixed(error, 1)}")


# --- tables to read -----------------------------------------------------------------------------------------


def set_table(rows: pd.DataFrame, figure: str, costs: bool = False) -> pd.DataFrame:
    """One row per method, ours first; one column per share for consensus and classifier, the best in bold.

    The last row is the majority-class rate of the data set. With ``costs``, two columns hold CPU seconds and
    memory in MB at the largest share.
    """
    name, shares, why = rows["set"].iloc[0], sorted(rows["share"].unique()), words(rows)
    methods = [method for method in METHODS if method in set(rows["method"])]
    table = pd.DataFrame(index=pd.Index(methods, name="method"))
    for what in BOTH:
        wide = means(rows, f"{what}_{figure}")
        for share in shares:
            cell = wide.loc[(name, share)], why.loc[(name, share)]
            table[f"{what} {share:.0%}"] = [_text(*cell, method, bold=True) for method in methods]
    for column, head in (("cpu_seconds", "CPU s"), ("peak_mb", "MB")) if costs else ():
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
    """Number of labelled items, test items and draws at each share."""
    parts = []
    for share, there in rows.groupby("share"):
        counts = there[["n_labelled", "n_test"]].max()
        items = "no results yet" if counts.isna().any() else "{:.0f} labelled, {:.0f} test".format(*counts)
        n_draws = there["repeat"].nunique()
        parts.append(f"{share:.0%}: {items}, {n_draws} draw{'s' if n_draws > 1 else ''}")
    return f"Items and draws: {'; '.join(parts)}."


def page(folder: Path) -> str:
    """All results as markdown with headings."""
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
    parts.append(f"CPU seconds cover consensus and classifier together. {', '.join(versions)}.")
    return "\n\n".join(parts) + "\n"


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="folder of crowds.csv")
    print(page(command.parse_args().out))


if __name__ == "__main__":
    main()
