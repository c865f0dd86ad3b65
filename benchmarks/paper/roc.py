"""ROC curves from a line of text a fold: the truth of its test items, in the order of their scores.

``1101(01)00`` says: the item of the highest score is positive, so is the next, then comes a negative one; a
pair of one positive and one negative share a score. Nothing else matters to a ROC curve.
"""

from collections.abc import Iterable
from itertools import groupby

import numpy as np

GRID = np.linspace(0, 1, 101)


def order(positive: np.ndarray, score: np.ndarray) -> str:
    """Write down the truth of items, highest score first; brackets hold items of equal score."""
    ranked = sorted(zip(score.tolist(), positive.astype(int).tolist(), strict=True), reverse=True)
    ties = ["".join(str(z) for _, z in sorted(tie)) for _, tie in groupby(ranked, key=lambda pair: pair[0])]
    return "".join(tie if len(tie) == 1 else f"({tie})" for tie in ties)


def curve(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the ROC curve, false positive and true positive rate, from (0, 0) to (1, 1)."""
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

    Few negatives make a curve of high steps, and folds of equal size have theirs at the same places: each
    curve is taken through the middles of its steps.
    """
    return np.mean([np.interp(GRID, *_through_middles(*curve(text))) for text in texts], axis=0)


def _through_middles(false: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    step = np.diff(false) > 0
    middles = [(rate[1:] + rate[:-1])[step] / 2 for rate in (false, true)]
    false, true = (np.concatenate([[0.0], rates, [1.0]]) for rates in middles)
    return false, true
