"""What each label of an item, and its features, contribute to the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.data.annotations import Annotations


@dataclass(frozen=True)
class Contributions:
    """Probability of each class of one item, under all its labels and under fewer of them.

    Attributes
    ----------
    posterior : (n_classes,)
        Given the features and all labels.
    from_features : (n_classes,)
        Given the features alone.
    without : (n_labels, n_classes)
        Given the features and all labels but one.
    """

    posterior: Array
    from_features: Array
    without: Array


def contributions(model: Any, x: Array, annotators: Sequence[Any], labels: Sequence[Any]) -> Contributions:
    """Compare the posterior of an item with what it would be without its labels, or without one of them.

    Parameters
    ----------
    model : CrowdClassifier or AutoCrowdClassifier
        A fitted model.
    x : (n_features,)
    annotators, labels : sequences of n_labels
        Who said what about the item. Annotators not seen in training have the expertise of the population.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations, CrowdClassifier
    >>> y = Annotations.from_matrix([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]])
    >>> model = CrowdClassifier(map="linear").fit(np.array([[-1.0], [1.0], [-2.0], [2.0]]), y)
    >>> found = contributions(model, np.array([-1.0]), [0, 1, 2], [0, 0, 1])
    >>> found.posterior.shape, found.from_features.shape, found.without.shape
    ((2,), (2,), (3, 2))
    """
    n = len(labels)
    included = np.vstack([np.ones((1, n), bool), np.zeros((1, n), bool), ~np.eye(n, dtype=bool)])
    item, label = np.nonzero(included)
    y = Annotations.from_arrays(
        item,
        np.asarray(annotators)[label],
        np.asarray(labels)[label],
        items=range(len(included)),
        labels=model.classes_,
    )
    prob = model.posterior(np.tile(np.asarray(x), (len(included), 1)), y, unknown="population")
    return Contributions(prob[0], prob[1], prob[2:])
