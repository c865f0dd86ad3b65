"""Algorithm 1: expectation, maximisation, until convergence."""

from __future__ import annotations

from collections.abc import Sequence
from operator import call

from whoknows._array import Array
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.lbfgs import maximize
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, e_step, expected_log_lik_of_theta, expected_log_truth, log_prior
from whoknows.model.posterior import Posterior

INNER_ITERATIONS = 20  # of L-BFGS per M-step; a partial M-step still increases the bound


def fit_em(model: Model, chunks: Sequence[Items], start: Parameters, monitor: Monitor, engine: Engine) -> Parameters:
    """Maximise log p(Y_L | X; θ, ξ) + log priors by EM, from ``start``."""
    parameters = start
    while True:
        posteriors = engine.keep(e_step, chunks, model, parameters)
        (local,) = engine.sum(log_marginal, posteriors)
        bound = local + log_prior(model, parameters)[0]
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
    scale: Array | float = 1.0,
    inner: int = INNER_ITERATIONS,
) -> Parameters:
    """Maximise Q of Eq. (13): θ by Eqs. (16), (17), then ξ, each with L-BFGS.

    ``scale``, as ξ or one number, is about the standard deviation of each weight. In these units the search
    for ξ converges in fewer iterations.
    """
    work = list(zip(chunks, posteriors, strict=True))
    functions = engine.keep(expected_log_lik_of_theta, work, model)

    def over_theta(theta: Array) -> tuple[float, Array]:
        return _added(engine.sum(call, functions, theta), model.annotators.log_prior(theta))

    def over_xi(xi: Array) -> tuple[float, Array]:
        return _added(engine.sum(expected_log_truth, work, model, xi), model.truth.log_prior(xi))

    def in_units(u: Array) -> tuple[float, Array]:
        value, gradient = over_xi(scale * u)
        return value, scale * gradient

    theta = maximize(over_theta, parameters.theta, inner)
    return Parameters(theta, scale * maximize(in_units, parameters.xi / scale, inner))


def _added(expected: tuple[float, Array], prior: tuple[float, Array]) -> tuple[float, Array]:
    """Return the sum of two values, and of their gradients."""
    return expected[0] + prior[0], expected[1] + prior[1]


def log_marginal(posterior: Posterior) -> tuple[float]:
    """Return log p(labels | x) of a chunk, Eq. (6), from its posterior."""
    return (posterior.log_marginal,)
