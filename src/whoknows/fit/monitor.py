"""The monitor: history of the bound, the stopping rule, and a warning if a fit did not converge."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from whoknows._array import Array
from whoknows.data.errors import Advice, InputError, Message
from whoknows.model.settings import COUNT, NOT_NEGATIVE

Callback = Callable[[int, float, float], bool | None]

STOPPING_RULES = ("bound", "parameters")


class Keeper(Protocol):
    """Saves the state of a solver, so that a fit can be continued after an interruption."""

    def state(self) -> Any:
        """Return the last saved state, or None."""

    def keep(self, state: Any) -> None:
        """Save a state, or skip it: from any of them, the same iterations follow."""


class DidNotConverge(UserWarning):
    """A fit reached its maximum number of iterations, or its bound decreased."""


@dataclass(eq=False)
class Monitor:
    """Monitors one fit.

    Parameters
    ----------
    max_iter : int
    tol : float
        ``stop="bound"``: stop when the bound increases by less than ``tol`` times its absolute value.
        ``stop="parameters"``: when ‖θ_new − θ‖² < ``tol``, the rule of Algorithm 1.
    callback : callable(iteration, bound, seconds), optional
        Called after each iteration; return True to stop the fit.
    exact : bool
        False for approximate E-steps, with which the bound may decrease.
    warn : bool
        False if the fit only initialises another one.
    keeper : Keeper, optional
        Saves the state of the solver between iterations.
    """

    max_iter: int
    tol: float
    stop: str = "bound"
    callback: Callback | None = None
    exact: bool = True
    warn: bool = True
    keeper: Keeper | None = None

    history: list[float] = field(default_factory=list, init=False)
    converged: bool = field(default=False, init=False)
    stopped: bool = field(default=False, init=False)
    _theta: Array | None = field(default=None, init=False)
    _started: float = field(default_factory=time.perf_counter, init=False)

    def __post_init__(self) -> None:
        if self.stop not in STOPPING_RULES:
            raise InputError(f"stop must be one of {STOPPING_RULES}; got {self.stop!r}.")
        for name, (words, holds) in (("max_iter", COUNT), ("tol", NOT_NEGATIVE)):
            if not holds(getattr(self, name)):
                raise InputError(f"{name} must be {words}; got {getattr(self, name)!r}.")

    def rehearsal(self) -> Monitor:
        """Return a monitor with the same rules that does not warn, for an initial fit."""
        return replace(self, callback=None, warn=False, keeper=None)

    @property
    def n_iter(self) -> int:
        """Number of iterations so far."""
        return len(self.history)

    def add(self, bound: float, theta: Array) -> bool:
        """Record one iteration; return True if the fit should stop."""
        self.history.append(float(bound))
        self._check_bound()
        self.converged = self._is_small_step(theta)
        self._theta = theta
        self.stopped = self._call_back(bound)
        return self.converged or self.stopped or self.n_iter >= self.max_iter

    def keep(self, state: Any) -> None:
        """Offer the state of the solver between two iterations, from which the fit can be continued."""
        if self.keeper is not None:
            self.keeper.keep((state, self.history, self._theta))

    def resume(self) -> Any:
        """Return the saved state of an interrupted fit and restore its history, or return None."""
        known = None if self.keeper is None else self.keeper.state()
        if known is None:
            return None
        state, history, self._theta = known
        self.replay(history)
        return state

    def replay(self, history: Sequence[float]) -> None:
        """Restore the history of an interrupted fit; the callback is called for each iteration."""
        for bound in history:
            self.history.append(bound)
            self._call_back(bound)

    def _call_back(self, bound: float) -> bool:
        """Call the callback for the last iteration; return whether it asks to stop."""
        if self.callback is None:
            return False
        return bool(self.callback(self.n_iter, bound, time.perf_counter() - self._started))

    def finish(self) -> None:
        """Warn if the fit reached its maximum number of iterations."""
        if self.warn and not (self.converged or self.stopped):
            rise = self._rise()
            rose = f": the bound still increased by {rise:.2g} in the last one" if np.isfinite(rise) else ""
            message = Message(
                "The fit did not converge in ",
                Advice("n_iterations", f"max_iter={self.max_iter}", value=self.max_iter),
                f" iterations{rose}. ",
                Advice("max_iter", f"Raise max_iter, or tol={self.tol:g} if that is enough."),
            )
            warnings.warn(message, DidNotConverge, stacklevel=2)

    def _rise(self) -> float:
        return self.history[-1] - self.history[-2] if self.n_iter > 1 else np.inf

    def _check_bound(self) -> None:
        """Raise if the bound is not finite; warn if it decreases by more than rounding error."""
        if not np.isfinite(self.history[-1]):
            raise FloatingPointError(
                f"The bound is {self.history[-1]} at iteration {self.n_iter}: the likelihood is unbounded, "
                "or features are too large to square. Raise sigma_floor of GaussianAnnotators (0.3 is safe)."
            )
        if self.exact and self._rise() < -1e-8 * max(abs(self.history[-1]), 1.0):
            warnings.warn(
                f"The bound decreased by {-self._rise():.2g} at iteration {self.n_iter}. A gradient or an "
                "expectation of one of the models is wrong, or sigma_floor is too close to zero.",
                DidNotConverge,
                stacklevel=3,
            )

    def _is_small_step(self, theta: Array) -> bool:
        if self._theta is None:
            return False
        if self.stop == "parameters":
            return float(((theta - self._theta) ** 2).sum()) < self.tol
        return abs(self._rise()) <= self.tol * max(abs(self.history[-1]), 1.0)
