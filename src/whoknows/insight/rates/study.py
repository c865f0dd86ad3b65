"""Estimates of all shares in all groups, from predictions and gold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.data.vocabulary import tight_array
from whoknows.insight.rates.prediction_powered import (
    Estimate,
    KnownItems,
    estimate_with_gold,
    estimate_without_gold,
    imagined_items,
)
from whoknows.insight.rates.table import Rates

LENT = 20.0  # gold items of all that count for the power of predictions in a group
OWN = 3  # gold items from which a group has a rectifier of its own; with fewer, that of all mostly counts


@dataclass(frozen=True, eq=False)
class Study:
    """Predictions, gold and settings of one call."""

    prob: Array
    gold: Array
    weight: Array | None
    pair: Any
    shares: Array
    reach: float
    new_items: bool
    replicates: list[Array]

    def rates(self, names: list[Any], members: list[Rows], labels: list[Any], level: float) -> Rates:
        """Estimate all shares of all groups."""
        imagined = imagined_items(self.prob.shape[1])
        pooled = self._known(members[0]).with_prior(imagined, self.reach**2)
        # Groups are assumed to resemble all items, but a few gold items without an error prove little.
        of_groups = pooled.with_prior(imagined, pooled.worth)
        groups = (self._estimate(rows, of_groups, LENT) for rows in members[1:])
        estimates = [self._estimate(members[0], imagined), *groups]
        limits = np.array([each.interval(self.reach) for each in estimates])
        n_gold = np.array([int(np.isfinite(self.gold[rows]).sum()) for rows in members])
        has_gold = n_gold[0] > 0
        method = ["model" if not has_gold else "gold" if n >= min(OWN, n_gold[0]) else "gold of all" for n in n_gold]
        n = len(labels)
        return Rates(
            group=np.repeat(tight_array(names), n),
            label=tight_array(labels * len(names)),
            n_items=np.repeat([len(rows) for rows in members], n),
            n_gold=np.repeat(n_gold, n),
            rate=np.concatenate([each.value for each in estimates]),
            low=limits[:, 0].ravel(),
            high=limits[:, 1].ravel(),
            method=np.repeat(method, n),
            level=level,
            power=estimates[0].power,
            _correlation=self._correlations(members, estimates),
        )

    def _known(self, rows: Rows) -> KnownItems:
        """Gold items among these; weights add up to the number of items that they are worth."""
        rows = rows[np.isfinite(self.gold[rows])]
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        if len(rows):
            weight = weight * (weight.sum() / (weight**2).sum())
        return KnownItems(np.eye(self.prob.shape[1])[self.gold[rows].astype(int)], self.prob[rows], weight)

    def _estimate(self, rows: Rows, prior: KnownItems, lent: float = 0.0) -> Estimate:
        if not np.isfinite(self.gold).any():
            replicates = np.array([each[rows].mean(axis=0) for each in self.replicates])
            found = estimate_without_gold(self.prob[rows], replicates.reshape(-1, self.prob.shape[1]), self.shares)
        else:
            gold = self._known(rows)
            mean = self.prob[rows].mean(axis=0)
            found = estimate_with_gold(gold, prior, mean, self._share_known(rows), self.shares, self.reach, lent)
        if not self.new_items:
            return found
        variance = found.variance + _variance_of_truth(found.value, self.shares) / len(rows)
        return Estimate(found.value, found.centre, variance, found.power)

    def _share_known(self, rows: Rows) -> float:
        """Share of gold items; 0 if they were drawn with unequal probabilities."""
        return float(np.isfinite(self.gold[rows]).mean()) if self.weight is None else 0.0

    def _correlations(self, members: list[Rows], estimates: list[Estimate]) -> Array:
        """Correlation of the errors of each two groups: (n_shares, n_groups, n_groups)."""
        if not np.isfinite(self.gold).any():
            means = np.array([[each[rows].mean(axis=0) @ self.shares for each in self.replicates] for rows in members])
            errors = means.reshape(len(members), -1, self.shares.shape[1])
            errors = errors - errors.mean(axis=1, keepdims=True) if errors.size else errors
            factor = max(len(self.replicates) - 1, 0) / max(len(self.replicates), 1)
            covariance = factor * np.einsum("atk,btk->kab", errors, errors)
        elif self.pair is None:
            covariance = np.zeros((self.shares.shape[1], len(members), len(members)))
        else:
            errors = np.array(list(map(self._errors_by_pair, members, estimates)))
            covariance = np.einsum("apk,bpk->kab", errors, errors)
        sd = np.sqrt(np.array([each.variance for each in estimates]).T)
        with np.errstate(invalid="ignore", divide="ignore"):  # no uncertainty at all
            found = covariance / (sd[:, :, None] * sd[:, None, :])
        return np.clip(np.nan_to_num(found, posinf=0, neginf=0), -1, 1)

    def _errors_by_pair(self, rows: Rows, estimate: Estimate) -> Array:
        """Contribution of each pair to the error of the group's estimate: (n_pairs, n_shares)."""
        found = np.zeros((self.pair.max(initial=-1) + 1, self.shares.shape[1]))
        known = self._known(rows)
        of_gold = rows[np.isfinite(self.gold[rows])]
        if len(of_gold):
            residual = (known.truth - estimate.power * known.prediction) @ self.shares
            # On the scale of the variance: the prior counts there, but says nothing about pairs.
            scale = np.sqrt(1 - self._share_known(rows)) / (known.worth + self.reach**2)
            self._add(found, of_gold, scale * known.weight[:, None] * (residual - known.mean(residual)))
        if self.new_items:
            predicted = estimate.power * self.prob[rows] @ self.shares
            self._add(found, rows, (predicted - predicted.mean(axis=0)) / len(rows))
        return found

    def _add(self, found: Array, rows: Rows, values: Array) -> None:
        """Add values of items to those of their pairs."""
        paired = self.pair[rows] >= 0
        np.add.at(found, self.pair[rows][paired], values[paired])


def _variance_of_truth(value: Array, shares: Array) -> Array:
    """Variance of one item's class, or score, at the estimated rates: (n_shares,)."""
    n_classes = len(shares)
    rates = value[:n_classes] / max(value[:n_classes].sum(), 1e-12)
    return np.asarray(rates @ shares**2 - (rates @ shares) ** 2)
