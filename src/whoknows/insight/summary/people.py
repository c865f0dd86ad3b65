"""Who knows what: every annotator in one table, and a closer look at those who are shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from whoknows._array import Array, Rows, segment_sum
from whoknows.data.vocabulary import elements
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.places import Places
from whoknows.insight.summary.plain import Facts, Table, names
from whoknows.insight.summary.regions import Regions

ALL = 40  # annotators up to which each is looked at closely
EDGE = 15  # of more: so many at the top and at the bottom, and the rest by their number of labels
WHOLE_MATRIX = 10  # classes up to which a confusion matrix can be read
STRONGEST = 5  # confusions told of more classes
TYPICAL_ITEMS = 1_000  # that a typical error is averaged over


def annotator_table(fit: Fit, gold: Array | None) -> tuple[Table, Rows]:
    """One row an annotator, best first, and their positions in ``annotators_``."""
    order, columns = _of_numbers(fit) if fit.kind == "numbers" else _of_classes(fit)
    said = fit.said
    table: Table = {
        "annotator": names(said.annotators[order]),
        "n_labels": said.labels_per_annotator[order].tolist(),
        **columns,
        "agreement_with_consensus": _agreement(fit)[order].tolist(),
    }
    if fit.kind == "levels":
        table["severity"] = fit.model.annotator_severity_[order].tolist()
    if gold is not None:
        table |= _on_gold(fit, gold, order)
    return table, order


def _of_classes(fit: Fit) -> tuple[Rows, Table]:
    ranking = fit.ranking()
    place = {name: t for t, name in enumerate(elements(fit.said.annotators))}
    order = np.array([place[name] for name in elements(ranking.annotator)], dtype=np.intp)
    return order, {
        "expertise": ranking.expertise.tolist(),
        "low": ranking.low.tolist(),
        "high": ranking.high.tolist(),
    }


def _of_numbers(fit: Fit) -> tuple[Rows, Table]:
    """Typical error and bias. Expertise is the share of the variance of what one says that is the truth's."""
    rows = fit.sample(TYPICAL_ITEMS)
    square = (fit.skill(rows) ** 2).mean(axis=0)
    truth = fit.consensus.var() + (fit.doubt**2).mean()
    order = np.argsort(square, kind="stable")
    nothing = [None] * len(order)
    return order, {
        "expertise": (truth / (truth + square))[order].tolist(),
        "low": nothing,
        "high": nothing,
        "typical_error": np.sqrt(square)[order].tolist(),
        "bias": fit.model.annotator_bias_[order].tolist(),
    }


def _agreement(fit: Fit) -> Array:
    """Share of each annotator's labels that are the consensus; of numbers the correlation with it."""
    said, T = fit.said, fit.n_annotators
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0: nobody to agree with
        if fit.kind != "numbers":
            same = (said.label == fit.consensus[said.item]).astype(float)
            return np.asarray(segment_sum(same, said.annotator, T) / said.labels_per_annotator)
        return correlation(said.labels[said.label].astype(float), fit.consensus[said.item], said.annotator, T)


def correlation(left: Array, right: Array, group: Any, n_groups: int) -> Array:
    """Pearson's correlation within groups, NaN where something does not vary: (n_groups,)."""
    n = np.bincount(group, minlength=n_groups)

    def centred(values: Array) -> Array:
        return np.asarray(values - (segment_sum(values, group, n_groups) / n)[group])

    x, y = centred(left), centred(right)
    xy, xx, yy = (segment_sum(product, group, n_groups) for product in (x * y, x * x, y * y))
    return np.asarray(np.where((xx > 0) & (yy > 0), xy / np.sqrt(xx * yy), np.nan))


def _on_gold(fit: Fit, gold: Array, order: Rows) -> Table:
    """How often each annotator was right where the truth is known; of numbers how far off."""
    said, T = fit.said, fit.n_annotators
    known = np.isfinite(gold[said.item])
    who, truth = said.annotator[known], gold[said.item[known]]
    n = np.bincount(who, minlength=T)
    if fit.kind == "numbers":
        error = (said.labels[said.label[known]].astype(float) - truth) ** 2
        name, value = "error_on_gold", np.sqrt(segment_sum(error, who, T) / np.where(n, n, np.nan))
    else:
        right = (said.label[known] == truth).astype(float)
        name, value = "right_on_gold", segment_sum(right, who, T) / np.where(n, n, np.nan)
    return {"n_gold": n[order].tolist(), name: value[order].tolist()}


def shown(fit: Fit, order: Rows) -> Rows:
    """Annotators to look at closely, in the order of the table: all, or both ends and the busiest."""
    active = order[fit.said.labels_per_annotator[order] > 0]
    if len(active) <= ALL:
        return active
    ends = np.concatenate([active[:EDGE], active[-EDGE:]])
    rest = np.setdiff1d(active, ends)
    busiest = rest[np.argsort(-fit.said.labels_per_annotator[rest], kind="stable")][: ALL - 2 * EDGE]
    return active[np.isin(active, np.concatenate([ends, busiest]))]


def profiles(fit: Fit, places: Places, regions: Regions, table: Table, order: Rows) -> list[Facts]:
    """A closer look at each annotator shown: regions, a small map, confusions or severity."""
    maps, row_of = places.small_maps()[1], {int(t): row for row, t in enumerate(order)}
    levels = fit.kind == "levels"
    spread = fit.model.annotator_scale(fit.rows(places.rows)).mean(axis=0) if levels else None
    found = []
    for place, t in enumerate(places.people.tolist()):
        row = row_of[t]
        facts: Facts = {"place": row + 1} | {name: column[row] for name, column in table.items()}
        facts |= regions.of(place) | {"map": maps[place]}
        if fit.kind != "numbers":
            facts |= confusions(fit, t)
        if spread is not None:
            facts["spread"] = spread[t]
        found.append(facts)
    return found


def confusions(fit: Fit, t: int) -> Facts:
    """p(label | truth) of an annotator: whole if it can be read, and the strongest mistakes."""
    matrix = fit.model.confusion(elements(fit.said.annotators)[t])
    classes, mistakes = names(fit.said.labels), np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)
    order = np.argsort(-mistakes, axis=None, kind="stable")[:STRONGEST]
    truth, label = np.unravel_index(order, mistakes.shape)
    strongest = [
        {"truth": classes[z], "says": classes[y], "share": mistakes[z, y]}
        for z, y in zip(truth, label, strict=True)
        if mistakes[z, y] > 0
    ]
    return {"confusion": matrix if len(matrix) <= WHOLE_MATRIX else None, "mistakes": strongest}
