"""A third-party annotator model with the basic protocol only: one accuracy per annotator."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from whoknows import NotCompatible, Population
from whoknows.model.evidence import TableEvidence
from whoknows.model.settings import Settings


@dataclass
class ConstantAnnotators(Settings):
    """p(y = z | t) = logistic(γ_t)."""

    prior: Population = field(default_factory=Population)
    directions: int | None = None

    gives: ClassVar[str] = "table"

    def for_classes(self, n_classes):
        if n_classes != 2:
            raise NotCompatible(f"ConstantAnnotators give two labels; there are {n_classes}.")
        return self

    def init(self, n_features, n_annotators):
        return self.prior.start(n_annotators, 0)

    def evidence(self, theta, X, Y):
        gamma, right = theta[Y.annotator], Y.label[:, None] == np.arange(2)
        table = np.zeros((Y.n_items, 2))
        np.add.at(table, Y.item, Y.counts[:, None] * log_expit(np.where(right, gamma, -gamma)))
        return TableEvidence(table)

    def expected_log_lik(self, theta, X, Y, posterior):
        value = posterior.counts @ (posterior.prob * self.evidence(theta, X, Y).table).sum(axis=1)
        residual = posterior.prob[Y.item, Y.label] - expit(theta[Y.annotator, 0])
        gradient = np.zeros_like(theta)
        np.add.at(gradient[:, 0], Y.annotator, Y.counts * posterior.counts[Y.item] * residual)
        return float(value), gradient

    def log_prior(self, theta):
        return self.prior.log_prior(theta, 0)

    def evidence_at(self, belief, X, Y):
        return self.evidence(belief.mean, X, Y)

    predictive = evidence_at

    def expertise(self, belief, X, prob):
        return np.tile(expit(belief.mean[:, 0]), (len(X), 1))

    def confusion(self, belief, X):
        right = expit(belief.mean)[:, :, None]
        return right * np.eye(2) + (1 - right) * (1 - np.eye(2))
