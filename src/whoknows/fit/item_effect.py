"""How much annotators err together: the size of the item effect that the labels speak for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from whoknows._array import Array, to_numpy
from whoknows.fit.engines import Chunks
from whoknows.fit.items import Items
from whoknows.fit.objective import Model
from whoknows.fit.solve import Solution, as_chunks
from whoknows.model.protocols import ItemEffectAnnotators, supports

SIZES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
LEAST_GAIN = 2.0  # of the log-likelihood of the labels, for one more parameter
ENOUGH_ITEMS = 5_000


def with_best_item_effect(model: Model, items: Items | Chunks, solution: Solution) -> Model:
    """Return the model with the item effect under which the labels are most likely, given the solution.

    With groups of annotators, their effect is chosen too. Accuracies stay as they were fitted: only the dependence
    between the labels of an item changes.
    """
    annotators: Any = model.annotators
    if not supports(annotators, ItemEffectAnnotators):
        return model
    data = as_chunks(items)

    def best(candidates: list[Any]) -> Any:
        (log_lik,) = data.engine.sum(_log_lik, data.chunks[:1], model, solution, candidates)
        return candidates[int(np.argmax(log_lik)) if log_lik.max() > log_lik[0] + LEAST_GAIN else 0]

    before = annotators.item_effect, annotators.group_effect
    annotators = best([annotators.with_item_effect(size) for size in SIZES])
    if annotators.group is not None:
        annotators = best([annotators.with_groups(annotators.group, size) for size in SIZES])
        annotators = best([annotators.with_item_effect(size) for size in SIZES])
    same = before == (annotators.item_effect, annotators.group_effect)
    return model if same else replace(model, annotators=annotators)


def _log_lik(items: Items, model: Any, solution: Solution, candidates: list[Any]) -> tuple[Array]:
    """log p(labels | x) of a chunk, thinned out if it is large, under each kind of annotators: (n_candidates,)."""
    step = max(len(items.X_truth) // ENOUGH_ITEMS, 1)
    items = items if step == 1 else items[np.arange(0, len(items.X_truth), step)]
    log_prior = to_numpy(model.truth.log_predict(solution.truth, items.X_truth))
    counts = np.ones(len(log_prior)) if items.weight is None else items.weight
    found = []
    for annotators in candidates:
        evidence = annotators.evidence_at(solution.annotators, items.X_annotators, items.Y)
        table = to_numpy(items.complete(evidence).table)
        found.append(counts @ np.logaddexp.reduce(log_prior + table, axis=1))
    return (np.array(found),)
