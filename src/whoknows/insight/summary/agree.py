"""How far annotators agree, with whom, and who may have copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.insight.agreement import Level, fleiss_kappa, krippendorff_alpha, percent_agreement
from whoknows.insight.copying import copying_suspects
from whoknows.insight.meetings import Meetings
from whoknows.insight.pairwise import pairwise_agreement
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.plain import Facts, Table, names

SHOWN = 30  # annotators in the table of pairs: those with most labels
ENOUGH = 5  # common items below which a pair says nothing
ITEMS = 4_000  # on which copying is looked for at most
SUSPECTS = 20
LEVELS: dict[str, Level] = {"classes": "nominal", "levels": "ordinal", "numbers": "interval"}


def agreement(fit: Fit) -> Facts:
    """Overall agreement, pairs of annotators, suspects of copying; or why there is nothing to compare."""
    said = fit.said
    compared = said.labels_per_item > 1
    if not compared.any():
        return {"possible": False, "n_compared": 0}
    level = LEVELS[fit.kind]
    facts: Facts = {
        "possible": True,
        "n_compared": int(compared.sum()),
        "alpha": krippendorff_alpha(said, level),
        "level": level,
        "pairs": _pairs(fit),
    }
    if fit.kind == "numbers":
        return facts
    share = np.bincount(said.label, minlength=said.n_classes) / said.n_annotations
    return facts | {
        "percent": percent_agreement(said),
        "by_chance": share @ share,
        "fleiss": fleiss_kappa(said),
        "copying": _copying(fit),
    }


def _pairs(fit: Fit) -> Facts:
    """Agreement of every two of the busiest annotators, as square tables; None where they hardly met."""
    said = fit.said
    busiest = np.argsort(-said.labels_per_annotator, kind="stable")[:SHOWN]
    people = np.sort(busiest[said.labels_per_annotator[busiest] > 0])
    among = said.only(np.isin(said.annotator, people))
    place = {name: i for i, name in enumerate(said.annotators[people].tolist())}
    if fit.kind == "numbers":
        first, second, n_items, value = correlations(among)
    else:
        pairs = pairwise_agreement(among)
        first, second, value = pairs.first, pairs.second, pairs.kappa
        n_items = pairs.n_items.astype(float)
    table: list[list[Any]] = [[None] * len(people) for _ in people]
    common: list[list[int]] = [[0] * len(people) for _ in people]
    for one, other, n, each in zip(
        first.tolist(), second.tolist(), n_items.tolist(), value.tolist(), strict=True
    ):
        i, j = place[one], place[other]
        common[i][j] = common[j][i] = int(n)
        table[i][j] = table[j][i] = each if n >= ENOUGH else None
    return {
        "measure": "correlation" if fit.kind == "numbers" else "Cohen's kappa",
        "annotators": names(said.annotators[people]),
        "of": int((said.labels_per_annotator > 0).sum()),
        "value": table,
        "n_items": common,
    }


def correlations(said: Annotations) -> tuple[Any, Any, Array, Array]:
    """Pearson's correlation of every two annotators on their common items: ids, items, value of each pair."""
    v = said.labels[said.label].astype(float)
    v = v - v.mean()
    meetings = Meetings(said)
    n = meetings.n_items
    x, y = meetings.sum(left=v) / n, meetings.sum(right=v) / n
    xx, yy = meetings.sum(left=v**2) / n - x**2, meetings.sum(right=v**2) / n - y**2
    with np.errstate(invalid="ignore", divide="ignore"):  # one who always says the same goes with nobody
        value = (meetings.sum(v, v) / n - x * y) / np.sqrt(np.maximum(xx, 0) * np.maximum(yy, 0))
    value = np.where(np.isfinite(value), np.clip(value, -1, 1), np.nan)
    return said.annotators[meetings.first], said.annotators[meetings.second], n, value


def _copying(fit: Fit) -> Facts:
    """Pairs that agree more than their expertise explains, on items with several labels."""
    rows = fit.sample(fit.affordable(ITEMS), among=np.flatnonzero(fit.said.labels_per_item > 1))
    suspects = copying_suspects(fit.said[rows], fit.posterior[rows], fit.skill(rows))
    n = min(len(suspects), SUSPECTS)
    columns: Table = {
        name: names(getattr(suspects, name)[:n])
        for name in ("first", "second", "n_items", "observed", "expected", "mistakes", "p_adjusted")
    }
    return {
        "n_suspects": len(suspects),
        "n_pairs": suspects.n_tested,
        "n_items": len(rows),
        "suspects": columns,
    }
