"""Tables of who_is_right.csv as markdown: one row per method, one column per data set."""

from pathlib import Path

import pandas as pd

from benchmarks.common.tables import fixed, markdown, read
from benchmarks.rivals.cases import KEY
from benchmarks.who_is_right.methods import METHODS, OURS, REFERENCE
from benchmarks.who_is_right.scores import LEAST

TABLES = {
    "before_log_loss": "Before asking, log-loss (lower is better)",
    "before_auc": "Before asking, AUC",
    "before_auc_within": "Before asking, AUC within annotators",
    "after_log_loss": "After asking, log-loss (lower is better)",
    "after_auc": "After asking, AUC",
}
HOW = f"""\
The third output of the model: the probability that annotator t is right on item i. It is compared with
whether the label agrees with the truth, which no method sees.

- *Before asking*: items whose labels are held out; the probability depends on the features alone. This is
  what decides whom to ask. Dawid-Skene, CROWDLAB and the agreement with the vote have one number per
  annotator.
- *After asking*: labels of the training items, given the features and all labels. CROWDLAB scores every
  label; AnnotMixClassifier has no such probability.
- *AUC* compares all labels and rewards knowing who is good. *AUC within annotators* compares labels of the
  same annotator and rewards knowing where: constant accuracies score 0.5.
- *{REFERENCE.capitalize()}* is a reference that uses the truth: each annotator's share of right labels in
  training, the best that one number per annotator can do.

Probabilities are kept {LEAST:g} away from 0 and 1, because one certain error would decide the log-loss. Means
over draws and labelled shares; the best method is in bold, without the reference. All methods have the
preprocessing of `AutoCrowdClassifier`. In the data sets of LLM judges many judges are wrong together. Models
that take errors as independent, ours included, are then much too certain after asking."""


def means(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean over draws and shares: one row per method, one column per set; NaN if a draw is missing."""
    wide = rows.pivot(index=["share", "repeat", "fold", "set"], columns="method", values=column)
    table = wide.groupby("set", sort=False).agg(lambda draws: draws.mean(skipna=False)).T
    known = [REFERENCE, *METHODS]
    return table.loc[[name for name in known if name in table.index], list(dict.fromkeys(rows["set"]))]


def best(table: pd.DataFrame, column: str) -> pd.Series:
    """The best value of each set, without the reference."""
    others = table.drop(REFERENCE, errors="ignore")
    return others.min() if column.endswith("log_loss") else others.max()


def shown(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Means as text, the best of each set in bold."""
    table = means(rows, column)
    winners = best(table, column)
    words = {name: [_word(value, winners[name], method) for method, value in table[name].items()] for name in table}
    return pd.DataFrame(words, table.index).rename_axis("method")


def _word(value: float, winner: float, method: str) -> str:
    if pd.isna(value):
        return "–"
    text = fixed(value, 3)
    return f"**{text}**" if text == fixed(winner, 3) and method != REFERENCE else text


def headline(rows: pd.DataFrame) -> str:
    """Count the data sets where ours is best, and better than constants that use the truth."""
    table = means(rows, "before_log_loss")
    if not {OURS, REFERENCE} <= set(table.index):
        return ""
    own = [name for name in METHODS if METHODS[name].ours and name in table.index]
    others = table.drop([REFERENCE, *own])
    ours, within = table.loc[OURS], means(rows, "before_auc_within").loc[OURS]
    ahead, beyond = (ours < others.min()).sum(), (ours < table.loc[REFERENCE]).sum()
    where = [name for name in table if within[name] > 0.55]
    behind = [f"{name}: {others[name].idxmin()}" for name in table if ours[name] >= others[name].min()]
    return (
        f"Before asking, `{OURS}` has a lower log-loss than all methods outside this library on {ahead} of "
        f"{len(ours)} data sets, and a lower one than the true constant accuracies on {beyond}. Its AUC "
        f"within annotators exceeds 0.55 on {len(where)} ({', '.join(where) or 'none'})."
        + (f" On the other data sets another method is better ({'; '.join(behind)})." if behind else "")
    )


def differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Log-loss of ours minus that of other methods before asking, ± one standard error over draws."""
    wide = rows.pivot(index=["set", "share", "repeat", "fold"], columns="method", values="before_log_loss")
    others = [name for name in (REFERENCE, *METHODS) if name in wide and name != OURS]
    shown = {}
    for name in dict.fromkeys(rows["set"]):
        gaps = wide.loc[name].rsub(wide.loc[name, OURS], axis=0)
        shown[name] = [f"{fixed(gaps[each].mean(), 3, '+')} ± {fixed(gaps[each].sem(), 3)}" for each in others]
    return pd.DataFrame(shown, pd.Index(others, name=f"{OURS} minus"))


def body(folder: Path) -> str:
    """All tables as markdown."""
    rows = read(folder / "who_is_right.csv", KEY)
    right = rows.groupby("set", sort=False)["before_right"].mean()
    share = f"Share of held-out labels that are right: {_listed(right)}."
    parts = [f"{title}:\n\n{markdown(shown(rows, column))}" for column, title in TABLES.items()]
    if OURS in set(rows["method"]):
        title = "Before asking, difference of log-loss (negative: ours is better), ± one standard error"
        parts.insert(1, f"{title}:\n\n{markdown(differences(rows))}")
    versions = sorted(rows["version"].dropna().unique())
    return "\n\n".join([*filter(None, [headline(rows)]), *parts, f"{share} {', '.join(versions)}."])


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{name} {fixed(value, 2)}" for name, value in values.items())
