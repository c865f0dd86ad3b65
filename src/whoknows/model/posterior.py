"""Posterior of each item's truth given its labels: p̃(z) of Eqs. (7), (12)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from whoknows._array import Array, like, namespace


@dataclass(frozen=True)
class CategoricalPosterior:
    """p̃(z_i = k), one row per item.

    Attributes
    ----------
    prob : (n_items, n_classes)
    log_marginal : float
        Σ_i log Σ_z p(z | x_i) Π_t p(y_it | x_i, z), Eq. (6), or its variational lower bound.
    weight : (n_items,), optional
        Sample weight of each item in every sum over items; None is 1 each.
    """

    prob: Array
    log_marginal: float = np.nan
    weight: Array | None = None

    @classmethod
    def from_log_joint(cls, log_joint: Array, weight: Array | None = None) -> CategoricalPosterior:
        """Normalise log p(z, y | x), (n_items, n_classes), in log space."""
        xp = namespace(log_joint)
        top = xp.amax(log_joint, axis=1, keepdims=True)  # SciPy's logsumexp is slower
        joint = xp.exp(log_joint - top)
        marginal = joint.sum(axis=1, keepdims=True)
        log_marginal = (top + xp.log(marginal))[:, 0]
        total = log_marginal.sum() if weight is None else weight @ log_marginal
        return cls(joint / marginal, float(total), weight)

    def like(self, x: Array) -> CategoricalPosterior:
        """Return the same posterior as arrays of the kind of ``x``, on its device, to which it is copied once."""
        if namespace(x) is namespace(self.prob):
            return self
        if "_copy" not in vars(self):
            weight = None if self.weight is None else like(self.weight, x)
            vars(self)["_copy"] = CategoricalPosterior(like(self.prob, x), self.log_marginal, weight)
        return vars(self)["_copy"]

    @property
    def counts(self) -> Array:
        """Sample weight of each item: (n_items,)."""
        return namespace(self.prob).ones_like(self.prob[:, 0]) if self.weight is None else self.weight

    @cached_property
    def mean(self) -> Array:
        """E[z_i], with class codes as numbers."""
        return self.prob @ like(np.arange(self.prob.shape[1], dtype=float), self.prob)

    @cached_property
    def variance(self) -> Array:
        """Var[z_i]."""
        return self.prob @ np.arange(self.prob.shape[1], dtype=float) ** 2 - self.mean**2

    @property
    def entropy(self) -> Array:
        """−Σ_k p̃ log p̃ of each item."""
        return np.asarray(-xlogy(self.prob, self.prob).sum(axis=1))


@dataclass(frozen=True)
class GaussianPosterior:
    """p̃(z_i) for real-valued truth: mean and variance of each item, and log p(Y_L | X)."""

    mean: Array
    variance: Array
    log_marginal: float = np.nan
    weight: Array | None = None

    @property
    def counts(self) -> Array:
        """Sample weight of each item: (n_items,)."""
        return np.ones(len(self.mean)) if self.weight is None else self.weight

    @property
    def entropy(self) -> Array:
        """Differential entropy of each item's marginal."""
        return 0.5 * np.log(2 * np.pi * np.e * self.variance)


Posterior = CategoricalPosterior | GaussianPosterior
