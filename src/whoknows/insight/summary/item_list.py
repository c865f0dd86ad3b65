"""Every item with its labels, as flat columns that are small enough for a page."""

from __future__ import annotations

import numpy as np

from whoknows._array import Rows
from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.items import ItemDescriptions, item_details
from whoknows.insight.summary.text import Facts, Table, json_ids

MAX_ITEMS = 20_000
MAX_LABELS = 100_000
MAX_CHARACTERS = 600_000  # of the texts of all items
MAX_TEXT = 280  # characters of one of them
MAX_REASONS = 1_000  # overruled votes that are explained


def item_list(fit: FittedModel, descriptions: ItemDescriptions, consensus: Table, on_map: Rows) -> Facts:
    """Texts and labels of the items, or of those on the map and the first others.

    Everything else about them is in the table of the consensus. Labels are in the order of the items: those
    of an item follow those of the items before it; ``n_labels`` of the consensus says how many it has.

    Returns
    -------
    dict
        ``rows``, items that are listed, or None for all; ``text``, their texts; ``n_with_labels``, number of
        items whose labels are listed; ``annotators`` and ``labels``, names for the codes in ``annotator``
        and ``label``; ``skill``, that of the annotator of each label on its item, for the first labels;
        ``why``, the reason why a vote is overruled, by position in the list.
    """
    rows = np.sort(np.concatenate([on_map, np.setdiff1d(np.arange(fit.n_items), on_map)])[:MAX_ITEMS])
    up_to = np.cumsum(fit.annotations.labels_per_item[rows])
    n_with_labels = int(np.searchsorted(up_to, MAX_LABELS, side="right"))
    given = fit.annotations[rows[:n_with_labels]]
    order = np.lexsort((given.annotator, given.item))
    skilled = rows[: min(n_with_labels, fit.affordable(MAX_ITEMS))]
    known = order[given.item[order] < len(skilled)]
    skill = fit.skill(skilled)[given.item[known], given.annotator[known]]
    return {
        "rows": None if len(rows) == fit.n_items else rows,
        "text": _texts(descriptions, rows),
        "n_with_labels": n_with_labels,
        "annotators": json_ids(fit.annotations.annotators),
        "labels": json_ids(fit.annotations.labels),
        "annotator": given.annotator[order],
        "label": given.label[order],
        "skill": [float(f"{value:.4g}") for value in skill.tolist()],
        "why": _reasons(fit, descriptions, consensus, rows),
    }


def _texts(descriptions: ItemDescriptions, rows: Rows) -> list[str] | None:
    longest = min(MAX_TEXT, MAX_CHARACTERS // len(rows))
    return None if descriptions.text is None else [descriptions.line(row, longest) for row in rows]


def _reasons(fit: FittedModel, descriptions: ItemDescriptions, consensus: Table, rows: Rows) -> Facts:
    """Why votes are overruled, by position of the item in the list."""
    place = {row: i for i, row in enumerate(rows.tolist()) if fit.overruled[row]}
    by_id = ItemDescriptions(descriptions.ids, None, None, None)  # reasons need no texts or images
    cases = item_details(fit, by_id, consensus, np.array([*place][:MAX_REASONS], dtype=np.intp))
    return {str(place[row]): case["why"] for row, case in cases.items()}
