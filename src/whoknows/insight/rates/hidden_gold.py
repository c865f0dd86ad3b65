"""Posteriors of gold items that have not seen their gold, by fitting without a part of it at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import codes_of, elements

Progress = Callable[[float, float | None], None]  # how much is done, of how much

MEMBERS = 3  # of an ensemble, in fits that hide gold
REPLICATES = 20  # at most: annotators are left out one by one, or in this many parts


def posterior_without_own_gold(
    model: Any, X: Any, Y: Annotations, gold: Array, folds: int, random_state: Any, progress: Progress | None = None
) -> Array:
    """Posterior of each item, from fits in which its own gold is hidden: (n_items, n_classes).

    Gold items are divided into folds; each fit hides one. The posterior of a gold item is that of the fit that
    hides it; the posterior of others is the average. (Zrnic and Candès 2024, cross-prediction-powered
    inference.)
    """
    rows = np.random.default_rng(random_state).permutation(np.flatnonzero(np.isfinite(gold)))
    parts = np.array_split(rows, min(folds, len(rows)))
    found = []
    for part in parts:
        found.append(_posterior(model, X, Y, np.where(np.isin(np.arange(len(gold)), part), np.nan, gold)))
        if progress is not None:
            progress(len(found), len(parts))
    prob = np.mean(found, axis=0)
    for part, hidden in zip(parts, found, strict=True):
        prob[part] = hidden[part]
    return prob


def _posterior(model: Any, X: Any, Y: Annotations, gold: Array) -> Array:
    """Posterior of a fit to this gold; classes that the fit does not know have probability 0."""
    labels = np.array([*elements(Y.labels), None], dtype=object)
    known = labels[np.nan_to_num(gold, nan=-1).astype(int)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the first fit has warned of the same data
        fitted = _settings(model).fit(X, Y, gold=known, sample_weight=model._training_data.weight)
    prob = np.zeros((Y.n_items, Y.n_classes))
    prob[:, codes_of(elements(fitted.classes_), Y.labels)] = fitted.posterior_
    return prob


def _settings(model: Any) -> Any:
    """Return the model, not fitted; an ensemble with its best members only, which take a fraction of the time."""
    settings, selection = clone(model), getattr(model, "selection_", None)
    if selection is not None:
        best = np.argsort(-selection.on_labelled)[:MEMBERS]
        settings.set_params(members=[selection.members[m] for m in best])
    return settings


def posteriors_without_annotators(model: Any, X: Any, Y: Annotations) -> list[Array]:
    """Posteriors from the labels of all annotators but some, each left out once: for a jackknife."""
    present = np.unique(Y.annotator)
    parts = np.array_split(present, min(REPLICATES, len(present)))
    return [model.posterior(X, Y.only(_not_by(Y, part))) for part in parts] if len(parts) > 1 else []


def _not_by(Y: Annotations, annotators: Any) -> Mask:
    return ~np.isin(Y.annotator, annotators)
