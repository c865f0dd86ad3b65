"""Rules that decide whether a claim holds, for a table of wins or of paired differences."""

from collections.abc import Iterable

import pandas as pd

HOLDS, PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "not run yet"
ALMOST_ALL, HALF = 0.8, 0.5  # of the cells
CLEAR = 2.0  # standard errors
MATTERS = 0.005  # a smaller difference is negligible even if it is significant
ALIKE = 0.01  # two methods this close are almost equal

RULES = f"""\
- *Best*: a cell is one data set or study at one labelled proportion. A method wins a cell if no baseline of
  the paper has a higher mean. The claim holds if the method wins at least {ALMOST_ALL:.0%} of all cells and
  more than half of the cells of each data set. It holds in part if the method wins at least half of all
  cells.
- *Better*: paired differences on the same folds and labels. The claim holds if the mean over data sets is at
  least half a point and more than {CLEAR:.0f} standard errors above 0, and no data set is more than
  {CLEAR:.0f} standard errors below 0. It holds in part if the mean is more than {CLEAR:.0f} standard errors
  above 0 but one of the other conditions fails. If a claim needs several comparisons, all of them must hold;
  it holds in part if only some do.
- *Almost equal*: holds if the difference is at most {100 * ALIKE:.0f} point in every study, in part if it is
  in some of them."""


def best(held: pd.Series) -> str:
    """Judge a series of cells won or lost, whose first index level is the data set."""
    if held.empty:
        return OPEN
    if held.mean() >= ALMOST_ALL and (held.groupby(level=0).mean() > HALF).all():
        return HOLDS
    return PART if held.mean() >= HALF else FAILS


def better(table: pd.DataFrame) -> str:
    """Judge paired differences: columns mean and sem, one row per set and a row "mean"."""
    if table.isna().any(axis=None):
        return OPEN
    sets, mean = table.drop("mean"), table.loc["mean"]
    if not mean["mean"] > CLEAR * mean["sem"]:
        return FAILS
    return PART if mean["mean"] < MATTERS or clearly(sets, -1).any() else HOLDS


def clearly(sets: pd.DataFrame, sign: int) -> pd.Series:
    """Whether differences are more than two standard errors above 0 (sign 1) or below 0 (sign −1)."""
    return sign * sets["mean"] > CLEAR * sets["sem"]


def alike(table: pd.DataFrame) -> str:
    """Judge differences that are claimed to be small."""
    near = table["mean"].drop("mean").abs().round(3) <= ALIKE  # as shown, to a tenth of a point
    return HOLDS if near.all() else PART if near.any() else FAILS


def together(verdicts: Iterable[str]) -> str:
    """Combine the verdicts of several comparisons."""
    found = set(verdicts)
    if OPEN in found:
        return OPEN
    return found.pop() if len(found) == 1 else PART
