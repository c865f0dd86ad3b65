"""The fitted pair: preprocessing, model and what a solver learned. It answers every question about items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from whoknows._array import Array, Rows, namespace, rows_like, to_numpy
from whoknows._threads import one_thread
from whoknows.data.annotations import Annotations
from whoknows.estimators.corrected_fit import fit_to_posterior
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.prepared_model import PreparedModel, describe_graphs
from whoknows.estimators.reading import Reading, read_pair
from whoknows.fit.engines import Chunks
from whoknows.fit.item_effect import with_best_item_effect
from whoknows.fit.items import Items
from whoknows.fit.laplace import Covariances
from whoknows.fit.monitor import Callback, Monitor
from whoknows.fit.solve import SOLVERS, Solution, as_chunks, covariances_of, solve, without_own_labels
from whoknows.model.gaussian import belief_about
from whoknows.model.posterior import CategoricalPosterior, GaussianPosterior, Posterior
from whoknows.model.protocols import (
    BiasAnnotators,
    CoefficientAnnotators,
    CoefficientTruth,
    ItemEffectAnnotators,
    ScaleAnnotators,
    require,
    supports,
)

TYPICAL_ITEMS = 1000  # items that averages, such as confusion matrices, are taken over


@dataclass(frozen=True)
class FittedPair:
    """Both fitted pieces, and how items are preprocessed for them.

    Methods take `Items`, as ``prepared.items(X, data)`` makes them. `prediction`, `posterior` and
    `log_predictive` serve every pair: the truth is categorical, or Gaussian in the units of the labels.
    Expertise and class probabilities are those of classifiers.

    Attributes
    ----------
    prepared : PreparedModel
    solution : Solution
        What the solver learned.
    covariances : Covariances, optional
        Of the parameters, for intervals; None if the truth has none.
    typical : Items
        About a thousand items of the fit.
    history : list of float
        The bound after each iteration.
    reading : Reading, optional
        How the posterior of items with labels is read, if it is not that of the pair as it is.
    """

    prepared: PreparedModel
    solution: Solution
    covariances: Covariances | None
    typical: Items
    history: list[float]
    reading: Reading | None = None

    # --- every pair ------------------------------------------------------------------------------

    def prediction(self, items: Items) -> Posterior:
        """p(z | x) of each item."""
        if self.prepared.units is None:
            return CategoricalPosterior(self.prob(items))
        found = self.prepared.model.truth.predict(self.solution.truth, items.X_truth)
        return self.prepared.units.restore(found)

    def posterior(self, items: Items) -> Posterior:
        """p(z | x, labels) of each item."""
        items = items if SOLVERS[self.solution.solver].works_on_tensors else items.on_host
        model, solution = self.prepared.model, self.solution
        evidence = model.annotators.evidence_at(solution.annotators, items.X_annotators, items.Y)
        found = model.truth.posterior_at(solution.truth, items.X_truth, items.complete(evidence))
        if self.prepared.units is not None:
            return self.prepared.units.restore(found)
        prob = to_numpy(found)
        return CategoricalPosterior(prob if self.reading is None else self.reading.posterior(prob, items))

    def log_predictive(self, items: Items) -> Array:
        """log p(labels | x) of each item, truth and annotators integrated out: (n_items,)."""
        if self.prepared.units is not None:
            return self._log_density(items)
        log_labels = self.prepared.model.annotators.predictive(self.solution.annotators, items.X_annotators, items.Y)
        log_joint = self.log_prob(items) + to_numpy(log_labels.table)
        return np.asarray(np.logaddexp.reduce(log_joint, axis=1))

    def _log_density(self, items: Items) -> Array:
        """Return the same for real-valued labels: a density in their units."""
        model, solution = self.prepared.model, self.solution
        evidence = model.annotators.evidence_at(solution.annotators, items.X_annotators, items.Y)
        density = model.truth.log_density(solution.truth, items.X_truth, evidence)
        n_labels = np.bincount(items.Y.item, items.Y.counts, items.Y.n_items)
        return np.asarray(density - n_labels * np.log(self.prepared.units.scale))

    def scale(self, items: Items) -> Array:
        """σ_t(x) of Eq. (15), the spread of each annotator's labels: (n_items, n_annotators)."""
        annotators = require(
            self.prepared.model.annotators,
            ScaleAnnotators,
            "annotator_scale, σ of Eq. (15),",
            "Use annotators='gaussian', or expertise(X), which every annotator model has.",
        )
        sigma = annotators.scale(self.solution.annotators.mean, items.X_annotators)
        return sigma[:, :-1] if self.prepared.units is None else self.prepared.units.scale * sigma[:, :-1]

    # --- classifiers -----------------------------------------------------------------------------

    def log_prob(self, items: Items) -> Array:
        """log p(z | x): (n_items, n_classes)."""
        return to_numpy(self.prepared.model.truth.log_predict(self.solution.truth, items.X_truth))

    def prob(self, items: Items) -> Array:
        """p(z | x), on the device of the items: (n_items, n_classes)."""
        log_prob = self.prepared.model.truth.log_predict(self.solution.truth, items.X_truth)
        return namespace(log_prob).exp(log_prob)

    def log_each_label(self, items: Items) -> Array:
        """log p(label | x, z) of each label by itself: (n_labels, n_classes)."""
        X_annotators = items.X_annotators[rows_like(items.Y.item.astype(np.intp), items.X_annotators)]
        each = self.prepared.model.annotators.predictive(self.solution.annotators, X_annotators, items.Y.one_by_one())
        return to_numpy(each.table)

    def of_label_pairs(self, items: Items, first: Rows, second: Rows) -> Array:
        """Probability that first, second and both are right, and of the same wrong label: (n_pairs, 4).

        ``first`` and ``second`` are positions in ``items.Y`` of two labels of one item. Only who gave them counts, not
        what they are. All annotators have the same item effect: effects of their own could explain two who copy.
        """
        annotators: Any = self.prepared.model.annotators
        if supports(annotators, ItemEffectAnnotators):
            annotators = annotators.with_item_effect(annotators.item_effect)
        item, n = items.Y.item[first].astype(np.intp), len(first)
        X, log_prob = items.X_annotators[item], self.log_prob(items)[item]
        found = np.zeros((n, 4))
        for k in range(items.Y.n_classes):
            for place, labels in enumerate(((first,), (second,), (first, second))):
                who, rows = items.Y.annotator[np.concatenate(labels)], np.tile(np.arange(n), len(labels))
                Y = Annotations(rows, who, np.full(len(rows), k), np.arange(n), items.Y.annotators, items.Y.labels)
                evidence = annotators.predictive(self.solution.annotators, X, Y)
                joint = np.exp(log_prob + to_numpy(evidence.table))  # p(z, they say k | x)
                found[:, place] += joint[:, k]
            found[:, 3] += joint.sum(axis=1) - joint[:, k]
        return found

    @property
    def effects(self) -> Array:
        """Sizes of the effects that labels of an item share, of all labels and of one group: (n_annotators, 2)."""
        annotators: Any = self.prepared.model.annotators
        return np.asarray(annotators.effects(len(self.solution.annotators.mean))[:-1])

    def expertise(self, items: Items, rows: Rows) -> Array:
        """Probability that each annotator is right; ``rows`` of θ, −1 for one not seen in training."""
        right = self.prepared.model.annotators.expertise(self.solution.annotators, items.X_annotators, self.prob(items))
        return to_numpy(right[:, rows])

    def confusion(self, row: int) -> Array:
        """p(label | truth) of one annotator, averaged over typical items: (n_classes, n_classes)."""
        belief = belief_about(self.solution.annotators, row)
        return self.prepared.model.annotators.confusion(belief, self.typical.X_annotators)[0]


