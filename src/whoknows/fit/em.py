"""Algorithm 1: expectation, maximisation, until nothing moves."""

from __future__ import annotations

from collections.abc import Sequence

from whoknows._array import Array
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.lbfgs import maximize
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, e_step, expected_log_lik, expected_log_truth, log_prior
from whoknows.model.posterior import Posterior

INNER_ITERATIONS = 20  # of L-BFGS in an M-step; a partial M-step still raises the bound


def fit_em(
    model: Model, chunks: Sequence[Items], start: Parameters, monitor: Monitor, engine: Engine
) -> Parameters:
    """Maximise log p(Y_L | X; θ, ξ) + log priors by EM, from ``start``."""
    parameters = start
    while True:
        posteriors = [e_step(items, model, parameters) for items in chunks]
        bound = sum(p.log_marginal for p in posteriors) + log_prior(model, parameters)[0]
        if monitor.add(bound, parameters.theta):
            monitor.finish()
            return parameters
        parameters = m_step(model, chunks, posteriors, parameters, engine)


def m_step(
    model: Model,
    chunks: Sequence[Items],
    posteriors: Sequence[Posterior],
    parameters: Parameters,
    engine: Engine,
) -> Parameters:
    """Maximise Q of Eq. (13): θ by Eqs. (16), (17), then ξ, each with L-BFGS."""
    work = list(zip(chunks, posteriors, strict=True))

    def over_theta(theta: Array) -> tuple[float, Array]:
        value, gradient = engine.sum(expected_log_lik, work, model, theta)
        prior, prior_gradient = model.annotators.log_prior(theta)
        return value + prior, gradient + prior_gradient

    def over_xi(xi: Array) -> tuple[float, Array]:
        value, gradient = engine.sum(expected_log_truth, work, model, xi)
        prior, prior_gradient = model.truth.log_prior(xi)
        return value + prior, gradient + prior_gradient

    return Parameters(
        maximize(over_theta, parameters.theta, INNER_ITERATIONS),
        maximize(over_xi, parameters.xi, INNER_ITERATIONS),
    )
