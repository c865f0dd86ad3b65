"""Classifier and expertise, fitted to a posterior that gold corrected.

Where labels outweigh gold, a fit explains the labels: judges who err together look accurate, and the classifier learns
their errors. Once gold has corrected the posterior of the items with labels, both are fitted to it, as weighted copies:
each item once per class, with the probability of that class as its weight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.fit.engines import Chunks
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import Solution, solve

UNLIKELY = 0.01  # probability of a class that an item is not fitted as
ROUGH = 1e-4  # tolerance: the posterior is given, so that the bound has one maximum


def fit_to_posterior(model: Model, data: Chunks, prob: list[Array], settings: Any) -> Solution:
    """Fit a model to the posterior of each chunk of items, in place of their labels.

    Parameters
    ----------
    model : Model
    data : Chunks
    prob : list of (n_items, n_classes)
    settings : estimator
        Gives ``max_iter``, ``tol`` and ``solver``.
    """
    copies = data.engine.keep(_copies, list(zip(data.chunks, prob, strict=True)))
    monitor = Monitor(settings.max_iter, max(settings.tol, ROUGH), warn=False)
    return solve(model, Chunks(copies, data.engine), None, monitor, settings.solver)


def _copies(part: tuple[Items, Array]) -> Items:
    """Return each item with labels or gold once per class, which is taken as known, weighted by its probability."""
    items, prob = part
    rows, truth = np.nonzero((prob > UNLIKELY) & items.informed[:, None])
    weight = prob[rows, truth] if items.weight is None else prob[rows, truth] * items.weight[rows]
    return replace(items[rows], gold=truth.astype(float), weight=weight)