def fit_pair(
    settings: Any,
    prepared: PreparedModel,
    items: Items | Chunks,
    typical: Items,
    *,
    callback: Callback | None = None,
    start: Array | None = None,
    before: Solution | None = None,
    step: Any = None,
    is_member: bool = False,
) -> FittedPair:
    """Fit a prepared model to items.

    ``settings`` are an estimator's. ``start`` is a first guess at the posterior; ``before`` is what the same
    model learned from some of the labels; ``step`` is a step of a checkpoint. The posterior of a member of an ensemble
    is left as it is: the ensemble reads the average.
    """
    monitor = Monitor(settings.max_iter, settings.tol, settings.stop, callback, keeper=step)
    run = partial(solve, prepared.model, items, start, monitor, settings.solver, before=before)
    solution = run() if step is None else step.solution(monitor, run)
    if prepared.units is not None:
        return FittedPair(prepared, solution, None, typical, monitor.history)
    with one_thread():
        model = with_best_item_effect(prepared.model, items, solution)
        prepared = prepared if model is prepared.model else replace(prepared, model=model)
        solution = without_own_labels(model, items, solution)
        reading = None if is_member else read_pair(model, solution, items, settings)
        pair = FittedPair(prepared, solution, None, typical, monitor.history, reading)
        if reading is not None and reading.correction is not None and not model.truth.couples_items:
            pair = corrected(pair, items, settings)
    return replace(pair, covariances=covariances_of(prepared.model, items, pair.solution))


