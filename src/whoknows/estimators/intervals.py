"""Intervals of probabilities, from the covariances of the parameters; annotators ranked by expertise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, logsumexp, softmax
from scipy.stats import norm

from whoknows._array import Array, Rows, to_numpy
from whoknows.data.dataframes import NamedColumns
from whoknows.data.notebook import html_table
from whoknows.data.vocabulary import Ids, elements
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.fit.items import Items
from whoknows.fit.laplace import Covariances
from whoknows.model.gaussian import Belief
from whoknows.model.protocols import IntervalTruth, require
from whoknows.model.settings import Rule, check_value, is_number

Interval = tuple[Array, Array, Array]  # the estimate, its lower and its upper limit

GRID = np.linspace(-1, 1, 9)  # points of the interval of the log-odds at which the probability is evaluated
AT_ONCE = 4_000_000  # numbers in memory at once
SHOWN = 20  # rows of a printed ranking
LEVEL: Rule = ("a number between 0 and 1, such as 0.9", lambda value: is_number(value) and 0 < value < 1)


def check_level(level: Any) -> float:
    """Return the half-width of an interval of this level in standard deviations."""
    return float(norm.ppf(0.5 + check_value("level", level, LEVEL) / 2))


def prob_interval(pair: FittedPair, items: Items, level: float) -> Interval:
    """p(z | x) with limits: three (n_items, n_classes)."""
    truth, prob = pair.prepared.model.truth, to_numpy(pair.prob(items))
    xi = truth.parameters(pair.solution.truth)
    of_features = pair.prepared.preprocessing.truth_variance(items)
    return class_interval(truth, xi, pair.covariances, items.on_host.X_truth, prob, level, of_features)


def class_interval(
    truth: Any, xi: Array, spread: Covariances, X: Array, prob: Array, level: float, of_features: Array | float = 0.0
) -> Interval:
    """p(z | x) with limits: three (n_items, n_classes).

    With one log-odds f per item, the range of p(z | f) over f ± k · sd. With one per class, the log-odds of a
    class against all others, log p_k / (1 − p_k), have the variance v_k + Σ_{j ≠ k} (p_j / (1 − p_k))² v_j.
    ``of_features`` is the variance of the log-odds of a classifier, which ξ multiplies by its first number.
    """
    require(
        truth,
        IntervalTruth,
        "An interval of p(z | x)",
        "Use truth='id' or 'lgp' (map='spectral' is the same prior as 'gp').",
    )
    reach, of_truth = check_level(level), spread.truth
    assert of_truth is not None
    variance = np.stack([np.einsum("ij,ij->i", X @ S, X) for S in of_truth], axis=1)
    variance = variance + np.square(xi).flat[0] * of_features
    f = truth.log_odds(xi, X)
    if f.shape[1] == 1:
        sd = np.sqrt(variance)
        around = np.array([truth.log_prob(xi, f + step * reach * sd) for step in GRID])
        return _around(prob, np.exp(around.min(axis=0)), np.exp(around.max(axis=0)))
    centre, sd = np.empty_like(f), np.empty_like(f)
    for k in range(f.shape[1]):
        rest, others = np.delete(f, k, axis=1), np.delete(variance, k, axis=1)
        centre[:, k] = f[:, k] - logsumexp(rest, axis=1)
        sd[:, k] = np.sqrt(variance[:, k] + (softmax(rest, axis=1) ** 2 * others).sum(axis=1))
    return _around(prob, expit(centre - reach * sd), expit(centre + reach * sd))


def expertise_interval(pair: FittedPair, items: Items, level: float, rows: Rows) -> Interval:
    """Expertise with limits: three (n_items, n_rows); ``rows`` as in `FittedPair.expertise`."""
    annotators, theta, X = pair.prepared.model.annotators, pair.solution.annotators.mean, items.on_host
    prob, value, reach = to_numpy(pair.prob(items)), pair.expertise(items, rows), check_level(level)
    low, high = np.empty_like(value), np.empty_like(value)
    for part in np.array_split(np.arange(len(prob)), 1 + prob.size * theta.shape[1] // AT_ONCE):

        def expertise(points: Array, part: Rows = part) -> Array:
            return np.asarray(annotators.expertise(Belief(points), X.X_annotators[part], prob[part]))

        for column, row in enumerate(rows):
            centre, sd = sigma_points(expertise, theta[row], pair.covariances.annotators[row])
            low[part, column], high[part, column] = expit(centre - reach * sd), expit(centre + reach * sd)
    return _around(value, low, high)


def average_expertise(pair: FittedPair, items: Items, level: float) -> Interval:
    """Expertise averaged over the items, with limits: three (n_annotators,)."""
    reach, annotators, belief = check_level(level), pair.prepared.model.annotators, pair.solution.annotators
    prob = pair.prob(items)

    def average(belief: Belief) -> Array:
        return np.asarray(annotators.expertise(belief, items.X_annotators, prob)).mean(axis=0)

    value = average(belief)[:-1]
    odds = [
        sigma_points(lambda points: average(Belief(points)), belief.mean[t], pair.covariances.annotators[t])
        for t in range(len(value))
    ]
    centre, sd = np.array(odds).reshape(-1, 2).T
    return _around(value, expit(centre - reach * sd), expit(centre + reach * sd))


def sigma_points(probability: Callable[[Array], Array], mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Return log-odds of a probability that depends on θ ~ N(mean, covariance), and their standard deviation.

    ``probability`` takes points (n_points, n_columns) and returns (…, n_points). It is evaluated one standard
    deviation to either side along each axis of the covariance: exact if the log-odds are linear in θ. Columns
    without a covariance have no effect.
    """
    axes, mean = np.linalg.cholesky(covariance).T, mean[: len(covariance)]
    odds = logit(np.clip(probability(np.vstack([mean, mean + axes, mean - axes])), 1e-12, 1 - 1e-12))
    n = len(mean)
    half = 0.5 * (odds[..., 1 : n + 1] - odds[..., n + 1 : 2 * n + 1])
    return odds[..., 0], np.sqrt((half**2).sum(axis=-1))


