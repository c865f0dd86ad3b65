"""Fitted models whose truth is a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from whoknows._array import Array, Rows, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.estimators.ask.suggestions import Suggestions, check_costs
from whoknows.estimators.inputs.training_data import gold_numbers
from whoknows.insight.coefficients import Level
from whoknows.insight.pairwise import pairwise_correlation
from whoknows.insight.summary.base import BINS, FittedData
from whoknows.insight.summary.text import Facts, Table, amounts, percent, three_digits

OVERRULED_STDS = 2.0  # distance of a mean from the consensus, in standard deviations
ERROR_RATIO = 1.3  # ratio of typical errors worth a mention
ERROR_ITEMS = 1_000  # that a typical error is averaged over
COVERAGE, LIMIT = 0.9, 1.645  # of an interval, and half its width in standard deviations
QUARTILES = [0.0, 0.25, 0.5, 0.75, 1.0]


class GaussianFit(FittedData):
    """A model of numbers; skill is a typical error, the standard deviation around truth and bias."""

    kind = "numbers"
    level: ClassVar[Level] = "interval"
    sign = -1
    pair_measure = "correlation"
    left_out_event = f"Left-out labels lie in the {percent(COVERAGE)} interval predicted for them"
    pair_values = staticmethod(pairwise_correlation)

    # --- consensus ---------------------------------------------------------------------------------

    def __init__(self, model: Any, X: Any, y: Any) -> None:
        self.consensus, self.uncertainty = np.asarray(model.posterior_mean_), np.asarray(model.posterior_std_)
        super().__init__(model, X, y, len(self.consensus))
        item, n = self.annotations.item, self.annotations.labels_per_item
        self.classes: list[Any] = []
        self.values = self.annotations.labels[self.annotations.label].astype(float)
        self.entropy, self.agrees = self.uncertainty, np.full(self.annotations.n_annotations, np.nan)
        self.is_uncertain = np.ones(self.n_items, dtype=bool)
        with np.errstate(invalid="ignore"):  # 0 / 0: no labels
            self.vote = segment_sum(self.values, item, self.n_items) / n
        self.margin = np.abs(self.vote - self.consensus)
        self.overruled = self.margin > OVERRULED_STDS * self.uncertainty
        square = segment_sum((self.values - self.vote[item]) ** 2, item, self.n_items)
        self.disagreement = np.sqrt(square / np.maximum(n, 1))

    def consensus_columns(self) -> Table:
        """Consensus, mean of the labels, and standard deviation."""
        return {
            "consensus": amounts(self.consensus),
            "confidence": [None] * self.n_items,
            "n_labels": self.annotations.labels_per_item.tolist(),
            "vote": amounts(self.vote),
            "overruled": self.overruled.tolist(),
            "std": amounts(self.uncertainty),
        }

    def consensus_facts(self) -> Facts:
        """Distribution of the consensus and of the labels, and typical uncertainty."""
        values, labelled = self.consensus, self.annotations.labelled
        high = values.max() if np.ptp(values) > 0 else values.min() + 1
        unlabelled = None if labelled.all() else float(np.median(self.uncertainty[~labelled]))
        return {
            "histogram": self.histogram(values, np.linspace(values.min(), high, BINS + 1)),
            "quartiles": np.quantile(values, QUARTILES),
            "quartiles_of_labels": np.quantile(self.values, QUARTILES),
            "std_labelled": float(np.median(self.uncertainty[labelled])),
            "std_unlabelled": unlabelled,
        }

    # --- annotators --------------------------------------------------------------------------------

    def skill(self, rows: Rows, annotators: Any = slice(None)) -> Array:
        """Typical error on some items: (n_rows, n_annotators)."""
        return np.asarray(self.model.annotator_scale(self.features(rows))[:, annotators])

    def ranking(self) -> tuple[Rows, Table]:
        """Typical error and bias; expertise is the share of the variance of the labels due to the truth."""
        square = (self.skill(self.sample(ERROR_ITEMS)) ** 2).mean(axis=0)
        truth = self.consensus.var() + (self.uncertainty**2).mean()
        order = np.argsort(square, kind="stable")
        return order, {
            "expertise": (truth / (truth + square))[order].tolist(),
            "low": [None] * len(order),
            "high": [None] * len(order),
            "typical_error": np.sqrt(square)[order].tolist(),
            "bias": self.model.annotator_bias_[order].tolist(),
            "agreement_with_consensus": self._correlation_with_consensus()[order].tolist(),
        }

    def _correlation_with_consensus(self) -> Array:
        """Pearson's correlation of each annotator's labels with the consensus; NaN if not defined."""
        who = self.annotations.annotator
        x, y = self.values, self.consensus[self.annotations.item]
        x, y = x - self.annotator_mean(x)[who], y - self.annotator_mean(y)[who]
        xy, xx, yy = (segment_sum(product, who, self.n_annotators) for product in (x * y, x * x, y * y))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where((xx > 0) & (yy > 0), xy / np.sqrt(xx * yy), np.nan))

    def check_gold(self, gold: Any) -> Array:
        """Gold as numbers."""
        return np.asarray(gold_numbers(gold, self.annotations))

    def gold_columns(self, gold: Array) -> dict[str, Array]:
        """Root mean squared error."""
        truth = gold[self.annotations.item]
        mean = self.annotator_mean((self.values - truth) ** 2, np.isfinite(truth))
        return {"error_on_gold": np.sqrt(mean)}

    def skills_differ(self, low: float, high: float) -> bool:
        """Compare the ratio of two typical errors."""
        return bool(high > ERROR_RATIO * low)

    def color_domain(self, skill: Array) -> list[float]:
        """Range of errors."""
        low, high = np.quantile(skill, [0.02, 0.98]).tolist()
        return [low, high] if high > low else [low, low + max(abs(low), 1.0)]

    # --- items -------------------------------------------------------------------------------------

    def left_out(
        self, rows: Rows, others: Annotations, annotations: Annotations, left: Rows
    ) -> tuple[Array, Array, Array]:
        """Whether labels lie in their 90 % interval without them; numbers have no stated probability."""
        item, annotator = annotations.item[left], annotations.annotator[left]
        mean, std = self.model.posterior(self.features(rows), others)
        predicted = mean[item] + self.model.annotator_bias_[annotator]
        width = LIMIT * np.sqrt(std[item] ** 2 + self.skill(rows)[item, annotator] ** 2)
        inside = np.abs(annotations.labels[annotations.label[left]] - predicted) <= width
        return np.full(len(left), np.nan), np.full(len(left), COVERAGE), inside.astype(float)

    def suggest(self, rows: Rows, n: int, costs: Any) -> Suggestions:
        """I(z; y) = ½ log₂(1 + var z / σ²) for Gaussian truth and labels; at most one label per item."""
        given, ids = self.annotations[rows], self.annotations.annotators
        cost = check_costs(costs, ids, np.arange(len(ids)))
        bits = 0.5 * np.log2(1 + (self.uncertainty[rows, None] / self.skill(rows)) ** 2)
        per_cost = bits / cost
        per_cost[given.item, given.annotator] = -1.0
        best, worth = per_cost.argmax(axis=1), per_cost.max(axis=1)
        order = np.argsort(-worth, kind="stable")
        order = order[worth[order] > 0][:n]
        who = best[order]
        why = "" if len(order) == n else "all other pairs of these items and annotators have a label"
        return Suggestions(given.items[order], ids[who], bits[order, who], cost[who], worth[order], why)

    def predictions(self, rows: Rows) -> list[Facts]:
        """Expected values given the features."""
        return [{"from_features": value} for value in self.model.predict(self.features(rows))]

    def explanation(self, row: int, case: Facts, skill: Array, annotators: Any, labels: Any) -> Iterator[str]:
        """Mean of the labels, and their weighted mean without bias."""
        yield f"The mean of the labels is {three_digits(case['vote'])}."
        estimate = f"{three_digits(case['consensus'])} ± {three_digits(case['std'])}"
        yield f"Corrected for each annotator's bias and weighted by their typical error, it is {estimate}."
