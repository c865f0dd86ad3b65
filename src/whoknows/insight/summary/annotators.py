"""Annotators: their ranking, a profile of each, and their agreement with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.insight.agreement import krippendorff_alpha
from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.regions import ItemMap, Regions
from whoknows.insight.summary.text import Facts, Table, json_ids

MAX_PROFILES = 40
ENDS = 15  # of a longer ranking: so many profiles from the top and the bottom, the rest by number of labels
MAX_PAIR_TABLE = 30  # annotators in the table of pairs: those with most labels
MIN_COMMON_ITEMS = 5  # of a pair, to show its agreement


def annotator_table(fit: FittedModel, gold: Array | None) -> tuple[Table, Rows]:
    """One row per annotator, best first, and their positions in ``annotators_``."""
    order, columns = fit.ranking()
    annotations = fit.annotations
    table: Table = {
        "annotator": json_ids(annotations.annotators[order]),
        "n_labels": annotations.labels_per_annotator[order].tolist(),
        **columns,
    }
    if gold is not None:
        on_gold = annotations.annotator[np.isfinite(gold[annotations.item])]
        on_gold_columns = {
            "n_gold": np.bincount(on_gold, minlength=fit.n_annotators),
            **fit.gold_columns(gold),
        }
        table |= {name: column[order].tolist() for name, column in on_gold_columns.items()}
    return table, order


def profiled_annotators(fit: FittedModel, order: Rows) -> Rows:
    """Annotators with a profile, best first: all, or both ends of the ranking and those with most labels."""
    n_labels = fit.annotations.labels_per_annotator
    active = order[n_labels[order] > 0]
    if len(active) <= MAX_PROFILES:
        return active
    ends = np.concatenate([active[:ENDS], active[-ENDS:]])
    rest = np.setdiff1d(active, ends)
    busiest = rest[np.argsort(-n_labels[rest], kind="stable")][: MAX_PROFILES - 2 * ENDS]
    return active[np.isin(active, np.concatenate([ends, busiest]))]


def profiles(fit: FittedModel, item_map: ItemMap, regions: Regions, table: Table, order: Rows) -> list[Facts]:
    """Profile of each annotator on the map: regions, a small map, confusions or severity."""
    _, maps = item_map.small_maps()
    row_of = {int(t): row for row, t in enumerate(order)}
    shown = item_map.annotators.tolist()
    return [
        {"place": row_of[t] + 1}
        | {name: column[row_of[t]] for name, column in table.items()}
        | regions.of(i)
        | {"map": maps[i]}
        | more
        for i, (t, more) in enumerate(zip(shown, fit.profiles(shown, item_map.rows), strict=True))
    ]


# --- agreement --------------------------------------------------------------------------------------


def agreement_facts(fit: FittedModel) -> Facts:
    """Agreement overall and of pairs, and pairs that may have copied."""
    n_compared = int((fit.annotations.labels_per_item > 1).sum())
    if not n_compared:
        return {"possible": False, "n_compared": 0}
    return {
        "possible": True,
        "n_compared": n_compared,
        "alpha": krippendorff_alpha(fit.annotations, fit.level),
        "level": fit.level,
        "pairs": _pair_table(fit),
        **fit.agreement_facts(),
    }


def _pair_table(fit: FittedModel) -> Facts:
    """Agreement of the annotators with most labels as square tables; None with few common items."""
    annotations, n_labels = fit.annotations, fit.annotations.labels_per_annotator
    busiest = np.argsort(-n_labels, kind="stable")[:MAX_PAIR_TABLE]
    shown = np.sort(busiest[n_labels[busiest] > 0])
    place = {name: i for i, name in enumerate(annotations.annotators[shown].tolist())}
    table: list[list[Any]] = [[None] * len(shown) for _ in shown]
    common: list[list[int]] = [[0] * len(shown) for _ in shown]
    columns = fit.pair_values(annotations.only(np.isin(annotations.annotator, shown)))
    for first, second, n, value in zip(*(column.tolist() for column in columns), strict=True):
        i, j = place[first], place[second]
        common[i][j] = common[j][i] = int(n)
        table[i][j] = table[j][i] = value if n >= MIN_COMMON_ITEMS else None
    return {
        "measure": fit.pair_measure,
        "annotators": json_ids(annotations.annotators[shown]),
        "of": int((n_labels > 0).sum()),
        "value": table,
        "n_items": common,
    }