def mixture(weights: Array, answers: list[Interval], level: float) -> Interval:
    """Interval of a weighted average of members, on log-odds: variance within and between members."""
    reach = check_level(level)
    if len(answers) == 1:
        return answers[0]
    value = np.tensordot(weights, np.array([a[0] for a in answers]), axes=1)
    low, high = (logit(np.clip(np.array([a[i] for a in answers]), 1e-12, 1 - 1e-12)) for i in (1, 2))
    centre, variance = 0.5 * (low + high), ((high - low) / (2 * reach)) ** 2
    mean = np.tensordot(weights, centre, axes=1)
    sd = np.sqrt(np.tensordot(weights, variance + (centre - mean) ** 2, axes=1))
    return _around(value, expit(mean - reach * sd), expit(mean + reach * sd))


def _around(value: Array, low: Array, high: Array) -> Interval:
    """Return estimate and limits; the estimate, an average over the parameters, is never outside them."""
    return value, np.minimum(low, value), np.maximum(high, value)


@dataclass(frozen=True, eq=False)
class Ranking(NamedColumns):
    """Annotators, best first; print it.

    Attributes
    ----------
    annotator : (n_annotators,)
    expertise, low, high : (n_annotators,)
        Probability of being right, averaged over the items, with limits.
    n_labels : (n_annotators,)
        Number of labels in the fit.
    level : float
        Nominal coverage of the interval from low to high.
    """

    annotator: Ids
    expertise: Array
    low: Array
    high: Array
    n_labels: Any
    level: float

    COLUMNS = ("annotator", "expertise", "low", "high", "n_labels")

    @classmethod
    def of(cls, annotator: Ids, interval: Interval, n_labels: Any, level: float) -> Ranking:
        """Sort by expertise."""
        order = np.argsort(-interval[0], kind="stable")
        return cls(annotator[order], *(limit[order] for limit in interval), n_labels[order], level)

    def __repr__(self) -> str:
        """Format the first rows as a table."""
        lines = [[name, *column] for name, column in self._cells().items()]
        widths = [max(map(len, lines[0])), 8, 20, 9]
        aligned = zip(lines, widths, "<>>>", strict=True)
        rows = zip(*([f"{cell:{to}{width}}" for cell in line] for line, width, to in aligned), strict=True)
        return "\n".join([*map("".join, rows), *self._more()])

    def _repr_html_(self) -> str:
        """Return the same as HTML, which notebooks show."""
        return html_table("Annotators by the probability of being right", self._cells(), self._more())

    def _more(self) -> list[str]:
        return [f"… and {len(self) - SHOWN} more"] if len(self) > SHOWN else []

    def _cells(self) -> dict[str, list[str]]:
        """Text of the first rows by column."""
        first = slice(SHOWN)
        limits = zip(self.low[first], self.high[first], strict=True)
        return {
            "annotator": [str(name) for name in elements(self.annotator[first])],
            "right": [f"{share:.1%}" for share in self.expertise[first]],
            f"{self.level:.0%} interval": [f"{low:.1%} to {high:.1%}" for low, high in limits],
            "labels": [str(n) for n in self.n_labels[first]],
        }
