"""Whom to ask next, and which items a person should look at."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy.special import entr

from whoknows._array import Array, Rows
from whoknows.estimators.ask.suggestions import check_costs
from whoknows.insight.summary.answer import SURE, Vote
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.plain import Facts, names
from whoknows.insight.summary.words import Words

QUESTIONS = 20
POOL = 4_000  # items that questions are chosen from at most: the least sure ones
TO_ADJUDICATE, FEWEST = 15, 3  # items listed at most, and even if all are settled


def questions(fit: Fit, words: Words, costs: Any) -> Facts:
    """The labels expected to say most about the truth, for what they cost."""
    rows = _least_sure(fit)
    row, who, bits, cost, why = (_ask_numbers if fit.kind == "numbers" else _ask_classes)(fit, rows, costs)
    people = names(who)
    asked = [
        words.of_item(int(i)) | {"annotator": person, "information": b, "cost": c}
        for i, person, b, c in zip(row, people, bits.tolist(), cost.tolist(), strict=True)
    ]
    return {
        "questions": asked,
        "by_annotator": dict(Counter(str(person) for person in people).most_common()),
        "n_candidates": len(rows),
        "n_items": fit.n_items,
        "costs_given": costs is not None,
        "why_no_more": why,
    }


def _least_sure(fit: Fit) -> Rows:
    """Items whose truth is most open: nothing can be learnt of the others. In order."""
    most = fit.affordable(POOL)
    open_ = fit.doubt if fit.kind == "numbers" else entr(fit.posterior).sum(axis=1)
    return np.sort(np.argsort(-open_, kind="stable")[:most])


def _ask_classes(fit: Fit, rows: Rows, costs: Any) -> tuple[Rows, Any, Array, Array, str]:
    asked = fit.model.suggest(fit.rows(rows), fit.said[rows], QUESTIONS, costs=costs)
    place = {item: row for item, row in zip(fit.said.items[rows].tolist(), rows.tolist(), strict=True)}
    row = np.array([place[item] for item in asked.item.tolist()], dtype=np.intp)
    return row, asked.annotator, asked.information, asked.cost, asked.why


def _ask_numbers(fit: Fit, rows: Rows, costs: Any) -> tuple[Rows, Any, Array, Array, str]:
    """I(z; y) = ½ log₂(1 + var z / σ²), truth and labels being Gaussian; each item is asked once."""
    known = fit.said.annotators
    cost = check_costs(costs, known.tolist(), np.arange(len(known)))
    bits = 0.5 * np.log2(1 + (fit.doubt[rows, None] / fit.skill(rows)) ** 2)
    said = fit.said[rows]
    worth = bits / cost
    worth[said.item, said.annotator] = -1.0
    best = worth.argmax(axis=1)
    order = np.argsort(-worth.max(axis=1), kind="stable")
    order = order[worth.max(axis=1)[order] > 0][:QUESTIONS]
    why = "" if len(order) == QUESTIONS else "every other pair of these items and annotators has been asked"
    who = best[order]
    return rows[order], known[who], bits[order, who], cost[who], why


def to_adjudicate(fit: Fit, vote: Vote) -> tuple[Rows, Rows]:
    """Labelled items the model is least sure of, and those annotators dispute most."""
    labelled = np.flatnonzero(fit.said.labelled)
    unsure = labelled[np.argsort(-fit.doubt[labelled], kind="stable")][:TO_ADJUDICATE]
    if fit.kind != "numbers":
        unsure = unsure[: max(int((fit.doubt[unsure] > 1 - SURE).sum()), FEWEST)]
    several = np.flatnonzero(fit.said.labels_per_item > 1)
    dispute = _dispute(fit, vote)[several]
    n = fit.said.labels_per_item[several]
    order = np.lexsort((-n, -dispute))
    return unsure, several[order[dispute[order] > 0]][:TO_ADJUDICATE]


def _dispute(fit: Fit, vote: Vote) -> Array:
    """How evenly an item's labels are split, in bits; of numbers their standard deviation: (n_items,)."""
    said, n = fit.said, np.maximum(fit.said.labels_per_item, 1)
    if fit.kind != "numbers":
        return np.asarray(entr(vote.counts / n[:, None]).sum(axis=1) / np.log(2))
    off = said.labels[said.label].astype(float) - vote.value[said.item]
    return np.asarray(np.sqrt(np.bincount(said.item, off**2, minlength=said.n_items) / n))
