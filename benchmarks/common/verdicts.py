"""Whether a claim holds: rules stated once, for any table of wins or of paired differences."""

from collections.abc import Iterable

import pandas as pd

HOLDS, PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "not run yet"
ALMOST_ALL, HALF = 0.8, 0.5  # of the cells
CLEAR = 2.0  # standard errors
MATTERS = 0.005  # a difference below half a point is small, however clear
ALIKE = 0.01  # two methods this close are almost equal

RULES = f"""\
- *Best*: a cell is one set, or study, at one proportion; a method wins it if no baseline of the paper
  exceeds it. Holds if it wins at least {ALMOST_ALL:.0%} of all cells and more than half of each set's; in
  part if at least half of all.
- *Better*: paired differences, the same folds and labels. Holds if the mean over sets is more than
  {CLEAR:.0f} standard errors above 0, is at least half a point, and no set is as far below; in part if it is
  smaller, or some set is. Of several comparisons all must hold; in part if only some do.
- *Almost equal*: holds if the difference is at most {100 * ALIKE:.0f} point in every study; in part if in
  some."""


def best(held: pd.Series) -> str:
    """Judge cells that were won or lost; the first level of their index is the set."""
    if held.empty:
        return OPEN
    if held.mean() >= ALMOST_ALL and (held.groupby(level=0).mean() > HALF).all():
        return HOLDS
    return PART if held.mean() >= HALF else FAILS


def better(table: pd.DataFrame) -> str:
    """Judge differences, columns mean and sem, one row a set and one «mean»; open without errors."""
    if table.isna().any(axis=None):
        return OPEN
    sets, mean = table.drop("mean"), table.loc["mean"]
    if not mean["mean"] > CLEAR * mean["sem"]:
        return FAILS
    return PART if mean["mean"] < MATTERS or clearly(sets, -1).any() else HOLDS


def clearly(sets: pd.DataFrame, sign: int) -> pd.Series:
    """Whether differences are above 0 (sign 1) or below (−1) by more than chance."""
    return sign * sets["mean"] > CLEAR * sets["sem"]


def alike(table: pd.DataFrame) -> str:
    """Judge differences that should be small."""
    near = table["mean"].drop("mean").abs().round(3) <= ALIKE  # as shown, to a tenth of a point
    return HOLDS if near.all() else PART if near.any() else FAILS


def together(verdicts: Iterable[str]) -> str:
    """One verdict of several comparisons."""
    found = set(verdicts)
    if OPEN in found:
        return OPEN
    return found.pop() if len(found) == 1 else PART