def corrected(pair: FittedPair, items: Items | Chunks, settings: Any) -> FittedPair:
    """Return the pair with classifier and expertise fitted to its posterior of the items, which gold corrected."""
    data = as_chunks(items)
    prob = data.engine.keep(_posterior, data.chunks, pair)
    return replace(pair, solution=fit_to_posterior(pair.prepared.model, data, prob, settings))


def _posterior(items: Items, pair: FittedPair) -> Array:
    return pair.posterior(items).prob


def consensus(pair: FittedPair, X: Array, data: TrainingData) -> Posterior:
    """p(z | x, labels) of all rows of X, block by block."""
    parts: list[Any] = [pair.posterior(items) for items in pair.prepared.blocks(X, data)]
    if pair.prepared.units is None:
        return CategoricalPosterior(np.concatenate([part.prob for part in parts]))
    mean, variance = (np.concatenate([getattr(p, name) for p in parts]) for name in ("mean", "variance"))
    return GaussianPosterior(mean, variance)


def typical_rows(n_items: int) -> Rows:
    """Return about a thousand rows, evenly spaced."""
    return np.arange(0, n_items, max(n_items // TYPICAL_ITEMS, 1))


def attributes_of(pair: FittedPair) -> dict[str, Any]:
    """Return the attributes of an estimator that describe a fitted pair."""
    return {
        "n_features_in_": pair.prepared.preprocessing.n_features,
        "graph_": describe_graphs(pair.prepared),
        "solver_": pair.solution.solver,
        "bound_history_": pair.history,
        "n_iter_": len(pair.history),
    }


def severity(pair: FittedPair) -> dict[str, Array]:
    """Return the severity of annotators of ordered labels."""
    annotators: Any = pair.prepared.model.annotators
    if not supports(annotators, BiasAnnotators):
        return {}
    return {"annotator_severity_": annotators.bias(pair.solution.annotators.mean)[:-1]}


def coefficients(pair: FittedPair) -> dict[str, Array]:
    """Return coefficients in the units of the user's X; only a linear map has them."""
    preprocessing = pair.prepared.preprocessing
    annotators: Any = pair.prepared.model.annotators
    truth: Any = pair.prepared.model.truth
    if not preprocessing.is_linear:
        return {}
    features: Any = preprocessing.features
    found: dict[str, Array] = {}
    if preprocessing.of_annotators is None and supports(annotators, CoefficientAnnotators):
        leading = features.matrix[:, : preprocessing.directions]
        w, gamma = annotators.coefficients(pair.solution.annotators.mean[:-1], leading.shape[1] + 1)
        slopes, intercepts = preprocessing.to_input_units(w @ leading.T, gamma)
        found |= {"annotator_coef_": slopes, "annotator_intercept_": intercepts}
    if supports(truth, CoefficientTruth):
        xi = truth.weights(truth.parameters(pair.solution.truth))
        slopes, intercepts = preprocessing.to_input_units((features.matrix @ xi[:-1]).T, xi[-1])
        found |= {"coef_": slopes, "intercept_": intercepts}
    return found
