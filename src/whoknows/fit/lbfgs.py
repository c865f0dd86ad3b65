"""L-BFGS on arrays of any shape, and the marginal likelihood maximised by it directly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from whoknows._array import Array
from whoknows.fit.engines import Engine
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, log_prior, marginal

Objective = Callable[[Array], tuple[float, Array]]


def maximize(
    objective: Objective,
    start: Array,
    max_iter: int,
    tol: float = 1e-9,
    on_step: Callable[[float, Array], bool] | None = None,
) -> Array:
    """Return the argmax of ``objective`` (value and gradient), found by L-BFGS from ``start``.

    ``on_step`` (value, point) is called after every accepted step; True stops.
    """
    if start.size == 0:
        return start

    def negative(flat: Array) -> tuple[float, Array]:
        value, gradient = objective(flat.reshape(start.shape))
        return -value, -gradient.ravel()

    def callback(intermediate_result: OptimizeResult) -> None:
        if on_step and on_step(-intermediate_result.fun, intermediate_result.x.reshape(start.shape).copy()):
            raise StopIteration

    options = {"maxiter": max_iter, "ftol": tol, "gtol": 1e-8, "maxcor": 20}
    found = minimize(negative, start.ravel(), jac=True, method="L-BFGS-B", callback=callback, options=options)
    return np.asarray(found.x).reshape(start.shape)


def fit_lbfgs(model: Model, chunks: Sequence[Items], start: Parameters, monitor: Monitor, engine: Engine) -> Parameters:
    """Maximise log p(Y_L | X; θ, ξ) + log priors in θ and ξ together, with the paper's last gradients.

    By Fisher's identity they equal EM's gradients at the current posterior, so the functions are the same.
    """

    def objective(flat: Array) -> tuple[float, Array]:
        parameters = start.unflatten(flat)
        value, d_theta, d_xi = engine.sum(marginal, chunks, model, parameters)
        prior, prior_theta, prior_xi = log_prior(model, parameters)
        return value + prior, np.concatenate([(d_theta + prior_theta).ravel(), (d_xi + prior_xi).ravel()])

    def on_step(value: float, flat: Array) -> bool:
        return monitor.add(value, start.unflatten(flat).theta)

    flat = start.flatten()
    if monitor.add(objective(flat)[0], start.theta):
        monitor.finish()
        return start
    best = maximize(objective, flat, 10 * monitor.max_iter, tol=0.0, on_step=on_step)
    # Before max_iter, L-BFGS stops by itself only where it finds no ascent direction.
    monitor.converged = monitor.converged or monitor.n_iter < monitor.max_iter
    monitor.finish()
    return start.unflatten(best)
