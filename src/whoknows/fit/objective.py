"""What the solvers climb: the E-step, Q of Eq. (13), and the marginal of Eq. (6), chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from whoknows._array import Array
from whoknows.fit.items import Items
from whoknows.model.annotators import AnnotatorModel, FreezingAnnotators
from whoknows.model.evidence import Evidence
from whoknows.model.posterior import Posterior
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import TruthModel


@dataclass(frozen=True)
class Model:
    """The pair: what annotators say given the truth, and what the truth is given x (prepared)."""

    annotators: AnnotatorModel
    truth: TruthModel

    def __post_init__(self) -> None:
        """Refuse pieces that do not fit each other."""
        if self.truth.accepts == "quadratic" and self.annotators.gives == "table":
            truth, annotators = type(self.truth).__name__, type(self.annotators).__name__
            raise NotCompatible(
                f"{truth} needs quadratic evidence; {annotators} gives a table over classes. "
                f"Use GaussianAnnotators (annotators='gaussian'), or LogisticTruth (truth='id' or 'lgp')."
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
        """Return the parameters in a vector laid out like this one's."""
        theta, xi = flat[: self.theta.size], flat[self.theta.size :]
        return Parameters(theta.reshape(self.theta.shape), xi.reshape(self.xi.shape))


def evidence_of(items: Items, model: Model, parameters: Parameters) -> Evidence:
    """What labels, and a truth that is known, say of each item."""
    return items.complete(model.annotators.evidence(parameters.theta, items.X_annotators, items.Y))


def e_step(items: Items, model: Model, parameters: Parameters) -> Posterior:
    """p̃(z) of Eqs. (7), (12): labels become evidence, evidence and truth a posterior."""
    evidence = evidence_of(items, model, parameters)
    return model.truth.posterior(parameters.xi, items.X_truth, evidence)


def expected_log_lik(work: tuple[Items, Posterior], model: Model, theta: Array) -> tuple[float, Array]:
    """Annotators' part of Q, Eq. (13), for one chunk and its frozen posterior."""
    items, posterior = work
    return model.annotators.expected_log_lik(theta, items.X_annotators, items.Y, posterior)


def freeze(work: tuple[Items, Posterior], model: Model) -> Callable[[Array], tuple[float, Array]]:
    """Return `expected_log_lik` as a function of θ alone, what does not change with θ computed once."""
    items, posterior = work
    if isinstance(model.annotators, FreezingAnnotators):
        return model.annotators.frozen(items.pairs, posterior)
    return partial(expected_log_lik, work, model)


def expected_log_truth(work: tuple[Items, Posterior], model: Model, xi: Array) -> tuple[float, Array]:
    """Truth's part of Q, Eq. (13), once for each item."""
    items, posterior = work
    return model.truth.expected_log_truth(xi, items.X_truth, posterior)


def marginal(items: Items, model: Model, parameters: Parameters) -> tuple[float, Array, Array]:
    """log p(Y_L | X; θ, ξ), Eq. (6), and its gradients in θ and ξ: Q's at the current posterior."""
    posterior = e_step(items, model, parameters)
    work = (items, posterior)
    _, d_theta = expected_log_lik(work, model, parameters.theta)
    _, d_xi = expected_log_truth(work, model, parameters.xi)
    return posterior.log_marginal, d_theta, d_xi


def log_prior(model: Model, parameters: Parameters) -> tuple[float, Array, Array]:
    """log p(θ) + log p(ξ | X), once overall, and their gradients."""
    theta_value, d_theta = model.annotators.log_prior(parameters.theta)
    xi_value, d_xi = model.truth.log_prior(parameters.xi)
    return theta_value + xi_value, d_theta, d_xi
