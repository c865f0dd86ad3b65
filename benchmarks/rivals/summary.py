"""Tables of rivals.csv as markdown: `AutoCrowdClassifier` and rivals with the same preprocessing."""

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common import sets
from benchmarks.common.tables import fixed, markdown, read
from benchmarks.paper.summary import against_best, paired_difference, points
from benchmarks.rivals.cases import KEY
from benchmarks.rivals.methods import METHODS, OURS, PLAIN, VOTE_CLASSIFIERS, WITH_ROOTS

BOTH = ("consensus", "classifier")
BEST = "best classifier on the vote"
HOW = """\
The comparisons on the other pages use the paper's baselines and the default settings of other packages, and
only `AutoCrowdClassifier` takes square roots of skewed columns. Here every method gets the same
preprocessing: square roots of columns that are never negative and have a skewness above one, then
standardisation over all training items. The first row of the vote is without the roots, which shows what they
are worth. Classifiers are tuned by cross-validation: logistic regression (LR), an SVM with an RBF kernel, a
random forest on vote shares, and gradient boosting on the probabilities of Dawid-Skene. Every aggregator of
crowd-kit for categorical labels is followed by the tuned LR. AnnotMixClassifier has a small network written
for this benchmark, as its package leaves the network to the user. With few labels, cross-validation chooses
badly, and default LR may be better than tuned LR. Draws are some of those of the other pages. On ionosphere
and bupa `AutoCrowdClassifier` leads the vote by more than on the average of the seven data sets (Fig. 3), so
expect smaller differences on the other five, which were not run."""


def sides(rows: pd.DataFrame, what: str = "classifier") -> pd.DataFrame:
    """Accuracies: one row per (set, repeat, fold, proportion), one column per method."""
    rows = rows.rename(columns={"share": "proportion"})
    wide = rows.pivot(index=["set", "repeat", "fold", "proportion"], columns="method", values=f"{what}_accuracy")
    return wide[[method for method in METHODS if method in wide]]


def of_paper(wide: pd.DataFrame) -> pd.DataFrame:
    """Rows of the paper's data sets."""
    return wide[wide.index.get_level_values("set").isin(sets.PAPER)]


def complete(wide: pd.DataFrame) -> list[str]:
    """Rivals with a result in every row."""
    return [name for name in wide if not METHODS[name].ours and wide[name].notna().all()]


def best_on_the_vote(wide: pd.DataFrame) -> str:
    """The classifier on the vote with the highest mean over data sets, chosen with the true labels."""
    means = wide[list(VOTE_CLASSIFIERS)].groupby("set").mean().mean()
    return str(means.round(12).idxmax())


def best_of_each_set(wide: pd.DataFrame) -> pd.DataFrame:
    """Add a column with the classifier on the vote that is best on each data set, chosen with the true labels."""
    each = [own.assign(**{BEST: own[best_on_the_vote(own)]}) for _, own in wide.groupby("set")]
    return pd.concat(each)


def gain(wide: pd.DataFrame, other: str, method: str = OURS) -> str:
    """Points of a method over another on the mean of the data sets, with a standard error."""
    return points(*paired_difference(wide, method, other).loc["mean"])


def headline(rows: pd.DataFrame) -> str:
    """What the rows say, in one paragraph; empty without draws of the paper's data sets."""
    wide = of_paper(sides(rows))
    if wide.empty or not {OURS, PLAIN, *VOTE_CLASSIFIERS} <= set(wide):
        return ""
    names, best = " and ".join(names_of(wide)), best_on_the_vote(wide)

    def lead(table: pd.DataFrame, *methods: str) -> str:
        return gain(table, *methods).removeprefix("+")

    return (
        f"On the mean of {names}, `{OURS}` is {lead(wide, PLAIN)} points more accurate than default logistic "
        f"regression on the vote without square roots, {lead(wide, WITH_ROOTS)} points with them, and "
        f"{lead(wide, best)} points more accurate than the best classifier on the vote ({best}, chosen "
        f"with the true labels), or {lead(best_of_each_set(wide), BEST)} if it is chosen for each data set. Square "
        f"roots alone are worth {lead(wide, PLAIN, WITH_ROOTS)} points to logistic regression on the vote."
        f"{against_all(wide)}"
    )


