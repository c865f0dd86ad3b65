"""How much annotators err together: effects of items, and of groups of annotators, under which labels are likely.

There is no effect, or one size λ for all annotators; or, with three classes and more, λ_t = λ + d_t for each of them,
d_t ~ N(0, τ²), with a τ² under which labels are likely when d is integrated out (MacKay's update): annotators with few
labels have nearly λ. The prior of τ² is that of how much accuracies deviate from the population's. The three are
compared by Laplace's approximation,

    log p(labels | λ, d) − ½ d² / τ² − ½ log |I + τ² F|,

where F, the information about d, is Σ s sᵀ over items, s the gradient of the log-likelihood of an item's labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from whoknows._array import Array, Mask, to_numpy
from whoknows.fit.engines import Chunks
from whoknows.fit.items import Items
from whoknows.fit.objective import Model
from whoknows.fit.solve import Solution, as_chunks
from whoknows.model.annotators.population import Population
from whoknows.model.annotators.shared_effects import LabelBlock
from whoknows.model.evidence import TableEvidence
from whoknows.model.protocols import ItemEffectAnnotators, supports

ITEM, GROUP = 0, 1  # columns of effects
START = 1.0  # size of effects
LEAST_GAIN = 2.0  # of the log-likelihood of the labels, for one more parameter
ENOUGH_ITEMS = 5_000
# For effects of their own. With two classes, those who err together agree with each other, so that a fit which takes
# annotators as independent trusts them most; what the others share then looks like their error.
FEWEST_CLASSES = 3
MOST_ANNOTATORS = 300  # with effects of their own: those with the most labels
STEPS, HALVINGS, LONGEST_STEP, SMALL_GAIN = 15, 5, 1.0, 0.2


def with_best_item_effect(model: Model, items: Items | Chunks, solution: Solution) -> Model:
    """Return the model with the effects under which the labels are most likely, given the solution.

    Accuracies stay as they were fitted: only the dependence between the labels of an item changes.
    """
    annotators: Any = model.annotators
    if not supports(annotators, ItemEffectAnnotators):
        return model
    data = as_chunks(items)
    ((effects,),) = data.engine.sum(_best_effects, data.chunks[:1], model, solution)
    if not effects.any() and not annotators.item_effect and not annotators.group_effect:
        return model
    of_item, of_group = (float(size[0]) if np.ptp(size) == 0 else size.copy() for size in effects.T)
    annotators = annotators.with_item_effect(of_item)
    if annotators.group is not None:
        annotators = annotators.with_groups(annotators.group, of_group)
    return replace(model, annotators=annotators)


def _best_effects(items: Items, model: Any, solution: Solution) -> tuple[list[Array]]:
    """Return λ and κ of each row of θ, (n_rows, 2), by the labels of a chunk, thinned out if it is large."""
    step = max(len(items.X_truth) // ENOUGH_ITEMS, 1)
    items = items if step == 1 else items[np.arange(0, len(items.X_truth), step)]
    annotators, group, n_rows = model.annotators, model.annotators.group, len(solution.annotators.mean)
    nothing = np.zeros((n_rows, 2))
    if not items.Y.n_annotations:
        return ([nothing],)
    prior = TableEvidence(to_numpy(model.truth.log_predict(solution.truth, items.X_truth)))
    log_prior = prior.with_gold(items.gold, None).table
    counts = np.ones(len(log_prior)) if items.weight is None else items.weight

    def likelihood(annotators: Any, columns: list[int]) -> Likelihood:
        odds = annotators.label_odds(solution.annotators, items.X_annotators, items.Y)
        effects = nothing.copy()
        effects[:, columns] = START
        return Likelihood(odds.blocks(effects), log_prior, counts, n_rows)

    alone = likelihood(annotators if group is None else annotators.with_groups(group), [ITEM])
    found = [Choice(nothing, alone.at(nothing)[0], alone), alone.of_all([ITEM])]
    if group is not None:
        in_groups = annotators.with_groups(group, START)
        found += [likelihood(in_groups, columns).of_all(columns) for columns in ([GROUP], [ITEM, GROUP])]
    best = max(found, key=lambda choice: choice.score)
    if best.effects.any() and items.Y.n_classes >= FEWEST_CLASSES:
        of_each = best.likelihood.of_each(best.effects, annotators.population)
        best = max(best, of_each, key=lambda choice: choice.score)
    return ([best.effects],)


@dataclass(frozen=True)
class Choice:
    """Effects, their log-likelihood less what their parameters cost, and the labels that it is of."""

    effects: Array
    score: float
    likelihood: Likelihood


@dataclass(frozen=True)
class Place:
    """A place x in the search for effects A x, and the log-likelihood there with its gradient and information."""

    x: Array
    log_lik: float
    gradient: Array
    information: Array

    def objective(self, precision: Array) -> float:
        """log-likelihood and log-prior of x ~ N(0, 1 / precision)."""
        return self.log_lik - 0.5 * float(precision @ self.x**2)


@dataclass(frozen=True)
class Likelihood:
    """log p(labels | x) as a function of the effects (n_rows, 2)."""

    blocks: list[LabelBlock]
    log_prior: Array
    counts: Array
    n_rows: int

    def at(self, effects: Array) -> tuple[float, Any]:
        """log p(labels | x), and its gradient for each item, (n_items, 2 n_rows), sparse: by all λ, then all κ."""
        log_lik, n, parts = 0.0, self.n_rows, []
        for block in self.blocks:
            of_items, slopes = block.gradient(effects, self.log_prior[block.items])
            log_lik += float(self.counts[block.items] @ of_items)
            parts.append((block.labels.item, block.labels.annotator % n, slopes))
        item, who, slopes = (np.concatenate(part) for part in zip(*parts, strict=True))
        cells = np.tile(item, 2), np.concatenate([who, who + n])
        return log_lik, sp.csr_array((slopes.T.ravel(), cells), shape=(len(self.counts), 2 * n))

    def of_all(self, columns: list[int]) -> Choice:
        """Return the most likely effects that all annotators share."""
        n, n_effects = self.n_rows, len(columns)
        design = sp.csr_array(np.kron(np.eye(2)[:, columns], np.ones((n, 1))))
        here, free = self._place(design, np.full(n_effects, START)), np.zeros(n_effects)
        for _ in range(STEPS):
            before, here = here, self._step(design, here, free)
            if here.log_lik < before.log_lik + SMALL_GAIN:
                break
        return Choice(np.abs((design @ here.x).reshape(2, n).T), here.log_lik - LEAST_GAIN * n_effects, self)

    def of_each(self, start: Array, population: Population) -> Choice:
        """Return the most likely effects of each annotator, from those that all of them share."""
        columns = np.flatnonzero(start[0])
        design, deviates = self._design(columns)
        here = self._place(design, np.where(deviates, 0.0, start[0, columns][:, None]).ravel())
        variance = np.full(len(columns), population.deviation_variance)
        for _ in range(STEPS):
            precision = np.where(deviates, 1 / variance[:, None], 0.0)
            before, here = here, self._step(design, here, precision.ravel())
            gain = here.objective(precision.ravel()) - before.objective(precision.ravel())
            previous, variance = variance, _variance(here, precision, population)
            if gain < SMALL_GAIN and np.allclose(variance, previous, rtol=0.1):
                break
        score = _log_marginal(here, np.where(deviates, 1 / variance[:, None], 0.0).ravel())
        effects = (design @ here.x).reshape(2, self.n_rows).T
        effects *= np.where(effects.sum(axis=0) < 0, -1, 1)  # u and −u are alike: most annotators are above 0
        return Choice(effects, score - 2 * LEAST_GAIN * len(columns), self)

    def _design(self, columns: Any) -> tuple[Any, Mask]:
        """A (2 n_rows, n_columns (m + 1)), and where x are deviations, (n_columns, m + 1): the last is the mean."""
        n = self.n_rows
        n_labels = np.bincount(np.concatenate([block.labels.annotator % n for block in self.blocks]), minlength=n)
        own = np.argsort(-n_labels, kind="stable")[: min(MOST_ANNOTATORS, int((n_labels > 0).sum()))]
        m = len(own)
        of_each = sp.csr_array((np.ones(m), (own, np.arange(m))), shape=(n, m))
        design = sp.kron(np.eye(2)[:, columns], sp.hstack([of_each, np.ones((n, 1))]))
        return sp.csr_array(design), np.tile(np.arange(m + 1) < m, (len(columns), 1))

    def _place(self, design: Any, x: Array) -> Place:
        log_lik, scores = self.at((design @ x).reshape(2, self.n_rows).T)
        scores = scores @ design
        weighted = scores.multiply(self.counts[:, None]).tocsr()
        return Place(x, log_lik, weighted.sum(axis=0), (weighted.T @ scores).toarray())

    def _step(self, design: Any, here: Place, precision: Array) -> Place:
        """Return the place after a step of Fisher scoring, halved until it is better; the same if none is."""
        tiny = 1e-6 * (1 + np.diag(here.information))
        step = np.linalg.solve(here.information + np.diag(precision + tiny), here.gradient - precision * here.x)
        step *= min(1.0, LONGEST_STEP / max(np.abs(step).max(), 1e-9))
        for _ in range(HALVINGS):
            there = self._place(design, here.x + step)
            if there.objective(precision) > here.objective(precision):
                return there
            step = step / 2
        return here


def _variance(here: Place, precision: Array, population: Population) -> Array:
    """τ² of each effect: (n_effects,). Only what labels determine of the deviations counts."""
    tiny = 1e-6 * (1 + np.diag(here.information))
    covariance = np.linalg.inv(here.information + np.diag(precision.ravel() + tiny))
    deviates = precision > 0
    settled = np.where(deviates, 1 - precision * np.diag(covariance).reshape(precision.shape), 0.0).sum(axis=1)
    distance = (np.where(deviates, here.x.reshape(precision.shape), 0.0) ** 2).sum(axis=1)
    shape, rate = population.deviation_shape, population.deviation_shape * population.deviation_variance
    return np.asarray((0.5 * distance + rate) / (0.5 * settled.clip(min=0) + shape))


def _log_marginal(here: Place, precision: Array) -> float:
    """Laplace's approximation of log p(labels), deviations integrated out."""
    deviates = precision > 0
    root = precision[deviates] ** -0.5
    information = here.information[np.ix_(deviates, deviates)] * np.outer(root, root)
    return here.objective(precision) - 0.5 * float(np.linalg.slogdet(np.eye(len(root)) + information)[1])
