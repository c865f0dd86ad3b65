"""Scores of probabilities that labels are right: log-loss, AUC, and AUC within annotators."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

LEAST = 1e-3  # probabilities are kept away from 0 and 1 by this much, as one certain error would decide
FIGURES = ("n", "right", "log_loss", "auc", "auc_within")


def score(prob: np.ndarray, right: np.ndarray, annotator: np.ndarray) -> dict[str, float]:
    """Return the figures of one label per row.

    *AUC* compares all labels, so it rewards knowing who is good. *AUC within annotators* compares only labels
    of the same annotator, so it rewards knowing where: constant accuracies score 0.5.
    """
    prob = np.clip(prob, LEAST, 1 - LEAST)
    return {
        "n": len(right),
        "right": float(right.mean()),
        "log_loss": float(log_loss(right, prob, labels=[False, True])),
        "auc": auc(right, prob),
        "auc_within": within(prob, right, annotator),
    }


def auc(right: np.ndarray, prob: np.ndarray) -> float:
    """Area under the ROC curve; NaN if all labels are right or all are wrong."""
    return float(roc_auc_score(right, prob)) if 0 < right.mean() < 1 else float("nan")


def within(prob: np.ndarray, right: np.ndarray, annotator: np.ndarray) -> float:
    """Mean AUC of the annotators, weighted by the pairs of a right and a wrong label that each has."""
    areas, pairs = [], []
    for who in np.unique(annotator):
        own = annotator == who
        hits = right[own].sum()
        if 0 < hits < own.sum():
            areas.append(auc(right[own], prob[own]))
            pairs.append(hits * (own.sum() - hits))
    return float(np.average(areas, weights=pairs)) if pairs else float("nan")
