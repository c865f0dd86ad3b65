"""The correction of a fitted pair by gold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from whoknows._array import Array, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.fit.engines import Chunks
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import Solution, as_chunks, solve
from whoknows.model.gold import GoldCorrection, fit_correction

LITTLE = 0.02  # share of gold among items: with more, a model that was fitted to it looks better there than it is
ROUGH = 1e-4  # tolerance of the fit without gold


def gold_correction(
    model: Model, solution: Solution, items: Items | Chunks, settings: Any
) -> tuple[GoldCorrection, Solution] | None:
    """Return how gold corrects the posterior, and the solution whose posterior it corrects; None without gold.

    That solution did not see gold, or gold is so little that it makes no difference.
    """
    data = as_chunks(items)
    n_items, n_gold = data.engine.sum(_sizes, data.chunks)
    if not n_gold:
        return None
    if n_gold > LITTLE * n_items:
        bare = Chunks(data.engine.keep(_without_gold, data.chunks), data.engine)
        monitor = Monitor(settings.max_iter, max(settings.tol, ROUGH), warn=False)
        solution = solve(model, bare, None, monitor, settings.solver)
    parts = data.engine.sum(_of_gold, data.chunks, model, solution)
    labels, (prob, gold, counts) = parts[0], map(np.concatenate, parts[1:])
    return fit_correction(prob, _joined(labels), gold, counts), solution


def _sizes(items: Items) -> tuple[int, int]:
    """Return the number of items with labels, and how many of them are gold."""
    labelled = items.Y.labelled
    return int(labelled.sum()), 0 if items.gold is None else int((labelled & np.isfinite(items.gold)).sum())


def _without_gold(items: Items) -> Items:
    return replace(items, gold=None)


def _of_gold(items: Items, model: Any, solution: Solution) -> tuple[list[Any], ...]:
    """Return labels, posterior, truth and weights of the gold items with labels of a chunk, each in a list."""
    items = items.on_host
    gold = np.full(items.Y.n_items, np.nan) if items.gold is None else items.gold
    rows = np.flatnonzero(items.Y.labelled & np.isfinite(gold))
    prob = posterior_of(model, solution, items)[rows]
    counts = np.ones(len(gold)) if items.weight is None else items.weight
    return [items.Y[rows]], [prob], [gold[rows]], [counts[rows]]


def posterior_of(model: Any, solution: Solution, items: Items) -> Array:
    """p(z | x, labels) of each item, whatever gold says: (n_items, n_classes)."""
    evidence = model.annotators.evidence_at(solution.annotators, items.X_annotators, items.Y)
    return to_numpy(model.truth.posterior_at(solution.truth, items.X_truth, evidence))


def _joined(parts: list[Annotations]) -> Annotations:
    """Return the labels of all chunks together."""
    first = np.cumsum([0, *(part.n_items for part in parts)])
    item = np.concatenate([part.item + start for part, start in zip(parts, first[:-1], strict=True)])
    annotator, label, counts = (
        np.concatenate([getattr(p, name) for p in parts]) for name in ("annotator", "label", "counts")
    )
    return Annotations(item, annotator, label, np.arange(first[-1]), parts[0].annotators, parts[0].labels, counts)
