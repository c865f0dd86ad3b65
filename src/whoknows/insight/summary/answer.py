"""The answer: the consensus with its confidence, how classes are balanced, where the vote is overruled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows._array import Array, Rows, segment_sum
from whoknows.estimators.baselines.base import votes
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.plain import Facts, Table, names
from whoknows.insight.summary.words import Words

BINS = 10  # of a histogram
SURE = 0.9  # confidence from which an item counts as settled
FAR = 2.0  # standard deviations from the consensus at which a mean of numbers is overruled


@dataclass(frozen=True, eq=False)
class Vote:
    """What labels alone say, beside what the model says.

    Attributes
    ----------
    counts : (n_items, n_classes)
        Labels of each class; of numbers empty.
    value : (n_items,)
        Class of most labels as its code, −1 where there is none or a tie; of numbers their mean or NaN.
    overruled : (n_items,)
        Where the consensus is something else; of numbers, where the mean is beyond two standard deviations.
    """

    counts: NDArray[Any]
    value: NDArray[Any]
    overruled: NDArray[np.bool_]

    @classmethod
    def of(cls, fit: Fit) -> Vote:
        """Count the labels."""
        said = fit.said
        if fit.kind == "numbers":
            total = segment_sum(said.labels[said.label].astype(float), said.item, said.n_items)
            with np.errstate(invalid="ignore"):  # 0 / 0: no labels
                mean = total / said.labels_per_item
            far = np.abs(mean - fit.consensus) > FAR * fit.doubt  # NaN is never far
            return cls(np.zeros((said.n_items, 0)), mean, far)
        counts = votes(replace(said, confidence=None))  # as somebody who reads the labels would count
        most = counts.max(axis=1)
        alone = (counts == most[:, None]).sum(axis=1) == 1
        value = np.where((most > 0) & alone, counts.argmax(axis=1), -1)
        return cls(counts, value, (value >= 0) & (value != fit.consensus))

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Where labels alone have an answer: (n_items,)."""
        return np.asarray(self.value >= 0 if self.value.dtype.kind == "i" else np.isfinite(self.value))

    def most_striking(self, fit: Fit, n: int) -> Rows:
        """Overruled items: the clearest majorities first, then the surest consensus."""
        rows = np.flatnonzero(self.overruled)
        if fit.kind == "numbers":
            return rows[np.argsort(-np.abs(self.value - fit.consensus)[rows], kind="stable")][:n]
        lead = self.counts[rows, self.value[rows]] - self.counts[rows, fit.consensus[rows]]
        return rows[np.lexsort((fit.doubt[rows], -lead))][:n]


def consensus_table(fit: Fit, vote: Vote, words: Words) -> Table:
    """One row an item: the consensus, how sure it is, and what the labels alone say."""
    n_labels = fit.said.labels_per_item.tolist()
    if fit.kind == "numbers":
        return {
            "item": words.ids,
            "consensus": to_twelve_digits(fit.consensus),
            "confidence": [None] * fit.n_items,
            "n_labels": n_labels,
            "vote": to_twelve_digits(vote.value),
            "overruled": vote.overruled.tolist(),
            "std": to_twelve_digits(fit.doubt),
        }
    classes = [*names(fit.said.labels), None]
    return {
        "item": words.ids,
        "consensus": [classes[k] for k in fit.consensus.tolist()],
        "confidence": rounded(1 - fit.doubt),
        "n_labels": n_labels,
        "vote": [classes[k] for k in vote.value.tolist()],
        "overruled": vote.overruled.tolist(),
        **dict(zip(class_columns(classes[:-1]), map(rounded, fit.posterior.T), strict=True)),
    }


def class_columns(classes: list[Any]) -> list[str]:
    """Names of the columns of probabilities; 1 and "1" are told apart."""
    columns = [f"p_{name}" for name in classes]
    return columns if len(set(columns)) == len(columns) else [f"p_{name!r}" for name in classes]


def rounded(probabilities: Array) -> list[float | None]:
    """Six decimals; None where there is no number."""
    return [value if value == value else None for value in np.round(probabilities, 6).tolist()]


def to_twelve_digits(values: Array) -> list[float | None]:
    """Amounts of any size, without the noise of sums; None where there is no number."""
    return [float(f"{value:.12g}") if value == value else None for value in values.tolist()]


def answer(fit: Fit, vote: Vote) -> Facts:
    """How sure the consensus is, how often it is what, and how often the vote is overruled."""
    single = fit.said.labels_per_item == 1
    facts: Facts = {
        "n_voted": int(vote.known.sum()),
        "n_overruled": int(vote.overruled.sum()),
        "n_overruled_single": int((vote.overruled & single).sum()),
        "n_tied": int((fit.said.labelled & ~vote.known).sum()),
    }
    return facts | (_of_numbers(fit) if fit.kind == "numbers" else _of_classes(fit))


def _of_classes(fit: Fit) -> Facts:
    said, K = fit.said, fit.said.n_classes
    sure, edges = fit.doubt <= 1 - SURE, np.linspace(1 / K, 1, BINS + 1)
    return {
        "sure_above": SURE,
        "n_sure": int(sure.sum()),
        "n_sure_labelled": int((sure & said.labelled).sum()),
        "histogram": _histogram(fit, 1 - fit.doubt, edges),
        "balance": {
            "class": names(said.labels),
            "items": np.bincount(fit.consensus, minlength=K).tolist(),
            "share": np.bincount(fit.consensus, minlength=K) / fit.n_items,
            "share_of_labels": np.bincount(said.label, minlength=K) / said.n_annotations,
        },
    }


def _of_numbers(fit: Fit) -> Facts:
    values, said = fit.consensus, fit.said
    given = said.labels[said.label].astype(float)
    edges = np.linspace(values.min(), values.max() if np.ptp(values) > 0 else values.min() + 1, BINS + 1)
    return {
        "histogram": _histogram(fit, values, edges),
        "quartiles": np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0]),
        "quartiles_of_labels": np.quantile(given, [0.0, 0.25, 0.5, 0.75, 1.0]),
        "std_labelled": float(np.median(fit.doubt[said.labelled])),
        "std_unlabelled": float(np.median(fit.doubt[~said.labelled])) if not said.labelled.all() else None,
    }


def _histogram(fit: Fit, values: Array, edges: Array) -> Facts:
    """Counts of labelled and of other items between the edges."""
    bins = np.clip(np.digitize(values, edges) - 1, 0, BINS - 1)
    on = fit.said.labelled
    return {
        "edges": edges,
        "labelled": np.bincount(bins[on], minlength=BINS),
        "unlabelled": np.bincount(bins[~on], minlength=BINS),
    }
