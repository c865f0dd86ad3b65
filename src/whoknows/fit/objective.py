"""What the solvers maximise: the E-step, Q of Eq. (13), and the marginal of Eq. (6), chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.fit.items import Items
from whoknows.model.evidence import Evidence
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import Posterior
from whoknows.model.protocols import AnnotatorModel, CachingAnnotators, TruthModel, supports
from whoknows.model.settings import NotCompatible


@dataclass(frozen=True)
class Model:
    """An annotator model, p(y | x, z), and a prepared truth model, p(z | x)."""

    annotators: AnnotatorModel
    truth: TruthModel


def check_pair(annotators: AnnotatorModel, truth: TruthModel) -> None:
    """Refuse an annotator model whose evidence the truth model cannot use."""
    if truth.accepts == "quadratic" and annotators.gives == "table":
        raise NotCompatible(
            f"{type(truth).__name__} needs quadratic evidence; {type(annotators).__name__} gives a table "
            "over classes. Use GaussianAnnotators (annotators='gaussian') or LogisticTruth (truth='id' or "
            "'lgp')."
        )


@dataclass(frozen=True)
class Parameters:
    """θ of the annotators, (n_annotators + 1, n_columns), and ξ of the truth."""

    theta: Array
    xi: Array

    def flatten(self) -> Array:
        """Return θ and ξ as one flat vector."""
        return np.concatenate([self.theta.ravel(), self.xi.ravel()])

    def unflatten(self, flat: Array) -> Parameters:
        """Return the parameters in a flat vector of the same layout."""
        theta, xi = flat[: self.theta.size], flat[self.theta.size :]
        return Parameters(theta.reshape(self.theta.shape), xi.reshape(self.xi.shape))


def evidence_of(items: Items, model: Model, parameters: Parameters) -> Evidence:
    """Evidence of each item's labels and, where it is known, of its truth."""
    return items.complete(model.annotators.evidence(parameters.theta, items.X_annotators, items.Y))


def e_step(items: Items, model: Model, parameters: Parameters) -> Posterior:
    """p̃(z) of Eqs. (7), (12), from the evidence of the labels and p(z | x)."""
    evidence = evidence_of(items, model, parameters)
    return model.truth.posterior(parameters.xi, items.X_truth, evidence)


def final_state(items: Items, model: Model, parameters: Parameters) -> tuple[list[Any]]:
    """Return the state of the truth model at the end of a fit, in a list."""
    belief = Belief(parameters.theta)
    evidence = items.complete(model.annotators.evidence_at(belief, items.X_annotators, items.Y))
    posterior = model.truth.posterior(parameters.xi, items.X_truth, evidence)
    return ([model.truth.state(parameters.xi, posterior, evidence, items.X_truth)],)


def expected_log_lik(work: tuple[Items, Posterior], model: Model, theta: Array) -> tuple[float, Array]:
    """Annotators' part of Q, Eq. (13), for one chunk and a fixed posterior."""
    items, posterior = work
    return model.annotators.expected_log_lik(theta, items.X_annotators, items.Y, posterior)


def expected_log_lik_of_theta(work: tuple[Items, Posterior], model: Model) -> Callable[[Array], tuple[float, Array]]:
    """Return `expected_log_lik` as a function of θ alone, with everything else precomputed if possible."""
    items, posterior = work
    annotators: Any = model.annotators
    if supports(annotators, CachingAnnotators):
        return annotators.expected_log_lik_of_theta(items.pairs, posterior)
    return partial(expected_log_lik, work, model)


def expected_log_truth(work: tuple[Items, Posterior], model: Model, xi: Array) -> tuple[float, Array]:
    """Truth's part of Q, Eq. (13), once per item."""
    items, posterior = work
    return model.truth.expected_log_truth(xi, items.X_truth, posterior)


def marginal(items: Items, model: Model, parameters: Parameters) -> tuple[float, Array, Array]:
    """log p(Y_L | X; θ, ξ), Eq. (6), and its gradients in θ and ξ: those of Q at the current posterior."""
    posterior = e_step(items, model, parameters)
    work = (items, posterior)
    _, d_theta = expected_log_lik(work, model, parameters.theta)
    _, d_xi = expected_log_truth(work, model, parameters.xi)
    return posterior.log_marginal, d_theta, d_xi


def log_prior(model: Model, parameters: Parameters) -> tuple[float, Array, Array]:
    """log p(θ) + log p(ξ | X), and the gradients."""
    theta_value, d_theta = model.annotators.log_prior(parameters.theta)
    xi_value, d_xi = model.truth.log_prior(parameters.xi)
    return theta_value + xi_value, d_theta, d_xi
