"""Annotators who are worse than chance on the gold, and how the model uses their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.utils import _safe_indexing

from whoknows._array import Array, Rows
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import elements
from whoknows.estimators.inputs.validation import CheckedFeatures
from whoknows.insight.accuracy import confusion_counts, from_confusion

MOST_ITEMS = 500  # on which the influence of an annotator is computed
LITTLE = 0.05  # mean change of log-odds, up to which labels hardly count
CERTAIN = 1e-9  # smallest probability that counts, so that log-odds are finite


@dataclass(frozen=True)
class WorseThanChance:
    """An annotator whose kappa with the gold is negative, and so is the upper limit of its interval.

    Attributes
    ----------
    annotator : id
    n_gold : int
    accuracy : float
        On these.
    influence : float
        Mean change, by a label of this annotator, of the log-odds of the class that it names: negative if the model
        inverts the labels, about 0 if it does not use them.
    """

    annotator: Any
    n_gold: int
    accuracy: float
    influence: float

    @property
    def use(self) -> str:
        """What the model makes of the labels."""
        if abs(self.influence) <= LITTLE:
            return "the labels are not used"
        return "the labels are inverted" if self.influence < 0 else "the labels still count as they are"

    def sentence(self) -> str:
        """Name the annotator, and say how the model uses the labels."""
        return (
            f"{self.annotator} is worse than chance on {self.n_gold} gold items ({self.accuracy:.0%} right): "
            f"{self.use}. Check that they mean the same as those of others."
        )


def worse_than_chance(model: Any, X: Any, y: Annotations, gold: Array, level: float = 0.9) -> list[WorseThanChance]:
    """Find annotators who are worse than chance on the gold.

    Parameters
    ----------
    model : fitted CrowdClassifier or AutoCrowdClassifier
    X : (n_items, n_features)
    y : Annotations
    gold : (n_items,)
        Position of the true class in ``y.labels``, NaN where it is not known.
    level : float
        Nominal coverage of the interval of kappa that lies below 0.
    """
    against = from_confusion(y.annotators, y.labels, confusion_counts(y, gold), level)
    return [
        WorseThanChance(
            elements(y.annotators)[t], int(against.n_gold[t]), float(against.accuracy[0][t]), _influence(model, X, y, t)
        )
        for t in np.flatnonzero(against.kappa[2] < 0).tolist()
    ]


def _influence(model: Any, X: Any, y: Annotations, annotator: int) -> float:
    """Mean change of the log-odds of this annotator's label in the posterior by this label itself."""
    rows = _items_of(y, annotator)
    Y, features = y[rows], X[rows] if isinstance(X, CheckedFeatures) else _safe_indexing(X, rows)
    own = Y.annotator == annotator
    cells = Y.item[own], Y.label[own]
    prob = (model.posterior(features, each)[cells] for each in (Y, Y.only(~own)))
    with_it, without = (logit(np.clip(each, CERTAIN, 1 - CERTAIN)) for each in prob)
    return float((with_it - without).mean())


def _items_of(y: Annotations, annotator: int) -> Rows:
    """Items that an annotator labelled; some, evenly spaced, if they are many."""
    rows = np.unique(y.item[y.annotator == annotator]).astype(np.intp)
    return rows[:: max(len(rows) // MOST_ITEMS, 1)]
