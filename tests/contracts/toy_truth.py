"""A third-party truth model with the basic protocol only: a probit regression."""

import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import norm

from whoknows import NotCompatible
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.settings import Settings


@dataclass
class ProbitTruth(Settings):
    """p(z = 1 | x) = Φ(ξᵀx), ξ ~ N(0, variance I)."""

    variance: float = 10.0

    accepts: ClassVar[str] = "table"
    couples_items: ClassVar[bool] = False
    needs_all: ClassVar[bool] = False
    description: ClassVar[str] = ""

    def for_classes(self, n_classes):
        if n_classes != 2:
            raise NotCompatible(f"ProbitTruth has two classes; there are {n_classes}.")
        return self

    def prepare(self, X, features, seed=0):
        return copy.copy(self)

    def init(self, n_features):
        return np.zeros(n_features)

    def posterior(self, xi, X, evidence):
        return CategoricalPosterior.from_log_joint(self.log_predict(xi, X) + evidence.table, evidence.weight)

    def expected_log_truth(self, xi, X, posterior):
        q, f, log_p = posterior.prob * posterior.counts[:, None], X @ xi, self.log_predict(xi, X)
        slope = q[:, 1] * np.exp(norm.logpdf(f) - log_p[:, 1]) - q[:, 0] * np.exp(norm.logpdf(f) - log_p[:, 0])
        return float((q * log_p).sum()), X.T @ slope

    def log_prior(self, xi):
        return -0.5 * float(xi @ xi) / self.variance, -xi / self.variance

    def state(self, xi, posterior, evidence, X):
        return xi

    def parameters(self, state):
        return state

    def log_predict(self, state, X):
        return np.column_stack([norm.logcdf(-X @ state), norm.logcdf(X @ state)])

    def posterior_at(self, state, X, evidence):
        return self.posterior(state, X, evidence).prob