def names_of(wide: pd.DataFrame) -> list[str]:
    """Data sets in the order of their rows."""
    return list(dict.fromkeys(wide.index.get_level_values("set")))


def against_all(wide: pd.DataFrame) -> str:
    """Count cells against the best of all rivals, on the data sets where more than the vote was run."""
    tables = {}
    for name in names_of(wide):
        rivals = complete(wide.loc[[name]])
        if not set(rivals) <= {PLAIN, *VOTE_CLASSIFIERS}:
            tables[name] = against_best(wide.loc[[name]], OURS, rivals)
    if not tables:
        return ""
    cells = pd.concat(tables.values())
    won, lost = cells["won"].sum(), cells["lost"].sum()
    return (
        f" Against the best of all rivals in each of {len(cells)} cells of {' and '.join(tables)}, chosen with "
        f"the true labels, `{OURS}` is clearly more accurate in {won}, tied in {len(cells) - won - lost} and "
        f"clearly less accurate in {lost} (more than 2 standard errors)."
    )


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per method; columns: mean accuracy over shares and draws of each data set."""
    shown = {}
    for what in BOTH:
        wide = sides(rows, what)
        for name in dict.fromkeys(rows["set"]):
            if what == "classifier" or name not in sets.PAPER:
                shown[f"{name}, {what}"] = column(wide.loc[name])
    return pd.DataFrame(shown).rename_axis("method")


def column(wide: pd.DataFrame) -> pd.Series:
    """Mean accuracy of each method as text; the best in bold, a dash where a draw is missing."""
    means = wide.mean().where(wide.notna().all())
    return means.map(lambda mean: _shown(mean, means.max()))


def _shown(mean: float, best: float) -> str:
    if np.isnan(mean):
        return "–"
    return f"**{fixed(mean, 3)}**" if fixed(mean, 3) == fixed(best, 3) else fixed(mean, 3)


def differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours minus each other method in points of the classifier's accuracy, per data set."""
    wide = sides(rows)
    others = [name for name in wide if name != OURS]
    shown = {}
    for name in dict.fromkeys(rows["set"]):
        own = wide.loc[[name]]
        shown[name] = [
            points(*paired_difference(own, OURS, other).loc[name]) if own[other].notna().all() else "–"
            for other in others
        ]
    return pd.DataFrame(shown, pd.Index(others, name=f"{OURS} minus"))


def failed(rows: pd.DataFrame) -> str:
    """Methods without a result, and why."""
    kinds = rows[rows["error"] != ""].groupby(["set", "method", "error"]).size()
    lines = [f"- {name}, {method}: {error} ({n} draws)" for (name, method, error), n in kinds.items()]
    return "Without a result:\n\n" + "\n".join(lines) if lines else ""


def drawn(rows: pd.DataFrame) -> str:
    """Shares and draws of each data set, and packages."""
    parts = []
    for name, own in rows.groupby("set", sort=False):
        shares = ", ".join(f"{share:.0%}" for share in sorted(own["share"].unique()))
        n = own.groupby("share")[["repeat", "fold"]].apply(lambda each: len(each.drop_duplicates())).max()
        parts.append(f"{name}: {n} draws of {shares} labelled")
    versions = sorted(rows["version"].dropna().unique())
    return f"{'; '.join(parts)}. {', '.join(versions)}."


def body(folder: Path) -> str:
    """All tables as markdown."""
    rows = read(folder / "rivals.csv", KEY)
    parts = [
        headline(rows),
        f"Accuracy, mean over shares and draws:\n\n{markdown(table(rows))}",
        f"Points of the classifier's accuracy, ± one standard error:\n\n{markdown(differences(rows))}",
        failed(rows),
        drawn(rows),
    ]
    return "\n\n".join(filter(None, parts))
