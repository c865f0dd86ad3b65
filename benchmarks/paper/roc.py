"""ROC curves stored as one line of text per fold: the truth of the test items, ordered by their scores.

In ``1101(01)00`` the items with the two highest scores are positive and the third is negative. Brackets hold
items with equal scores, here one positive and one negative. A ROC curve depends on nothing else.
"""

from collections.abc import Iterable
from itertools import groupby

import numpy as np

GRID = np.linspace(0, 1, 101)


def order(positive: np.ndarray, score: np.ndarray) -> str:
    """Return the truth of the items as text, highest score first, ties in brackets."""
    ranked = sorted(zip(score.tolist(), positive.astype(int).tolist(), strict=True), reverse=True)
    ties = ["".join(str(z) for _, z in sorted(tie)) for _, tie in groupby(ranked, key=lambda pair: pair[0])]
    return "".join(tie if len(tie) == 1 else f"({tie})" for tie in ties)


def curve(text: str) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rates at the corners of the ROC curve, from (0, 0) to (1, 1)."""
    steps, inside = [(0, 0)], False
    for letter in text:
        if letter in "()":
            inside = letter == "("
            steps += [(0, 0)] if inside else []
        elif inside:
            steps[-1] = (steps[-1][0] + (letter == "0"), steps[-1][1] + (letter == "1"))
        else:
            steps.append((int(letter == "0"), int(letter == "1")))
    false, true = np.cumsum(steps, axis=0).T
    return false / false[-1], true / true[-1]


def area(text: str) -> float:
    """Area under the curve."""
    return float(np.trapezoid(*curve(text)[::-1]))


def average(texts: Iterable[str]) -> np.ndarray:
    """Mean true positive rate at each false positive rate of `GRID`.

    A curve with few negatives has high steps, at the same places in folds of equal size. Each curve is
    therefore interpolated through the midpoints of its steps.
    """
    return np.mean([np.interp(GRID, *_through_middles(*curve(text))) for text in texts], axis=0)


def _through_middles(false: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    step = np.diff(false) > 0
    middles = [(rate[1:] + rate[:-1])[step] / 2 for rate in (false, true)]
    false, true = (np.concatenate([[0.0], rates, [1.0]]) for rates in middles)
    return false, true
